"""Splits what sources deliver into lines, and holds these until they are judged, bounded in bytes.

A thread of its own reads each source; one thread judges.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

from monitor.input.lines import LINE_LIMIT

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

__all__ = [
    "BUFFER_BYTES",
    "Batch",
    "Break",
    "Buffer",
    "Drop",
    "End",
    "Item",
    "Line",
    "Outlet",
    "Position",
    "Source",
    "Splitter",
    "WhenFull",
]

BUFFER_BYTES: Final = 32 << 20
"""Most bytes of lines that wait to be judged; one batch more may be let in."""

Line: TypeAlias = bytes | None
"""A line without its end; None for one that is longer than `LINE_LIMIT`."""

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

    Where it is full, `block` makes the readers wait, and `gap` drops lines and counts them. What
    waits of sources that are paused takes no room from the others, so that it may become twice as
    large.
    """

    def __init__(self, when_full: WhenFull, most: int = BUFFER_BYTES) -> None:
        self._when_full, self._most = when_full, most
        self._items: deque[Item] = deque()
        self._dropped: dict[str, Drop] = {}
        self._waiting: Counter[str] = Counter()  # items, by source
        self._bytes: Counter[str] = Counter()
        self._paused: Set[str] = frozenset()
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
                self._append(item)
            self._changed.notify_all()

    def offer(self, batch: Batch) -> bool:
        """Add a batch if its source need not wait, and return whether it was added."""
        with self._changed:
            if self._closed or self._is_full(batch.source):
                return False
            self._add(batch)
            self._changed.notify_all()
            return True

    def get(self, timeout: float, paused: Set[str] = frozenset()) -> Item | None:
        """The next of what is there; None where nothing comes for so many seconds.

        Args:
            paused: sources of which nothing is taken now.
        """
        with self._changed:
            self._paused = paused
            place = self._next()
            if place is None and timeout > 0:
                self._changed.wait(timeout)
                place = self._next()
            if place is None:
                return None
            item = self._items[place]
            del self._items[place]
            self._waiting[item.source] -= 1
            if isinstance(item, Batch):
                size = _size(item)
                self.size -= size
                self._bytes[item.source] -= size
                self._changed.notify_all()
            return item

    def has(self, source: str) -> bool:
        """Whether something of a source waits."""
        with self._changed:
            return self._waiting[source] > 0 or source in self._dropped

    def is_full(self, source: str) -> bool:
        """Whether a source has to wait before it delivers more."""
        with self._changed:
            return self._is_full(source)

    def close(self) -> None:
        """Take in no more; readers that wait go on."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _put_batch(self, batch: Batch) -> None:
        if self._when_full is WhenFull.BLOCK:
            while self._is_full(batch.source) and not self._closed:
                self._changed.wait(1.0)
        if self._closed:
            return
        if self._is_full(batch.source):
            before = self._dropped.get(batch.source)
            lines = len(batch.lines) + (before.lines if before else 0)
            self._dropped[batch.source] = Drop(batch.source, lines, batch.position)
            return
        self._add(batch)

    def _add(self, batch: Batch) -> None:
        self._settle(batch.source)
        self._append(batch)
        size = _size(batch)
        self.size += size
        self._bytes[batch.source] += size

    def _is_full(self, source: str) -> bool:
        paused = () if source in self._paused else self._paused
        return self.size - sum(self._bytes[each] for each in paused) >= self._most

    def _next(self) -> int | None:
        """Where the next item is that may be taken; what was dropped last is settled for it."""
        for place, item in enumerate(self._items):
            if item.source not in self._paused:
                return place
        for source in [each for each in self._dropped if each not in self._paused][:1]:
            self._settle(source)
            return len(self._items) - 1
        return None

    def _append(self, item: Item) -> None:
        self._items.append(item)
        self._waiting[item.source] += 1

    def _settle(self, source: str) -> None:
        """What was dropped of a source is reported before what comes next of it."""
        if (drop := self._dropped.pop(source, None)) is not None:
            self._append(drop)


def _size(batch: Batch) -> int:
    return sum(len(line) + 64 for line in batch.lines if line is not None)


class Splitter:
    """Holds back what follows the last end of a line until the rest of that line is there."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._dropped = 0  # bytes of the line in hand, which is too long

    @property
    def held(self) -> int:
        """Bytes since the end of the last whole line."""
        return self._dropped + len(self._rest)

    def feed(self, data: bytes) -> Sequence[Line]:
        """The lines that are complete with these bytes, blank ones included."""
        first, *others = data.split(b"\n")
        if not others:
            self._add(first)
            return ()
        self._add(first)
        lines = [self._take(), *(each if len(each) <= LINE_LIMIT else None for each in others[:-1])]
        self._add(others[-1])
        return lines

    def flush(self) -> Sequence[Line]:
        """The last line, which has no end, if there is one."""
        return [self._take()] if self.held else ()

    def clear(self) -> None:
        """Forget what was held back."""
        self._rest.clear()
        self._dropped = 0

    def _add(self, piece: bytes) -> None:
        if self._dropped or len(self._rest) + len(piece) > LINE_LIMIT:
            self._dropped += len(self._rest) + len(piece)
            self._rest.clear()
        else:
            self._rest += piece

    def _take(self) -> Line:
        line = None if self._dropped else bytes(self._rest)
        self.clear()
        return line


class Outlet:
    """Where the reader of one source puts what it reads."""

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

    def offer(self, lines: Sequence[Line]) -> bool:
        """Deliver lines of a sender that keeps them until they are taken; whether they were."""
        return not lines or self._buffer.offer(Batch(self._source, lines, {}))

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
