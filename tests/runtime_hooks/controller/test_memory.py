"""Tests that what ended leaves nothing behind: containers do not grow with requests and ids."""

from __future__ import annotations

import pytest

from runtime_hooks.claims.arrivals import Arrival, Prompt
from tests.runtime_hooks.elements import elements
from tests.runtime_hooks.tiny import NS, TinyEngine, TinyTier, claim, keys_of

ROUNDS = 150
REMEMBERED = {"UsedIds._buckets"}
"""What is remembered of every accepted claim, up to the setting `lives`."""


def round_of(engine: TinyEngine, n: int) -> None:
    """Everything that a request can ask for, each time under new ids."""
    engine.serve(f"a{n}", 5, claim(f"a{n}", 5))
    engine.serve(f"b{n}", 5, claim(f"b{n}", 5, "expiring", duration="2 steps"), f"a{n}")
    engine.serve(f"c{n}", 5, claim(f"c{n}", 5, "demotable", duration="5 s"))
    engine.serve(f"d{n}", 4, claim(f"d{n}", 4, "soft_priority", priority=n % 7, duration="9 s"))
    engine.serve(f"e{n}", 4, claim(f"e{n}", 4, "best_effort", duration="9 s"))
    engine.serve(f"f{n}", 6, claim(f"f{n}", 6, "offloadable", duration="9 s"))
    engine.controller.offloaded.stored(keys_of(f"f{n}", 6))
    engine.controller.offloaded.loading(f"f2{n}", keys_of(f"f{n}", 6))
    engine.controller.offloaded.failed(f"f2{n}")
    engine.serve(f"g{n}", 3, trial=claim(f"g{n}", 3))
    engine.serve(f"h{n}", 3, {"claim_id": n})
    engine.serve(f"i{n}", 90)
    engine.serve(f"j{n}", 3, pin={"job_id": f"j{n}", "ttl": "3 s"})
    engine.serve(f"k{n}", 3, pin={"job_id": n})
    new = {"claim_id": f"c{n}", "successor": f"c2{n}", "owner_scope": "tenant", "duration": "4 s"}
    engine.serve(f"l{n}", 1, renewal=new)
    engine.serve(f"m{n}", 1, renewal=new)
    ahead = engine.controller.preregistration
    ahead.register(claim(f"n{n}", 2), Prompt((n + 1,) * 64))
    engine.controller.operate()
    ahead.release(f"n{n}", "tenant")
    engine.controller.operate()
    keys = keys_of(f"gone{n}", 3)
    engine.arrive(Arrival(f"gone{n}", keys, 3, 3, claim(f"o{n}", 3, "demotable", duration="1 s")))
    engine.finish(f"gone{n}")
    engine.begin_step()
    for _ in range(3):
        engine.begin_step()
    engine.serve(f"z{n}", 1, release={"claim_id": f"a{n}", "owner_scope": "tenant"})
    engine.serve(f"y{n}", 1, release={"claim_id": f"none{n}", "owner_scope": f"owner{n}"})
    engine.now += 10 * NS
    engine.controller.tick()
    engine.controller.undo_on_failure(lambda: None)  # as the adapter does for each request


@pytest.mark.slow
@pytest.mark.parametrize("defer_s", [0, 0.5])
def test_flat(defer_s: float) -> None:
    """After as many rounds again each container holds what it held, but for the used ids."""
    engine = TinyEngine(60, tier=TinyTier(), defer_s=defer_s)
    engine.expected_faults = {}
    for n in range(ROUNDS):
        round_of(engine, n)
    assert 0 == engine.controller.claims
    first = elements(engine.controller)
    used = first["UsedIds._buckets"]
    assert used >= 5 * 7 * ROUNDS
    for n in range(ROUNDS, 2 * ROUNDS):
        round_of(engine, n)
    assert 0 == engine.controller.claims
    second = elements(engine.controller)
    grown = {name for name in second if second[name] > first[name]}
    assert REMEMBERED == grown & REMEMBERED
    assert {} == {name: (first[name], second[name]) for name in grown - REMEMBERED}
