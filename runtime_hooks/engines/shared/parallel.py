"""Reads how the engines of a server run in parallel, and which of that was not tried.

Each data-parallel rank of a dense model is an engine of its own: a process with its own scheduler
and pool, whose configuration vLLM resets to one rank before it makes the scheduler
(`ParallelConfig.reconfigure_for_independent_dp_rank`). Two attributes keep the rank and the number
of ranks. The ranks of a model with experts step together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runtime_hooks.routing.rank import Rank

if TYPE_CHECKING:
    from vllm.config import ParallelConfig, VllmConfig

__all__ = ["rank_of", "unfit_parallel"]

_UNTRIED: Final = (
    "pipeline_parallel_size",
    "prefill_context_parallel_size",
    "decode_context_parallel_size",
)


def unfit_parallel(config: VllmConfig) -> str:
    """Why engines in parallel cannot be hooked as configured; empty where they can be."""
    parallel, transfer = config.parallel_config, config.kv_transfer_config
    for name in _UNTRIED:
        if (size := getattr(parallel, name)) > 1:
            return f"{name} is {size}; engines in parallel are not supported yet"
    tier = transfer is not None and transfer.kv_connector is not None
    if (ranks := _ranks(parallel)) == 1:
        return ""
    if config.model_config.is_moe:
        return f"data_parallel_size is {ranks}, and a model without experts was tried with that"
    if parallel.data_parallel_hybrid_lb or parallel.data_parallel_external_lb:
        return f"data_parallel_size is {ranks}, and vLLM's own load balancer was tried with that"
    if tier:
        return f"data_parallel_size is {ranks}, and an offload tier was tried with one rank"
    return ""


def rank_of(config: VllmConfig) -> Rank | None:
    """The data-parallel rank of an engine; None where it is the only one."""
    parallel = config.parallel_config
    ranks = _ranks(parallel)
    return Rank(parallel.data_parallel_index, ranks) if ranks > 1 else None


def _ranks(parallel: ParallelConfig) -> int:
    """The data-parallel ranks, also in the configuration that was reset for one of them."""
    return int(max(parallel.data_parallel_size, parallel.elastic_ep_max_dp_size or 1))
