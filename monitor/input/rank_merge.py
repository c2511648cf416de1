"""Merges the ranks of one engine while they are written, in the order of their `time_ns`.

A line is passed on when no rank can have an earlier one any more. A rank that is silent holds the
others back until its reader calls `overtake`.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

import msgspec

from monitor.input import rank_order
from monitor.input.rank_lines import END, RankLine, RankReader, ReaderState, time_of
from monitor.input.rank_order import OneStream, OneStreamState
from monitor.input.records import CANONICAL, Record
from spec.events.alphabet import FACTS, Kind
from spec.events.canonical import Mark
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["HELD_BYTES", "RankMerge"]

HELD_BYTES: Final = 256 << 20
"""Bytes of lines of one engine that may be held back."""

_NEVER: Final = END + 1  # later than all lines
_AGAIN: Final = "a rank was opened again, and not all ranks were closed"


class _RankState(msgspec.Struct, frozen=True, array_like=True):
    reader: ReaderState
    waiting: list[RankLine]
    over: bool
    ended: bool
    behind: str
    observes: list[Kind] | None
    run: int
    begun: bool


class _State(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a merge."""

    ranks: list[_RankState]
    stream: OneStreamState
    watermark: int
    begun: int | None
    newest: int
    late: int
    run: int


class _Rank:
    """One rank: the lines of it that wait for those of others."""

    def __init__(self, number: int) -> None:
        self.reader = RankReader(number)
        self.waiting: deque[RankLine] = deque()
        self.over = False  # it ended, and others do not wait for it
        self.ended = False  # it ended in the run before this one
        self.behind = ""  # why others do not wait for it, though it goes on
        self.observes: frozenset[Kind] | None = None
        self.run = 0  # of its lines, counted by the marks that open one
        self.begun = False  # there was a line of any run

    def open(self) -> None:
        """A mark opens a run: the first one, or another."""
        self.run += self.begun

    @property
    def frontier(self) -> int:
        """The time before which it has no more lines than those that wait."""
        if self.over or self.behind:
            return _NEVER
        return self.reader.time if self.reader.started else -1

    @property
    def held(self) -> Iterator[RankLine]:
        """The lines that are held back."""
        yield from self.waiting
        if self.reader.last is not None:
            yield self.reader.last


