"""An adapter of the tiny model, and requests with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import torch
from safetensors.torch import save_file
from vllm.lora.request import LoRARequest

from runtime_hooks.demo.engine import sampling
from runtime_hooks.demo.tiny import tokens
from tests_vllm.actions import Act, outcome
from tests_vllm.engine import Engine

__all__ = ["ADAPTERS", "adapted", "poet"]

ADAPTERS: Final = {"enable_lora": True, "max_lora_rank": 8, "max_loras": 1}
"""The configuration of an engine that takes adapters."""


def poet(folder: Path) -> LoRARequest:
    """An adapter of the tiny model, with random weights, which are written to the folder."""
    at = folder / "poet"
    at.mkdir(exist_ok=True)
    config = {"peft_type": "LORA", "r": 8, "lora_alpha": 16, "bias": "none"}
    (at / "adapter_config.json").write_text(json.dumps({**config, "target_modules": ["q_proj"]}))
    source = torch.Generator().manual_seed(0)
    weights = {}
    for layer in range(2):
        name = f"base_model.model.model.layers.{layer}.self_attn.q_proj"
        weights[f"{name}.lora_A.weight"] = torch.randn(8, 64, generator=source)
        weights[f"{name}.lora_B.weight"] = torch.randn(64, 8, generator=source)
    save_file(weights, str(at / "adapter_model.safetensors"))
    return LoRARequest("poet", 1, str(at))


def adapted(name: str, blocks: int, *metadata: dict[str, Any]) -> Act:
    """Send a request with the adapter; it returns how the request ended, as `outcome` says."""

    def act(engine: Engine) -> object:
        prompt: Any = {"prompt_token_ids": tokens(name, blocks)}
        (output,) = engine.llm.generate(
            [prompt],
            sampling(*metadata),
            use_tqdm=False,
            lora_request=poet(engine.trace.parent),
        )
        return outcome(output)

    return act
