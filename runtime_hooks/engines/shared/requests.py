"""Reads requests of vLLM: their blocks, their metadata, and what they can use."""

from __future__ import annotations

from bisect import bisect_right
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace
from vllm import SamplingParams
from vllm.utils.hashing import get_hash_fn_by_name
from vllm.v1.core.kv_cache_utils import (
    get_block_hash,
    get_request_block_hasher,
    make_block_hash_with_group_id,
)
from vllm.v1.core.single_type_kv_cache_manager import (
    FullAttentionManager,
    MambaManager,
    SlidingWindowManager,
)
from vllm.v1.request import Request

from runtime_hooks.claims.arrivals import Arrival, Prompt
from runtime_hooks.claims.hints import TYPES
from runtime_hooks.claims.metadata import ACTIONS, CLAIM, HINTS, NO_ADMIT, NULL, PIN, TRY
from runtime_hooks.claims.ownership import CALLER
from runtime_hooks.trace.names import namespace_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from vllm.v1.core.sched.scheduler import Scheduler

__all__ = [
    "arrival_of",
    "bounded_tokens",
    "in_group",
    "keys_of",
    "loadable",
    "metadata_of",
    "prompts_of",
    "request_of",
]

_VERSION: Final = "1"  # of the actions of hints
_STATES: Final = 3  # the state that is written, the one before, and one of a step under way
_MOST_LOADED: Final = "max_load_tokens"  # vLLM's own


