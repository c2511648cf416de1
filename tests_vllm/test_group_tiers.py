"""offloadable in engines with several groups of KV caches: copies of each group come and go."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import openai
import pytest

from monitor.check import files
from runtime_hooks.demo.engine import claim, sampling, without_epoch
from runtime_hooks.demo.scenes import offloading
from runtime_hooks.demo.tiny import tokens
from runtime_hooks.engines import adapter_of, installed
from runtime_hooks.engines.shared.offload import OffloadHooks
from runtime_hooks.settings.config import TAKEN, Drill
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.stream.outcome import ModeVerdict
from tests_vllm.actions import reset
from tests_vllm.architectures import ARCHITECTURES, configured
from tests_vllm.conftest import Make
from tests_vllm.connectors import saving
from tests_vllm.engine import Engine
from tests_vllm.rows import story
from tests_vllm.serve import Server
from tests_vllm.stage import end_of
from tests_vllm.test_groups import SUMS
from tests_vllm.test_random import busy, check, play
from tests_vllm.test_server import OFFLOADING
from tests_vllm.tier import FAILED

OFF, KEPT, VIOLATED = Mode.OFFLOADABLE, ModeVerdict.KEPT, ModeVerdict.VIOLATED
GROUPS = {"gpt-oss": 2, "lfm2": 4, "gemma 3": 6, "gemma 4": 6}
IN_CI = ("gpt-oss", "lfm2")

ADAPTER: Any = adapter_of(installed())[0]
pytestmark = pytest.mark.skipif(not ADAPTER.tried.several, reason="not tried with this version")

each_model = pytest.mark.parametrize(
    "model", [pytest.param(m, marks=() if m in IN_CI else pytest.mark.deep) for m in GROUPS]
)


def with_tier(model: str, policy: str = "fail", **more: Any) -> dict[str, Any]:
    """The configuration of an engine with this model and an offload tier."""
    return {**configured(model), **offloading(policy, **more)}


def serve(engine: Engine, name: str, blocks: int, *metadata: dict[str, Any]) -> Any:
    """A request with a prompt of so many whole blocks and a token."""
    prompt = [*tokens(name, blocks), 1]
    params = sampling(*metadata)
    (output,) = engine.llm.generate([{"prompt_token_ids": prompt}], params, use_tqdm=False)
    return output


def offloaded(engine: Engine, blocks: int = 12) -> tuple[int, ...]:
    """A claim on 12 blocks of a prompt was computed and copied, and its blocks were taken; the
    token that follows its prompt."""
    first = serve(engine, "prefix", blocks, claim("claim:p", 12, OFF))
    engine.serve(("filler", 1))  # copies are made with the next step
    assert ["0", "0"] == [end_of(engine.serve(each)[0]) for each in (("active", 18), ("more", 18))]
    return tuple(first.outputs[0].token_ids)


def told(engine: Engine) -> str:
    """What the trace reports once the blocks of the claim are gone; no hook failed."""
    assert {} == engine.armed.attachments[0].faults
    engine.close()
    after = story(engine.events()).partition("offloaded ")[2].split()
    return " ".join(word for word in after if word not in ("evicted", "end"))


@each_model
class TestTier:
    def test_restored(self, make: Make, model: str) -> None:
        """The blocks of each group leave, and those that a hit needs come back before the reuse."""
        engine = make(SUMS[model].usable, engine=with_tier(model))
        first, again = offloaded(engine), serve(engine, "prefix", 12)
        assert (first, 12 * 32) == (tuple(again.outputs[0].token_ids), again.num_cached_tokens)
        loads = " ".join(["loaded"] * GROUPS[model])
        assert f"restore_required {loads} restored reused" == told(engine)
        assert KEPT is engine.judge(OFF).verdict

    def test_further(self, make: Make, model: str) -> None:
        """A request that finds more of its prompt in the tier than the claim loads the window or
        the state that it needs itself. What the claim needs stays in the tier, for the next one."""
        engine = make(SUMS[model].usable, engine=with_tier(model))
        offloaded(engine, 17)
        assert 17 * 32 == serve(engine, "prefix", 17).num_cached_tokens
        engine.serve(("active", 18), ("more", 18))
        prompt = {"prompt_token_ids": [*tokens("prefix", 12), *tokens("another", 1)]}
        (branch,) = engine.llm.generate([prompt], sampling(), use_tqdm=False)
        assert 12 * 32 == branch.num_cached_tokens
        told(engine)
        assert KEPT is engine.judge(OFF).verdict

    @pytest.mark.parametrize("policy", ["fail", "recompute"])
    def test_fails(self, make: Make, model: str, policy: str) -> None:
        """A load that fails has its outcome under either policy, and the next one may succeed."""
        drill = Drill(fail_loads={"claim:p": 1})
        engine = make(SUMS[model].usable, engine=with_tier(model, policy), drill=drill)
        first, refused = offloaded(engine), serve(engine, "prefix", 12)
        said = without_epoch(refused.kv_transfer_params["resident_claims"])["refusal"]
        assert ("claim_restoration_failed", ["claim:p"]) == (
            said["reason"],
            said["blocking_claim_ids"],
        )
        again = serve(engine, "prefix", 12)
        assert first == tuple(again.outputs[0].token_ids)
        assert told(engine).startswith(f"{FAILED.removesuffix(' end')} restore_required loaded")
        assert KEPT is engine.judge(OFF).verdict

    @pytest.mark.parametrize("worker", ["FailingSpec", "RefusingSpec", "CorruptingSpec"])
    def test_goes_wrong(self, make: Make, model: str, worker: str) -> None:
        """So has a load that the worker reports as failed, does not take, or that brings other
        bytes back; the load of a request without a claim ends it with an error, as vLLM would."""
        named = {"spec_name": worker, "spec_module_path": "tests_vllm.specs"}
        engine = make(SUMS[model].usable, engine=with_tier(model, **named))
        offloaded(engine)
        assert "abort" == serve(engine, "prefix", 12).outputs[0].finish_reason
        engine.serve(("filler", 18))
        assert "error" == serve(engine, "active", 17).outputs[0].finish_reason
        assert FAILED.removesuffix(" end") == told(engine)
        assert KEPT is engine.judge(OFF).verdict

    def test_fault(self, make: Make, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A fault while failed loads are looked for serves no request from what was not loaded."""
        named = {"spec_name": "FailingSpec", "spec_module_path": "tests_vllm.specs"}
        engine = make(SUMS[model].usable, engine=with_tier(model, **named))
        offloaded(engine)
        engine.serve(("filler", 18))
        monkeypatch.setattr(OffloadHooks, "_reached", lambda *_: 1 / 0)
        assert "error" == serve(engine, "active", 17).outputs[0].finish_reason
        assert "length" == serve(engine, "other", 3).outputs[0].finish_reason
        assert "_handle_invalid_blocks failed" == engine.armed.attachments[0].disarmed

    def test_not_enforced(self, make: Make, model: str) -> None:
        """Where nothing is enforced such a request ends without the outcome, and the check finds
        it."""
        drill = Drill(fail_loads={"claim:p": 1})
        engine = make(SUMS[model].usable, engine=with_tier(model), drill=drill, enforce=())
        offloaded(engine)
        assert "error" == serve(engine, "prefix", 12).outputs[0].finish_reason
        assert "restore_required load_failed" == told(engine)
        assert VIOLATED is engine.judge(OFF).verdict

    def test_aborted(self, make: Make, model: str) -> None:
        """A client goes away while the blocks are on their way: they came back, and are lost."""
        slow = {"spec_name": "SlowSpec", "spec_module_path": "tests_vllm.specs"}
        engine = make(SUMS[model].usable, engine=with_tier(model, **slow))
        offloaded(engine)
        scheduler, request = engine.core.scheduler, engine.request(("prefix", 13))
        scheduler.add_request(request)
        engine.core.step()
        engine.core.abort_requests([request.request_id])
        while request.request_id in scheduler.requests:
            engine.core.step()
        assert 12 * 32 == serve(engine, "prefix", 12).num_cached_tokens
        loads = " ".join(["loaded"] * GROUPS[model])
        back = f"restore_required {loads} restored"
        assert f"{back} lost {back} reused" == told(engine)
        assert KEPT is engine.judge(OFF).verdict

    def test_computed_meanwhile(self, make: Make, model: str) -> None:
        """A request loads more than a claim, and not the window or the state at the claim's end;
        another one computes the claim meanwhile. The first one is no reuse of the claim."""
        slow = {"spec_name": "SlowSpec", "spec_module_path": "tests_vllm.specs"}
        engine = make(3 * SUMS[model].usable, engine=with_tier(model, **slow))
        serve(engine, "prefix", 17, claim("claim:p", 12, OFF))
        engine.serve(("filler", 1))
        reset(engine)
        scheduler = engine.core.scheduler
        scheduler.add_request(engine.request(("prefix", 18)))
        engine.core.step()
        other = engine.request(("prefix", 12))
        other.request_id, other.skip_reading_prefix_cache = "other", True
        scheduler.add_request(other)
        while scheduler.requests:
            engine.core.step()
        loaded, *_, last = told(engine).split()
        assert ("lost", "loaded") == (loaded, last)
        assert KEPT is engine.judge(OFF).verdict


