"""Puts the canonical lines of each stream into the order of their sequence numbers."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections import OrderedDict
from dataclasses import dataclass, field
from hashlib import blake2b
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from monitor.input.records import CANONICAL, OUT_OF_ORDER, Disorder, Doubt, Record
from spec.language.errors import SpecError

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

_TOO_LATE: Final = "an event that names it came too late"
_ENCODER: Final = msgspec.msgpack.Encoder()


class _Said(NamedTuple):
    """What a line says: a digest, and the bytes that it takes."""

    digest: bytes
    size: int


class _State(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of one stream."""

    file: str
    name: str
    next: int
    held: list[Record]
    said: list[tuple[int, bytes]]
    gaps: list[tuple[int, int]]
    newest: int | None
    numbered: bool
    unplaced: bool
    time: int | None = None


class _States(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of all."""

    streams: list[_State]
    disorder: dict[str, Disorder]


class Resequencer:
    """Holds back the lines that come early, and drops repetitions and what comes too late.

    A line is held back until all lines before it came, or until the window gives these up. What was
    given up is a gap of the stream that is passed on: a reader of it sees that lines are missing,
    and where. A line of a gap that comes after all is dropped and counted, and nothing is concluded
    of the claims that it names. A second line of one number that says the same is dropped and
    counted; one that says something else is passed on where it is, and a reader of it sees a
    number out of order, as without this class.

    A line without a number in a stream that has numbers may belong anywhere: it is passed on as it
    comes, after a `stream_disorder`. Lines of recorded dialects are passed on as they come.
    """

    def __init__(self, window: Window) -> None:
        self._window = window
        self._streams: dict[tuple[str, str], _Stream] = {}
        self._disorder: dict[str, Disorder] = {}
        self._held = self._bytes = 0

    def snapshot(self) -> bytes:
        """The state, the lines that are held back included, for `restore`."""
        streams = [stream.state(*place) for place, stream in self._streams.items()]
        return _ENCODER.encode(_States(streams, self._disorder))

    @classmethod
    def restore(cls, window: Window, snapshot: bytes) -> Resequencer:
        """One that goes on where `snapshot` was taken.

        Raises:
            SpecError: it is none.
        """
        try:
            states = msgspec.msgpack.decode(snapshot, type=_States)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise SpecError(f"the lines that were held back cannot be read: {error}") from None
        found = cls(window)
        found._disorder = states.disorder
        for state in states.streams:
            stream = found._streams[state.file, state.name] = _Stream.of(
                state, window, found.disorder(state.file)
            )
            found._held, found._bytes = found._held + len(stream), found._bytes + stream.size
        return found

    def take(self, record: Record) -> Iterable[Record]:
        """The lines that are in order from this one on."""
        if record.stamp.form is not CANONICAL:
            return (record,)
        stream = self._stream(record)
        lines, size = len(stream), stream.size
        found = list(stream.take(record))
        self._held, self._bytes = (
            self._held + len(stream) - lines,
            self._bytes + stream.size - size,
        )
        if self._held > HELD or self._bytes > HELD_BYTES:
            found += self._give_up(stream)
        return found

    def take_all(self, records: Iterable[Record]) -> Iterator[Record]:
        """The lines that are in order from these on."""
        return (each for record in records for each in self.take(record))

    def flush(self, file: str | None = None) -> Iterator[Record]:
        """All lines that are held back: no line comes any more that could stand before them.

        Args:
            file: of this file alone.
        """
        for (of, _), stream in self._streams.items():
            if file in (None, of):
                yield from self._give_up(stream)

    def watermark(self, file: str, stream: str) -> int:
        """The number before which no line of a stream is taken any more; it never falls."""
        found = self._streams.get((file, stream))
        return 0 if found is None else found.next

    @property
    def held(self) -> int:
        """Lines that are held back now, of all streams."""
        return self._held

    def disorder(self, file: str) -> Disorder:
        """What was out of order in a file."""
        return self._disorder.setdefault(file, Disorder())

    def _give_up(self, stream: _Stream) -> Iterator[Record]:
        self._held, self._bytes = self._held - len(stream), self._bytes - stream.size
        return stream.give_up()

    def _stream(self, record: Record) -> _Stream:
        file, name = record.at.file, record.stamp.stream
        stream = self._streams.get((file, name))
        if stream is None:
            stream = self._streams[file, name] = _Stream(self._window, self.disorder(file))
        return stream


@dataclass(slots=True)
class _Stream:
    """One stream: the next number, the lines that are held back, and what is known of others.

    `_said` has a digest of each of the last lines that were passed on, `_gaps` the first and the
    last number of each gap that was given up.
    """

    window: Window
    disorder: Disorder
    next: int = 0
    size: int = 0  # of what the lines say that are held back
    _held: dict[int, tuple[Record, _Said]] = field(default_factory=dict)
    _numbers: list[int] = field(default_factory=list)  # a heap of those that are held
    _said: OrderedDict[int, bytes] = field(default_factory=OrderedDict)
    _gaps: list[tuple[int, int]] = field(default_factory=list)  # in their order
    _newest: int | None = None  # the highest time that was seen
    _time: int | None = None  # that of the last line that was passed on
    _numbered: bool = False  # a line had a number
    _unplaced: bool = False  # an event without one came before, and no line since

    def __len__(self) -> int:
        return len(self._held)

    @classmethod
    def of(cls, state: _State, window: Window, disorder: Disorder) -> _Stream:
        found = cls(
            window,
            disorder,
            state.next,
            _said=OrderedDict(state.said),
            _gaps=state.gaps,
            _newest=state.newest,
            _numbered=state.numbered,
            _unplaced=state.unplaced,
            _time=state.time,
        )
        for record in state.held:
            stamp = msgspec.structs.replace(record.stamp, form=CANONICAL)
            found._hold(msgspec.structs.replace(record, stamp=stamp), _content(record))
        return found

    def state(self, file: str, name: str) -> _State:
        return _State(
            file,
            name,
            self.next,
            [record for record, _ in self._held.values()],
            list(self._said.items()),
            self._gaps,
            self._newest,
            self._numbered,
            self._unplaced,
            self._time,
        )

    def take(self, record: Record) -> Iterator[Record]:
        number, time = record.stamp.sequence, record.stamp.time_ns
        if time is not None and (self._newest is None or time > self._newest):
            self._newest = time
        if number is not None:
            self._numbered = True
            yield from self._place(number, record)
        elif self._numbered:
            yield _disordered(record)
        else:
            self._unplaced = self._unplaced or record.stamp.mark is None
            yield record
        while self._held and self._is_due():
            yield from self._skip()

    def give_up(self) -> Iterator[Record]:
        while self._held:
            yield from self._skip()

    def _place(self, number: int, record: Record) -> Iterator[Record]:
        said = _content(record)
        held = self._held.get(number)
        known = self._said.get(number) if held is None else held[1].digest
        if known == said.digest:
            self.disorder.duplicates += 1
        elif known is None and number >= self.next:
            if number > self.next:
                self.disorder.held += 1
            self._hold(record, said)
            yield from self._in_order()
        elif known is None and self._is_given_up(number):
            self.disorder.late += 1
            yield from self._late(record)
        else:  # or it was passed on so long ago that it is unknown what it said
            self.disorder.contradicting += 1
            yield record

    def _late(self, record: Record) -> Iterator[Record]:
        """What remains of a line that comes too late: the claims that it names had a life of which
        something is missing, whenever they come.
        """
        events = [event for event, _ in record.events]
        named = {n for e in events for n in (e.claim_id, e.outcome_claim_id, *e.accused) if n}
        doubts = tuple(Doubt(_TOO_LATE, name) for name in sorted(named))
        if doubts:
            stamp = msgspec.structs.replace(
                record.stamp, sequence=None, time_ns=self._time, mark=None, observes=None
            )
            yield msgspec.structs.replace(record, stamp=stamp, events=(), doubts=doubts)

    def _hold(self, record: Record, said: _Said) -> None:
        number = record.stamp.sequence
        assert number is not None
        self._held[number] = record, said
        self.size += said.size
        heapq.heappush(self._numbers, number)

    def _is_due(self) -> bool:
        """Whether the lines before the first that is held back are given up."""
        if len(self._held) > self.window.lines:
            return True
        if self.window.nanoseconds is None or self._newest is None:
            return False
        time = self._held[self._numbers[0]][0].stamp.time_ns
        return time is not None and time < self._newest - self.window.nanoseconds

    def _skip(self) -> Iterator[Record]:
        """Pass on the first line that is held back, though others are missing before it."""
        first = self._numbers[0]
        self._gaps.append((self.next, first - 1))
        if len(self._gaps) > REMEMBERED:
            del self._gaps[0]
        self.next = first
        yield from self._in_order()

    def _in_order(self) -> Iterator[Record]:
        while self._numbers and self._numbers[0] == self.next:
            heapq.heappop(self._numbers)
            record, said = self._held.pop(self.next)
            self._said[self.next] = said.digest
            self.size -= said.size
            if len(self._said) > REMEMBERED:
                self._said.popitem(last=False)
            self.next += 1
            self._time = record.stamp.time_ns
            yield _disordered(record) if self._unplaced else record
            self._unplaced = False

    def _is_given_up(self, number: int) -> bool:
        place = bisect_right(self._gaps, number, key=itemgetter(0)) - 1
        return place >= 0 and number <= self._gaps[place][1]


def _disordered(record: Record) -> Record:
    """The same line, which may belong to another place of its stream."""
    return msgspec.structs.replace(record, lost=record.lost or OUT_OF_ORDER)


def _content(record: Record) -> _Said:
    """All that a canonical line says."""
    stamp = record.stamp
    observes = None if stamp.observes is None else sorted(stamp.observes)
    events = [event for event, _ in record.events]
    said = _ENCODER.encode((stamp.sequence, stamp.time_ns, stamp.mark, observes, events))
    return _Said(blake2b(said, digest_size=16).digest(), len(said))
