"""How long requests wait that do not fit, and what of them is not cached."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from vllm import SamplingParams

from runtime_hooks.demo.engine import claim
from runtime_hooks.demo.tiny import tokens
from runtime_hooks.engines.shared.refusals import OVERSIZED_REASON
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests_vllm.conftest import Clock, Make
from tests_vllm.engine import Engine, unchecked

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


SMALL = 60
"""Blocks of a pool that is smaller than the context, which is 80 blocks long."""


@pytest.fixture
def small() -> Iterator[None]:
    """vLLM starts although the pool does not hold one request of the whole context."""
    with unchecked():
        yield


def steps(engine: Engine, name: str, blocks: int, most: int) -> tuple[object, int]:
    """The reason why a request stopped, and its tokens; None where 200 steps do not end it."""
    params = SamplingParams(max_tokens=most, temperature=0.0, detokenize=False, ignore_eos=True)
    vllm = engine.llm.llm_engine
    vllm.add_request(name, {"prompt_token_ids": tokens(name, blocks)}, params)
    made = 0
    for _ in range(200):
        for output in vllm.step():
            (answer,) = output.outputs
            made = max(made, len(answer.token_ids))
            if output.finished:
                return answer.stop_reason or answer.finish_reason, made
    vllm.abort_request([name])
    vllm.step()
    return None, made


@pytest.mark.usefixtures("small")
class TestNeverFits:
    """A request that the pool cannot hold."""

    def test_refused(self, make: Make) -> None:
        """A prompt that exceeds the pool is refused with the sum, without and beside a claim, one
        of exactly the pool is served, and the claim is kept."""
        engine = make(SMALL)
        sums = []
        for blocks, metadata in ((60, None), (61, None), (20, claim(blocks=20)), (61, None)):
            given = {} if metadata is None else metadata
            (answer,) = engine.serve((f"prompt of {blocks}", blocks, given))
            if "refusal" in answer.metadata:
                assert ("abort", OVERSIZED_REASON) == (answer.finish_reason, answer.stop_reason)
                assert [] == answer.metadata["refusal"]["blocking_claim_ids"]
                sums.append([*answer.metadata["refusal"]["proof"].values()])
        assert [[0, 61, 61, 60, 1], [20, 61, 81, 60, 21]] == sums
        engine.close()
        assert [] == engine.kinds("request_deferred", "request_bounded")
        assert 2 == len(engine.kinds("request_refused"))
        assert KEPT is engine.judge(Mode.HARD_PROTECTED).verdict

    def test_grown(self, make: Make) -> None:
        """A request whose prompt fits is served until its tokens exceed the pool; the next step
        refuses it, and not vLLM's loop of preemptions."""
        engine = make(SMALL)
        assert ("length", 33) == steps(engine, "enough", 59, 33)
        assert (OVERSIZED_REASON, 33) == steps(engine, "long", 59, 80)
        (answer,) = engine.serve(("after", 60))
        assert "length" == answer.finish_reason

    def test_waits(self, make: Make) -> None:
        """Without the refusal such requests do not end, and the trace does not say why."""
        engine = make(SMALL, never_fits="wait")
        assert (None, 0) == steps(engine, "large", 61, 1)
        assert (None, 33) == steps(engine, "long", 59, 80)
        engine.close()
        assert [] == engine.kinds("request_refused", "request_deferred")
