"""Serves one request at a time in a vLLM of this process, and takes its time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")

import vllm
from vllm import LLM, SamplingParams
from vllm.platforms import current_platform

from models.simulation.calibrate import Run, seconds

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Vllm"]


class Vllm:
    """A vLLM that nobody else uses.

    Args:
        arguments: of the engine, beside the model.
    """

    def __init__(self, model: Path, arguments: dict[str, Any]) -> None:
        usual = {"enable_prefix_caching": True, "skip_tokenizer_init": True, "seed": 0}
        self._llm: Any = LLM(model=str(model), **{**usual, **arguments})
        config = self._llm.llm_engine.vllm_config
        self.block: int = config.cache_config.block_size
        self.longest: int = config.model_config.max_model_len
        self.vocabulary: int = config.model_config.get_vocab_size()
        self.tiers = config.kv_transfer_config is not None
        device = current_platform.get_device_name()
        self.about = {"engine": f"vllm {vllm.__version__}", "model": model.name, "device": device}

    def run(self, prompt: list[int], output: int) -> Run:
        """Serve a prompt with an answer of so many tokens."""
        asked = SamplingParams(
            max_tokens=output, min_tokens=output, ignore_eos=True, detokenize=False, temperature=0
        )
        prompts = [{"prompt_token_ids": prompt}]
        took, (served,) = seconds(lambda: self._llm.generate(prompts, asked, use_tqdm=False))
        return Run(took, served.num_cached_tokens or 0)

    def forget(self) -> None:
        """Empty the cache of the GPU, and leave the other tiers."""
        self._llm.reset_prefix_cache()
