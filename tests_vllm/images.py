"""A tiny model that takes images, Idefics3, and requests with an image."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from PIL import Image

from runtime_hooks.demo.engine import sampling
from runtime_hooks.demo.tiny import tokens
from tests_vllm.actions import Act, outcome
from tests_vllm.engine import Engine
from tests_vllm.serve import TEMPLATE

__all__ = ["IDEFICS3", "ask", "image", "images", "pictured"]

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
    folder.mkdir(parents=True)
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


def images(folder: Path) -> dict[str, Any]:
    """The configuration of an engine whose model takes images; its files are in the folder."""
    _with_processor(folder / "model")
    configured = {"config": IDEFICS3, "skip_tokenizer_init": False}
    return {**configured, "limit_mm_per_prompt": {"image": 1}}


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


def pictured(colour: str, *metadata: dict[str, Any]) -> Act:
    """Send such a request; it returns how the request ended, as `outcome` says."""
    return lambda engine: outcome(ask(engine, colour, *metadata))
