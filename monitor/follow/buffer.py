"""Holds lines between the threads that read sources and the one that judges; bounded in bytes."""

from __future__ import annotations

import threading
from collections import deque
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.follow.splitting import Line

__all__ = [
    "BUFFER_BYTES",
    "Batch",
    "Break",
    "Buffer",
    "Drop",
    "End",
    "Item",
    "Position",
    "WhenFull",
]

BUFFER_BYTES: Final = 32 << 20
"""Most bytes of lines that wait to be judged; one batch more may be let in."""

Position: TypeAlias = "dict[str, int | str]"
"""Where a source can be read on; empty for one that cannot be read twice."""


class WhenFull(StrEnum):
    """What is done where lines come faster than they are judged."""

    BLOCK = "block"
    GAP = "gap"


class Batch(NamedTuple):
    """Lines of a source, and where it can be read on after them."""

    source: str
    lines: Sequence[Line]
    position: Position


class Break(NamedTuple):
    """Lines of a source may be missing here."""

    source: str
    why: str


class Drop(NamedTuple):
    """So many lines of a source were dropped here."""

    source: str
    lines: int
    position: Position


class End(NamedTuple):
    """A source ended; no more will come of it. `fault` says what was wrong, if anything was."""

    source: str
    fault: str = ""


Item: TypeAlias = "Batch | Break | Drop | End"


class Buffer:
    """A queue of what sources deliver, each in its order.

    Where it is full, `block` makes the readers wait, and `gap` drops lines and counts them.
    """

    def __init__(self, when_full: WhenFull, most: int = BUFFER_BYTES) -> None:
        self._when_full, self._most = when_full, most
        self._items: deque[Item] = deque()
        self._dropped: dict[str, Drop] = {}
        self._changed = threading.Condition()
        self._closed = False
        self.size = 0

    def put(self, item: Item) -> None:
        """Add what a source delivers. What is put after `close` is discarded."""
        with self._changed:
            if isinstance(item, Batch):
                self._put_batch(item)
            elif not (isinstance(item, Break) and self._items and self._items[-1] == item):
                self._settle(item.source)
                self._items.append(item)
            self._changed.notify_all()

    def get(self, timeout: float) -> Item | None:
        """The next of what is there; None where nothing comes for so many seconds."""
        with self._changed:
            if not self._items and not self._dropped and timeout > 0:
                self._changed.wait(timeout)
            if not self._items:
                for source in list(self._dropped)[:1]:
                    self._settle(source)
            if not self._items:
                return None
            item = self._items.popleft()
            if isinstance(item, Batch):
                self.size -= _size(item)
                self._changed.notify_all()
            return item

    def close(self) -> None:
        """Take in no more; readers that wait go on."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _put_batch(self, batch: Batch) -> None:
        if self._when_full is WhenFull.BLOCK:
            while self.size >= self._most and not self._closed:
                self._changed.wait(1.0)
        if self._closed:
            return
        if self.size >= self._most:
            before = self._dropped.get(batch.source)
            lines = len(batch.lines) + (before.lines if before else 0)
            self._dropped[batch.source] = Drop(batch.source, lines, batch.position)
            return
        self._settle(batch.source)
        self._items.append(batch)
        self.size += _size(batch)

    def _settle(self, source: str) -> None:
        """What was dropped of a source is reported before what comes next of it."""
        if (drop := self._dropped.pop(source, None)) is not None:
            self._items.append(drop)


def _size(batch: Batch) -> int:
    return sum(len(line) + 64 for line in batch.lines if line is not None)
