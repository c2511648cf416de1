"""What is delivered to many claims at once comes to the same by cached transitions."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from monitor.evaluate import compaction
from monitor.evaluate.claim import ClaimRun
from monitor.evaluate.compaction import compact
from monitor.evaluate.compile import compile_mode
from monitor.input.records import Stamp, at_line
from monitor.stream import transition_cache
from monitor.stream.cached_requests import CachedRequests
from monitor.stream.projection import Stream
from spec.claims.claim import Mode
from spec.contract.modes import Bundle
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from tests.monitor.stream.test_cached_events import begun, compare, take
from tests.monitor.stream.test_shortcuts import LongWay, lines_of
from tests.monitor.whole_state import whole_state
from tests.streams.pressed import pressed
from tests.streams.traffic import Traffic, as_events

HARD = (Mode.HARD_PROTECTED,)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(6), pytest.param(range(6, 200), marks=pytest.mark.deep)])
def test_same(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under conflicts, refusals, routes and restores, of claims that share blocks, all that is held
    of a stream is equal, where each claim is compact whenever it can be."""
    monkeypatch.setattr(transition_cache, "compact_soon", lambda claim: compact(claim) is not None)
    for seed in seeds:
        for mode in Mode:
            chance = Random(f"{seed} {mode}")
            modes = tuple(Mode) if chance.random() < 0.3 else (mode,)
            compare(mode, pressed(chance, modes), chance)


@pytest.mark.parametrize(
    "traffic",
    [
        Traffic(1_500, 12, HARD, narrow=True),
        Traffic(1_500, 12, HARD, shared=True),
        Traffic(1_500, 14, tuple(Mode)),
    ],
)
def test_mixes(traffic: Traffic, monkeypatch: pytest.MonkeyPatch) -> None:
    """In honest streams of each sort claims stay compact."""
    kinds = set[Kind]()
    expand = compaction._expand_for_now

    def expand_and_note(claim: ClaimRun) -> None:
        kinds.add(event.kind)
        expand(claim)

    monkeypatch.setattr(compaction, "_expand_for_now", expand_and_note)
    compiled = [compile_mode(mode, Bundle.CONTRACT) for mode in traffic.modes]
    short, long = Stream(compiled, "run"), LongWay(compiled, "run")
    for number, event in enumerate(as_events(traffic), 1):
        at = at_line("f", number, event.sequence)
        for stream in (short, long):
            stream.stamp(Stamp("run", event.sequence, event.time_ns), at)
            stream.take(event, at)
    assert not kinds
    assert whole_state(long) == whole_state(short)


def refused(request: str, needed: int, blocking: Sequence[str]) -> list[Event]:
    """A request that needs all that is usable comes, is refused for these claims, and ends."""
    about: dict[str, Any] = {"request_id": request}
    return [
        Event(kind=Kind.REQUEST_ARRIVED, **about, needed=needed, usable=needed),
        Event(kind=Kind.REQUEST_REFUSED, **about, blocking_claim_ids=tuple(blocking)),
        Event(kind=Kind.REQUEST_FINISHED, **about),
    ]


@pytest.mark.interpreted
def test_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many claims in two product states a conflict looks up two transitions for each event."""
    asked: list[Kind] = []
    find = CachedRequests._find_transition

    def counting(self: CachedRequests, claim: ClaimRun, slot: int, delivery: Any) -> Any:
        asked.append(delivery.event.kind)
        return find(self, claim, slot, delivery)

    monkeypatch.setattr(CachedRequests, "_find_transition", counting)
    names = [f"c{number}" for number in range(40)]
    mode = Mode.HARD_PROTECTED
    events = [e for at, name in enumerate(names) for e in begun(name, at, mode)]
    for request in ("first", "second"):
        events += refused(request, 50, names[::-1])
    compiled = compile_mode.__wrapped__(mode, Bundle.CONTRACT)
    short, long = Stream(compiled, "run"), LongWay(compiled, "run")
    lines = lines_of(events)
    for line in lines:
        if line is lines[-3]:
            asked.clear()
        take(short, line)
        take(long, line)
    assert len(asked) == 6
    assert whole_state(long) == whole_state(short)


def test_what_may_be_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is unknown which blocks claims share, a conflict is delivered by cached transitions,
    too: what it comes to is read as if they were shared, and as if they were not."""
    delivered: list[str] = []
    deliver = CachedRequests._deliver_one

    def counting(self: CachedRequests, claim: ClaimRun, delivery: Any) -> None:
        delivered.append(claim.claim_id)
        deliver(self, claim, delivery)

    mode, names = Mode.HARD_PROTECTED, ("a", "b", "c")
    events = [event for name in names for event in begun(name, 0, mode)[:3]]  # no block is there
    for request in ("first", "second", "third", "fourth"):
        events += refused(request, 9, names)
    compiled = compile_mode.__wrapped__(mode, Bundle.CONTRACT)
    short, long = Stream(compiled, "run"), LongWay(compiled, "run")
    lines = lines_of(events)
    for line in lines:
        if line is lines[-3]:
            monkeypatch.setattr(CachedRequests, "_deliver_one", counting)
        take(short, line)
        if line is lines[-3]:
            assert short.store.room.ends(short.store.blocks.mixed).low is not None
    assert not delivered
    monkeypatch.undo()
    for line in lines:
        take(long, line)
    assert whole_state(long) == whole_state(short)
