"""Raises interrupts in a command, and again where Python dropped one."""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager
from threading import Timer, main_thread
from typing import TYPE_CHECKING, Final

from spec.installed import end_at_once

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["every_interrupt", "is_interrupt"]

_SOON_S: Final = 0.02


@contextmanager
def every_interrupt() -> Iterator[None]:
    """Within the block, no interrupt is lost, and none prints a traceback.

    One that arrives while an object is freed, as with Z3 happens often, is an exception in a
    finalizer: Python prints it, and goes on. Before and after the block an interrupt ends the
    process at once, where it did so before.
    """
    before, again = sys.unraisablehook, list[Timer]()
    handler = signal.getsignal(signal.SIGINT)
    # The function is not the same object: the packages run its file by their own (spec/installed).
    at_once = getattr(handler, "__qualname__", "") == end_at_once.__qualname__

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if unraisable.exc_type is not KeyboardInterrupt:
            before(unraisable)
            return
        again.append(Timer(_SOON_S, _interrupt))
        again[-1].daemon = True
        again[-1].start()

    sys.unraisablehook = hook
    try:
        if at_once:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        yield
    finally:
        if at_once:
            signal.signal(signal.SIGINT, handler)
        sys.unraisablehook = before
        for timer in again:
            timer.cancel()


def is_interrupt(problem: Exception) -> bool:
    """Whether the exception is what ctypes makes of an interrupt that arrives while it converts an
    argument, as it does for each call of Z3; of its cause it keeps the name only.
    """
    from ctypes import ArgumentError  # a start needs none

    return isinstance(problem, ArgumentError) and KeyboardInterrupt.__name__ in str(problem)


def _interrupt() -> None:
    """Send a signal to the main thread, which ends a wait; a flag would be read only after it."""
    thread = main_thread().ident
    if thread is None or not hasattr(signal, "pthread_kill"):
        signal.raise_signal(signal.SIGINT)
    else:
        signal.pthread_kill(thread, signal.SIGINT)
