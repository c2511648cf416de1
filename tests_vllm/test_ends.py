"""Claims that end before their blocks go (L4, L5), no-admit (L2) and lost predicates (L6)."""

from __future__ import annotations

import pytest

from monitor.engine import ModeVerdict
from runtime_hooks.config import Drill
from runtime_hooks.demo.engine import Engine, claim
from spec.alphabet import Kind
from spec.claims import Mode
from tests_vllm.conftest import Clock, Make

KEPT, VIOLATED = ModeVerdict.KEPT, ModeVerdict.VIOLATED
RESIDENT, ACTIVE = ("resident", 60), ("active", 70)
SHORT = "1 s"


def lost_after(engine: Engine, end: str) -> int:
    """How many blocks were victims, all of them after the one end of the claim."""
    events = engine.events()
    kinds = [event.kind for event in events]
    assert 1 == kinds.count(Kind(end))
    assert kinds.index(Kind(end)) < kinds.index(Kind.BLOCK_EVICTED)
    assert Kind.CLAIM_HARMED not in kinds
    return sum(len(event.block_ids) for event in engine.kinds("block_evicted"))


class TestDemotable:
    """L4."""

    def test_demoted(self, make: Make) -> None:
        """The claim is demoted, then 50 of its blocks go; the request is served."""
        engine = make()
        engine.serve((*RESIDENT, claim(mode="demotable")))
        (answer,) = engine.serve(ACTIVE)
        assert "length" == answer.finish_reason
        assert 10 == sum(engine.cached(*RESIDENT))

        engine.close()
        assert 50 == lost_after(engine, "claim_demoted")
        assert KEPT is engine.judge(Mode.DEMOTABLE).verdict

    @pytest.mark.parametrize(
        "settings",
        [{"enforce": ()}, {"drill": Drill(suppress=(Kind.CLAIM_DEMOTED,))}],
        ids=["not enforced", "not told"],
    )
    def test_broken(self, make: Make, settings: dict[str, object]) -> None:
        """Without the demotion, or without its report, it is violated."""
        engine = make(**settings)
        engine.serve((*RESIDENT, claim(mode="demotable")))
        engine.serve(ACTIVE)
        engine.close()
        assert VIOLATED is engine.judge(Mode.DEMOTABLE).verdict

    def test_misattributed(self, make: Make) -> None:
        """A demotion that names another claim is none of this one."""
        engine = make(drill=Drill(misattribute={Kind.CLAIM_DEMOTED: "claim:other"}))
        engine.serve((*RESIDENT, claim(mode="demotable")))
        engine.serve(ACTIVE)
        engine.close()
        assert VIOLATED is engine.judge(Mode.DEMOTABLE).verdict


class TestExpiring:
    """L5."""

    def test_expired(self, make: Make) -> None:
        """Before its time the claim is in the way; after it 50 of its blocks go."""
        engine = make()
        engine.serve((*RESIDENT, claim(mode="expiring", duration="60 s")))
        (early,) = engine.serve(ACTIVE)
        assert "abort" == early.finish_reason
        Clock(engine).wait(60)
        (late,) = engine.serve(ACTIVE)
        assert "length" == late.finish_reason
        assert 10 == sum(engine.cached(*RESIDENT))

        engine.close()
        assert 50 == lost_after(engine, "claim_expired")
        assert KEPT is engine.judge(Mode.EXPIRING).verdict

    def test_deferred_until(self, make: Make) -> None:
        """A request that is deferred is served once the claim in its way has expired."""
        engine = make(defer_s=30.0)
        Clock(engine)
        engine.serve((*RESIDENT, claim(mode="expiring", duration=SHORT)))
        (answer,) = engine.serve(ACTIVE)
        assert "length" == answer.finish_reason

        engine.close()
        assert 50 == lost_after(engine, "claim_expired")
        assert 1 == len(engine.kinds("request_deferred"))
        assert KEPT is engine.judge(Mode.EXPIRING).verdict

    @pytest.mark.parametrize(
        "drill",
        [
            Drill(suppress=(Kind.CLAIM_EXPIRED,)),
            Drill(misattribute={Kind.CLAIM_EXPIRED: "claim:other"}),
        ],
        ids=["not told", "misattributed"],
    )
    def test_untold(self, make: Make, drill: Drill) -> None:
        """An expiry that is not told, or told of another claim, is violated."""
        engine = make(drill=drill, defer_s=30.0)
        Clock(engine)
        engine.serve((*RESIDENT, claim(mode="expiring", duration=SHORT)))
        engine.serve(ACTIVE)
        engine.close()
        assert VIOLATED is engine.judge(Mode.EXPIRING).verdict

    def test_not_enforced(self, make: Make) -> None:
        """Without enforcement the claim is lost before its time."""
        engine = make(enforce=())
        engine.serve((*RESIDENT, claim(mode="expiring", duration="60 s")))
        engine.serve(ACTIVE)
        engine.close()
        assert VIOLATED is engine.judge(Mode.EXPIRING).verdict


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


