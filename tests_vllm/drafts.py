"""Engines that draft tokens with a model of their own, or with layers of the model itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from runtime_hooks.demo import tiny
from tests_vllm.architectures import ARCHITECTURES

__all__ = ["drafting"]


def drafting(method: str, folder: Path, model: str = "") -> dict[str, Any]:
    """The configuration of an engine that drafts two tokens so.

    MTP is that of MiMo, whose layers are those of Qwen 2, and which transformers does not know.

    Args:
        model: one of `tests_vllm.architectures`; by default a Llama.
    """
    target = dict(ARCHITECTURES[model] if model else tiny._CONFIG)
    speculative = {"num_speculative_tokens": 2, "method": method}
    if method == "mtp":
        target |= {"architectures": ["MiMoForCausalLM"], "model_type": "qwen2"}
        target["num_nextn_predict_layers"] = 1
        return {"config": target, "speculative_config": speculative}
    draft = {**tiny._CONFIG, "num_hidden_layers": 1}
    draft["num_key_value_heads"] = target["num_key_value_heads"]
    if method == "eagle3":
        draft |= {"architectures": ["LlamaForCausalLMEagle3"], "draft_vocab_size": 512}
        target["num_hidden_layers"] = 8  # it drafts from three of them
        if kinds := target.get("layer_types"):
            target["layer_types"] = kinds * (8 // len(kinds))
    speculative["model"] = str(tiny.model_folder(folder / "draft", draft))
    return {"config": target, "speculative_config": speculative}
