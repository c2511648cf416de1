"""Reads the files of an engine's ranks as one stream, in the order of the time that all state."""

from __future__ import annotations

import heapq
from itertools import combinations, islice
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from monitor.input.errors import InputError
from monitor.input.lines import STDIN, Lines
from monitor.input.records import CANONICAL, Doubt
from monitor.input.sources import Source, read
from spec.events.alphabet import FACTS, Kind
from spec.events.canonical import Event, Mark, StreamMark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import BinaryIO

    from monitor.input.batches import Batch
    from monitor.input.records import Record, Stamp
    from monitor.input.sources import Account

__all__ = ["TIED", "Merged", "Rank", "commute", "engines_in"]

TIED: Final = 100
"""Lines of one time, of which more are not compared with each other."""

_OWN: Final = frozenset(
    {
        Kind.CLAIM_MATERIALIZED,
        Kind.CLAIM_UNMATERIALIZED,
        Kind.CLAIM_OFFLOADED,
        Kind.CLAIM_HARMED,
        Kind.CLAIM_BLOCK_LOST,
    }
)
"""Reports that are delivered to the claim that they name and to no other."""

_END: Final = 1 << 64
_TIE: Final = "ranks observed events at one time, and their order is unknown"
_HINT: Final = "the file of a rank has nothing but its own lines, and time_ns on each event"


class Rank(NamedTuple):
    """A file that begins with the mark of one rank; what it observes is None where that is all."""

    rank: int
    ranks: int
    engine: str
    path: str
    observes: frozenset[str] | None


class _Line(NamedTuple):
    """A line of a rank. Its time never falls: what a rank wrote stays in its order.

    `after` says why lines of the rank may be missing between this one and its next one.
    """

    time: int
    rank: int
    number: int
    record: Record
    after: str = ""


def engines_in(paths: Sequence[str]) -> list[tuple[Rank, ...]]:
    """The engines of which all ranks are among some files, each once, in their order."""
    found: dict[str, list[Rank]] = {}
    for path in dict.fromkeys(paths):
        if (rank := _rank_of(path)) is not None:
            found.setdefault(rank.engine, []).append(rank)
    every = (tuple(sorted(ranks, key=lambda each: each.rank)) for ranks in found.values())
    return [
        ranks
        for ranks in every
        if [(number, len(ranks)) for number in range(len(ranks))] == [each[:2] for each in ranks]
    ]


