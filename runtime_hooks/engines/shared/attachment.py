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
        self._detached = False

    @property
    def faults(self) -> dict[tuple[str, str], int]:
        """How often a hook failed, by hook and exception class."""
        return dict(self.controller.faults.counts)

    @property
    def disarmed(self) -> str:
        """Why the plugin was disarmed in this engine; empty where it was not."""
        return self._wraps.given_up

    def give_up(self, why: str) -> None:
        """Have the engine's thread detach the hooks with its next step; any thread may ask."""
        self._wraps.give_up(why)
        self._wraps.dirty = True  # last: a step looks for a reason after it

    def operate(self) -> None:
        """Carry out the calls of other threads, on the engine's thread between two steps."""
        if not self._detached:
            self._wraps.attempt("operate", self.controller.operate)

    def detach(self, *, wait: bool = True) -> None:
        """Leave the engine as it was, release every block, and end the stream.

        What happens to live claims afterwards is not observed, so the stream ends in a gap.

        Args:
            wait: until the stream is written.
        """
        self._wraps.remove()
        self._detached = True
        self._wraps.attempt("detach", self._restore)
        self._wraps.attempt("detach", self.controller.leave)
        self._wraps.attempt("detach", self._give_up)
        if wait:
            self.journal.close()
        else:
            self.journal.end()

    def _give_up(self) -> None:
        if self.controller.claims:
            self.controller.fail()

    def end(self, *, orderly: bool = True) -> None:
        """The engine ends, and the stream with it.

        Args:
            orderly: not by an error. Only then do claims outlive it.
        """
        if not self._detached:
            if orderly and not self._wraps.given_up:
                self._wraps.attempt("shutdown", self.controller.save)
            self._wraps.attempt("shutdown", self.controller.close)
            self._wraps.remove()
            self._wraps.attempt("shutdown", self.controller.leave)
        self.journal.close()
