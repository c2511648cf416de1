"""Engines that draft tokens with a model of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from runtime_hooks.demo import tiny

__all__ = ["drafting"]


def drafting(method: str, folder: Path) -> dict[str, Any]:
    """The configuration of an engine that drafts two tokens so."""
    draft = {**tiny._CONFIG, "num_hidden_layers": 1}
    target = dict(tiny._CONFIG)
    if method == "eagle3":
        draft |= {"architectures": ["LlamaForCausalLMEagle3"], "draft_vocab_size": 512}
        target["num_hidden_layers"] = 8  # it drafts from three of them
    model = str(tiny.model_folder(folder / "draft", draft))
    speculative = {"model": model, "num_speculative_tokens": 2, "method": method}
    return {"config": target, "speculative_config": speculative}
