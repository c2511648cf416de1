"""Wakes the loop of an idle vLLM engine, so that its thread calls a function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vllm.v1.engine import EngineCoreRequestType
from vllm.v1.engine.core import EngineCoreProc

from runtime_hooks.trace.faults import LOG

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["wake_idle"]


class _Loop:
    """The loop of one engine that is a process of its own."""

    def __init__(self, core: Any) -> None:
        self._core, self._asked = core, False

    def wake(self, act: Callable[[], None]) -> None:
        """Have a function called once the engine is idle; any thread may ask.

        vLLM has such calls, for its own pauses, and a request of its own that only wakes the loop.
        """
        if self._asked:
            return
        self._asked = True

        def call(core: Any) -> None:
            self._asked = False  # first: what is asked from now on may come too late for this call
            act()

        self._core._idle_state_callbacks.append(call)
        self._core.input_queue.put_nowait((EngineCoreRequestType.WAKEUP, None))


def wake_idle(
    runs: Callable[[Any, Callable[[Callable[[], None]], None]], None],
) -> Callable[[], None]:
    """Hook every loop that begins from now on; returns a function that ends this.

    Args:
        runs: called with the scheduler of the engine, and with a function that wakes it.
    """
    loop = EngineCoreProc.run_busy_loop

    def run_busy_loop(self: EngineCoreProc) -> None:
        try:
            runs(self.scheduler, _Loop(self).wake)
        except Exception:
            LOG.exception("resident-claims: an idle engine does not answer its operator")
        loop(self)

    EngineCoreProc.run_busy_loop = run_busy_loop

    def end() -> None:
        EngineCoreProc.run_busy_loop = loop

    return end