class RankMerge:
    """The ranks of one engine, as one stream. Its watermark, the time of the last line that was
    passed on, never falls within a run.

    The others go on without a rank that is silent once `overtake` is called, or more than `lines`
    or `HELD_BYTES` are held back. From there to its next line lines count as
    missing. What it has from before the watermark is late: dropped and counted, and nothing is
    concluded of the claims that it names. Where a rank is opened again, another run begins: what
    others have of the runs before is left out and counted, too.

    Args:
        engine: its name, which the stream has.
        file: the file that the stream is said to be of.
        ranks: how many there are.
        lines: how many lines may be held back.
    """

    def __init__(self, engine: str, file: str, ranks: int, lines: int) -> None:
        self._lines, self._ranks = lines, [_Rank(number) for number in range(ranks)]
        self._stream = OneStream(engine, file, ranks)
        self._begun: int | None = None  # the first time of all
        self._run = 0
        self.newest = 0
        self.watermark = -1
        self.late = 0
        self.notes: list[tuple[int, str]] = []  # ranks that are not waited for, and why
        self.held = self._bytes = 0

    @property
    def is_half_full(self) -> bool:
        """Whether half of what may be held back is."""
        return self.held > self._lines // 2 or self._bytes > HELD_BYTES // 2

    @property
    def missing(self) -> list[int]:
        """Ranks of which there was no line."""
        return [rank for rank, each in enumerate(self._ranks) if not each.reader.started]

    def is_over(self, rank: int) -> bool:
        """Whether a rank ended, and has not begun again."""
        each = self._ranks[rank]
        return each.over or (each.ended and not each.reader.started)

    def blocking(self) -> list[int]:
        """The ranks whose next lines those that wait need."""
        time, _, blocking = self._next()
        return [] if time is None else [each.reader.rank for each in blocking]

    def silence(self, rank: int) -> int:
        """How far a rank is behind the newest line of all, in nanoseconds by their times."""
        frontier = self._ranks[rank].frontier
        since = frontier if frontier >= 0 else self._begun
        return 0 if since is None else max(0, self.newest - max(since, self._begun or 0))

    def take(self, rank: int, record: Record, size: int = 0) -> Iterator[Record]:
        """The lines of the stream that are in order from this one on."""
        each, stamp = self._ranks[rank], record.stamp
        opens = stamp.mark is Mark.STREAM_OPENED
        if opens and stamp.sequence in (None, 0):
            each.open()
        each.begun = True
        if each.run > self._run:
            yield from self._begin_again(record, each.run)
            each = self._ranks[rank]
        elif each.run < self._run:  # of a run that is over
            self.late += stamp.mark is None
            return
        if opens:
            each.observes = stamp.observes
            self._look_at_observed()
        if (time := stamp.time_ns) is not None:
            self.newest = max(self.newest, time)
            self._begun = time if self._begun is None else self._begun
        early = each.reader.closed or max(each.reader.time, time_of(stamp)) <= self.watermark
        if each.frontier == _NEVER and early:
            yield from self._late(each, record)
        else:
            each.over, each.behind = False, ""
            self._wait(each, each.reader.take(record, size), size)
            if stamp.mark is Mark.STREAM_CLOSED:
                self._close(each)
            yield from self._release()
        while self.held > self._lines or self._bytes > HELD_BYTES:
            for number in self.blocking() or range(len(self._ranks)):
                yield from self.overtake(number, "more lines waited for it than are held back")

    def lose(self, rank: int, why: str) -> None:
        """Lines of a rank may be missing before its next one."""
        each = self._ranks[rank]
        if each.reader.last is None:
            self._stream.open(rank, why)
        each.reader.lose(why)

    def lose_all(self, why: str) -> None:
        """The same of every rank."""
        for rank in range(len(self._ranks)):
            self.lose(rank, why)

    def interrupt(self, rank: int, why: str) -> None:
        """The number of the next line says whether lines are missing before it."""
        self._ranks[rank].reader.interrupt(why)

    def overtake(self, rank: int, why: str) -> Iterator[Record]:
        """Wait no longer for a rank; the lines that waited for it."""
        each = self._ranks[rank]
        why = f"rank {rank} is behind: {why}"
        each.behind = why
        self.notes.append((rank, why))
        if not self._wait(each, each.reader.flush(why)) and not each.waiting:
            self._stream.open(rank, why)
        yield from self._release()

    def end_of(self, rank: int) -> Iterator[Record]:
        """No more comes of a rank from where it was read; the lines that waited for it."""
        each = self._ranks[rank]
        if not each.over and each.reader.started:
            if not self._wait(each, each.reader.end()) and not each.waiting:
                self._stream.open(rank, f"rank {rank} was cut: stream_closed is not its last line")
            each.over = True
        yield from self._release()

    def end(self) -> Iterator[Record]:
        """No more comes of any rank; all lines that are held back."""
        for rank, each in enumerate(self._ranks):
            if not each.reader.started:
                self._stream.open(rank, f"rank {rank} of {len(self._ranks)} is missing")
                each.over = True
        for rank in range(len(self._ranks)):
            yield from self.end_of(rank)
        yield from self._stream.end()

    def snapshot(self) -> bytes:
        """The state, the lines that are held back included, for `restore`."""
        ranks = [
            _RankState(
                each.reader.state(),
                list(each.waiting),
                each.over,
                each.ended,
                each.behind,
                None if each.observes is None else sorted(each.observes),
                each.run,
                each.begun,
            )
            for each in self._ranks
        ]
        marks = (self.watermark, self._begun, self.newest, self.late, self._run)
        return msgspec.msgpack.encode(_State(ranks, self._stream.state(), *marks))

    def restore(self, snapshot: bytes) -> None:
        """Go on where `snapshot` was taken; raises SpecError where it is none."""
        try:
            state = msgspec.msgpack.decode(snapshot, type=_State)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise SpecError(f"the lines of ranks that wait cannot be read: {error}") from None
        if len(state.ranks) != len(self._ranks):
            raise SpecError("the lines that wait are of another number of ranks")
        self.held = self._bytes = 0
        for each, was in zip(self._ranks, state.ranks, strict=True):
            last = None if was.reader.last is None else _canonical_line(was.reader.last)
            each.reader.restore(msgspec.structs.replace(was.reader, last=last))
            each.waiting = deque(map(_canonical_line, was.waiting))
            each.over, each.ended, each.behind = was.over, was.ended, was.behind
            each.observes = None if was.observes is None else frozenset(was.observes)
            each.run, each.begun = was.run, was.begun
            for line in each.held:
                self.held, self._bytes = self.held + 1, self._bytes + line.size
        held, again = map(_canonical, (state.stream.held, state.stream.again))
        self._stream.restore(msgspec.structs.replace(state.stream, held=held, again=again))
        self._look_at_observed()
        self.watermark, self._begun = state.watermark, state.begun
        self.newest, self.late, self._run = state.newest, state.late, state.run

    def _wait(self, each: _Rank, line: RankLine | None, new: int | None = None) -> bool:
        """Have a line wait for those of others; whether there is one.

        Args:
            new: bytes of another line that its reader holds now; None where it holds none.
        """
        if line is not None:
            each.waiting.append(line)
        if new is not None:
            self.held, self._bytes = self.held + 1, self._bytes + new
        return line is not None

    def _close(self, each: _Rank) -> None:
        """A rank is closed: its last line needs no other."""
        self._wait(each, each.reader.flush())
        each.over = True

    def _release(self) -> Iterator[Record]:
        """Pass on the lines before which none can come any more."""
        while True:
            time, tied, blocking = self._next()
            if time is None or blocking:
                return
            self.watermark = max(self.watermark, time)
            if len(tied) == 1:
                yield from self._stream.take([self._popped(tied[0])])
                continue
            group: list[RankLine] = []
            for each in tied:
                while each.waiting and each.waiting[0].time == time:
                    group.append(self._popped(each))
            most, many = rank_order.TIED, False
            for start in range(0, len(group), most):
                many = many or len(group) > start + most
                yield from self._stream.take(group[start : start + most], many=many)

    def _next(self) -> tuple[int | None, list[_Rank], list[_Rank]]:
        """The first time of the lines that wait, None where none does; the ranks that have lines of
        that time; and those that may still have one.
        """
        heads = [each for each in self._ranks if each.waiting]
        if not heads:
            return None, [], []
        time = min(each.waiting[0].time for each in heads)
        tied = [each for each in heads if each.waiting[0].time == time]
        # The lines of one rank are in order already.
        alone = tied[0] if len(tied) == 1 else None
        others = (each for each in self._ranks if each is not alone)
        return time, tied, [each for each in others if each.frontier <= time]

    def _popped(self, each: _Rank) -> RankLine:
        line = each.waiting.popleft()
        self.held, self._bytes = self.held - 1, self._bytes - line.size
        return line

    def _late(self, each: _Rank, record: Record) -> Iterator[Record]:
        """A line that others of a later time were not held back for."""
        rank, mark = each.reader.rank, record.stamp.mark
        each.reader.skip(record)
        time = None if self.watermark in (-1, END) else self.watermark
        if mark is None:
            self.late += 1
            self._stream.lose(f"lines of rank {rank} came too late")
            yield from self._stream.late(record, time)
            return
        closes = mark is Mark.STREAM_CLOSED
        each.over = each.over or closes
        stamp = msgspec.structs.replace(record.stamp, time_ns=time)
        record = msgspec.structs.replace(record, stamp=stamp)
        after = "" if closes else each.behind
        # With another number than 0 it says again what is observed.
        yield from self._stream.take([RankLine(self.watermark, rank, 1, record, after)])

    def _begin_again(self, mark: Record, run: int) -> Iterator[Record]:
        """Another run of the engine begins: all that is held back is of the last one."""
        if not all(each.over for each in self._ranks):
            for rank in range(len(self._ranks)):
                yield from self.overtake(rank, _AGAIN)
            self.notes.clear()
        self._stream.begin_again(mark)
        over = [self.is_over(rank) for rank in range(len(self._ranks))]
        for rank, each in enumerate(self._ranks):
            found = self._ranks[rank] = _Rank(rank)
            found.observes, found.ended = each.observes, over[rank]
            found.run, found.begun = each.run, each.begun
        self._run = run
        self.watermark, self.newest, self._begun = -1, 0, None

    def _look_at_observed(self) -> None:
        """What all ranks observe that were opened."""
        sets = [each.observes for each in self._ranks if each.observes is not None]
        self._stream.observes = frozenset(FACTS).intersection(*sets) if sets else None


def _canonical_line(line: RankLine) -> RankLine:
    found = _canonical(line.record)
    assert found is not None
    return line._replace(record=found)


def _canonical(record: Record | None) -> Record | None:
    """The record with the form that all lines of ranks have, which is one object."""
    if record is None:
        return None
    stamp = msgspec.structs.replace(record.stamp, form=CANONICAL)
    return msgspec.structs.replace(record, stamp=stamp)
