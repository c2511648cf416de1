"""Claims of all modes, one after another: a monitor of each mode lets go of those that ended."""

from __future__ import annotations

from itertools import chain, count
from typing import TYPE_CHECKING, Any

import pytest
from monitor.engine import ModeVerdict, Monitor
from monitor.stream.keep import Keep

from monitor.check.events import EventMonitor
from monitor.input.records import Record, at_line, stamp_of
from spec.claims.claim import Mode
from spec.contract.modes import MODES
from spec.events.alphabet import Kind
from spec.events.canonical import Event

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monitor.stream.projection import Stream

LIVE, ENDED = 5, 10
MANY = [
    pytest.param(1_400, id="few"),
    pytest.param(8_400, id="many", marks=pytest.mark.deep),
]
"""Claims; more than 1,000, of which those that were violated stay in hand."""


def life(number: int) -> tuple[list[Event], list[Event]]:
    """The events with which a claim begins, and those with which it ends; nothing is broken."""
    mode, name = list(Mode)[number % len(Mode)], f"claim:{number}"
    blocks = 2 * (number % (LIVE + 1))
    held: dict[str, Any] = {"block_ids": (blocks, blocks + 1), "positions": (0, 1)}
    asked: dict[str, Any] = {"mode": str(mode), "owner_scope": "owner", "footprint": 2}
    asked |= {"object_id": f"object:{number}", "cache_identity": "cache"}
    asked |= {"predicate": "leading_prefix_at_least(2)", "priority": 5}
    accepts = not MODES[mode].constants["watched"]
    size: dict[str, Any] = {"footprint": 2}
    terms = (Kind.CLAIM_COMMITTED, Kind.CLAIM_ACCEPTED) if accepts else ()
    begins = [Event(kind=Kind.CLAIM_REGISTERED, claim_id=name, **asked)]
    begins += [Event(kind=kind, claim_id=name, **size) for kind in terms]
    begins += [Event(kind=Kind.BLOCK_CACHED, claim_id=name, **held)]
    begins += [Event(kind=Kind.CLAIM_MATERIALIZED, claim_id=name)]
    ends = [Event(kind=Kind.CLAIM_RETIRED, claim_id=name, by="owner")]
    ends += [Event(kind=Kind.CLAIM_RELEASED, claim_id=name, by="owner")] if accepts else []
    return begins, [*ends, Event(kind=Kind.BLOCK_EVICTED, block_ids=held["block_ids"])]


def lives(many: int) -> Iterator[tuple[int, list[Event]]]:
    """So many of them, `LIVE` at a time: how many have entered, and what is told by then."""
    for number in range(many):
        over = life(number - LIVE)[1] if number >= LIVE else []
        yield number + 1, [*over, *life(number)[0]]


def records(many: int) -> Iterator[tuple[int, Record]]:
    lines = count()
    for entered, events in lives(many):
        for event, number in zip(events, lines, strict=False):
            place = at_line("run", number + 1)
            yield entered, Record(place, stamp_of(event, "run"), ((event, place),))


def held(stream: Stream) -> int:
    """Records of claims, whatever keeps them."""
    store = stream._store
    kept = (store.claims, store.responsible, store.owing, store._over, store._open, store._stay)
    return max(map(len, (*kept, store.objects._claims, store.room._contents, store.ranks._holding)))


@pytest.mark.slow
@pytest.mark.parametrize("many", MANY)
@pytest.mark.parametrize("mode", Mode)
def test_monitor(mode: Mode, many: int) -> None:
    """In the monitor of one mode, and its own claims are judged."""
    monitor = Monitor(mode, keep=Keep(ended=ENDED))
    most = 0
    for _, record in records(many):
        monitor.take(record)
        most = max(most, *(held(stream) for stream in monitor._streams.values()))
    assert most <= LIVE + 1 + ENDED
    concluded = monitor.conclude()
    assert ModeVerdict.KEPT is concluded.verdict
    judged = [*((each, 1) for each in concluded.claims), *concluded.forgotten]
    assert many // len(Mode) == sum(number for each, number in judged if each.judged)


@pytest.mark.slow
@pytest.mark.parametrize("many", MANY)
def test_auto(many: int) -> None:
    """Where each claim is judged by its own mode, in the monitors of all seven."""
    monitor = EventMonitor(ended=ENDED)
    most = 0
    for _, events in lives(many):
        for event in events:
            monitor.feed(event)
        streams = (judge.monitor._streams.values() for judge in monitor._judging._judges)
        most = max(most, *map(held, chain.from_iterable(streams)))
    assert most <= LIVE + 1 + ENDED
    assert "kept" == monitor.finish().verdict
