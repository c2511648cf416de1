"""Engines that draft tokens with a model of their own, or with layers of the model itself."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from unittest.mock import patch

from runtime_hooks.demo import tiny
from tests_vllm.architectures import ARCHITECTURES

__all__ = ["NGRAMS", "drafting", "uncompiled"]

NGRAMS: Final = {
    "speculative_config": {
        "method": "ngram",
        "num_speculative_tokens": 3,
        "prompt_lookup_min": 1,
        "prompt_lookup_max": 3,
    }
}
"""The configuration of an engine that drafts three tokens by n-grams."""


@contextmanager
def uncompiled() -> Iterator[None]:
    """vLLM's own search of n-grams, which here is not compiled."""

    def plain(*args: Any, **_: Any) -> Any:
        return args[0] if args and callable(args[0]) else lambda function: function

    numba: Any = ModuleType("numba")
    numba.jit = numba.njit = plain
    numba.prange, numba.get_num_threads = range, lambda: 1
    numba.set_num_threads = lambda count: None
    with patch.dict(sys.modules, {"numba": numba}):
        yield


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
