"""Runs work in a second process, since Z3 uses one core."""

from __future__ import annotations

import multiprocessing
import signal
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Executor

__all__ = ["Task", "second_process"]

T = TypeVar("T")


class Task(Generic[T]):
    """Work for a second process; the first process does it itself if the second has not started
    it.
    """

    def __init__(self, worker: Executor | None, work: Callable[[], T]) -> None:
        self._work = work
        self._future = worker.submit(work) if worker is not None else None

    def result(self) -> T:
        """The result of the work; request results in reverse order of creation."""
        if self._future is None or self._future.cancel():
            return self._work()
        return self._future.result()


@contextmanager
def second_process() -> Iterator[Executor | None]:
    """A running worker process, or None on a platform without fork.

    Enter it before any thread is started.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        yield None
        return
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, mp_context=context, initializer=_end_quietly) as worker:
        worker.submit(_end_quietly).result()
        try:
            with _every_interrupt():
                yield worker
        except BaseException:
            for process in multiprocessing.active_children():
                process.terminate()  # its answer is not needed any more
            raise


@contextmanager
def _every_interrupt() -> Iterator[None]:
    """Repeat an interrupt that was lost: Python drops one that arrives while Z3 frees memory, and
    the worker it ends then seems broken.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    came = []

    def note(number: int, _: object) -> None:
        came.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    try:
        yield
    except BrokenExecutor:
        if not came:
            raise
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if came:
        raise KeyboardInterrupt


def _end_quietly() -> None:
    """End the worker silently on an interrupt; the first process reports it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
