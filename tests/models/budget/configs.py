"""Configs of models, as small as they may be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from models.budget.config import Config, read_config

__all__ = ["LLAMA", "config_of", "written"]

LLAMA: Final[dict[str, Any]] = {
    "model_type": "llama",
    "torch_dtype": "bfloat16",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
}


def written(at: Path, config: object) -> Path:
    """A config.json in a folder."""
    (at / "config.json").write_text(json.dumps(config))
    return at


def config_of(at: Path, **more: Any) -> Config:
    """The config of LLAMA, with more or other keys."""
    return read_config(written(at, {**LLAMA, **more}))
