"""What should not happen, in the real engine: nobody waits for ever, and nobody is told a lie."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from vllm import SamplingParams
from vllm.v1.engine import FinishReason
from vllm.v1.request import RequestStatus

from runtime_hooks.demo.engine import claim, without_epoch
from runtime_hooks.demo.tiny import tokens
from runtime_hooks.engines.shared.requests import arrival_of
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests_vllm.conftest import Make
from tests_vllm.engine import Engine

HARD = Mode.HARD_PROTECTED
RELEASE = {"release_claim": {"claim_id": "claim:resident", "owner_scope": "tenant"}}


def fail(*_: object) -> None:
    raise RuntimeError("a fault of ours")


def core_outputs(engine: Engine, request: Any, steps: int = 50) -> list[Any]:
    """What the core says of a request within some steps."""
    engine.core.scheduler.add_request(request)
    said: list[Any] = []
    for _ in range(steps):
        outputs, _ = engine.core.step()
        said += [out for outs in outputs.values() for out in outs.outputs]
    return [out for out in said if out.request_id == request.request_id]


class TestAnswers:
    """A request for several answers is one request."""

    def ask(self, engine: Engine, metadata: dict[str, Any], name: str = "resident") -> Any:
        params = SamplingParams(
            n=3, max_tokens=1, detokenize=False, extra_args={"kv_transfer_params": metadata}
        )
        prompt = {"prompt_token_ids": tokens(name, 20)}
        (output,) = engine.llm.generate([prompt], [params], use_tqdm=False)
        return without_epoch(output.kv_transfer_params["resident_claims"])

    def test_claim(self, make: Make) -> None:
        """It claims once, and gives up once; the client is told what became of that."""
        engine = make()
        accepted = {"decision": "accepted"}
        assert {"claim": accepted} == self.ask(engine, claim(blocks=20))
        assert {"release": accepted} == self.ask(engine, RELEASE)
        assert "no live claim" in self.ask(engine, RELEASE)["release"]["reason"]
        assert "used before" in self.ask(engine, claim(blocks=20))["claim"]["reason"]

        engine.close()
        assert 1 == len(engine.kinds("claim_accepted"))
        assert 1 == len(engine.kinds("claim_rejected"))


class TestWaits:
    """Nobody waits for ever behind a claim, whatever fails in the plugin."""

    @pytest.mark.parametrize("hook", ["arrive", "begin_step"])
    def test_fault(self, make: Make, monkeypatch: pytest.MonkeyPatch, hook: str) -> None:
        """The request is refused in the claim's name, the claim is held, the verdict is open."""
        engine = make(defer_s=0.01)
        engine.serve(("resident", 60, claim()))
        (attachment,) = engine.armed.attachments
        monkeypatch.setattr(attachment.controller, hook, fail)
        (out,) = core_outputs(engine, engine.request(("active", 70)))
        assert FinishReason.ABORT is out.finish_reason
        refusal = out.kv_transfer_params["resident_claims"]["refusal"]
        assert ["claim:resident"] == refusal["blocking_claim_ids"]
        assert 50 == refusal["proof"]["shortfall"]
        assert 60 == sum(engine.cached("resident", 60))

        engine.close()
        assert ModeVerdict.INCONCLUSIVE is engine.judge(HARD).verdict

    def test_fits(self, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        """One that fits is served all the same."""
        engine = make()
        engine.serve(("resident", 60, claim()))
        (attachment,) = engine.armed.attachments
        monkeypatch.setattr(attachment.controller, "begin_step", fail)
        (answer,) = engine.serve(("active", 20))
        assert "length" == answer.finish_reason

    def test_session(self, make: Make) -> None:
        """A session's prompt grows with each input: what it needs is the whole context."""
        engine = make()
        request = engine.request(("active", 2))
        request.resumable = True
        assert 80 == arrival_of(request, engine.core.scheduler, 0, claims=True).blocks

    def test_unreachable(self, make: Make) -> None:
        """A claim on a prompt whose first block is gone does not refuse its own request."""
        engine = make()
        engine.serve(("resident", 60))
        first = engine.pool.get_cached_block(engine.request(("resident", 1)).block_hashes[0], [0])
        engine.pool.evict_blocks({first[0].block_id})
        (answer,) = engine.serve(("resident", 60, claim()))
        assert "length" == answer.finish_reason
        assert 60 == sum(engine.cached("resident", 60))

        engine.close()
        assert 1 == len(engine.kinds("claim_materialized"))
        assert ModeVerdict.KEPT is engine.judge(HARD).verdict


class TestMemory:
    def test_resets(self, make: Make) -> None:
        """The maps that the pool replaces when the cache is reset are not kept."""
        engine = make()
        maps = weakref.WeakSet[Any]()
        for _ in range(5):
            engine.serve(("resident", 2))
            maps.add(engine.pool.cached_block_hash_to_block)
            assert engine.core.scheduler.reset_prefix_cache()
        gc.collect()
        assert 1 >= len(maps)
        assert "pop" in vars(engine.pool.cached_block_hash_to_block)

    def test_aborted(self, make: Make) -> None:
        """Nothing is kept of requests whose clients went away."""
        engine = make()
        steps = engine.core.scheduler.add_request.__closure__
        (hooks,) = [c.cell_contents for c in steps if hasattr(c.cell_contents, "_notes")]
        for number in range(5):
            request = engine.request((f"r{number}", 3, claim(f"claim:{number}", 3)))
            engine.core.scheduler.add_request(request)
            engine.core.abort_requests([request.request_id])
            engine.serve(("other", 1))
        assert {} == hooks._notes
        assert [] == hooks._ended
        assert {} == hooks._to_refuse


class TestComputed:
    def test_same_step(self, make: Make) -> None:
        """A prefix that a second request finds in the step that makes it is not reported before."""
        engine = make()
        engine.serve(("resident", 20, claim(blocks=20)))
        controller = engine.armed.attachments[0].controller
        entry = controller._registry.live["claim:resident"]
        engine.pool.evict_blocks({place.block for place in entry.places})
        scheduler = engine.core.scheduler
        for name in ("one", "two"):
            request = engine.request(("resident", 20))
            request.request_id = name
            scheduler.add_request(request)
        output = scheduler.schedule()
        assert 2 == len(output.num_scheduled_tokens)
        assert set() == entry.held
        scheduler.finish_requests(["one", "two"], RequestStatus.FINISHED_ABORTED)
