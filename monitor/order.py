"""Order and time in one stream: what ran backwards, what is missing, whose duration is over."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spec.durations import Duration, TimeUnit
from spec.events import Mark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monitor.claim import ClaimRun
    from monitor.records import At, Stamp

__all__ = ["Clock", "Order"]

_NS = 1_000_000_000
_CUT = "the stream was cut: stream_closed is not its last line"
_STEPS = "its duration is in steps, and no duration_elapsed tells them"


@dataclass(slots=True)
class Order:
    """The last sequence number and time of a stream, and whether it has the end it promised."""

    _sequence: int | None = None
    _time: int | None = None
    _opened: At | None = None
    _closed: bool = False

    @property
    def cut(self) -> tuple[At, str] | None:
        """Where the end was promised of a stream that has none, and what that means."""
        return None if self._closed or self._opened is None else (self._opened, _CUT)

    def check(self, stamp: Stamp, at: At) -> tuple[str, str]:
        """What ran backwards and what is missing at this line, in words; empty where nothing."""
        self._closed = stamp.mark is Mark.STREAM_CLOSED
        if stamp.mark is Mark.STREAM_OPENED:
            self._opened = self._opened or at
        back = missing = ""
        last, number = self._sequence, stamp.sequence
        if number is not None:
            expected = 0 if last is None else last + 1
            if last is not None and number <= last:
                back = f"sequence {number} comes after {last}"
            elif not stamp.skips and number != expected:
                missing = _missing(expected, number - 1)
            self._sequence = number
        if stamp.time_ns is not None:
            if self._time is not None and stamp.time_ns < self._time:
                back = back or f"time {stamp.time_ns} ns comes after {self._time} ns"
            self._time = stamp.time_ns
        return back, missing


def _missing(first: int, last: int) -> str:
    if first == last:
        return f"sequence {first} is missing"
    return f"sequences {first} to {last} are missing"


@dataclass(slots=True)
class Clock:
    """Claims with a duration in seconds, by the time at which it is over; no claim is scanned.

    A duration whose end nobody can see is remembered with the reason.
    """

    _ends: list[tuple[int, int, ClaimRun]] = field(default_factory=list)
    _ties: Iterator[int] = field(default_factory=itertools.count)
    _unknown: dict[str, tuple[At, str]] = field(default_factory=dict)
    _steps_told: bool = False

    def start(self, claim: ClaimRun, at: At, time_ns: int | None) -> None:
        """The claim's duration, if it has one, counts from this commitment."""
        if claim.duration is None:
            return
        duration = Duration.parse(claim.duration)
        if duration.unit is TimeUnit.STEPS:
            self.lose(claim, at, _STEPS)
        elif time_ns is None:
            self.lose(claim, at, "its commitment has no time_ns from which its duration counts")
        else:
            end = time_ns + int(duration.exact * _NS)
            heapq.heappush(self._ends, (end, next(self._ties), claim))

    def stop(self, at: At) -> None:
        """A line without a time: what it says may come before or after the end of a duration."""
        for _, _, claim in self._ends:
            self.lose(claim, at, "a line without time_ns came while its duration ran")
        self._ends.clear()

    def lose(self, claim: ClaimRun, at: At, why: str) -> None:
        """Nobody can see when the claim's duration is over, unless a fact tells it."""
        self._unknown.setdefault(claim.claim_id, (at, why))

    def tell(self, claim: ClaimRun) -> None:
        """A fact told the end of the claim's duration; if that was in steps, steps are told."""
        if claim.duration is not None:
            unit = Duration.parse(claim.duration).unit
            self._steps_told = self._steps_told or unit is TimeUnit.STEPS

    def unknown(self, claim: ClaimRun) -> tuple[At, str] | None:
        """Why nobody knows whether the claim's duration is over; None where it is known."""
        found = None if claim.elapsed else self._unknown.get(claim.claim_id)
        return None if found and found[1] == _STEPS and self._steps_told else found

    def due(self, time_ns: int | None) -> Iterator[ClaimRun]:
        """Claims whose duration is over at this time, each once."""
        while time_ns is not None and self._ends and self._ends[0][0] <= time_ns:
            yield heapq.heappop(self._ends)[2]
