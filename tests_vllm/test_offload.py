"""offloadable, on vLLM's own OffloadingConnector: blocks leave for host memory and come back."""

from __future__ import annotations

from typing import Any

import pytest

from monitor.engine import ModeVerdict
from runtime_hooks.config import Drill
from runtime_hooks.demo.engine import Answer, Engine, claim
from runtime_hooks.demo.scenes import offloading
from spec.alphabet import Kind
from spec.claims import Mode
from tests_vllm.conftest import Make

KEPT, VIOLATED = ModeVerdict.KEPT, ModeVerdict.VIOLATED
RESIDENT, ACTIVE = ("resident", 61), ("active", 70)
CLAIM = "claim:resident"
LOADS = ("claim_restore_required", "load_finished", "load_failed", "claim_restored")
OUTCOMES = ("claim_restoration_failed", "request_refused", "prefix_reused", "claim_harmed")


def offloaded(engine: Engine, *claims: tuple[str, str]) -> Engine:
    """The engine, once each (prompt, claim) was computed and copied, and its blocks were taken."""
    for prompt, name in claims or (("resident", CLAIM),):
        (answer,) = engine.serve((prompt, 61, claim(name, mode="offloadable")))
        assert {"claim": {"decision": "accepted"}} == answer.metadata
        engine.serve(("filler " + name, 1))  # copies are made with the next step
        (pressing,) = engine.serve((f"pressing {name}", 70))
        assert "length" == pressing.finish_reason
    return engine


def failing(spec: str) -> dict[str, str]:
    """The configuration of offloading that does not bring back what was stored."""
    return {"spec_name": spec, "spec_module_path": "tests_vllm.specs"}


def kinds(engine: Engine) -> list[str]:
    """What was told of loads, in order."""
    return [str(event.kind) for event in engine.kinds(*LOADS, *OUTCOMES)]


class TestSuccess:
    """Path A."""

    def test_restored(self, make: Make) -> None:
        """The blocks leave, come back before they are reused, and the tokens are the same."""
        engine = make(engine=offloading())
        (first,) = engine.serve((*RESIDENT, claim(mode="offloadable")))
        engine.serve(("filler", 1))
        engine.serve(ACTIVE)
        assert sum(engine.cached(*RESIDENT)) < 60
        (again,) = engine.serve(RESIDENT)
        assert first.tokens == again.tokens
        assert again.cached >= 60 * 32

        engine.close()
        order = ["claim_restore_required", "load_finished", "claim_restored", "prefix_reused"]
        assert order == kinds(engine)
        assert 1 == len(engine.kinds("store_finished")) == len(engine.kinds("claim_offloaded"))
        assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict

    def test_held_until_copied(self, make: Make) -> None:
        """Before there is a copy the blocks are held, and a request that needs them is refused."""
        engine = make(engine=offloading(cpu_bytes_to_use=1 << 20))
        engine.serve((*RESIDENT, claim(mode="offloadable")))
        engine.serve(("filler", 1))
        (answer,) = engine.serve(ACTIVE)
        assert "abort" == answer.finish_reason
        assert 60 == sum(engine.cached("resident", 60))

        engine.close()
        assert [] == engine.kinds("store_finished")
        assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict

    def test_copies_are_kept(self, make: Make) -> None:
        """Other prompts fill the tier: the claim's copies are not among those given up."""
        engine = offloaded(make(engine=offloading(cpu_bytes_to_use=4 << 20)))
        for number in range(6):
            engine.serve((f"other {number}", 60))
            engine.serve(("filler", 1))
        (again,) = engine.serve(RESIDENT)
        assert again.cached >= 60 * 32

        engine.close()
        assert [] == engine.kinds("host_copy_lost", "claim_harmed")
        assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict

    def test_ordinary(self, make: Make) -> None:
        """Ordinary offload and load without a claim tell nothing of claims."""
        engine = make(engine=offloading())
        engine.serve(RESIDENT)
        engine.serve(("filler", 1))
        engine.serve(ACTIVE)
        (again,) = engine.serve(RESIDENT)
        assert again.cached >= 60 * 32

        engine.close()
        assert [] == [event for event in engine.events() if event.claim_id]
        assert "no accepted claim" == engine.judge(Mode.OFFLOADABLE).why

    def test_not_told(self, make: Make) -> None:
        """A restore that is not told is found."""
        engine = offloaded(make(engine=offloading(), drill=Drill(suppress=(Kind.CLAIM_RESTORED,))))
        engine.serve(RESIDENT)
        engine.close()
        assert VIOLATED is engine.judge(Mode.OFFLOADABLE).verdict

    def test_no_tier(self, make: Make) -> None:
        """An engine without a tier rejects the claim."""
        engine = make()
        (answer,) = engine.serve((*RESIDENT, claim(mode="offloadable")))
        assert "this engine keeps no offloadable claims" == answer.metadata["claim"]["reason"]


def refused(answer: Answer) -> None:
    """The client was refused in the claim's name."""
    assert ("abort", "claim_restoration_failed") == (answer.finish_reason, answer.stop_reason)
    assert {
        "refusal": {"reason": "claim_restoration_failed", "blocking_claim_ids": [CLAIM]}
    } == answer.metadata


