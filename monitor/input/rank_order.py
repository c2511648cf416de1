"""Joins the lines of an engine's ranks into one stream; states where their order is unknown."""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from monitor.input.records import Doubt, Record, remains_of_late
from spec.events.alphabet import Kind
from spec.events.canonical import Event, Mark

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["TIED", "OneStream", "RankLine", "commute"]

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

_TIE: Final = "ranks observed events at one time, and their order is unknown"


class RankLine(NamedTuple):
    """A line of a rank. Its time never falls: what a rank wrote stays in its order.

    `number` counts the lines of the rank. `after` says why lines of the rank may be missing between
    this one and its next one; `before` the same of the one before it, where that was passed on
    first. Each reason has whether a line was not understood. `size` is the bytes that it takes.
    """

    time: int
    rank: int
    number: int
    record: Record
    after: dict[str, bool] | None = None
    before: dict[str, bool] | None = None
    size: int = 0


def commute(one: Event, other: Event) -> bool:
    """Whether no verdict depends on which of two events came first: they are reports about two
    claims, and not on one object.
    """
    if not {one.kind, other.kind} <= _OWN or one.claim_id == other.claim_id:
        return False
    return one.object_id is None or one.object_id != other.object_id


class OneStream(msgspec.Struct, array_like=True):
    """The lines of ranks as one stream. The last one is held back: what follows may say that less
    is concluded of a claim from there on.

    Attributes:
        name: of the stream.
        file: the file that the stream is said to be of.
        ranks: how many there are.
        observes: what all ranks observe; None where that is all.
        missing: the ranks of which lines may be missing from here to their next ones, and why.
        lost: why lines may be missing before the next one of the stream; each reason has whether a
            line was not understood.
    """

    name: str
    file: str
    ranks: int
    observes: frozenset[Kind] | None = None
    missing: dict[int, dict[str, bool]] = {}
    lost: dict[str, bool] = {}
    _held: Record | None = None
    _numbers: int = 0
    _opened: bool = False
    _closed: set[int] = set()
    _again: Record | None = None  # the mark of a run of which no line was passed on yet

    def take(self, group: Sequence[RankLine], *, many: bool = False) -> Iterator[Record]:
        """Lines of one time.

        Args:
            many: there are too many to compare.
        """
        unknown, alike = (True, set[str]()) if many else _order_of(group)
        doubts = tuple(Doubt(_TIE, claim_id) for claim_id in sorted(alike))
        self._doubt(doubts)
        tied = {_TIE: False} if unknown else {}
        if len(group) > 1:
            # What is missing beside one of them may have their time, and be before or after each.
            for whys in (*self.missing.values(), *(w for e in group for w in (e.before, e.after))):
                tied |= whys or {}
        for line in group:
            for whys in (*self.missing.values(), tied, line.before):
                self.lost |= whys or {}
            self.missing.pop(line.rank, None)
            if line.after:
                self.missing[line.rank] = line.after
            if (own := self._own(line)) is not None:
                yield from self._add(*own)
        self._doubt(doubts)
        self.lost |= tied

    def late(self, record: Record, time: int | None) -> Iterator[Record]:
        """A line that came too late: no more of it is taken than which claims it names.

        Args:
            time: of the last line.
        """
        for whys in self.missing.values():
            self.lost |= whys
        if (left := remains_of_late(record, time)) is not None:
            yield from self._add(left, None)

    def begin_again(self, mark: Record) -> None:
        """Another run begins, which may have another clock.

        Args:
            mark: the line that opens it.
        """
        self._opened, self._again, self._numbers = True, mark, 0
        self._closed.clear()

    def end(self) -> Iterator[Record]:
        """No line comes any more."""
        why = "; ".join({why: None for whys in (self.lost, *self.missing.values()) for why in whys})
        self._doubt((Doubt(why),) if why else ())
        if self._held is not None:
            yield self._held

    def _doubt(self, doubts: tuple[Doubt, ...]) -> None:
        if doubts and self._held is not None:
            every = (*self._held.doubts, *doubts)
            self._held = replace(self._held, doubts=every)

    def _own(self, line: RankLine) -> tuple[Record, frozenset[Kind] | None] | None:
        """The line, if the stream has it, and what is observed from there on, if it says so. The
        first mark that opens it, the last that closes it, and those that say again what is
        observed, are its own.
        """
        record, observes = line.record, None
        self._closed.discard(line.rank)
        if record.stamp.mark is Mark.STREAM_OPENED:
            if self._again is not None:
                return None
            if line.number and record.stamp.observes is not None:
                observes = record.stamp.observes  # a rank that is opened again may observe less
            elif self._opened:
                return None
            else:
                observes = self.observes
            self._opened = True
        elif record.stamp.mark is Mark.STREAM_CLOSED:
            self._closed.add(line.rank)
            if len(self._closed) < self.ranks:
                return None
        return record, observes

    def _add(self, record: Record, observes: frozenset[Kind] | None) -> Iterator[Record]:
        """Hold the record back instead of the one that was."""
        if (mark := self._again) is not None:
            # No line runs backwards where the mark that comes first has the time of the next one.
            stamp = replace(mark.stamp, time_ns=record.stamp.time_ns)
            self._again = None
            yield from self._add(replace(mark, stamp=stamp), self.observes)
        stamp = replace(
            record.stamp,
            stream=self.name,
            sequence=self._numbers,
            file=self.file,
            alone="",
            observes=observes,
            rank=None,
            ranks=0,
            engine="",
        )
        self._numbers += 1
        whys = {**self.lost, record.lost: False, record.unread: True}
        lost, unread = (
            "; ".join(why for why, of in whys.items() if why and of is is_unread)
            for is_unread in (False, True)
        )
        self.lost.clear()
        new = replace(record, stamp=stamp, lost=lost, unread=unread)
        held, self._held = self._held, new
        if held is not None:
            yield held


def _order_of(group: Sequence[RankLine]) -> tuple[bool, set[str]]:
    """Whether it is unknown what lines of one time come to; if not, of which claims alone it is."""
    alike = set[str]()
    for one, other in combinations(group, 2):
        if one.rank == other.rank:
            continue
        for (first, _), (second, _) in product(one.record.events, other.record.events):
            if commute(first, second):
                continue
            if {first.kind, second.kind} <= _OWN and first.claim_id == second.claim_id:
                alike.add(first.claim_id or "")
            else:
                return True, set()
    return False, alike