def test_no_groups(make: Make, tmp_path: Path) -> None:
    """Where a connector does not know of groups vLLM makes one of all caches: a claim that its
    blocks came back to holds one block for each position."""
    engine = make(engine={**configured("gpt-oss"), **saving(tmp_path / "saved")})
    engine.serve(("prefix", 13, claim("claim:p", 12)))
    reset(engine)
    assert "12" == end_of(engine.serve(("prefix", 13))[0])
    assert {} == engine.armed.attachments[0].faults
    engine.close()
    assert {12} == {e.footprint for e in engine.kinds("claim_accepted")}
    assert 2 == len(engine.kinds("claim_materialized"))
    assert KEPT is engine.judge(Mode.HARD_PROTECTED).verdict


@pytest.mark.deep
@pytest.mark.parametrize("model", IN_CI)
def test_served(tmp_path: Path, model: str) -> None:
    """So it is through a server, in processes of its own: a claim of each mode, the refusal with
    the sum of all groups, and the restore from the tier."""
    sums = SUMS[model]
    config = ARCHITECTURES[model]
    sizes = f"--num-gpu-blocks-override {sums.usable + 1} --max-model-len 640".split()
    tier = ("--kv-transfer-config", json.dumps(OFFLOADING))
    server = Server(tmp_path, *sizes, *tier, config=config)
    accepted = {"claim": {"decision": "accepted"}}
    try:
        server.wait()
        for name, mode in (("hard", Mode.HARD_PROTECTED), ("prefix", OFF)):
            body = {"kv_transfer_params": claim(f"claim:{name}", 12, mode)}
            answer = server.complete([*tokens(name, 12), 1], extra_body=body)
            assert accepted == without_epoch(answer.kv_transfer_params["resident_claims"])
            if mode is not OFF:
                with pytest.raises(openai.InternalServerError) as caught:
                    server.complete(tokens("active", 18))
                proof = caught.value.body["resident_claims"]["refusal"]["proof"]
                assert (sums.claim, sums.needs) == (proof["resident"], proof["active"])
                gone = {"release_claim": {"claim_id": "claim:hard", "owner_scope": "tenant"}}
                server.complete([1], extra_body={"kv_transfer_params": gone})
        for prompt in (tokens("filler", 1), tokens("active", 18), tokens("more", 18)):
            server.complete(prompt)
        server.complete([*tokens("prefix", 12), 1])
        server.stop()
    finally:
        server.kill()
    kinds = [json.loads(line)["kind"] for line in server.trace.open()]
    assert 1 == kinds.count("claim_restored") == kinds.count("request_refused")
    for mode in (Mode.HARD_PROTECTED, OFF):
        report = files.check([str(server.trace)], mode, Bundle.CONTRACT)
        assert KEPT is report.verdict, report.why


MODES = tuple(TAKEN)
CHUNKS = {"max_num_batched_tokens": 512, "enable_chunked_prefill": True}


@each_model
@pytest.mark.parametrize("seed", [0, 1])
def test_random(make: Make, model: str, seed: int) -> None:
    """Whatever comes, each claim is kept by its mode, and the plugin knows the engine's pool.

    The pool has room for three requests: with less, two whose loads have ended may wait for each
    other in vLLM itself, which is not observed here.
    """
    engine = make(
        15 * SUMS[model].claim,
        engine={**with_tier(model), **CHUNKS, "max_model_len": 2560},
        defer_s=0.01 * seed,
    )
    play(engine, random.Random(seed), MODES)
    check(engine, MODES)
    assert engine.kinds("claim_restored")


@pytest.mark.parametrize("model", IN_CI)
def test_busy(make: Make, overlapping: None, model: str) -> None:
    """So it is with requests of many tokens, several at once, with steps that overlap."""
    sizes = {**CHUNKS, "max_model_len": 1280}
    engine = make(10 * SUMS[model].claim, engine={**with_tier(model), **sizes}, defer_s=0.01)
    busy(engine, random.Random(5), MODES, tier=True)
    check(engine, MODES)
