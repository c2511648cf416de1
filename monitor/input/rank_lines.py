"""Reads the lines of one rank, each with the reason why lines may be missing after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from monitor.input.records import CANONICAL, Record
from spec.events.canonical import Mark

if TYPE_CHECKING:
    from monitor.input.records import Stamp

__all__ = ["END", "RankLine", "RankReader", "ReaderState", "fault_of", "time_of"]

END: Final = 1 << 63
"""A time after all others."""


class RankLine(NamedTuple):
    """A line of a rank. Its time never falls: what a rank wrote stays in its order.

    `number` counts the lines of the rank. `after` says why lines of the rank may be missing between
    this one and its next one; `before` the same of the one before it, where that was passed on
    first. `size` is the bytes that it takes.
    """

    time: int
    rank: int
    number: int
    record: Record
    after: str = ""
    before: str = ""
    size: int = 0


class ReaderState(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a reader."""

    time: int
    expected: int
    number: int
    last: RankLine | None
    missing: list[str]
    unsure: str
    closed: bool


class RankReader:
    """Takes the lines of a rank, and returns each when the next one is known."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self._time = self._expected = self._number = 0
        self._last: RankLine | None = None
        self._missing: list[str] = []
        self._unsure = ""
        self.closed = False  # the last line says that it is the last one

    @property
    def started(self) -> bool:
        """Whether there was a line."""
        return self._number > 0

    @property
    def time(self) -> int:
        """The time before which no line comes any more."""
        return END if self.closed else self._time

    @property
    def last(self) -> RankLine | None:
        """The line that waits for the next one."""
        return self._last

    def state(self) -> ReaderState:
        """The state, for `restore`."""
        missing = list(self._missing)
        place = (self._time, self._expected, self._number)
        return ReaderState(*place, self._last, missing, self._unsure, self.closed)

    def restore(self, state: ReaderState) -> None:
        """Go on where `state` was taken."""
        self._time, self._expected, self._number = state.time, state.expected, state.number
        self._last, self._missing, self._unsure = state.last, list(state.missing), state.unsure
        self.closed = state.closed

    def lose(self, why: str) -> None:
        """Lines of the rank may be missing before its next one."""
        self._missing.append(why)

    def interrupt(self, why: str) -> None:
        """The number of the next line says whether lines are missing before it."""
        self._unsure = self._unsure or why

    def take(self, record: Record, size: int = 0) -> RankLine | None:
        """The line before this one, if it still waits."""
        out_of_order = self._number_of(record)
        before, why = self._last, self._reasons()
        if before is not None and before.time == END:  # it is not the last line after all
            before = before._replace(time=self._time)
        time = max(self._time, time_of(record.stamp))
        self._time = self._time if time == END else time
        line = _disordered(record) if out_of_order else record
        self._last = RankLine(
            time,
            self.rank,
            self._number,
            line,
            before="" if before is not None else why,
            size=size,
        )
        self._number += 1
        return None if before is None else before._replace(after=why)

    def skip(self, record: Record) -> None:
        """A line that is not passed on: only its number counts."""
        self._number_of(record)
        self._missing.clear()
        self._number += 1

    def flush(self, why: str = "") -> RankLine | None:
        """The line that waits, without the next one.

        Args:
            why: lines may be missing from here to the next one.
        """
        last, self._last = self._last, None
        if last is None:
            return None
        if why:
            self._missing.append(why)
        return last._replace(after=self._reasons())

    def end(self) -> RankLine | None:
        """The last line, no other following."""
        cut = f"rank {self.rank} was cut: stream_closed is not its last line"
        return self.flush("" if self.closed else cut)

    def _reasons(self) -> str:
        why = "; ".join(dict.fromkeys(self._missing))
        self._missing.clear()
        return why

    def _number_of(self, record: Record) -> bool:
        """Note the number of a line, and what is missing before it; whether it is out of order."""
        stamp, out_of_order = record.stamp, False
        self.closed = stamp.mark is Mark.STREAM_CLOSED
        again = self._number > 0 and stamp.mark is Mark.STREAM_OPENED
        if again:
            self._missing.append(f"rank {self.rank} is opened twice")
        if stamp.sequence is not None:
            out_of_order = stamp.sequence < self._expected and not again
            if stamp.sequence > self._expected:
                self._missing.append(f"lines of rank {self.rank} are missing")
            self._expected = stamp.sequence + 1
        elif self._unsure:
            self._missing.append(self._unsure)
        self._unsure = ""
        return out_of_order


def time_of(stamp: Stamp) -> int:
    """The time of a line. A mark may have none: it is before or behind all others."""
    if stamp.time_ns is None:
        return END if stamp.mark is Mark.STREAM_CLOSED else 0
    return stamp.time_ns


def fault_of(record: Record, rank: int) -> str:
    """What a line of a rank lacks; empty where it is as it should be."""
    if record.stamp.form is not CANONICAL:
        return f"rank {rank} has a line of another form"
    if record.events and record.stamp.time_ns is None:
        return f"rank {rank} states no time for an event"
    return ""


def _disordered(record: Record) -> Record:
    """The line, which is out of order."""
    return record
