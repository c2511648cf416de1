"""Which claims and requests an event is delivered to: all others would not change."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from spec.claims.states import Mode
from spec.events.canonical import Event, StreamMark
from spec.stream.claim import Claim
from spec.stream.fields import Moment
from spec.stream.judge import Judge
from tests.spec.stream.streams import claim, ended, event, numbered


class Everyone(Judge):
    """Delivers every event to every claim that is not final."""

    def _concerned(self, at: Moment) -> dict[Claim, None]:
        found = dict.fromkeys(self._alive())
        self.run.owing.update(found)
        return found | super()._concerned(at)


def _random_stream(seed: int) -> Iterator[Event | StreamMark]:
    """Claims of several modes on few objects, requests that conflict, and any reports."""
    chance = random.Random(seed)
    names = ["a", "b", "c"]
    modes = [chance.choice([*Mode]).value for _ in names]
    keys = [("k", "l"), ("k", "m"), ()]
    begun = [
        line
        for name, mode, stated in zip(names, modes, keys, strict=True)
        for line in claim(name, mode=mode, keys=stated, priority=chance.choice([1, 2]))
    ]
    yield from begun
    pool = _Pool(chance, names)
    for _ in range(40):
        if (found := pool.event()) is not None:
            yield found
    for name in names:
        yield from ended(name)


class _Pool:
    """Makes events that do not contradict those before them."""

    def __init__(self, chance: random.Random, names: list[str]) -> None:
        self._chance, self._names = chance, names
        self._in_hand: set[str] = set()
        self._held: dict[int, tuple[str, int]] = {}
        self._stored: set[str] = set()
        self._requests = 0

    def event(self) -> Event | None:
        """The next event, if the kind that chance has chosen is possible now."""
        made = self._of(self._chance.randrange(12), self._chance.choice(self._names))
        return None if made is None else event(**made)

    def _of(self, number: int, name: str) -> dict[str, Any] | None:
        chance = self._chance
        request = chance.choice(sorted(self._in_hand)) if self._in_hand else None
        if number < 3:
            return self._of_blocks(number, name)
        if number == 3:
            self._requests += 1
            self._in_hand.add(f"r{self._requests}")
            needs = {"needed": chance.choice([0, 4, 7, None]), "usable": 7}
            return {"kind": "request_arrived", "request_id": f"r{self._requests}", **needs}
        if number == 4:
            self._stored.add(name)
            return {"kind": "store_finished", "claim_id": name} if self._whole(name) else None
        if number == 5:
            return {"kind": chance.choice(["claim_materialized", "claim_harmed"]), "claim_id": name}
        if request is None:
            return None
        named = {"claim_id": name, "request_id": request}
        if number == 6:
            accused = tuple(chance.sample(self._names, chance.randrange(3)))
            return {"kind": "request_refused", "request_id": request, "blocking_claim_ids": accused}
        if number == 7:
            self._in_hand.remove(request)
            return {"kind": "request_finished", "request_id": request}
        if number == 8:
            return {"kind": "request_routed", "cost": 1, "worker": "w", **named}
        if number == 9:
            return {"kind": "route_cost_reported", "cost": chance.choice([1, 2]), **named}
        if number == 10:
            return {"kind": "claim_restore_required", **named}
        return {"kind": "load_failed", **named} if name in self._stored else None

    def _whole(self, name: str) -> bool:
        return {(name, 0), (name, 1)} <= {*self._held.values()}

    def _of_blocks(self, number: int, name: str) -> dict[str, Any] | None:
        block, position = self._chance.randrange(8), self._chance.randrange(2)
        if number == 0 and block not in self._held:
            self._held[block] = name, position
            stated = {"block_ids": (block,), "positions": (position,)}
            return {"kind": "block_cached", "claim_id": name, **stated}
        if number and block in self._held:
            del self._held[block]
            kind = ["", "block_evicted", "block_lost"][number]
            lowest = {"lowest_priority": 1} if number == 1 and self._chance.random() < 0.5 else {}
            return {"kind": kind, "block_ids": (block,), **lowest}
        return None


def test_no_other_claim_would_change() -> None:
    """In 200 random streams each finding is the same where every event goes to every claim."""
    whole = 0
    for seed in range(200):
        lines = list(numbered(_random_stream(seed)))
        judges = Judge(), Everyone()
        for line in lines:
            for judge in judges:
                judge.take(line)
        for judge in judges:
            judge.finish()
        usual, everyone = (
            {name: each.findings() for name, each in judge.claims.items()} for judge in judges
        )
        assert usual == everyone, seed
        whole += not judges[0].breaks
    assert whole >= 100
