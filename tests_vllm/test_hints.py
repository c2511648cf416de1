"""KV hints of vLLM's own envelope in a real engine, and as JSON among the transfer parameters."""

from __future__ import annotations

from typing import Any

from vllm import SamplingParams
from vllm.v1.kv_hints import KvHintAction, KvHintsEnvelope

from runtime_hooks.claims.hints import RETAIN, SET_PRIORITY
from runtime_hooks.demo.engine import claim
from runtime_hooks.demo.tiny import tokens
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.envelopes import envelope, retain, setting, span
from tests_vllm.conftest import Make
from tests_vllm.engine import Engine
from tests_vllm.test_preregistration import answered

SOFT, VIOLATED = Mode.SOFT_PRIORITY, ModeVerdict.VIOLATED


def sent(engine: Engine, name: str, blocks: int, hints: dict[str, Any]) -> dict[str, Any]:
    """The answer to hints that come as JSON with a request."""
    (answer,) = engine.serve((name, blocks, {"kv_hints": hints}))
    found: dict[str, Any] = answer.metadata["kv_hints"]
    return found


def outcomes(answer: dict[str, Any]) -> list[str]:
    """What became of each action."""
    return [each["outcome"] for each in answer["actions"]]


def test_retained(make: Make) -> None:
    """Under pressure the system prompt stays, the conversation goes from its end, and what no hint
    covers goes first: the monitor finds the influence of the priorities kept."""
    engine = make()
    conversation = retain(
        span(0, 10 * 32, 100), span(10 * 32, 40 * 32, 40, duration=600), scope="s"
    )
    assert ["accepted"] == outcomes(sent(engine, "chat", 40, conversation))
    engine.serve(("other", 20))
    engine.serve(("pressure", 45))
    assert [True] * 35 + [False] * 5 == engine.cached("chat", 40)
    assert not any(engine.cached("other", 20))
    engine.serve(("more", 75))
    assert [True] * 5 + [False] * 35 == engine.cached("chat", 40)
    engine.close()
    assert ModeVerdict.KEPT is engine.judge(SOFT).verdict


def test_priority(make: Make) -> None:
    """A priority is set when its request has completed, in the envelope that the engine carries,
    replaced by a later revision, and taken back; the answer has the final outcome."""
    engine = make()
    pool = engine.armed.attachments[0].controller._registry

    def asked(revision: int, value: int | None) -> dict[str, Any]:
        payload = setting(revision, value)["actions"][0]["payload"]
        actions = [KvHintAction("a", SET_PRIORITY, "1.0", payload), KvHintAction("b", "x", "1", {})]
        hint = KvHintsEnvelope("1.0", "m", actions)
        prompt = {"prompt_token_ids": tokens("resident", 20)}
        (action,) = answered(engine, prompt, kv_hints=hint)["kv_hints"]["actions"]
        return action  # type: ignore[no-any-return]

    assert {"action_id": "a", "outcome": "accepted", "claims": ["c@1"]} == asked(1, 5)
    assert "duplicate" == asked(1, 5)["outcome"]
    assert ("accepted", ["c@2"]) == (asked(2, 9)["outcome"], list(pool.live))
    assert "rejected" == asked(1, 5)["outcome"]
    assert ("accepted", []) == (asked(3, None)["outcome"], list(pool.live))
    engine.close()
    assert [5, 9] == [event.priority for event in engine.kinds("claim_registered")]
    assert VIOLATED is not engine.judge(SOFT).verdict


def test_refused(make: Make) -> None:
    """A request that is refused beside a claim sets no priority, and both answers come with it; the
    trace has the outcome."""
    engine = make()
    engine.serve(("resident", 60, claim()))
    (answer,) = engine.serve(("active", 70, {"kv_hints": setting(1)}))
    assert "refusal" in answer.metadata
    assert ["missing"] == outcomes(answer.metadata["kv_hints"])
    assert ["unsupported"] == outcomes(sent(engine, "small", 1, envelope(("prefetch", {}))))
    engine.close()
    assert [
        "missing: its request did not complete",
        "unsupported: no such action is mapped",
    ] == [event.reason for event in engine.kinds("claim_rejected")]
    assert ModeVerdict.KEPT is engine.judge(Mode.HARD_PROTECTED).verdict


def test_parts(make: Make) -> None:
    """Of a request for several answers the first part carries the hints, and the answer to the
    request has their outcome."""
    engine = make()
    hints = envelope(
        (RETAIN, {"directives": [span(0, 640, 9)]}),
        (SET_PRIORITY, setting(1)["actions"][0]["payload"]),
    )
    params = SamplingParams(
        n=2, max_tokens=2, detokenize=False, extra_args={"kv_transfer_params": {"kv_hints": hints}}
    )
    (output,) = engine.llm.generate([{"prompt_token_ids": tokens("p", 20)}], params, use_tqdm=False)
    assert ["accepted", "accepted"] == outcomes(
        output.kv_transfer_params["resident_claims"]["kv_hints"]
    )
    assert 2 == len(engine.armed.attachments[0].controller._registry.live)


def test_weak(make: Make) -> None:
    """A hint keeps no request out, whatever its priority: the pool is given to the request."""
    engine = make()
    hints = retain(span(0, None, 100))
    assert ["accepted"] == outcomes(sent(engine, "chat", 60, hints))
    (answer,) = engine.serve(("active", 78))
    assert "length" == answer.finish_reason
    assert 2 >= sum(engine.cached("chat", 60))
    engine.close()
    assert VIOLATED is not engine.judge(SOFT).verdict
