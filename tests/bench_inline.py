"""What one event costs where the monitor runs inside a process, and how that grows with claims."""

from __future__ import annotations

import itertools
import statistics
import time
from typing import TYPE_CHECKING, Final

from monitor import EventMonitor
from monitor.live.feed import Live
from monitor.streams import AnyStreams, streams_of
from runtime_hooks.settings.config import TAKEN
from runtime_hooks.trace.journal import _BATCH
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from tests.streams.traffic import Traffic, as_events

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["cold_requests", "each_feed", "looked", "per_event", "served"]

_ENTRY: Final = 6  # lines with which an offloadable claim begins
_CACHED: Final = 1_000  # blocks of the pool of cold requests
_LOOKS: Final = 21


def each_feed(lines: int, live: int) -> tuple[float, float, float]:
    """What `EventMonitor.feed` takes of an event, in microseconds, where claims of all modes are
    mixed: the median and the 99.9th percentile, and the most that one takes in a process that has
    fed none like it before.
    """
    events = [*as_events(Traffic(lines, live, tuple(Mode)))]
    first, again = (_fed(events) for _ in range(2))
    return again[len(again) // 2], again[len(again) * 999 // 1000], first[-1]


def _fed(events: Sequence[Event]) -> list[float]:
    """What each event takes, in microseconds, the least first."""
    monitor, taken = EventMonitor(), []
    for event in events:
        started = time.perf_counter_ns()
        monitor.feed(event)
        taken.append((time.perf_counter_ns() - started) / 1e3)
    return sorted(taken)


def served(events: Sequence[Event]) -> float:
    """Microseconds of the processor that an event takes in the monitor of a serving process, which
    gets as many at a time as its journal hands on; the first half of the stream is not counted.
    """
    live, half = Live(events[0].stream, TAKEN), len(events) // 2
    batches = [events[at : at + _BATCH] for at in range(0, len(events), _BATCH)]
    for batch in batches[: len(batches) // 2]:
        live.take_all(batch)
        live.changes()
    started = time.process_time()
    for batch in batches[len(batches) // 2 :]:
        live.take_all(batch)
        live.changes()
    return (time.process_time() - started) / half * 1e6


def looked(events: Sequence[Event]) -> tuple[float, int]:
    """Milliseconds of the processor that a look at all claims takes where none was moved since the
    last one, at the end of a stream; and how many claims there are.
    """
    live, taken = Live(events[0].stream, TAKEN), []
    live.take_all(events)
    for _ in range(_LOOKS):
        live._next = 0.0
        started = time.process_time()
        live.changes()
        taken.append(time.process_time() - started)
    claims = sum(1 for _ in live._streams.in_hand())
    return statistics.median(taken[1:]) * 1e3, claims


def cold_requests(requests: int) -> list[Event]:
    """What the hooks state of requests without claims, each of which takes a block of another."""
    found: list[Event] = []

    def say(kind: Kind, **fields: object) -> None:
        place = {"stream": "engine", "sequence": len(found), "time_ns": 1_000 * len(found)}
        found.append(Event(kind=kind, **place, **fields))  # type: ignore[arg-type]

    for number in range(requests):
        name, blocks = {"request_id": f"{number}-b0715f53"}, (number % _CACHED,)
        say(Kind.REQUEST_ARRIVED, **name, needed=2, usable=2 * _CACHED)
        if number >= _CACHED:
            say(Kind.BLOCK_EVICTED, **name, block_ids=blocks)
        say(Kind.BLOCK_CACHED, **name, block_ids=blocks, positions=(0,))
        say(Kind.REQUEST_FINISHED, **name)
    return found


def per_event(live: int, events: int, *, shuffled: bool) -> float:
    """Microseconds of the processor that a decoded event takes by one mode, where so many claims
    are live; they have been entered before.
    """
    monitor, before = streams_of("bench")(Mode.OFFLOADABLE), _ENTRY * live
    made = as_events(Traffic(before + events, live, shuffled=shuffled))
    _take(monitor, itertools.islice(made, before), 0)
    rest = list(made)
    started = time.process_time()
    _take(monitor, rest, before)
    return (time.process_time() - started) / len(rest) * 1e6


def _take(monitor: AnyStreams, events: Iterable[Event], before: int) -> None:
    for line, event in enumerate(events, before + 1):
        assert monitor.take_event(event, "bench", line)
