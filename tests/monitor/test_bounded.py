"""Claims of all modes, one after another: a monitor of each mode lets go of those that ended."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from monitor.check.conclude import Asked, concluded, found_in
from monitor.core import Streams
from monitor.input.records import Record, at_line, stamp_of
from spec.claims.states import ClaimState, Mode
from spec.contract.modes import MODES
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.stream.breaks import Limits
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monitor.core import Stream

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


def held(stream: Stream) -> int:
    """Claims that are kept, whatever keeps them."""
    judge = stream.judge
    several = (
        judge.claims,
        judge.run.owing,
        judge.run.objects.on,
        [*judge.run.capacity],
        judge.run.durations.timed,
    )
    return max(map(len, (*several, judge.run.followers)))


@pytest.mark.slow
@pytest.mark.parametrize("many", MANY)
def test_each_by_its_mode(many: int) -> None:
    """Where claims of all modes come and go, as many are kept as live and may be listed."""
    streams = Streams(limits=Limits(ended=ENDED))
    most, lines = 0, count()
    for _, events in lives(many):
        for event in events:
            place = at_line("run", next(lines) + 1)
            streams.take(Record(place, stamp_of(event, "run"), ((event, place),)))
            (stream,) = streams
            most = max(most, held(stream))
    assert most <= LIVE + 1 + ENDED
    streams.finish()
    report = concluded(Asked(None), found_in(streams, []))
    assert ModeVerdict.KEPT is report.verdict
    assert many == len(report.claims) + report.forgotten.claims


def expiring(many: int, ends_ns: int) -> list[Event]:
    """Claims of a second come and go, five live at a time; the first one stays, and so long after
    the others it expires and its blocks are evicted.
    """
    modes, own = list(Mode), (100, 101)
    stays, *numbers = (modes.index(Mode.EXPIRING) + len(modes) * at for at in range(many))
    found = [replace(e, block_ids=own) if e.block_ids else e for e in life(stays)[0]]
    for at, number in enumerate(numbers):
        found += life(number)[0]
        found += life(numbers[at - LIVE])[1] if at >= LIVE else []
    for number in numbers[-LIVE:]:
        found += life(number)[1]
    found = [replace(each, time_ns=n) for n, each in enumerate(found)]
    later = len(found) + ends_ns
    found.append(Event(kind=Kind.CLAIM_EXPIRED, claim_id=f"claim:{stays}", time_ns=later))
    found.append(Event(kind=Kind.BLOCK_EVICTED, block_ids=own, time_ns=later))
    asked = {Kind.CLAIM_REGISTERED: "1 s"}
    return [replace(e, sequence=n, duration=asked.get(e.kind)) for n, e in enumerate(found)]


@pytest.mark.parametrize(
    ("ends_ns", "verdict"),
    [(500_000_000, ModeVerdict.VIOLATED), (2_000_000_000, ModeVerdict.KEPT)],
    ids=["early", "late"],
)
def test_ends_of_durations(ends_ns: int, verdict: ModeVerdict) -> None:
    """Where claims are released long before their durations are over, as many ends are kept as few
    claims have; the end of the claim that is left still counts.
    """
    streams, most = Streams(limits=Limits(ended=ENDED)), 0
    for line, event in enumerate(expiring(300, ends_ns), 1):
        place = at_line("run", line, event.sequence)
        streams.take(Record(place, stamp_of(event, "run"), ((event, place),)))
        (stream,) = streams
        most = max(most, len(stream.judge.run.durations.ends))
    assert 64 <= most <= 64 + 2 * (LIVE + 2)
    stays = next(each for each in stream.outcomes() if each.state is ClaimState.EXPIRED)
    assert verdict is stays.verdict