def _rank_of(path: str) -> Rank | None:
    """Which rank the first line of a file says that it is, if any."""
    if path == STDIN:
        return None
    lines = Lines(path).blocks()
    try:
        block = next(lines, b"")
        first = block.splitlines()[0] if isinstance(block, bytes) and block else b""
        mark = msgspec.json.decode(first, type=StreamMark)
    except (InputError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None  # whoever reads the file finds what is wrong
    finally:
        lines.close()  # type: ignore[attr-defined]
    opens = mark.kind is Mark.STREAM_OPENED and mark.sequence in (None, 0)
    if not opens or mark.rank is None or mark.ranks in (None, 1):
        return None
    observes = None if mark.observes is None else frozenset(mark.observes)
    return Rank(mark.rank, mark.ranks or 0, mark.stream, path, observes)


def commute(one: Event, other: Event) -> bool:
    """Whether no verdict depends on which of two events came first: they are reports about two
    claims, and not on one object.
    """
    if not {one.kind, other.kind} <= _OWN or one.claim_id == other.claim_id:
        return False
    return one.object_id is None or one.object_id != other.object_id


class Merged:
    """The records of some files, those of the ranks of each engine as one stream.

    Arguments are those of `read`. Iterate once, or over batches once.

    Args:
        engines: as `engines_in` finds them.
    """

    def __init__(
        self,
        paths: Sequence[str],
        engines: Sequence[tuple[Rank, ...]],
        *,
        lenient: bool = False,
        stdin: BinaryIO | None = None,
        on_reject: Callable[[InputError], None] | None = None,
    ) -> None:
        self._engines = {ranks[0].path: ranks for ranks in engines}
        others = {each.path for ranks in engines for each in ranks[1:]}
        self._paths = [path for path in dict.fromkeys(paths) if path not in others]
        self._lenient, self._stdin, self._on_reject = lenient, stdin, on_reject
        self._sources: list[Source] = []

    @property
    def accounts(self) -> list[Account]:
        """What was read of each file."""
        return [account for source in self._sources for account in source.accounts]

    @property
    def size(self) -> int:
        """Bytes read so far."""
        return sum(source.size for source in self._sources)

    def __iter__(self) -> Iterator[Record]:
        """The records.

        Raises:
            InputError: as `Source` does, and where a line of a rank has no time or is of another
                stream.
        """
        for path in self._paths:
            of = self._engines.get(path)
            yield from self._source(path, self._on_reject) if of is None else self._merge(of)

    def batches(self) -> Iterator[Batch | Record]:
        """The same; the lines of other streams many at a time."""
        for path in self._paths:
            if (of := self._engines.get(path)) is not None:
                yield from self._merge(of)
            else:
                yield from self._source(path, self._on_reject).batches()

    def _source(self, path: str, on_reject: Callable[[InputError], None] | None) -> Source:
        source = read([path], lenient=self._lenient, stdin=self._stdin, on_reject=on_reject)
        self._sources.append(source)
        return source

    def _merge(self, ranks: Sequence[Rank]) -> Iterator[Record]:
        """The lines of all ranks in the order of time."""
        merging, lines = _Merging(ranks), [self._lines(each) for each in ranks]
        waiting = [line for each in lines for line in islice(each, 1)]
        heapq.heapify(waiting)

        def popped() -> _Line:
            line = waiting[0]
            if (after := next(lines[line.rank], None)) is None:
                return heapq.heappop(waiting)
            return heapq.heapreplace(waiting, after)

        while waiting:
            time = waiting[0].time
            if sum(line.time == time for line in waiting) == 1:
                yield from merging.take([popped()])
                continue
            many = False
            while waiting and waiting[0].time == time:
                group = [popped()]
                while len(group) < TIED and waiting and waiting[0].time == time:
                    group.append(popped())
                many = many or (bool(waiting) and waiting[0].time == time)
                yield from merging.take(group, many=many)
        yield from merging.end()

    def _lines(self, of: Rank) -> Iterator[_Line]:
        """The lines of a rank, each of which is read after the next one is known."""
        last: _Line | None = None
        time, expected, missing = 0, 0, list[str]()

        def reject(error: InputError) -> None:
            missing.append(f"line {error.line} of rank {of.rank} could not be read")
            if self._on_reject is not None:
                self._on_reject(error)

        source = self._source(of.path, reject)
        for number, record in enumerate(source):
            if fault := _fault(record, of):
                error = InputError(of.path, fault, line=record.at.line, hint=_HINT)
                if not self._lenient:
                    raise error
                (account,) = source.accounts
                account.rejected += 1
                account.rejection = account.rejection or error
                reject(error)
                continue
            stamp, out_of_order = record.stamp, False
            if stamp.sequence is not None:
                out_of_order = stamp.sequence < expected
                if stamp.sequence > expected:
                    missing.append(f"lines of rank {of.rank} are missing")
                expected = stamp.sequence + 1
            if number and stamp.mark is Mark.STREAM_OPENED:
                missing.append(f"rank {of.rank} is opened twice")
            time = max(time, _time_of(stamp))
            if last is not None:
                yield last._replace(after="; ".join(missing))
            last = _Line(time, of.rank, number, _disordered(record) if out_of_order else record)
            missing.clear()
        if last is not None:
            if last.record.stamp.mark is not Mark.STREAM_CLOSED:
                missing.append(f"rank {of.rank} was cut: stream_closed is not its last line")
            yield last._replace(after="; ".join(missing))


def _time_of(stamp: Stamp) -> int:
    """The time of a line. A mark may have none: it is before or behind all others."""
    if stamp.time_ns is None:
        return _END if stamp.mark is Mark.STREAM_CLOSED else 0
    return stamp.time_ns


def _fault(record: Record, of: Rank) -> str:
    """What a line of a rank lacks; empty where it is as it should be."""
    stamp = record.stamp
    if stamp.stream != of.engine or stamp.form is not CANONICAL:
        return f"the line is of another stream than rank {of.rank} of {of.engine}"
    if record.events and stamp.time_ns is None:
        return f"rank {of.rank} states no time for an event"
    return ""


def _disordered(record: Record) -> Record:
    """The line, which is out of order."""
    disorder = Event(kind=Kind.STREAM_DISORDER)
    return msgspec.structs.replace(record, events=((disorder, record.at), *record.events))


class _Merging:
    """Puts the lines of ranks together, as lines of one stream. The last one is held back: what
    follows may say that less is concluded of a claim from there on.
    """

    def __init__(self, ranks: Sequence[Rank]) -> None:
        sets = [each.observes for each in ranks if each.observes is not None]
        self._observes = frozenset(FACTS).intersection(*sets) if sets else None
        self._file, self._ranks = ranks[0].path, {each.rank for each in ranks}
        self._held: Record | None = None
        self._numbers, self._opened = 0, False
        self._closed = set[int]()
        self._open: dict[int, str] = {}  # ranks of which lines may be missing now
        self._lost: dict[str, None] = {}  # why lines may be missing before the next one

    def take(self, group: Sequence[_Line], *, many: bool = False) -> Iterator[Record]:
        """Lines of one time.

        Args:
            many: there are too many to compare.
        """
        unknown, alike = (True, set[str]()) if many else _order_of(group)
        doubts = tuple(Doubt(_TIE, claim_id) for claim_id in sorted(alike))
        self._doubt(doubts)
        for line in group:
            self._lost |= dict.fromkeys(self._open.values())
            self._lost |= {_TIE: None} if unknown else {}
            self._open.pop(line.rank, None)
            if line.after:
                self._open[line.rank] = line.after
            if (record := self._stamped(line)) is not None:
                if self._held is not None:
                    yield self._held
                self._held = record
        self._doubt(doubts)
        self._lost |= {_TIE: None} if unknown else {}

    def end(self) -> Iterator[Record]:
        """No line comes any more."""
        why = "; ".join(self._lost | dict.fromkeys(self._open.values()))
        self._doubt((Doubt(why),) if why else ())
        if self._held is not None:
            yield self._held

    def _doubt(self, doubts: tuple[Doubt, ...]) -> None:
        if doubts and self._held is not None:
            every = (*self._held.doubts, *doubts)
            self._held = msgspec.structs.replace(self._held, doubts=every)

    def _stamped(self, line: _Line) -> Record | None:
        """The line as one of the stream: the first mark that opens it, the last that closes it, and
        those that say again what is observed, are its own.
        """
        record, observes = line.record, None
        self._closed.discard(line.rank)
        if record.stamp.mark is Mark.STREAM_OPENED:
            if line.number and record.stamp.observes is not None:
                observes = record.stamp.observes  # a rank that is opened again may observe less
            elif self._opened:
                return None
            else:
                observes = self._observes
            self._opened = True
        elif record.stamp.mark is Mark.STREAM_CLOSED:
            self._closed.add(line.rank)
            if self._closed != self._ranks:
                return None
        stamp = msgspec.structs.replace(
            record.stamp, sequence=self._numbers, file=self._file, alone="", observes=observes
        )
        self._numbers += 1
        lost = "; ".join(self._lost)
        self._lost.clear()
        return msgspec.structs.replace(record, stamp=stamp, lost=lost)


def _order_of(group: Sequence[_Line]) -> tuple[bool, set[str]]:
    """Whether it is unknown what lines of one time come to; if not, of which claims alone it is."""
    alike = set[str]()
    for one, other in combinations(group, 2):
        if one.rank == other.rank:
            continue
        for (first, _), (second, _) in (
            (a, b) for a in one.record.events for b in other.record.events
        ):
            if commute(first, second):
                continue
            if {first.kind, second.kind} <= _OWN and first.claim_id == second.claim_id:
                alike.add(first.claim_id or "")
            else:
                return True, set()
    return False, alike
