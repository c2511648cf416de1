"""Claims on prompts with images, in Idefics3: the engine's own hashes carry the image."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import openai
import pytest

from monitor.check import files
from runtime_hooks.demo.engine import claim, without_epoch
from runtime_hooks.demo.tiny import tokens
from runtime_hooks.engines import adapter_of, installed
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.stream.outcome import ModeVerdict
from tests_vllm.conftest import Make
from tests_vllm.engine import Engine
from tests_vllm.images import IDEFICS3, ask, image, images
from tests_vllm.serve import Server, words
from tests_vllm.stage import end_of

ADAPTER: Any = adapter_of(installed())[0]
pytestmark = pytest.mark.skipif(not ADAPTER.tried.images, reason="not tried with this version")


@pytest.fixture
def engine(make: Make, tmp_path: Path) -> Engine:
    """An engine whose model takes images."""
    return make(engine=images(tmp_path))


def test_kept(engine: Engine) -> None:
    """A claim on a prompt with an image holds its blocks: a request that does not fit beside them
    is refused, and the prompt is found again. With another image the same tokens are another
    content, from the block of the image on, and another claim."""
    first = ask(engine, "red", claim(blocks=20))
    said = without_epoch(first.kv_transfer_params["resident_claims"])
    assert {"claim": {"decision": "accepted"}} == said
    (refused,) = engine.serve(("active", 70))
    assert "refused" == end_of(refused)
    assert 20 * 32 == ask(engine, "red").num_cached_tokens
    assert 1 * 32 == ask(engine, "blue", claim("claim:blue", 20)).num_cached_tokens
    assert 20 * 32 == ask(engine, "blue").num_cached_tokens
    assert {} == engine.armed.attachments[0].faults
    engine.close()
    red, blue = (e for e in engine.kinds("claim_registered"))
    assert red.keys[:1] == blue.keys[:1]
    assert set(red.keys[1:]).isdisjoint(blue.keys[1:])
    reused = [e.claim_id for e in engine.kinds("prefix_reused")]
    assert ["claim:resident", "claim:blue"] == reused
    assert ModeVerdict.KEPT is engine.judge(Mode.HARD_PROTECTED).verdict


@pytest.mark.deep
def test_served(tmp_path: Path) -> None:
    """So it is through a server, in chats with an image."""
    images(tmp_path)
    server = Server(tmp_path, "--limit-mm-per-prompt", '{"image": 1}', config=IDEFICS3)

    def chat(colour: str, *metadata: dict[str, Any]) -> Any:
        png = io.BytesIO()
        image(colour).save(png, "png")
        url = f"data:image/png;base64,{base64.b64encode(png.getvalue()).decode()}"
        parts = [
            {"type": "image_url", "image_url": {"url": url}},
            {"type": "text", "text": words("prompt", 20)},
        ]
        body = {"kv_transfer_params": metadata[0]} if metadata else {}
        return server.chat(parts, extra_body=body)

    try:
        server.wait()
        for colour in ("red", "blue"):
            said = chat(colour, claim(f"claim:{colour}", 20)).kv_transfer_params
            assert {"claim": {"decision": "accepted"}} == without_epoch(said["resident_claims"])
        with pytest.raises(openai.InternalServerError):
            server.complete(tokens("active", 70))
        chat("red")
        server.stop()
    finally:
        server.kill()
    events = [json.loads(line) for line in server.trace.open()]
    red, blue = (e["keys"] for e in events if e["kind"] == "claim_registered")
    assert set(red).isdisjoint(blue)
    assert ["claim:red"] == [e["claim_id"] for e in events if e["kind"] == "prefix_reused"]
    report = files.check([str(server.trace)], Mode.HARD_PROTECTED, Bundle.CONTRACT)
    assert ModeVerdict.KEPT is report.verdict, report.why
