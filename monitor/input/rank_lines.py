"""Takes the lines of one rank, each with the reason why lines may be missing after it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from monitor.input.records import CANONICAL, Record, disordered
from spec.events.alphabet import Kind
from spec.events.canonical import Mark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monitor.input.records import Stamp

__all__ = ["END", "NEVER", "Rank", "RankLine", "fault_of", "time_of"]

END: Final = 1 << 63
"""A time after all others."""

NEVER: Final = END + 1
"""A time later than all lines."""


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


class Rank(msgspec.Struct, array_like=True):
    """One rank: it takes its lines, and passes each on when the next one is known; what it passed
    on waits for the lines of others.

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
        return END if self.closed else self._time

    @property
    def frontier(self) -> int:
        """The time before which it has no more lines than those that wait."""
        if self.over or self.behind:
            return NEVER
        return self.time if self.started else -1

    @property
    def held(self) -> Iterator[RankLine]:
        """The lines that are held back."""
        yield from self.waiting
        if self.last is not None:
            yield self.last

    def lose(self, why: str, *, unread: bool = False) -> None:
        """Lines of the rank may be missing before its next one, or one was not understood."""
        self._missing[why] = unread

    def interrupt(self, why: str) -> None:
        """The number of the next line says whether lines are missing before it."""
        self._unsure = self._unsure or why

    def take(self, record: Record, size: int = 0) -> RankLine | None:
        """The line before this one, if it still waits."""
        out_of_order = self._note(record)
        before, why = self.last, self._reasons()
        if before is not None and before.time == END:  # it is not the last line after all
            before = before._replace(time=self._time)
        time = max(self._time, time_of(record.stamp))
        self._time = self._time if time == END else time
        line = disordered(record) if out_of_order else record
        self.last = RankLine(
            time,
            self.number,
            self._lines,
            line,
            before=None if before is not None else why,
            size=size,
        )
        self._lines += 1
        return None if before is None else before._replace(after=why)

    def skip(self, record: Record) -> None:
        """A line that is not passed on: only its number counts."""
        self._note(record)
        self._missing.clear()
        self._lines += 1

    def flush(self, why: str = "") -> RankLine | None:
        """The line that waits, without the next one.

        Args:
            why: lines may be missing from here to the next one.
        """
        last, self.last = self.last, None
        if last is None:
            return None
        if why:
            self.lose(why)
        return last._replace(after=self._reasons())

    def end(self) -> RankLine | None:
        """The last line, no other following."""
        cut = f"rank {self.number} was cut: stream_closed is not its last line"
        return self.flush("" if self.closed else cut)

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


def time_of(stamp: Stamp) -> int:
    """The time of a line. A mark may have none: it is before or behind all others."""
    if stamp.time_ns is None:
        return END if stamp.mark is Mark.STREAM_CLOSED else 0
    return stamp.time_ns


def fault_of(record: Record, rank: int) -> str:
    """What a line of a rank lacks; empty where it is as it should be."""
    if record.stamp.form != CANONICAL:
        return f"rank {rank} has a line of another form"
    if record.events and record.stamp.time_ns is None:
        return f"rank {rank} states no time for an event"
    return ""