class TestNoAdmit:
    """L2: what a request computes is not cached, and the residents go all the same."""

    @pytest.mark.parametrize(
        ("usable", "victims"), [(80, 50), (90, 40), (100, 30), (110, 20), (120, 10), (130, 0)]
    )
    def test_victims(self, make: Make, usable: int, victims: int) -> None:
        """The request is served, cannot be reused, and takes as many victims as without."""
        engine = make(usable)
        engine.serve(RESIDENT)
        (answer,) = engine.serve((*ACTIVE, {"no_admit": True}))
        assert "length" == answer.finish_reason
        assert 0 == sum(engine.cached(*ACTIVE))
        assert 60 - victims == sum(engine.cached(*RESIDENT))

        engine.close()
        assert victims == sum(len(event.block_ids) for event in engine.kinds("block_evicted"))
        report = engine.judge(Mode.HARD_PROTECTED)
        assert "no accepted claim" == report.why

    def test_not_reused(self, make: Make) -> None:
        """The same request again finds nothing; without the switch it would."""
        engine = make()
        for metadata, cached in (({"no_admit": True}, 0), ({}, 0), ({}, 69 * 32)):
            (answer,) = engine.serve((*ACTIVE, metadata))
            assert cached == answer.cached

    def test_claim(self, make: Make) -> None:
        """A request that is not cached cannot claim what it computes."""
        engine = make()
        (answer,) = engine.serve((*RESIDENT, {**claim(), "no_admit": True}))
        assert "its request asks not to be cached" == answer.metadata["claim"]["reason"]


class TestPredicate:
    """L6: 59 of 60 blocks survive, and without the first they are worth nothing."""

    def test_first_lost(self, make: Make) -> None:
        """A failure takes the first block: harmed, nothing reused, and there again once made."""
        engine = make(200)
        engine.serve((*RESIDENT, claim()))
        first = engine.pool.get_cached_block(engine.request(RESIDENT).block_hashes[0], [0])[0]
        engine.core.scheduler.kv_cache_manager.evict_blocks({first.block_id})
        assert [False] + [True] * 59 == engine.cached(*RESIDENT)
        (again,) = engine.serve(RESIDENT)
        assert 0 == again.cached
        (third,) = engine.serve(RESIDENT)
        assert 59 * 32 == third.cached

        engine.close()
        told = ("block_lost", "claim_harmed", "claim_materialized", "prefix_lookup")
        kinds = [(event.kind, event.held) for event in engine.kinds(*told)]
        assert [
            ("prefix_lookup", 0),
            ("claim_materialized", None),
            ("block_lost", None),
            ("claim_harmed", None),
            ("prefix_lookup", 0),
            ("claim_materialized", None),
            ("prefix_lookup", 59),
        ] == kinds
        assert KEPT is engine.judge(Mode.HARD_PROTECTED).verdict

    def test_false_materialization(self, make: Make) -> None:
        """A harm that is not told is found."""
        engine = make(200, drill=Drill(suppress=(Kind.CLAIM_HARMED,)))
        engine.serve((*RESIDENT, claim()))
        first = engine.pool.get_cached_block(engine.request(RESIDENT).block_hashes[0], [0])[0]
        engine.core.scheduler.kv_cache_manager.evict_blocks({first.block_id})
        engine.serve(RESIDENT)
        engine.close()
        assert VIOLATED is engine.judge(Mode.HARD_PROTECTED).verdict
