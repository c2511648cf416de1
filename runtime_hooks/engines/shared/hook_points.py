"""Lists the methods of vLLM that are hooked, what is observed there, what enforced.

The parameters are those that most versions have; a version states its own where they differ.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from runtime_hooks.engines.checks import Hook, Reads

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LOADS", "POINTS", "TIERS", "taking"]

_SCHEDULER: Final = "vllm.v1.core.sched.scheduler:Scheduler."
_POOL: Final = "vllm.v1.core.block_pool:BlockPool."
_MANAGER: Final = "vllm.v1.kv_offload.cpu.manager:CPUOffloadingManager."
_WORKER: Final = "vllm.v1.kv_offload.base:OffloadingWorker."
_OFFLOADING: Final = "vllm.distributed.kv_transfer.kv_connector.v1.offloading."
_QUEUE: Final = "vllm.v1.core.kv_cache_utils:FreeKVCacheBlockQueue."
_MAP: Final = "vllm.v1.core.block_pool:BlockHashToBlockMap."
_SERVING: Final = "vllm.entrypoints.generate.base.serving:GenerateBaseServing."

POINTS: Final = (
    Hook(
        f"{_SCHEDULER}add_request",
        ("self", "request"),
        sees="a request arrives, with its claim",
        does="accepts or rejects the claim; keeps a request waiting that does not fit",
    ),
    Hook(
        f"{_SCHEDULER}schedule",
        ("self", "throttle_prefills"),
        sees="a step begins",
        does="ends claims whose duration is over; refuses requests that waited too long",
    ),
    Hook(
        f"{_SCHEDULER}_handle_blocked_waiting_request",
        ("self", "request"),
        does="skips a request that waits, so that those behind it are served",
    ),
    Hook(
        f"{_SCHEDULER}update_from_output",
        ("self", "scheduler_output", "model_runner_output"),
        sees="blocks of the step are computed",
        does="holds the blocks of claims; answers refused requests; adds answers to responses",
    ),
    Hook(
        f"{_SCHEDULER}_free_request",
        ("self", "request", "delay_free_blocks"),
        sees="a request ends, in whatever way",
    ),
    Hook(
        f"{_SCHEDULER}finish_requests",
        ("self", "request_ids", "finished_status"),
        does="ends a refused request",
    ),
    Hook("vllm.v1.engine.core:EngineCore.shutdown", ("self",), sees="the engine ends"),
    Hook(
        "vllm.v1.engine.core:EngineCoreProc.run_busy_loop",
        ("self",),
        does="wakes an idle engine for its operator",
    ),
    Hook(
        "vllm.v1.core.kv_cache_manager:KVCacheManager.allocate_slots",
        (
            "self",
            "request",
            "num_new_tokens",
            "num_new_computed_tokens",
            "new_computed_blocks",
            "num_lookahead_tokens",
            "num_external_computed_tokens",
            "delay_cache_blocks",
            "num_encoder_tokens",
            "full_sequence_must_fit",
            "reserved_blocks",
            "has_scheduled_reqs",
            "skip_zeroing_group_ids",
        ),
        sees="which cached prefix a request uses, which of its blocks a connector loads, and which "
        "request blocks are allocated for",
    ),
    Hook(
        "vllm.v1.core.kv_cache_manager:KVCacheManager.get_computed_blocks",
        ("self", "request"),
        does="has the end of a window, or a state, cached where a claim ends",
    ),
    Hook(f"{_POOL}get_new_blocks", ("self", "num_blocks"), sees="blocks are allocated"),
    Hook(f"{_MAP}pop", ("self", "key", "block_id"), sees="a cached block is evicted"),
    Hook(
        f"{_POOL}cache_full_blocks",
        (
            "self",
            "request",
            "blocks",
            "num_cached_blocks",
            "num_full_blocks",
            "block_size",
            "kv_cache_group_id",
            "block_mask",
        ),
        sees="blocks are cached, and will be computed in this step",
        does="keeps the blocks of a no_admit request out of the cache",
    ),
    Hook(
        f"{_POOL}cache_partial_block",
        (
            "self",
            "request",
            "block",
            "num_tokens",
            "kv_cache_group_id",
            "block_size",
            "replace_existing_hashes",
        ),
        sees="a state is cached, and will be computed in this step",
        does="keeps the states of a no_admit request out of the cache",
    ),
    Hook(f"{_POOL}evict_blocks", ("self", "block_ids"), sees="blocks are lost to a failed load"),
    Hook(
        f"{_POOL}reset_prefix_cache",
        ("self",),
        sees="the cache is reset",
        does="releases the blocks of claims, and reports their harm",
    ),
    Hook(f"{_POOL}touch", ("self", "blocks"), does="holds blocks, so that they are not evicted"),
    Hook(f"{_POOL}free_blocks", ("self", "ordered_blocks"), does="releases blocks"),
    Hook(
        f"{_QUEUE}popleft_n",
        ("self", "n"),
        does="evicts blocks of soft_priority claims last, the lowest priority first",
    ),
    Hook(
        f"{_QUEUE}append_n",
        ("self", "blocks"),
        does="keeps free blocks of these claims in queues of their own",
    ),
    Hook(f"{_QUEUE}remove", ("self", "block"), does="removes blocks from these queues"),
    Hook(
        f"{_MANAGER}complete_store",
        ("self", "keys", "req_context", "success"),
        sees="blocks are copied to the offload tier",
        does="makes the blocks of an offloadable claim evictable once all are copied",
    ),
    Hook(
        f"{_MANAGER}prepare_store",
        ("self", "keys", "req_context"),
        sees="copies are evicted from the tier",
    ),
    Hook(
        f"{_MANAGER}prepare_load",
        ("self", "keys", "req_context"),
        sees="a request needs blocks back from the tier",
        does="excludes the copies of a claim from eviction",
    ),
    Hook(
        f"{_MANAGER}complete_load",
        ("self", "keys", "req_context"),
        does="makes the copies of a claim evictable when it has ended",
    ),
    Hook(f"{_MANAGER}reset_cache", ("self",), sees="the tier is cleared"),
    Hook(
        f"{_SCHEDULER}_update_waiting_for_remote_kv",
        ("self", "request"),
        sees="a load on which a request waited has ended",
    ),
    Hook(
        f"{_SCHEDULER}_free_blocks",
        ("self", "request"),
        sees="the blocks of a request that ended are free; the load of an aborted one succeeded",
    ),
    Hook(
        f"{_SCHEDULER}_handle_invalid_blocks",
        ("self", "invalid_block_ids", "num_scheduled_tokens"),
        sees="a load failed",
        does="refuses the request and names the claim, under either failure policy; removes from "
        "the cache what a connector that is no offload tier did not load",
    ),
    Hook(
        f"{_SCHEDULER}_handle_failed_recving",
        ("self", "failed_req_ids"),
        does="ends or repeats a request whose load failed, where there are several caches",
    ),
    Hook(
        f"{_OFFLOADING}scheduler:OffloadingConnectorScheduler.get_num_new_matched_tokens",
        ("self", "request", "num_computed_tokens", "max_num_new_tokens"),
        sees="what a request is about to load",
        does="refuses a request that would run without a claim that is away",
    ),
    Hook(
        f"{_OFFLOADING}scheduler:OffloadingConnectorScheduler.update_connector_output",
        ("self", "connector_output"),
        sees="a store failed, or the plugin had a fault in a worker",
    ),
    Hook(
        f"{_OFFLOADING}worker:OffloadingConnectorWorker._init_worker",
        ("self", "kv_caches"),
        does="compares loaded bytes with the stored ones; reports failed loads",
    ),
    Hook(
        f"{_WORKER}submit_store",
        ("self", "job_id", "src_spec", "dst_spec"),
        sees="which bytes are stored",
    ),
    Hook(
        f"{_WORKER}submit_load",
        ("self", "job_id", "src_spec", "dst_spec"),
        sees="which bytes are loaded",
    ),
    Hook(
        f"{_OFFLOADING}worker:OffloadingConnectorWorker.build_connector_worker_meta",
        ("self",),
        does="reports failed stores, and faults of the plugin",
    ),
    Hook(
        "vllm.distributed.kv_transfer.kv_connector.v1.offloading_connector:"
        "OffloadingConnector.get_block_ids_with_load_errors",
        ("self",),
        does="reports failed loads",
    ),
    Hook(
        f"{_SERVING}__init__",
        ("self", "engine_client", "models", "request_logger", "return_tokens_as_token_ids"),
        sees="a request to the server is refused",
        does="turns the refusal into an error",
    ),
    Hook(
        f"{_SERVING}create_error_response",
        ("message", "err_type", "status_code", "param"),
        does="ends the stream of a refused request with the refusal and its claims",
    ),
    Hook(
        "vllm.entrypoints.serve.exception_handling.handlers.vllm_error:generation_error_handler",
        ("req", "exc"),
        does="answers a refused request with status 503, the refusal and its claims",
    ),
    Hook(
        "vllm.v1.engine.core_client:DPLBAsyncMPClient.get_core_engine_for_request",
        ("self", "request"),
        does="sends a request to the data-parallel rank that has its claim",
    ),
    Hook(
        "vllm.v1.engine.async_llm:AsyncLLM._add_request",
        ("self", "request", "prompt", "parent_req", "index", "queue"),
        does="forgets a request whose rank is full, where the settings refuse it",
    ),
    Hook(
        "vllm.entrypoints.launchers.app:register_api_routers",
        ("args", "app", "supported_tasks", "model_config"),
        does="answers owners about their claims, where there are scopes",
    ),
    Hook(
        "vllm.entrypoints.serve.instrumentator.metrics:get_prometheus_registry",
        (),
        does="adds the metrics of claims to the server's",
    ),
)


def taking(parameters: Mapping[str, tuple[str, ...]]) -> tuple[Hook, ...]:
    """The hook points of a version whose methods take other parameters.

    Args:
        parameters: those of each such method, by its class and name.

    Raises:
        ValueError: a method is not hooked.
    """
    if unknown := parameters.keys() - {point.name for point in POINTS}:
        raise ValueError(f"not hooked: {', '.join(sorted(unknown))}")
    return tuple(replace(each, takes=parameters.get(each.name, each.takes)) for each in POINTS)


LOADS: Final = (
    Hook(
        f"{_SCHEDULER}_preempt_request",
        ("self", "request", "timestamp", "drop_stale_output"),
        does="begins a request anew that shares blocks which were not loaded",
    ),
    Reads(
        _SCHEDULER.removesuffix("."), ("recompute_kv_load_failures", "prev_step_scheduled_req_ids")
    ),
    Hook(
        f"{_SCHEDULER}_connector_finished",
        ("self", "request"),
        sees="the blocks of a request are left for another engine to read",
    ),
    Hook(
        f"{_SCHEDULER}_update_from_kv_xfer_finished",
        ("self", "kv_connector_output"),
        sees="a read by another engine, or of the blocks of another engine, has ended",
    ),
    Reads("vllm.v1.outputs:KVConnectorOutput", ("finished_sending", "kv_connector_stats")),
)
"""The points of `LoadHooks` that a version needs only with connectors other than offloading."""

TIERS: Final = (
    Hook(
        "vllm.v1.kv_offload.tiering.manager:TieringOffloadingManager.complete_store",
        ("self", "keys", "req_context", "success"),
        sees="blocks are copied to the first of several offload tiers",
    ),
    Reads(
        "vllm.v1.kv_offload.tiering.manager:TieringOffloadingManager",
        ("primary_tier",),
    ),
    Reads(
        "vllm.v1.kv_offload.tiering.manager:CPUPrimaryTierOffloadingManager",
        ("prepare_write", "complete_write"),
        does="observes copies that come from other tiers, and those that they replace",
    ),
    Reads(
        "vllm.v1.kv_offload.tiering.spec:TieringOffloadingSpec",
        (
            "secondary_tier_configs",
            "config",
            "_engine_id",
            "kv_bytes_per_chunk",
            "cpu_page_size_per_worker",
        ),
    ),
    Reads("vllm.v1.kv_offload.config:OffloadingConfig", ("parallel",)),
    Reads(
        "vllm.v1.kv_offload.cpu.shared_offload_region:SharedOffloadRegion",
        ("create_next_worker_view", "cleanup"),
    ),
)
"""The points at which `OffloadHooks` observes several tiers, of versions tried with them."""
