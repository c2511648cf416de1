"""Merges the ranks of one engine while they are written, in the order of their `time_ns`.

A line is passed on when no rank can have an earlier one any more. A rank that is silent holds the
others back until its reader calls `overtake`.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
from msgspec.structs import replace

from monitor.input import rank_order
from monitor.input.rank_order import OneStream, RankLine
from monitor.input.records import CANONICAL, disordered
from spec.events.alphabet import FACTS, Kind
from spec.events.canonical import Mark
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monitor.input.records import Record, Stamp

__all__ = ["HELD_BYTES", "RankMerge", "fault_of"]

_END: Final = 1 << 63
"""A time after all others."""

_NEVER: Final = _END + 1
"""A time later than all lines."""

HELD_BYTES: Final = 256 << 20
"""Bytes of lines of one engine that may be held back."""

_AGAIN: Final = "a rank was opened again, and not all ranks were closed"


class Rank(msgspec.Struct, array_like=True):
    """One rank: each of its lines is held back until the next one is known, and then waits for the
    lines of others.

    Attributes:
        number: which rank it is.
        run: which run its lines are of, counted by the marks that open one.
        waiting: the lines that wait for those of others.
        last: the line that waits for the next one.
        closed: the last line says that it is the last one.
        over: the rank ended, and others do not wait for it.
        ended: it ended in the run before this one.
        behind: why others do not wait for it, though it goes on.
        observes: the kinds of facts that its mark states.
        begun: there was a line of any run.
    """

    number: int
    run: int = 0
    ended: bool = False
    begun: bool = False
    observes: frozenset[Kind] | None = None
    waiting: deque[RankLine] = msgspec.field(default_factory=deque)
    last: RankLine | None = None
    closed: bool = False
    over: bool = False
    behind: str = ""
    _time: int = 0
    _expected: int = 0
    _lines: int = 0
    _missing: dict[str, bool] = {}
    _unsure: str = ""

    @property
    def started(self) -> bool:
        """Whether there was a line of this run."""
        return self._lines > 0

    @property
    def time(self) -> int:
        """The time before which no line comes any more."""
        return _END if self.closed else self._time

    @property
    def frontier(self) -> int:
        """The time before which it has no more lines than those that wait."""
        if self.over or self.behind:
            return _NEVER
        return self.time if self.started else -1

    @property
    def held(self) -> list[RankLine]:
        """The lines that are held back."""
        return [*self.waiting, *([] if self.last is None else [self.last])]

    def lose(self, why: str, *, unread: bool = False) -> None:
        """Lines of the rank may be missing before its next one, or one was not understood."""
        self._missing[why] = unread

    def interrupt(self, why: str) -> None:
        """The number of the next line says whether lines are missing before it."""
        self._unsure = self._unsure or why

    def take(self, record: Record, size: int) -> None:
        """Hold a line back until the next one; the line before it waits for those of others."""
        out_of_order = self._note(record)
        before, why = self.last, self._reasons()
        if before is not None:
            # With the time `_END` it was taken for the last line, and is not.
            time = self._time if before.time == _END else before.time
            self.waiting.append(before._replace(time=time, after=why))
        time = max(self._time, _time_of(record.stamp))
        self._time = self._time if time == _END else time
        line = disordered(record) if out_of_order else record
        first = why if before is None else None
        self.last = RankLine(time, self.number, self._lines, line, before=first, size=size)
        self._lines += 1

    def skip(self, record: Record) -> None:
        """A line that is not passed on: only its number counts."""
        self._note(record)
        self._missing.clear()
        self._lines += 1

    def flush(self, why: str = "") -> bool:
        """Have the last line wait for those of others without its next one. Return True if the rank
        has a line that waits.

        Args:
            why: lines may be missing from here to the next one.
        """
        last, self.last = self.last, None
        if last is not None:
            if why:
                self.lose(why)
            self.waiting.append(last._replace(after=self._reasons()))
        return bool(self.waiting)

    def _reasons(self) -> dict[str, bool]:
        whys, self._missing = self._missing, {}
        return whys

    def _note(self, record: Record) -> bool:
        """Note the number of a line, and what is missing before it; whether it is out of order."""
        stamp, out_of_order = record.stamp, False
        self.closed = stamp.mark is Mark.STREAM_CLOSED
        again = self._lines > 0 and stamp.mark is Mark.STREAM_OPENED
        if again:
            self.lose(f"rank {self.number} is opened twice")
        if stamp.sequence is not None:
            out_of_order = stamp.sequence < self._expected and not again
            if stamp.sequence > self._expected:
                self.lose(f"lines of rank {self.number} are missing")
            self._expected = stamp.sequence + 1
        elif self._unsure:
            self.lose(self._unsure)
        self._unsure = ""
        return out_of_order


_State: TypeAlias = tuple[list[Rank], OneStream, int, int | None, int, int, int]
"""What is kept of a merge, in the order of `RankMerge.snapshot`."""

_ENCODER: Final = msgspec.msgpack.Encoder(enc_hook=list)
_DECODER: Final = msgspec.msgpack.Decoder(
    _State, dec_hook=lambda _, lines: deque(msgspec.convert(lines, list[RankLine]))
)


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
        self._lines, self._ranks = lines, [Rank(number) for number in range(ranks)]
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
        return [rank for rank, each in enumerate(self._ranks) if not each.started]

    def is_over(self, rank: int) -> bool:
        """Whether a rank ended, and has not begun again."""
        each = self._ranks[rank]
        return each.over or (each.ended and not each.started)

    def blocking(self) -> list[int]:
        """The ranks whose next lines those that wait need."""
        time, _, blocking = self._next()
        return [] if time is None else [each.number for each in blocking]

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
            each.run += each.begun
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
        early = each.closed or max(each.time, _time_of(stamp)) <= self.watermark
        if each.frontier == _NEVER and early:
            yield from self._late(each, record)
        else:
            each.over, each.behind = False, ""
            each.take(record, size)
            self.held, self._bytes = self.held + 1, self._bytes + size
            if stamp.mark is Mark.STREAM_CLOSED:  # the last line needs no other
                each.flush()
                each.over = True
            yield from self._release()
        while self.held > self._lines or self._bytes > HELD_BYTES:
            for number in self.blocking() or range(len(self._ranks)):
                yield from self.overtake(number, "more lines waited for it than are held back")

    def lose(self, rank: int, why: str, *, unread: bool = False) -> None:
        """Lines of a rank may be missing before its next one, or one was not understood."""
        each = self._ranks[rank]
        if each.last is None:
            self._stream.missing[rank] = {why: unread}
        each.lose(why, unread=unread)

    def lose_all(self, why: str) -> None:
        """A line that may be of any rank was not understood."""
        for rank in range(len(self._ranks)):
            self.lose(rank, why, unread=True)

    def interrupt(self, rank: int, why: str) -> None:
        """The number of the next line says whether lines are missing before it."""
        self._ranks[rank].interrupt(why)

    def overtake(self, rank: int, why: str) -> Iterator[Record]:
        """Wait no longer for a rank; the lines that waited for it."""
        each = self._ranks[rank]
        why = f"rank {rank} is behind: {why}"
        each.behind = why
        self.notes.append((rank, why))
        self._flush(each, why)
        yield from self._release()

    def end_of(self, rank: int) -> Iterator[Record]:
        """No more comes of a rank from where it was read; the lines that waited for it."""
        each = self._ranks[rank]
        if not each.over and each.started:
            self._flush(each, f"rank {rank} was cut: stream_closed is not its last line")
            each.over = True
        yield from self._release()

    def end(self) -> Iterator[Record]:
        """No more comes of any rank; all lines that are held back."""
        for rank, each in enumerate(self._ranks):
            if not each.started:
                why = f"rank {rank} of {len(self._ranks)} is missing"
                self._stream.missing[rank] = {why: False}
                each.over = True
        for rank in range(len(self._ranks)):
            yield from self.end_of(rank)
        yield from self._stream.end()

    def snapshot(self) -> bytes:
        """The state, the lines that are held back included, for `restore`."""
        marks = (self.watermark, self._begun, self.newest, self.late, self._run)
        return _ENCODER.encode((self._ranks, self._stream, *marks))

    def restore(self, snapshot: bytes) -> None:
        """Go on where `snapshot` was taken; raises SpecError where it is none."""
        try:
            ranks, stream, *marks = _DECODER.decode(snapshot)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise SpecError(f"the lines of ranks that wait cannot be read: {error}") from None
        if len(ranks) != len(self._ranks):
            raise SpecError("the lines that wait are of another number of ranks")
        self._ranks, self._stream = ranks, stream
        self.watermark, self._begun, self.newest, self.late, self._run = marks
        held = [line.size for each in ranks for line in each.held]
        self.held, self._bytes = len(held), sum(held)

    def _flush(self, each: Rank, why: str) -> None:
        """Others wait no longer for a rank, of which lines may be missing from here on."""
        if not each.flush(why):
            self._stream.missing[each.number] = {why: False}

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
            # Each line states what is missing beside the others: a few at once, or it is too much.
            most = rank_order.TIED
            for start in range(0, len(group), most):
                part = group[start : start + most]
                yield from self._stream.take(part, many=len(group) > most)

    def _next(self) -> tuple[int | None, list[Rank], list[Rank]]:
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

    def _popped(self, each: Rank) -> RankLine:
        line = each.waiting.popleft()
        self.held, self._bytes = self.held - 1, self._bytes - line.size
        return line

    def _late(self, each: Rank, record: Record) -> Iterator[Record]:
        """A line that others of a later time were not held back for."""
        rank, mark = each.number, record.stamp.mark
        each.skip(record)
        time = None if self.watermark in (-1, _END) else self.watermark
        if mark is None:
            self.late += 1
            self._stream.lost[f"lines of rank {rank} came too late"] = False
            yield from self._stream.late(record, time)
            return
        closes = mark is Mark.STREAM_CLOSED
        each.over = each.over or closes
        stamp = replace(record.stamp, time_ns=time)
        record = replace(record, stamp=stamp)
        after = {each.behind: False} if each.behind and not closes else None
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
            self._ranks[rank] = Rank(rank, each.run, over[rank], each.begun, each.observes)
        self._run = run
        self.watermark, self.newest, self._begun = -1, 0, None

    def _look_at_observed(self) -> None:
        """What all ranks observe that were opened."""
        sets = [each.observes for each in self._ranks if each.observes is not None]
        self._stream.observes = frozenset(FACTS).intersection(*sets) if sets else None


def _time_of(stamp: Stamp) -> int:
    """The time of a line. A mark may have none: it is before or behind all others."""
    if stamp.time_ns is None:
        return _END if stamp.mark is Mark.STREAM_CLOSED else 0
    return stamp.time_ns


def fault_of(record: Record, rank: int) -> str:
    """What a line of a rank lacks; empty where it is as it should be."""
    if record.stamp.form != CANONICAL:
        return f"rank {rank} has a line of another form"
    if record.events and record.stamp.time_ns is None:
        return f"rank {rank} states no time for an event"
    return ""
