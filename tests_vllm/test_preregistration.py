"""Claims that come otherwise than with a request's transfer parameters, in the real engine."""

from __future__ import annotations

import json
import logging
import threading
from pathlib import Path
from typing import Any

import pytest
from vllm import SamplingParams
from vllm.v1.kv_hints import KvHintAction, KvHintsEnvelope

from runtime_hooks import claims
from runtime_hooks.demo.engine import claim, without_epoch
from runtime_hooks.demo.tiny import tokens
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests_vllm.conftest import Make
from tests_vllm.engine import Engine

HARD = Mode.HARD_PROTECTED
STATED = claim(blocks=20)["resident_claim"]


def answered(engine: Engine, prompt: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What the response to one request says of claims."""
    core = engine.llm.llm_engine
    core.add_request("request", prompt, SamplingParams(max_tokens=1, detokenize=False), **more)
    outputs: list[Any] = []
    while core.has_unfinished_requests():
        outputs += core.step()
    return without_epoch((outputs[-1].kv_transfer_params or {}).get("resident_claims", {}))


class TestApi:
    def test_kept(self, make: Make) -> None:
        """A claim registered by hand comes with the first request that has its prefix."""
        engine = make()
        ticket = claims.register(STATED, tokens("resident", 20))
        engine.serve(("other", 20))
        assert ("waiting", (ticket,)) == (ticket.state, claims.list_claims())
        (answer,) = engine.serve(("resident", 20))
        assert ("accepted", {}) == (ticket.state, answer.metadata)
        assert 60 == engine.pool.get_num_free_blocks()
        (answer,) = engine.serve(("active", 70))
        assert ["claim:resident"] == answer.metadata["refusal"]["blocking_claim_ids"]

        engine.close()
        assert ModeVerdict.KEPT is engine.judge(HARD).verdict

    def test_by_object(self, make: Make) -> None:
        """The object of a claim on the same prefix names it."""
        engine = make()
        engine.serve(("resident", 20, claim("claim:first", 20)))
        entry = engine.armed.attachments[0].controller._registry.live["claim:first"]
        ticket = claims.register({**STATED, "object_id": entry.claim.object_id})
        engine.serve(("resident", 20))
        assert "accepted" == ticket.state

    def test_salted(self, make: Make) -> None:
        """With a salt the prefix is another one."""
        engine = make()
        ids = tokens("resident", 20)
        ticket = claims.register(STATED, ids, "secret")
        engine.serve(("resident", 20))
        assert "waiting" == ticket.state
        answered(engine, {"prompt_token_ids": ids, "cache_salt": "secret"})
        assert "accepted" == ticket.state

    def test_released(self, make: Make) -> None:
        """Another thread gives it up, and the next step lets go of its blocks."""
        engine = make()
        ticket = claims.register(STATED, tokens("resident", 20))
        engine.serve(("resident", 20))
        done: list[Any] = []
        thread = threading.Thread(
            target=lambda: done.append(claims.release("claim:resident", "tenant"))
        )
        thread.start()
        thread.join()
        engine.serve(("other", 1))
        assert ("", "over") == (done[0].result(0), ticket.state)
        assert 80 == engine.pool.get_num_free_blocks()

        engine.close()
        assert ModeVerdict.KEPT is engine.judge(HARD).verdict


class TestFile:
    def test_read(self, make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """Claims of the file wait; one that is none is named in the log, and left out."""
        file = tmp_path / "ahead.json"
        ids = tokens("resident", 20)
        listed = [{"claim": STATED, "prompt_token_ids": ids}, {"claim": {**STATED, "claim_id": ""}}]
        file.write_text(json.dumps(listed))
        with caplog.at_level(logging.ERROR):
            engine = make(ahead=str(file))
        assert f"{file}[1]: claim_id: it is blank" in caplog.text
        engine.serve(("resident", 20))
        assert ["accepted"] == [ticket.state for ticket in claims.list_claims()]

        engine.close()
        assert ModeVerdict.KEPT is engine.judge(HARD).verdict

    def test_bad(self, make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """A file that is no list of claims keeps the plugin off, and the engine serves."""
        file = tmp_path / "ahead.json"
        file.write_text("{}")
        with caplog.at_level(logging.ERROR):
            engine = make(ahead=str(file))
        assert "resident-claims is not armed" in caplog.text
        assert [] == engine.armed.attachments
        (answer,) = engine.serve(("prompt", 20))
        assert "length" == answer.finish_reason
        assert not engine.trace.exists()


class TestHints:
    """KV hints, which only callers of the engine in its own process can send."""

    def hint(self, kind: str, payload: dict[str, Any], version: str = "1") -> KvHintsEnvelope:
        """An envelope with one action of ours, after one that is not."""
        other = KvHintAction("a0", "prefetch", "1", {})
        return KvHintsEnvelope("1", "message", [other, KvHintAction("a1", kind, version, payload)])

    def test_kept(self, make: Make) -> None:
        """A claim in a hint is decided on, and given up by another."""
        engine = make()
        prompt = {"prompt_token_ids": tokens("resident", 20)}
        hint = self.hint("resident_claim", STATED)
        accepted = {"decision": "accepted"}
        assert {"claim": accepted} == answered(engine, prompt, kv_hints=hint)
        assert 60 == engine.pool.get_num_free_blocks()
        release = {"claim_id": "claim:resident", "owner_scope": "tenant"}
        hint = self.hint("release_claim", release)
        assert {"release": accepted} == answered(engine, prompt, kv_hints=hint)
        assert 80 == engine.pool.get_num_free_blocks()

        engine.close()
        assert ModeVerdict.KEPT is engine.judge(HARD).verdict

    @pytest.mark.parametrize(
        ("version", "payload", "reason"),
        [("2", STATED, "a hint of version '2'; 1 is known"), ("1", {}, "claim_id: Field required")],
    )
    def test_bad(self, make: Make, version: str, payload: dict[str, Any], reason: str) -> None:
        """What is no claim is turned away with a reason, and the request served."""
        engine = make()
        prompt = {"prompt_token_ids": tokens("resident", 20)}
        hint = self.hint("resident_claim", payload, version)
        said = answered(engine, prompt, kv_hints=hint)
        assert "rejected" == said["claim"]["decision"]
        assert reason in said["claim"]["reason"]
