"""Says which runtime published KV events, and what it means by them where that is known.

The runtimes share one framing and the names of events, and differ in fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Set

__all__ = [
    "ATOM",
    "DYNAMO",
    "MOONCAKE",
    "SGLANG",
    "TENSORRT_LLM",
    "UNKNOWN",
    "VLLM",
    "Runtime",
    "runtime_of",
]


class Runtime(NamedTuple):
    """A runtime that publishes KV events.

    Attributes:
        clears: the tiers that `AllBlocksCleared` empties; None where that is not known.
        own: fields of `BlockStored` that no other runtime has.
        gpu: whether it states what the GPU holds.
        place: the tenant and the backend of a store, as far as events so far state them.
        hides: what decides on the content of a block and is stated in no event; empty if there is
            no such thing.
    """

    name: str
    clears: frozenset[str] | None = None
    own: frozenset[str] = frozenset()
    gpu: bool = True
    place: tuple[int | str | None, int | str | None] | None = None
    hides: str = ""


VLLM: Final = Runtime(
    "vLLM",
    # vllm/v1/core/block_pool.py of 0.32, reset_prefix_cache: the pool of the GPU alone.
    frozenset({"gpu"}),
    frozenset(
        {
            *("group_idx", "extra_keys", "kv_cache_spec_kind", "kv_cache_spec_sliding_window"),
            *("locality", "ownership", "lookahead_token_ids"),
        }
    ),
)
SGLANG: Final = Runtime(
    "SGLang",
    # sglang/srt/mem_cache/unified_radix_cache.py of 0.5.23, reset: the tree of the GPU and the pool
    # of the host.
    frozenset({"gpu", "cpu"}),
    frozenset({"cache_salt"}),
    # Hashes leave it out, too (compute_node_event_hash_values in mem_cache/utils.py).
    hides="extra_key of requests",
)
TENSORRT_LLM: Final = Runtime("TensorRT-LLM", own=frozenset({"mm_keys"}))
ATOM: Final = Runtime("ROCm ATOM")
DYNAMO: Final = Runtime("NVIDIA Dynamo")
MOONCAKE: Final = Runtime("Mooncake", gpu=False)
UNKNOWN: Final = Runtime("an unknown runtime")

_ALL: Final = (TENSORRT_LLM, SGLANG, VLLM)
_SGLANG: Final = frozenset(
    {
        *("block_hashes", "parent_block_hash", "token_ids", "block_size", "lora_id", "medium"),
    }
)
"""The fields that SGLang writes where there is no adapter, salt or session; vLLM writes more."""


def runtime_of(fields: Set[str]) -> Runtime:
    """The runtime whose `BlockStored` has these fields.

    Sources: vllm/distributed/kv_events.py of vLLM 0.32, and a capture of SGLang 0.5.23.
    """
    for runtime in _ALL:
        if not fields.isdisjoint(runtime.own):
            return runtime
    return SGLANG if fields == _SGLANG else UNKNOWN
