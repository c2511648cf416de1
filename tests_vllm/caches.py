"""Caches as vLLM lays them out for a model: its own layers, without weights, and its own groups.

Each layer is made by vLLM and asked for its KVCacheSpec; no engine is started. Ranks of tensor and
pipeline parallelism are made one after another in this process, as if the others were there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import torch
from vllm.config import VllmConfig, set_current_vllm_config
from vllm.distributed import init_distributed_environment, parallel_state
from vllm.engine.arg_utils import EngineArgs
from vllm.model_executor.model_loader.utils import initialize_model
from vllm.platforms import current_platform
from vllm.v1.core.kv_cache_utils import get_kv_cache_capacity, get_kv_cache_configs
from vllm.v1.kv_cache_interface import KVCacheConfig, KVCacheGroupSpec, KVCacheSpec
from vllm.v1.worker.gpu.attn_utils import get_kv_cache_spec

from runtime_hooks.demo.tiny import BLOCK, model_folder

__all__ = ["Laid", "laid_out", "one_process"]


class Laid(NamedTuple):
    """What vLLM makes of a model: its configuration, and the caches of each rank."""

    vllm: VllmConfig
    ranks: list[KVCacheConfig]

    @property
    def groups(self) -> list[KVCacheGroupSpec]:
        """The groups of the first rank."""
        return list(self.ranks[0].kv_cache_groups)

    @property
    def block_bytes(self) -> int:
        """The bytes of a block on the rank with most of it."""
        return max(each.kv_cache_tensors[0].size // each.num_blocks for each in self.ranks)

    @property
    def printed(self) -> int:
        """The size of the cache in tokens, as vLLM prints it at start."""
        return int(get_kv_cache_capacity(self.vllm, self.ranks[0])[0])


@contextmanager
def one_process(folder: Path) -> Iterator[None]:
    """Groups of one rank, if there are none, for as long as the block runs."""
    if parallel_state.model_parallel_is_initialized():
        yield
        return
    with set_current_vllm_config(VllmConfig()):
        init_distributed_environment(1, 0, f"file://{folder}/ranks", 0, "gloo")
        parallel_state.ensure_model_parallel_initialized(1, 1)
    yield
    parallel_state.destroy_model_parallel()
    parallel_state.destroy_distributed_environment()


def laid_out(
    folder: Path, config: dict[str, Any], memory: int, tensor: int = 1, stages: int = 1, **more: Any
) -> Laid:
    """The caches of a model, with so many bytes for them on each rank."""
    usual = {
        "load_format": "dummy",
        "skip_tokenizer_init": True,
        "enforce_eager": True,
        "enable_prefix_caching": True,
        "block_size": BLOCK,
        "max_model_len": 20 * BLOCK,
        "dtype": config.get("torch_dtype", "bfloat16"),
    }
    made = EngineArgs(**{"model": str(model_folder(folder, config)), **usual, **more})
    vllm = made.create_engine_config()
    vllm.parallel_config.tensor_parallel_size = tensor
    specs = [_specs(vllm, tensor, stages, stage) for stage in range(stages)]
    vllm.cache_config.kv_cache_layout = "LBHNC"  # that of the CPU; the layers are outermost
    ranks = get_kv_cache_configs(vllm, specs, [memory] * stages)
    return Laid(vllm, ranks)


def _specs(vllm: VllmConfig, tensor: int, stages: int, stage: int) -> dict[str, KVCacheSpec]:
    """The specs of the layers of one rank."""
    vllm.compilation_config.static_forward_context.clear()
    ranks, pipeline = parallel_state.get_tp_group(), parallel_state.get_pp_group()
    usual = torch.get_default_dtype()
    torch.set_default_dtype(vllm.model_config.dtype)
    try:
        with (
            set_current_vllm_config(vllm),
            patch.multiple(ranks, world_size=tensor),
            patch.multiple(pipeline, world_size=stages, rank_in_group=stage),
            torch.device("meta"),
        ):
            initialize_model(vllm_config=vllm)
            current_platform.update_block_size_for_backend(vllm)
            return dict(get_kv_cache_spec(vllm))
    finally:
        torch.set_default_dtype(usual)
