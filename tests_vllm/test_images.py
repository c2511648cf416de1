"""Claims on prompts with images, in Idefics3: the engine's own hashes carry the image."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any, Final

import openai
import pytest
from PIL import Image

from monitor.check import files
from runtime_hooks.demo.engine import claim, sampling, without_epoch
from runtime_hooks.demo.tiny import tokens
from runtime_hooks.engines import adapter_of, installed
from spec.claims.claim import Mode
from spec.contract.modes import Bundle
from spec.stream.outcome import ModeVerdict
from tests_vllm.conftest import Make
from tests_vllm.engine import Engine
from tests_vllm.serve import TEMPLATE, Server, words
from tests_vllm.stage import end_of

ADAPTER: Any = adapter_of(installed())[0]
pytestmark = pytest.mark.skipif(not ADAPTER.tried.images, reason="not tried with this version")

TEXT: Final = 512  # tokens of text; those of images are above
SPECIAL: Final = ("<image>", "<fake_token_around_image>", "<global-img>", "<end_of_utterance>")
ADDED: Final = {
    "special": True,
    **dict.fromkeys(("normalized", "single_word", "lstrip", "rstrip"), False),
}
SIDE: Final = 28  # pixels; an image is four tokens, and three around them
IDEFICS3: Final[dict[str, Any]] = {
    "architectures": ["Idefics3ForConditionalGeneration"],
    "model_type": "idefics3",
    "image_token_id": TEXT,
    "scale_factor": 1,
    "pad_token_id": 0,
    "text_config": {
        "model_type": "llama",
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "vocab_size": TEXT + len(SPECIAL),
        "max_position_embeddings": 8192,
        "torch_dtype": "float32",
    },
    "vision_config": {
        "model_type": "idefics3_vision",
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": SIDE,
        "patch_size": 14,
    },
    "torch_dtype": "float32",
}


def _with_processor(folder: Path) -> None:
    """Write a tokenizer whose words are its tokens, and how images are read."""
    folder.mkdir()
    added = [{"id": TEXT + n, "content": content, **ADDED} for n, content in enumerate(SPECIAL)]
    known = [*(f"t{token}" for token in range(TEXT)), *SPECIAL]
    files: dict[str, dict[str, Any]] = {
        "tokenizer": {
            "version": "1.0",
            "added_tokens": added,
            "pre_tokenizer": {"type": "WhitespaceSplit"},
            "model": {
                "type": "WordLevel",
                "vocab": {word: token for token, word in enumerate(known)},
                "unk_token": "t0",
            },
        },
        "tokenizer_config": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "unk_token": "t0",
            "pad_token": "t0",
            "chat_template": TEMPLATE,
        },
        "preprocessor_config": {
            "image_processor_type": "Idefics3ImageProcessor",
            "size": {"longest_edge": SIDE},
            "max_image_size": {"longest_edge": SIDE},
            "do_image_splitting": False,
        },
        "processor_config": {"processor_class": "Idefics3Processor", "image_seq_len": 4},
    }
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))


@pytest.fixture
def engine(make: Make, tmp_path: Path) -> Engine:
    """An engine whose model takes images."""
    _with_processor(tmp_path / "model")
    configured = {"config": IDEFICS3, "skip_tokenizer_init": False}
    return make(engine={**configured, "limit_mm_per_prompt": {"image": 1}})


def image(colour: str) -> Image.Image:
    """An image of one colour."""
    return Image.new("RGB", (SIDE, SIDE), colour)


def ask(engine: Engine, colour: str, *metadata: dict[str, Any]) -> Any:
    """A request with an image of a colour in its second block, and text of some 20 blocks."""
    text = tokens("prompt", 20)
    prompt = {
        "prompt_token_ids": [*text[:40], TEXT, *text[40:]],
        "multi_modal_data": {"image": image(colour)},
    }
    params = sampling(*metadata)
    (output,) = engine.llm.generate([prompt], params, use_tqdm=False)
    return output


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
    _with_processor(tmp_path / "model")
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
