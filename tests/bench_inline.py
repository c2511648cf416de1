"""What one event costs where the monitor runs inside a process, and how that grows with claims."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Final

from monitor import EventMonitor
from monitor.engine import Monitor
from monitor.input.records import At, Record, stamp_of
from spec.claims.claim import Mode
from tests.streams.traffic import Traffic, as_events

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spec.events.canonical import Event

__all__ = ["each_feed", "per_event"]

_ENTRY: Final = 6  # lines with which an offloadable claim begins


def each_feed(lines: int, live: int) -> tuple[float, float]:
    """The median and the 99.9th percentile of what `EventMonitor.feed` takes of an event, in
    microseconds, where claims of all modes are mixed.
    """
    monitor, taken = EventMonitor(), []
    for event in as_events(Traffic(lines, live, tuple(Mode))):
        started = time.perf_counter_ns()
        monitor.feed(event)
        taken.append(time.perf_counter_ns() - started)
    taken.sort()
    return taken[len(taken) // 2] / 1e3, taken[len(taken) * 999 // 1000] / 1e3


def per_event(live: int, events: int, *, shuffled: bool) -> float:
    """Microseconds of the processor that a decoded event takes by one mode, where so many claims
    are live; they have been entered before.
    """
    monitor, before = Monitor(Mode.OFFLOADABLE), _ENTRY * live
    made = as_events(Traffic(before + events, live, shuffled=shuffled))
    _take(monitor, list(itertools.islice(made, before)), 0)
    rest = list(made)
    started = time.process_time()
    _take(monitor, rest, before)
    return (time.process_time() - started) / len(rest) * 1e6


def _take(monitor: Monitor, events: Sequence[Event], line: int) -> None:
    for event in events:
        line += 1
        at = At("bench", line, event.sequence)
        monitor.take(Record(at, stamp_of(event, event.stream), ((event, at),)))
