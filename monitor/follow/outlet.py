"""Passes on what one source delivers, and tells its reader when to stop."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

from monitor.follow.buffer import Batch, Break, Buffer, End, Position

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.follow.splitting import Line

__all__ = ["Outlet", "Source"]


class Outlet:
    """Where the reader of one source puts what it reads.

    `reopened` is set when files are to be opened again.
    """

    def __init__(self, source: str, buffer: Buffer, stopping: threading.Event) -> None:
        self._source, self._buffer, self._stopping = source, buffer, stopping
        self.connects = 0

    @property
    def stopping(self) -> bool:
        """Whether no more is to be read."""
        return self._stopping.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait, and say whether no more is to be read."""
        return self._stopping.wait(seconds)

    def lines(self, lines: Sequence[Line], position: Position | None = None) -> None:
        """Lines, and where the source can be read on after them."""
        if lines:
            self._buffer.put(Batch(self._source, lines, position or {}))

    def interrupted(self, why: str) -> None:
        """Lines may be missing here."""
        self._buffer.put(Break(self._source, why))

    def end(self, fault: str = "") -> None:
        """No more will come."""
        self._buffer.put(End(self._source, fault))


class Source(Protocol):
    """Something that delivers lines, read by a thread of its own.

    `replays` says that it can be read on from a position. A `lossy` one loses lines silently.
    """

    replays: bool
    lossy: bool

    def seek(self, position: Position) -> None:
        """Begin there. Called before `run`, if at all."""

    def run(self, outlet: Outlet) -> None:
        """Read until it ends or `outlet.stopping`."""

    def lag(self) -> int | None:
        """Bytes that are there and were not read; None where that is unknown."""
