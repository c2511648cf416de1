"""hard_protected in the real engine: 60 blocks are claimed of 80, and a request needs 70."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from monitor.engine import ModeVerdict
from runtime_hooks.config import Drill
from runtime_hooks.demo.engine import Engine, claim
from spec.alphabet import Kind
from spec.claims import Mode
from tests_vllm.conftest import Make

HARD = Mode.HARD_PROTECTED
RESIDENT, ACTIVE = ("resident", 60), ("active", 70)
CLAIM = "claim:resident"


def claimed(engine: Engine) -> Engine:
    """The engine, once it has accepted and computed the claim."""
    (answer,) = engine.serve((*RESIDENT, claim()))
    assert "length" == answer.finish_reason
    assert {"claim": {"decision": "accepted"}} == answer.metadata
    assert 60 == sum(engine.cached(*RESIDENT))
    return engine


class TestNative:
    """L1: no claim."""

    def test_no_claim(self, make: Make) -> None:
        """50 blocks are victims, nobody is harmed, and without a claim there is no verdict."""
        engine = make()
        engine.serve(RESIDENT)
        (answer,) = engine.serve(ACTIVE)
        assert "length" == answer.finish_reason
        assert [True] * 10 + [False] * 50 == engine.cached(*RESIDENT)

        engine.close()
        (evicted,) = engine.kinds("block_evicted")
        assert 50 == len(evicted.block_ids)
        assert [] == [event for event in engine.events() if event.claim_id]
        report = engine.judge(HARD)
        assert (ModeVerdict.INCONCLUSIVE, "no accepted claim") == (report.verdict, report.why)


class TestHard:
    """L3: a hard claim."""

    def test_refused(self, make: Make) -> None:
        """No victim; the client is told of the claim and of the sum, and the trace is kept."""
        engine = claimed(make())
        (answer,) = engine.serve(ACTIVE)
        assert 60 == sum(engine.cached(*RESIDENT))
        proof = {"resident": 60, "active": 70, "total": 130, "usable": 80, "shortfall": 50}
        refusal = {
            "reason": "protected_resident_capacity_refused",
            "blocking_claim_ids": [CLAIM],
            "proof": proof,
        }
        assert ("abort", refusal["reason"]) == (answer.finish_reason, answer.stop_reason)
        assert {"refusal": refusal} == answer.metadata
        assert () == answer.tokens

        engine.close()
        assert [] == engine.kinds("block_evicted", "claim_harmed")
        (refused,) = engine.kinds("request_refused")
        assert (CLAIM,) == refused.blocking_claim_ids
        assert ModeVerdict.KEPT is engine.judge(HARD).verdict

    def test_reused(self, make: Make) -> None:
        """The claimed prefix is used again after the refusal, and gives the same token."""
        engine = make()
        (first,) = engine.serve((*RESIDENT, claim()))
        engine.serve(ACTIVE)
        (again,) = engine.serve(RESIDENT)
        assert (59 * 32, first.tokens) == (again.cached, again.tokens)

        engine.close()
        assert ModeVerdict.KEPT is engine.judge(HARD).verdict

    def test_not_enforced(self, make: Make) -> None:
        """Nothing is done: 50 blocks go, which the facts alone say."""
        engine = claimed(make(enforce=()))
        (answer,) = engine.serve(ACTIVE)
        assert "length" == answer.finish_reason
        assert 10 == sum(engine.cached(*RESIDENT))

        engine.close()
        report = engine.judge(HARD)
        assert ModeVerdict.VIOLATED is report.verdict
        assert "victim_exclusion_before_violation" in report.why

    @pytest.mark.parametrize(
        ("drill", "broken"),
        [
            (Drill(suppress=(Kind.REQUEST_REFUSED,)), "explicit_conflict_action"),
            (Drill(misattribute={Kind.REQUEST_REFUSED: "claim:other"}), "blocking_claim_ids"),
            (Drill(suppress=(Kind.CLAIM_ACCEPTED,)), "explicit_acceptance"),
            (Drill(suppress=(Kind.CLAIM_MATERIALIZED,)), "claim_materialized_event"),
        ],
        ids=lambda value: str(value)[:60],
    )
    def test_untold(self, make: Make, drill: Drill, broken: str) -> None:
        """A report that is kept back, or that names another claim, is found from the facts."""
        engine = claimed(make(drill=drill))
        engine.serve(ACTIVE)

        engine.close()
        report = engine.judge(HARD)
        assert ModeVerdict.VIOLATED is report.verdict
        assert broken in report.why

    @pytest.mark.parametrize("usable", range(80, 151, 10))
    def test_sweep(self, make: Make, usable: int) -> None:
        """Below 130 blocks the request is refused, from there on it is served; no victims."""
        engine = claimed(make(usable))
        (answer,) = engine.serve(ACTIVE)
        assert ("abort" if usable < 130 else "length") == answer.finish_reason
        assert 60 == sum(engine.cached(*RESIDENT))

        engine.close()
        assert [] == engine.kinds("block_evicted")
        assert ModeVerdict.KEPT is engine.judge(HARD).verdict

    @pytest.mark.parametrize(
        ("usable", "victims"), [(80, 50), (90, 40), (100, 30), (110, 20), (120, 10), (130, 0)]
    )
    def test_native_sweep(self, make: Make, usable: int, victims: int) -> None:
        """Without a claim the victims are what does not fit."""
        engine = make(usable)
        engine.serve(RESIDENT)
        engine.serve(ACTIVE)

        engine.close()
        assert victims == sum(len(event.block_ids) for event in engine.kinds("block_evicted"))


class TestReconstruction:
    """L7: a process that has only the trace."""

    def test_from_trace(self, make: Make) -> None:
        """It knows acceptance, conflict, blockers and outcome; its blocks are those of the pool."""
        engine = claimed(make())
        engine.serve(ACTIVE)
        hashes = engine.request(RESIDENT).block_hashes
        held = [engine.pool.get_cached_block(h, [0])[0] for h in hashes]
        assert all(block.ref_cnt for block in held)
        there = {str(at): block.block_id for at, block in enumerate(held)}

        engine.close()
        command = [sys.executable, "-m", "tests_vllm.reconstruct", str(engine.trace)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        known = json.loads(done.stdout)
        assert {
            CLAIM: {"footprint": 60, "said": ["accepted", "materialized"], "held": there}
        } == known["claims"]
        assert [
            {"needed": 1, "over": 0, "end": "served"},
            {"needed": 70, "over": 50, "end": "refused", "because": [CLAIM]},
        ] == known["requests"]
