"""Requests without a limit on their output, in a real engine: bounded to what fits."""

from __future__ import annotations

from typing import Any

from vllm import SamplingParams

from runtime_hooks.demo.engine import claim
from runtime_hooks.demo.tiny import BLOCK, tokens
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests_vllm.conftest import Clock, Make
from tests_vllm.engine import Engine

PROMPT = 2
"""Blocks of a prompt."""


def generate(engine: Engine, *names: str) -> list[Any]:
    """The outputs of requests that state no limit, all at once."""
    params = SamplingParams(max_tokens=None, temperature=0.0, detokenize=False, ignore_eos=True)
    prompts = [{"prompt_token_ids": tokens(name, PROMPT)} for name in names]
    return engine.llm.generate(prompts, params, use_tqdm=False)


def test_one_block(make: Make) -> None:
    """Beside one claimed block it is served, and ends with `length` at the last token whose block
    fits; its client is told the limit."""
    engine = make(8, engine={"max_model_len": 8 * BLOCK})
    engine.serve(("resident", 1, claim(blocks=1)))
    (output,) = generate(engine, "chat")
    most = (8 - 1 - PROMPT) * BLOCK + 1  # the last token is not stored
    assert ("length", most) == (
        output.outputs[0].finish_reason,
        len(output.outputs[0].token_ids),
    )
    said = output.kv_transfer_params["resident_claims"]
    assert {"max_tokens": most} == said["bounded"]

    engine.close()
    (bounded,) = engine.kinds("request_bounded")
    assert ("claim:resident",) == bounded.blocking_claim_ids
    assert [] == engine.kinds("block_evicted", "request_refused")
    assert ModeVerdict.KEPT is engine.judge(Mode.HARD_PROTECTED).verdict


def test_two_at_once(make: Make) -> None:
    """Two that do not fit together are both served to their limits, one after the other if need
    be, and the claim's blocks stay."""
    engine = make(8, engine={"max_model_len": 8 * BLOCK})
    engine.serve(("resident", 3, claim(blocks=3)))
    outputs = generate(engine, "one", "two")
    most = (8 - 3 - PROMPT) * BLOCK + 1
    assert [("length", most)] * 2 == [
        (each.outputs[0].finish_reason, len(each.outputs[0].token_ids)) for each in outputs
    ]
    assert 3 == sum(engine.cached("resident", 3))

    engine.close()
    assert 2 == len(engine.kinds("request_bounded"))
    assert ModeVerdict.KEPT is engine.judge(Mode.HARD_PROTECTED).verdict


def test_later(make: Make) -> None:
    """One that waits, because its prompt does not fit, is bounded when a claim in its way expires,
    before its first token, and its client is told."""
    engine = make(8, defer_s=30.0, engine={"max_model_len": 8 * BLOCK})
    Clock(engine)
    engine.serve(("resident", 5, claim(blocks=5)))
    engine.serve(("other", 2, claim("claim:b", 2, mode="expiring", duration="1 s")))
    (output,) = generate(engine, "chat")
    most = (8 - 5 - PROMPT) * BLOCK + 1
    assert ("length", most) == (
        output.outputs[0].finish_reason,
        len(output.outputs[0].token_ids),
    )
    assert {"max_tokens": most} == output.kv_transfer_params["resident_claims"]["bounded"]

    assert {} == engine.armed.attachments[0].faults
    engine.close()
    told = [e.kind for e in engine.kinds("request_deferred", "claim_expired", "request_bounded")]
    assert ["request_deferred", "claim_expired", "request_bounded"] == told
    assert ModeVerdict.KEPT is engine.judge(Mode.HARD_PROTECTED).verdict


def test_stated(make: Make) -> None:
    """One that states a limit of its own is refused, whatever is left of the context."""
    engine = make(8, engine={"max_model_len": 8 * BLOCK})
    engine.serve(("resident", 3, claim(blocks=3)))
    params = SamplingParams(max_tokens=5 * BLOCK, detokenize=False)
    (output,) = engine.llm.generate(
        {"prompt_token_ids": tokens("large", PROMPT)}, params, use_tqdm=False
    )
    assert "abort" == output.outputs[0].finish_reason