class TestFailure:
    """Path B."""

    @pytest.mark.parametrize("policy", ["fail", "recompute"])
    def test_refused(self, make: Make, policy: str) -> None:
        """The load fails: refused in the claim's name, before the end, under either policy; and
        the next load brings the blocks back."""
        drill = Drill(fail_loads={CLAIM: 1})
        engine = offloaded(make(engine=offloading(policy), drill=drill))
        (answer,) = engine.serve(RESIDENT)
        refused(answer)
        (again,) = engine.serve(RESIDENT)
        assert ("length", True) == (again.finish_reason, again.cached >= 60 * 32)

        engine.close()
        assert [
            "claim_restore_required",
            "load_failed",
            "claim_restoration_failed",
            "request_refused",
            "claim_restore_required",
            "load_finished",
            "claim_restored",
            "prefix_reused",
        ] == kinds(engine)
        told = [str(event.kind) for event in engine.events()]
        assert "request_finished" == told[told.index("request_refused") + 1]
        assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict

    @pytest.mark.parametrize("spec", ["FailingSpec", "CorruptingSpec"])
    def test_worker(self, make: Make, spec: str) -> None:
        """A worker that says that it failed, where the stock one asserts, and one that brings back
        other bytes and says nothing."""
        engine = offloaded(make(engine=offloading(**failing(spec))))
        (answer,) = engine.serve(RESIDENT)
        refused(answer)
        engine.close()
        assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict

    def test_unchecked(self, make: Make) -> None:
        """Without digests other bytes pass, and give other tokens."""
        engine = make(engine=offloading(**failing("CorruptingSpec")), digests=False)
        engine.serve((*RESIDENT, claim(mode="offloadable")))
        engine.serve(("filler", 1))
        engine.serve(ACTIVE)
        (again,) = engine.serve(RESIDENT)
        assert "length" == again.finish_reason

    @pytest.mark.parametrize(
        "settings",
        [
            {"enforce": ()},
            {
                "drill": Drill(
                    fail_loads={CLAIM: 1},
                    suppress=(Kind.CLAIM_RESTORATION_FAILED, Kind.REQUEST_REFUSED),
                )
            },
            {
                "drill": Drill(
                    fail_loads={CLAIM: 1},
                    misattribute={
                        Kind.CLAIM_RESTORATION_FAILED: "claim:other",
                        Kind.REQUEST_REFUSED: "claim:other",
                    },
                )
            },
        ],
        ids=["not enforced", "not told", "misattributed"],
    )
    def test_broken(self, make: Make, settings: dict[str, Any]) -> None:
        """Without the outcome, or with another claim's name on it, it is violated."""
        drill = settings.get("drill", Drill(fail_loads={CLAIM: 1}))
        engine = make(engine=offloading(), **{**settings, "drill": drill})
        engine.serve((*RESIDENT, claim(mode="offloadable")))
        engine.serve(("filler", 1))
        engine.serve(ACTIVE)
        engine.serve(RESIDENT)
        engine.close()
        assert VIOLATED is engine.judge(Mode.OFFLOADABLE).verdict

    def test_unclaimed(self, make: Make) -> None:
        """A failed load that is nobody's claim's ends as vLLM has it, and is told of no claim."""
        engine = offloaded(make(engine=offloading(), drill=Drill(fail_loads={"": 1})))
        engine.serve(("other", 61))
        engine.serve(("filler", 1))
        engine.serve(("more", 75))
        (answer,) = engine.serve(("other", 61))
        assert ("error", {}) == (answer.finish_reason, answer.metadata)

        engine.close()
        assert [] == kinds(engine)
        assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict


class TestTwo:
    """Path C."""

    def test_target_only(self, make: Make) -> None:
        """Of two claims the load of one fails: it alone is named, and the other is restored."""
        drill = Drill(fail_loads={"claim:b": 1})
        engine = make(engine=offloading(), drill=drill)
        offloaded(engine, ("a", "claim:a"), ("b", "claim:b"))
        engine.serve(("pressing", 75))
        (b,) = engine.serve(("b", 61))
        assert ["claim:b"] == b.metadata["refusal"]["blocking_claim_ids"]
        (a,) = engine.serve(("a", 61))
        assert ("length", True) == (a.finish_reason, a.cached >= 60 * 32)

        engine.close()
        failed = engine.kinds("claim_restoration_failed", "load_failed")
        assert {"claim:b"} == {event.claim_id for event in failed}
        assert ["claim:a"] == [event.claim_id for event in engine.kinds("claim_restored")]
        assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict

    def test_wrong_claim(self, make: Make) -> None:
        """The failure is told of the claim whose load went well: found."""
        named = dict.fromkeys((Kind.CLAIM_RESTORATION_FAILED, Kind.REQUEST_REFUSED), "claim:a")
        drill = Drill(fail_loads={"claim:b": 1}, misattribute=named)
        engine = make(engine=offloading(), drill=drill)
        offloaded(engine, ("a", "claim:a"), ("b", "claim:b"))
        engine.serve(("pressing", 75))
        engine.serve(("b", 61))
        engine.close()
        judged = {c.claim_id: c.verdict for c in engine.judge(Mode.OFFLOADABLE).claims}
        assert VIOLATED is judged["claim:a"]
        assert VIOLATED is judged["claim:b"]
