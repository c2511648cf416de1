"""Hands calls of other threads to the engine's thread."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Inbox"]

T = TypeVar("T")


class Inbox:
    """Calls that wait for the engine's thread, in order.

    `closed` says that the engine has ended, or is not hooked any more.
    """

    def __init__(self) -> None:
        self.closed = False
        self._calls: deque[tuple[Callable[[], Any], Future[Any]]] = deque()

    def put(self, act: Callable[[], T]) -> Future[T]:
        """Have a function called, on any thread; what it returns or raises is the result.

        Returns:
            The result; cancelled where the engine ends before.
        """
        done: Future[T] = Future()
        self._calls.append((act, done))
        if self.closed:  # after the call was appended: `close` may run at the same time
            self._cancel()
        return done

    def __bool__(self) -> bool:
        return bool(self._calls)

    def drain(self) -> None:
        """Call what waits, on the engine's thread."""
        while self._calls:
            act, done = self._calls.popleft()
            if not done.set_running_or_notify_cancel():
                continue
            try:
                done.set_result(act())
            except Exception as fault:  # for the caller alone: the engine's requests go on
                done.set_exception(fault)

    def close(self) -> None:
        """Cancel the calls that wait, and those to come."""
        self.closed = True
        self._cancel()

    def _cancel(self) -> None:
        while True:
            try:
                _, done = self._calls.popleft()
            except IndexError:
                return
            done.cancel()
