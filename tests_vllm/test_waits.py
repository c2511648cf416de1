"""How long requests wait that do not fit beside claims, and what of them is not cached."""

from __future__ import annotations

from runtime_hooks.demo.engine import claim
from spec.claims.claim import Mode
from spec.stream.outcome import ModeVerdict
from tests_vllm.conftest import Clock, Make

KEPT = ModeVerdict.KEPT
RESIDENT, ACTIVE = ("resident", 60), ("active", 70)


class TestDeferral:
    """How long a request waits."""

    def test_returns(self, make: Make) -> None:
        """It returns refused, with the claim named, when its time to wait is over."""
        engine = make(defer_s=0.5)
        Clock(engine)
        engine.serve((*RESIDENT, claim()))
        (answer,) = engine.serve(ACTIVE)
        assert ["claim:resident"] == answer.metadata["refusal"]["blocking_claim_ids"]

        engine.close()
        deferred, refused = engine.kinds("request_deferred", "request_refused")
        assert ("request_deferred", "request_refused") == (deferred.kind, refused.kind)
        waited = (refused.time_ns or 0) - (deferred.time_ns or 0)
        assert 500_000_000 <= waited <= 500_000_000 + Clock.STEP_NS
        assert KEPT is engine.judge(Mode.HARD_PROTECTED).verdict

    def test_others_go_on(self, make: Make) -> None:
        """A request that waits keeps nobody behind it waiting."""
        engine = make(defer_s=0.5)
        Clock(engine)
        engine.serve((*RESIDENT, claim()))
        first, second = engine.serve(ACTIVE, ("small", 3))
        assert ("abort", "length") == (first.finish_reason, second.finish_reason)

        engine.close()
        ended = [event.request_id for event in engine.kinds("request_finished")]
        arrived = [event.request_id for event in engine.kinds("request_arrived")]
        assert [arrived[0], arrived[2], arrived[1]] == ended
        assert KEPT is engine.judge(Mode.HARD_PROTECTED).verdict

    def test_deferred_until(self, make: Make) -> None:
        """A request that is deferred is served once the claim in its way has expired."""
        engine = make(defer_s=30.0)
        Clock(engine)
        engine.serve((*RESIDENT, claim(mode="expiring", duration="1 s")))
        (answer,) = engine.serve(ACTIVE)
        assert "length" == answer.finish_reason

        engine.close()
        told = [e.kind for e in engine.kinds("request_deferred", "claim_expired", "block_evicted")]
        assert ["request_deferred", "claim_expired", "block_evicted"] == told
        assert KEPT is engine.judge(Mode.EXPIRING).verdict


class TestNoAdmit:
    """What a request computes is not cached."""

    def test_not_reused(self, make: Make) -> None:
        """The same request again finds nothing; without the switch it would."""
        engine = make()
        for metadata, cached in (({"no_admit": True}, 0), ({}, 0), ({}, 69 * 32)):
            (answer,) = engine.serve((*ACTIVE, metadata))
            assert cached == answer.cached
