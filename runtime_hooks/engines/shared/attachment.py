"""Ends the hooks on one scheduler: with its engine, or when the plugin is disarmed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime_hooks.controller.controller import Controller
    from runtime_hooks.engines.shared.wraps import Wraps
    from runtime_hooks.trace.journal import Journal

__all__ = ["HookedScheduler"]


class HookedScheduler:
    """A scheduler with its hooks (`runtime_hooks.engines.adapter.Attachment`).

    Args:
        wraps: the wrapped methods of the engine.
        restore: undoes what was changed in the engine's data.
    """

    def __init__(
        self,
        scheduler: Any,
        controller: Controller,
        journal: Journal,
        wraps: Wraps,
        restore: Callable[[], None],
    ) -> None:
        self.scheduler, self.controller, self.journal = scheduler, controller, journal
        self._wraps, self._restore = wraps, restore

    @property
    def faults(self) -> dict[tuple[str, str], int]:
        """How often a hook failed, by hook and exception class."""
        return dict(self.controller.faults.counts)

    def detach(self) -> None:
        """Leave the engine as it was, release every block, and end the stream.

        What happens to live claims afterwards is not observed, so the stream ends in a gap.
        """
        self._wraps.remove()
        self.controller.preregistration.close()
        self._wraps.attempt("detach", self._restore)
        self._wraps.attempt("detach", self.controller.tracker.before_reset)
        if self.controller.claims:
            self.controller.fail()
        self.journal.close()

    def end(self) -> None:
        """The engine ends, and the stream with it."""
        self._wraps.attempt("shutdown", self.controller.close)
        self._wraps.remove()
        self.controller.preregistration.close()
        self.journal.close()
