"""Where vLLM 0.32 is hooked: each place with what it takes, what is learnt and what is done."""

from __future__ import annotations

from typing import Final

from runtime_hooks.engines.hooks import Hook

__all__ = ["HOOKS"]

_SCHEDULER: Final = "vllm.v1.core.sched.scheduler:Scheduler."
_POOL: Final = "vllm.v1.core.block_pool:BlockPool."
_MAP: Final = "vllm.v1.core.block_pool:BlockHashToBlockMap."

HOOKS: Final = (
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
    Hook(f"{_SCHEDULER}shutdown", ("self",), sees="the engine ends"),
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
    Hook(f"{_MAP}get_one_block", ("self", "key"), sees="what is cached when a claim is accepted"),
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
)
