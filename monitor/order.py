"""Order and time in one stream: what ran backwards, what is missing, whose duration is over."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spec.durations import Duration, TimeUnit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monitor.claim import ClaimRun
    from monitor.records import Stamp

__all__ = ["Clock", "Order"]

_NS = 1_000_000_000


@dataclass(slots=True)
class Order:
    """The last sequence number and time of a stream."""

    _sequence: int | None = None
    _time: int | None = None

    def check(self, stamp: Stamp) -> tuple[str, str]:
        """What ran backwards and what is missing at this line, in words; empty where nothing."""
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
    """Claims with a duration in seconds, by the time at which it is over; no claim is scanned."""

    _ends: list[tuple[int, int, ClaimRun]] = field(default_factory=list)
    _ties: Iterator[int] = field(default_factory=itertools.count)

    def start(self, claim: ClaimRun, time_ns: int | None) -> None:
        """The claim's duration counts from here, if it has one in seconds and the time is known."""
        if claim.duration is None or time_ns is None:
            return
        duration = Duration.parse(claim.duration)
        if duration.unit is TimeUnit.SECONDS:
            end = time_ns + int(duration.exact * _NS)
            heapq.heappush(self._ends, (end, next(self._ties), claim))

    def due(self, time_ns: int | None) -> Iterator[ClaimRun]:
        """Claims whose duration is over at this time, each once."""
        while time_ns is not None and self._ends and self._ends[0][0] <= time_ns:
            yield heapq.heappop(self._ends)[2]
