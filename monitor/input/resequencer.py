"""Puts the canonical lines of each stream into the order of their sequence numbers."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections import OrderedDict
from hashlib import blake2b
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from monitor.input.errors import kept_state
from monitor.input.records import CANONICAL, Disorder, Record, disordered, remains_of_late

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from monitor.input.reorder_window import Window

__all__ = ["Resequencer"]

REMEMBERED: Final = 10_000
"""Lines of a stream of which a repetition is recognised, the last ones; also its gaps."""

HELD: Final = 1_000_000
"""Lines that are held back, of all streams: with more, the stream of the last one gives up."""

HELD_BYTES: Final = 256 << 20
"""Bytes of what they say, likewise."""

_ENCODER: Final = msgspec.msgpack.Encoder()


class _Said(NamedTuple):
    """What a line says: a digest, and the bytes that it takes."""

    digest: bytes
    size: int


class Resequencer:
    """Puts the lines of each stream of a source in order: it holds back those that come early, and
    drops repetitions and what comes too late.

    A line is held back until all lines before it came, or until the window gives these up. What was
    given up is a gap of the stream that is passed on: a reader of it sees that lines are missing,
    and where. A line of a gap that comes after all is dropped and counted, and nothing is concluded
    of the claims that it names. A second line of one number that says the same is dropped and
    counted; one that says something else is passed on where it is, and a reader of it sees a
    number out of order, as without this class.

    A line without a number in a stream that has numbers may belong anywhere: it is passed on as it
    comes, as one that is out of order. Lines of recorded dialects are passed on as they come.

    Attributes:
        held: lines that are held back now, of all streams.
        disorder: what was out of order.
    """

    def __init__(self, window: Window) -> None:
        self._window = window
        self._streams: dict[str, _Stream] = {}
        self._bytes = 0
        self.held = 0
        self.disorder = Disorder()

    def snapshot(self) -> bytes:
        """The state, the lines that are held back included, for `restore`."""
        return _ENCODER.encode(_Kept(self._streams, self.disorder))

    @classmethod
    def restore(cls, window: Window, snapshot: bytes) -> Resequencer:
        """One that goes on where `snapshot` was taken.

        Raises:
            SpecError: it is none.
        """
        kept = kept_state(snapshot, _Kept, "the lines that were held back")
        found = cls(window)
        found._streams, found.disorder = kept.streams, kept.disorder
        found.held = sum(len(each.held) for each in kept.streams.values())
        found._bytes = sum(each.size for each in kept.streams.values())
        return found

    def take(self, record: Record) -> Iterable[Record]:
        """The lines that are in order from this one on."""
        if record.stamp.form != CANONICAL:
            return (record,)
        name = record.stamp.stream
        stream = self._streams.get(name) or self._streams.setdefault(name, _Stream())
        self.held, self._bytes = self.held - len(stream.held), self._bytes - stream.size
        found = [*stream.take(record, self._window, self.disorder)]
        self.held, self._bytes = self.held + len(stream.held), self._bytes + stream.size
        if self.held > HELD or self._bytes > HELD_BYTES:
            found += self._give_up(stream)
        return found

    def take_all(self, records: Iterable[Record]) -> Iterator[Record]:
        """The lines that are in order from these on."""
        return (each for record in records for each in self.take(record))

    def flush(self) -> Iterator[Record]:
        """All lines that are held back: no line comes any more that could stand before them."""
        for stream in self._streams.values():
            yield from self._give_up(stream)

    def _give_up(self, stream: _Stream) -> Iterator[Record]:
        self.held, self._bytes = self.held - len(stream.held), self._bytes - stream.size
        return stream.give_up()


class _Stream(msgspec.Struct, array_like=True):
    """One stream: the next number, the lines that are held back, and what is known of others.

    Attributes:
        size: bytes of what the lines say that are held back.
        held: the lines that are held back, by their numbers, each with what it says.
        said: a digest of each of the last lines that were passed on.
        gaps: the first and the last number of each gap that was given up, in their order.
        newest: the highest time so far.
        time: that of the last line that was passed on.
        numbered: a line had a number.
        unplaced: an event without one came before, and no line since.
    """

    next: int = 0
    size: int = 0
    held: dict[int, tuple[Record, _Said]] = {}
    numbers: list[int] = []  # a heap of those that are held
    said: dict[int, bytes] = {}
    gaps: list[tuple[int, int]] = []
    newest: int | None = None
    time: int | None = None
    numbered: bool = False
    unplaced: bool = False

    def __post_init__(self) -> None:
        self.said = OrderedDict(self.said)

    def take(self, record: Record, window: Window, disorder: Disorder) -> Iterator[Record]:
        number, time = record.stamp.sequence, record.stamp.time_ns
        if time is not None and (self.newest is None or time > self.newest):
            self.newest = time
        if number is not None:
            self.numbered = True
            yield from self._place(number, record, disorder)
        elif self.numbered:
            yield disordered(record)
        else:
            self.unplaced = self.unplaced or record.stamp.mark is None
            yield record
        while self.held and self._is_due(window):
            yield from self._skip()

    def give_up(self) -> Iterator[Record]:
        while self.held:
            yield from self._skip()

    def _place(self, number: int, record: Record, disorder: Disorder) -> Iterator[Record]:
        said = _content(record)
        held = self.held.get(number)
        known = self.said.get(number) if held is None else held[1].digest
        if known == said.digest:
            disorder.duplicates += 1
        elif known is None and number >= self.next:
            if number > self.next:
                disorder.held += 1
            self.held[number] = record, said
            self.size += said.size
            heapq.heappush(self.numbers, number)
            yield from self._in_order()
        elif known is None and self._is_given_up(number):
            disorder.late += 1
            if (left := remains_of_late(record, self.time)) is not None:
                yield left
        else:  # or it was passed on so long ago that it is unknown what it said
            disorder.contradicting += 1
            yield record

    def _is_due(self, window: Window) -> bool:
        """Whether the lines before the first that is held back are given up."""
        if len(self.held) > window.lines:
            return True
        if window.nanoseconds is None or self.newest is None:
            return False
        time = self.held[self.numbers[0]][0].stamp.time_ns
        return time is not None and time < self.newest - window.nanoseconds

    def _skip(self) -> Iterator[Record]:
        """Pass on the first line that is held back, though others are missing before it."""
        first = self.numbers[0]
        self.gaps.append((self.next, first - 1))
        if len(self.gaps) > REMEMBERED:
            del self.gaps[0]
        self.next = first
        yield from self._in_order()

    def _in_order(self) -> Iterator[Record]:
        while self.numbers and self.numbers[0] == self.next:
            heapq.heappop(self.numbers)
            record, said = self.held.pop(self.next)
            self.said[self.next] = said.digest
            self.size -= said.size
            if len(self.said) > REMEMBERED:
                del self.said[next(iter(self.said))]
            self.next += 1
            self.time = record.stamp.time_ns
            yield disordered(record) if self.unplaced else record
            self.unplaced = False

    def _is_given_up(self, number: int) -> bool:
        place = bisect_right(self.gaps, number, key=itemgetter(0)) - 1
        return place >= 0 and number <= self.gaps[place][1]


def _content(record: Record) -> _Said:
    """All that a canonical line says."""
    stamp = record.stamp
    observes = None if stamp.observes is None else sorted(stamp.observes)
    events = [event for event, _ in record.events]
    said = _ENCODER.encode((stamp.sequence, stamp.time_ns, stamp.mark, observes, events))
    return _Said(blake2b(said, digest_size=16).digest(), len(said))


class _Kept(msgspec.Struct, array_like=True):
    """What a checkpoint keeps."""

    streams: dict[str, _Stream]
    disorder: Disorder
