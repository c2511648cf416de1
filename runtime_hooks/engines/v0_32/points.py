"""Where vLLM 0.32 is hooked: each place with what it takes, what is learnt and what is done."""

from __future__ import annotations

from typing import Final

from runtime_hooks.engines.hooks import Hook

__all__ = ["POINTS"]

_SCHEDULER: Final = "vllm.v1.core.sched.scheduler:Scheduler."
_POOL: Final = "vllm.v1.core.block_pool:BlockPool."
_MANAGER: Final = "vllm.v1.kv_offload.cpu.manager:CPUOffloadingManager."
_OFFLOADING: Final = "vllm.distributed.kv_transfer.kv_connector.v1.offloading."
_QUEUE: Final = "vllm.v1.core.kv_cache_utils:FreeKVCacheBlockQueue."
_MAP: Final = "vllm.v1.core.block_pool:BlockHashToBlockMap."
_SERVING: Final = "vllm.entrypoints.generate.base.serving:GenerateBaseServing."

POINTS: Final = (
    Hook(
        f"{_SCHEDULER}add_request",
        ("self", "request"),
        sees="a request arrives, with its claim",
        does="accepts or rejects the claim; puts a request off that does not fit beside claims",
    ),
    Hook(
        f"{_SCHEDULER}schedule",
        ("self", "throttle_prefills"),
        sees="a step begins",
        does="ends claims whose time is over; refuses requests whose time to wait is over",
    ),
    Hook(
        f"{_SCHEDULER}_handle_blocked_waiting_request",
        ("self", "request"),
        does="passes over a request that was put off, so that those behind it are served",
    ),
    Hook(
        f"{_SCHEDULER}update_from_output",
        ("self", "scheduler_output", "model_runner_output"),
        sees="blocks of the step are computed",
        does="holds the blocks of claims; answers refused requests; tells what became of a claim",
    ),
    Hook(
        f"{_SCHEDULER}_free_request",
        ("self", "request", "delay_free_blocks"),
        sees="a request ends, whatever way",
    ),
    Hook(
        f"{_SCHEDULER}finish_requests",
        ("self", "request_ids", "finished_status"),
        does="ends a refused request",
    ),
    Hook("vllm.v1.engine.core:EngineCore.shutdown", ("self",), sees="the engine ends"),
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
        sees="which cached prefix a request uses, and for whom blocks are taken",
    ),
    Hook(f"{_POOL}get_new_blocks", ("self", "num_blocks"), sees="blocks are taken"),
    Hook(f"{_MAP}pop", ("self", "key", "block_id"), sees="a cached block is a victim"),
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
        does="keeps the blocks of a request out of the cache that asks for it",
    ),
    Hook(f"{_POOL}evict_blocks", ("self", "block_ids"), sees="blocks are lost to a failed load"),
    Hook(
        f"{_POOL}reset_prefix_cache",
        ("self",),
        sees="the cache is reset",
        does="lets go of the blocks of claims, whose harm is told",
    ),
    Hook(f"{_POOL}touch", ("self", "blocks"), does="holds blocks: they are no victims"),
    Hook(f"{_POOL}free_blocks", ("self", "ordered_blocks"), does="lets go of blocks"),
    Hook(
        f"{_QUEUE}popleft_n",
        ("self", "n"),
        does="takes blocks of soft_priority claims last, the lowest priority first",
    ),
    Hook(f"{_QUEUE}append_n", ("self", "blocks"), does="keeps those blocks apart while free"),
    Hook(f"{_QUEUE}remove", ("self", "block"), does="finds them where they are kept"),
    Hook(
        f"{_MANAGER}complete_store",
        ("self", "keys", "req_context", "success"),
        sees="blocks are copied to the offload tier",
        does="lets the blocks of an offloadable claim go once all are copied",
    ),
    Hook(
        f"{_MANAGER}prepare_store",
        ("self", "keys", "req_context"),
        sees="copies are given up for others",
    ),
    Hook(
        f"{_MANAGER}prepare_load",
        ("self", "keys", "req_context"),
        sees="a request needs blocks back from the tier",
        does="keeps the copies of a claim",
    ),
    Hook(
        f"{_MANAGER}complete_load",
        ("self", "keys", "req_context"),
        does="lets the copies of a claim be given up when it has ended",
    ),
    Hook(f"{_MANAGER}reset_cache", ("self",), sees="the tier is cleared"),
    Hook(
        f"{_SCHEDULER}_update_waiting_for_remote_kv",
        ("self", "request"),
        sees="a load has come back",
    ),
    Hook(
        f"{_SCHEDULER}_free_blocks",
        ("self", "request"),
        sees="the load of a request that was aborted has come back",
    ),
    Hook(
        f"{_SCHEDULER}_handle_invalid_blocks",
        ("self", "invalid_block_ids", "num_scheduled_tokens"),
        sees="a load has failed",
        does="refuses the request in the name of the claim, under either failure policy",
    ),
    Hook(
        f"{_OFFLOADING}scheduler:OffloadingConnectorScheduler.get_num_new_matched_tokens",
        ("self", "request", "num_computed_tokens", "max_num_new_tokens"),
        sees="what a request is about to load",
        does="refuses one that would not be given a claim back that is away",
    ),
    Hook(
        f"{_OFFLOADING}scheduler:OffloadingConnectorScheduler.update_connector_output",
        ("self", "connector_output"),
        sees="a store has failed",
    ),
    Hook(
        f"{_OFFLOADING}worker:OffloadingConnectorWorker._init_worker",
        ("self", "kv_caches"),
        does="compares what comes back with what was stored; reports failed loads",
    ),
    Hook(
        f"{_OFFLOADING}worker:OffloadingConnectorWorker.build_connector_worker_meta",
        ("self",),
        does="reports failed stores",
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
        sees="a request of a server is refused",
        does="makes an error of it",
    ),
    Hook(
        f"{_SERVING}_convert_generation_error_to_streaming_response",
        ("self", "e"),
        does="ends the stream of a refused request by the refusal, with the claims",
    ),
    Hook(
        "vllm.entrypoints.serve.exception_handling.handlers.vllm_error:generation_error_handler",
        ("req", "exc"),
        does="answers a refused request with status 503 and the refusal, with the claims",
    ),
)