def keys_of(request: Any, tokens: int, size: int, group: int = 0) -> list[bytes]:
    """The keys of the blocks of a request's first tokens, as the pool has them in a group."""
    hashes = request.block_hashes[: tokens // size]
    return [make_block_hash_with_group_id(each, group) for each in hashes]


def in_group(key: bytes, group: int) -> bytes:
    """The key of the same block in another group."""
    return bytes(make_block_hash_with_group_id(get_block_hash(key), group))


def loadable(request: Any) -> int | None:
    """The most tokens that a request allows to load for it; None where it sets no limit."""
    params = request.kv_transfer_params
    most = params.get(_MOST_LOADED) if isinstance(params, dict) else None
    return most if type(most) is int and most >= 0 else None


def prompts_of(scheduler: Scheduler, group: int) -> Callable[[Prompt], list[bytes]]:
    """A function that computes the keys of a prompt's blocks in a group without a request."""
    size = scheduler.hash_block_size

    def keys(prompt: Prompt) -> list[bytes]:
        request = request_of(scheduler, "preregistration", list(prompt.token_ids), prompt.salt)
        return keys_of(request, len(prompt.token_ids), size, group)

    return keys


def request_of(scheduler: Any, request_id: str, tokens: list[int], salt: str) -> Request:
    """A request of this plugin, for one token."""
    hashing = get_hash_fn_by_name(scheduler.cache_config.prefix_caching_hash_algo)
    return Request(
        request_id,
        tokens,
        SamplingParams(max_tokens=1, temperature=0.0),
        None,
        cache_salt=salt or None,
        block_hasher=get_request_block_hasher(scheduler.hash_block_size, hashing),
    )


def _prompt_of(request: Any) -> Prompt:
    return Prompt(tuple(request.prompt_token_ids), request.cache_salt or "")


def arrival_of(request: Any, scheduler: Scheduler, group: int, *, claims: bool) -> Arrival:
    """Describe a request that arrives to the controller.

    Args:
        group: of caches, in which the keys of its prompt are.
        claims: whether there may be claims already that it shares blocks with.
    """
    size = scheduler.hash_block_size
    metadata = metadata_of(request.kv_hints, request.kv_transfer_params)
    usable = (request.num_tokens - 1) // scheduler.block_size
    wanted = claims or not metadata.keys().isdisjoint((CLAIM, PIN, TRY, HINTS))
    arrival = Arrival(
        request.request_id,
        tuple(keys_of(request, request.num_prompt_tokens, size, group)) if wanted else (),
        blocks=_most_blocks(request, scheduler, request.max_tokens),
        least=_most_blocks(request, scheduler, 1) if _unlimited(request, scheduler) else 0,
        certain=_certain_blocks(request, scheduler),
        reusable=0 if request.skip_reading_prefix_cache else usable * scheduler.block_size // size,
        namespace=namespace_of(request.cache_salt),
        adapter=request.lora_request.lora_name if request.lora_request else None,
        prompt=None if request.prompt_token_ids is None else partial(_prompt_of, request),
    )
    if not metadata:
        return arrival
    claim, release, pin, renewal, trial, change, hints = (_stated(metadata, key) for key in ACTIONS)
    no_admit = metadata.get(NO_ADMIT, False)
    return replace(
        arrival,
        claim=claim,
        release=release,
        pin=pin,
        renewal=renewal,
        trial=trial,
        mode_change=change,
        hints=hints,
        no_admit=no_admit is True,
        faults={} if isinstance(no_admit, bool) else {NO_ADMIT: "it is neither true nor false"},
        caller=metadata.get(CALLER),
    )


def metadata_of(hints: Any, params: Any) -> dict[str, Any]:
    """The metadata of a request: its hints, overridden by its transfer parameters.

    Hints that neither this plugin nor vLLM defines are for other components.
    """
    found: dict[str, Any] = {}
    if hints is not None:
        mapped = [each for each in hints.actions if each.action_type in TYPES]
        if mapped:
            found[HINTS] = {
                "protocol_version": hints.protocol_version,
                "message_id": hints.message_id,
                "actions": [_action_as_json(action) for action in mapped],
            }
    for action in hints.actions if hints is not None else ():
        if action.action_type in ACTIONS and action.action_type != HINTS:
            known = action.action_version == _VERSION
            unknown = f"a hint of version {action.action_version!r:.20}; {_VERSION} is known"
            found[action.action_type] = action.payload if known else unknown
    return {**found, **params} if isinstance(params, dict) else found


def _action_as_json(action: Any) -> dict[str, Any]:
    """An action of an envelope as JSON states it."""
    return {
        "action_id": action.action_id,
        "action_type": action.action_type,
        "action_version": action.action_version,
        "payload": action.payload,
    }


def _stated(metadata: Mapping[str, Any], key: str) -> Any:
    """The value of a key: NULL for a JSON null, None where there is no such key."""
    return NULL if key in metadata and metadata[key] is None else metadata.get(key)


def bounded_tokens(request: Any, scheduler: Scheduler, blocks: int) -> int:
    """The most tokens that a request may generate so that it uses no more than these blocks."""
    lengths = range(1, request.max_tokens + 1)
    return max(1, bisect_right(lengths, blocks, key=partial(_most_blocks, request, scheduler)))


def _unlimited(request: Any, scheduler: Scheduler) -> bool:
    """Whether the output of a request has no limit but the end of the context.

    Where a request states none, vLLM's front end fills in what is left of the context.
    """
    left = scheduler.max_model_len - request.num_prompt_tokens
    return not request.resumable and request.max_tokens >= left > 1


def _most_blocks(request: Any, scheduler: Scheduler, max_tokens: int) -> int:
    """The most blocks that a request comes to use with so many tokens of output.

    The KV of the last sampled token is never stored, but tokens drafted beyond it get slots. The
    prompt of a session grows with each input.
    """
    tokens = request.num_prompt_tokens + max(0, max_tokens - 1)
    drafts = scheduler.num_spec_tokens if max_tokens > 1 else 0
    tokens = min(tokens + drafts + scheduler.num_lookahead_tokens, scheduler.max_model_len)
    if request.resumable:
        tokens = scheduler.max_model_len
    managers = scheduler.kv_cache_manager.coordinator.single_type_managers
    return sum(_blocks_of(manager, tokens) for manager in managers)


def _certain_blocks(request: Any, scheduler: Scheduler) -> int:
    """The blocks that a request needs at one time to compute the tokens that it has.

    A group of full attention holds them all. Of any other group one block counts, which it needs at
    least.
    """
    tokens = min(request.num_tokens, scheduler.max_model_len)
    managers = scheduler.kv_cache_manager.coordinator.single_type_managers
    full = [m.block_size for m in managers if type(m) is FullAttentionManager]
    return int(sum(-(-tokens // size) for size in full)) + len(managers) - len(full)


def _blocks_of(manager: Any, tokens: int) -> int:
    """The most blocks of one group of caches that a request uses at a time.

    Blocks before a window are freed as the request goes on, and states that are followed by others.
    Those of earlier chunks are freed, too, but a claim holds all of them (`groups_of`).
    """
    blocks = int(-(-tokens // manager.block_size))
    if isinstance(manager, MambaManager) and manager.mamba_cache_mode == "align":
        return min(blocks, _STATES) + int(manager.num_speculative_blocks)
    if isinstance(manager, SlidingWindowManager):
        return min(blocks, int(manager.max_admission_blocks_per_request))
    return blocks
