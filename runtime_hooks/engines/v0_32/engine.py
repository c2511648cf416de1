"""Checks whether a vLLM 0.32 engine can be hooked, and reads its cache identity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vllm.v1.kv_cache_interface import FullAttentionSpec

from spec.claims.claim import CacheIdentity

if TYPE_CHECKING:
    from vllm.v1.core.sched.scheduler import Scheduler

__all__ = ["identity_of", "unfit"]

_PARALLEL: Final = (
    "data_parallel_size",
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "prefill_context_parallel_size",
    "decode_context_parallel_size",
)


def unfit(scheduler: Scheduler) -> str:
    """Why an engine cannot be hooked as it is configured; empty where it can be."""
    parallel = scheduler.vllm_config.parallel_config
    for name in _PARALLEL:
        if getattr(parallel, name) > 1:
            return f"{name} is {getattr(parallel, name)}; engines in parallel are not supported yet"
    if not scheduler.cache_config.enable_prefix_caching:
        return "prefix caching is off, so there is nothing to claim"
    groups = scheduler.kv_cache_config.kv_cache_groups
    if len(groups) != 1 or type(groups[0].kv_cache_spec) is not FullAttentionSpec:
        return "the model has other caches than one of full attention"
    if scheduler.hash_block_size != scheduler.block_size:
        return "blocks are hashed in another size than they are kept"
    return ""


def identity_of(scheduler: Scheduler) -> CacheIdentity:
    """The cache identity of this engine, without the salt and the adapter of a request."""
    model, cache = scheduler.vllm_config.model_config, scheduler.cache_config
    return CacheIdentity(
        key_domain=f"vllm/{cache.prefix_caching_hash_algo}",
        model_id=str(model.model),
        tokenizer_domain=str(model.tokenizer),
        namespace="",
        block_size=scheduler.block_size,
        kv_format=str(cache.cache_dtype),
    )
