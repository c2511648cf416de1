"""Tests of runtime_hooks.controller.operator: whatever an operator does, the trace is valid."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime_hooks.claims.arrivals import Arrival
from runtime_hooks.controller.operator import NotAllowed, UnknownClaim
from runtime_hooks.settings.quotas import Quota
from spec.claims.states import Mode
from spec.language.errors import SpecError
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.tiny import NS, TinyEngine, TinyTier, claim, keys_of

MODES = ("hard_protected", "demotable", "expiring", "offloadable", "soft_priority", "best_effort")
OWN: dict[str, dict[str, Any]] = {
    "expiring": {"duration": "60 s"},
    "soft_priority": {"priority": 3},
}


class TestRelease:
    def test_waiting_request(self) -> None:
        """A request that waits for a claim runs once the operator had it demoted."""
        engine = TinyEngine(defer_s=60, enforce=(Mode.HARD_PROTECTED,))
        assert engine.serve("resident", 60, claim(mode="demotable"))
        assert engine.serve("active", 70)
        engine = TinyEngine(defer_s=60)
        assert engine.serve("hard", 40, claim("claim:h", 40))
        assert engine.serve("soft", 30, claim("claim:d", 30, "demotable"))
        fits, _ = engine.arrive(Arrival("active", keys_of("active", 45), 45, 45))
        assert not fits
        assert ([], []) == engine.begin_step()
        engine.controller.ask(lambda operator: operator.release("claim:d"))
        assert ([], []) == engine.begin_step()
        assert 1 == engine.controller.claims
        engine.finish("active")
        assert ModeVerdict.KEPT is engine.judge(Mode.HARD_PROTECTED).verdict

    def test_errors(self) -> None:
        """A claim that is not there, and one that only its owner may end."""
        engine = TinyEngine()
        operator = engine.controller.operator
        with pytest.raises(UnknownClaim):
            operator.release("claim:a")
        engine.serve("resident", 60, claim())
        used = engine.journal.used
        with pytest.raises(NotAllowed):
            operator.release("claim:a")
        assert used == engine.journal.used

    def test_ask(self) -> None:
        """An error of the operator's own leaves no gap; a fault of the plugin does."""
        engine = TinyEngine()
        used = engine.journal.used
        wrong = engine.controller.ask(lambda operator: operator.show("claim:a"))
        broken = engine.controller.ask(lambda operator: 1 // 0)
        engine.controller.operate()
        assert isinstance(wrong.exception(), UnknownClaim)
        assert isinstance(broken.exception(), ZeroDivisionError)
        assert used + 1 == engine.journal.used


@pytest.mark.slow
def test_most_owners() -> None:
    """The quotas that are set while the engine runs are bounded."""
    operator = TinyEngine().controller.operator
    for number in range(1_000):
        operator.quotas(f"owner {number}", {"blocks": number})
    with pytest.raises(SpecError, match="1000 owners"):
        operator.quotas("one more", {"blocks": 1})
    assert 1_000 == len(operator.quotas("owner 7", {"blocks": 7}).owners)
    operator.quotas("owner 7", {"blocks": None})
    found = {each.owner_scope: each.quota for each in operator.quotas("more", {"blocks": 1}).owners}
    assert Quota(blocks=1, claims=1_000) == found["more"]
    assert "owner 7" not in found


ACTS = st.one_of(
    st.tuples(
        st.just("claim"), st.sampled_from("abcd"), st.integers(1, 30), st.sampled_from(MODES)
    ),
    st.tuples(st.just("request"), st.integers(1, 60)),
    st.tuples(st.just("demote"), st.sampled_from("abcd")),
    st.tuples(st.just("release"), st.sampled_from("abcd")),
    st.tuples(st.just("drain"), st.booleans()),
    st.tuples(st.just("quotas"), st.integers(0, 60), st.integers(0, 30)),
    st.tuples(st.just("wait"), st.integers(1, 40)),
    st.tuples(st.just("step")),
)


@settings(max_examples=150)
@given(st.lists(ACTS, max_size=25))
def test_valid(acts: list[tuple[Any, ...]]) -> None:
    """Claims, requests and the operator's commands in any order: the trace violates nothing in any
    mode, its sums are those that the operator sees, and no block stays held for nobody."""
    engine = TinyEngine(60, tier=TinyTier())
    operator, drains = engine.controller.operator, False
    for number, (act, *more) in enumerate(acts):
        match act:
            case "claim":
                name, blocks, mode = more
                stated = claim(name, blocks, mode, **OWN.get(mode, {}))
                engine.serve(f"r{number}", blocks, stated, name)
                if drains and engine.answers[-1]["claim"] == "":
                    assert name in engine.controller._registry.live  # it stood before
            case "request":
                engine.serve(f"r{number}", more[0])
            case "demote":
                with contextlib.suppress(UnknownClaim, NotAllowed):
                    assert "claim_demoted" == operator.release(more[0]).report
            case "release":
                engine.release(more[0], "tenant")
            case "drain":
                drains = not more[0]
                assert drains is operator.drain(undo=more[0]).engine.drains
            case "quotas":
                operator.quotas("", {"blocks": more[0]}, more[1])
            case "wait":
                engine.now += more[0] * NS
            case "step":
                engine.begin_step()
        engine.controller.operate()
        page = operator.claims()
        assert page.engine.live == len(page.claims) == engine.controller.claims
        for each in page.claims:
            assert each.claim_id == operator.show(each.claim_id).shown.claim.claim_id
        assert page.engine.claimed == len(engine.controller._registry.declared)
    for name in "abcd":
        engine.release(name, "tenant")
    assert 0 == engine.controller.claims
    assert 60 == len(engine.pool.free)
    accepted = {e.claim_id: e.mode for e in engine.kinds("claim_registered")}
    for mode in MODES:
        for concluded in engine.judge(Mode(mode)).claims:
            if accepted.get(concluded.claim_id) == mode:
                assert ModeVerdict.VIOLATED is not concluded.verdict
