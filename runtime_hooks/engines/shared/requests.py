"""Reads requests of vLLM: their blocks, their metadata, and what they can use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace
from vllm import SamplingParams
from vllm.utils.hashing import get_hash_fn_by_name
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, make_block_hash_with_group_id
from vllm.v1.request import Request

from runtime_hooks.claims.arrivals import Arrival
from runtime_hooks.claims.metadata import ACTIONS, CLAIM, NO_ADMIT, NULL, PIN, TRY
from runtime_hooks.claims.ownership import CALLER
from runtime_hooks.trace.names import namespace_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from vllm.v1.core.sched.scheduler import Scheduler

    from runtime_hooks.claims.preregistration import Prompt

__all__ = ["arrival_of", "bounded_tokens", "keys_of", "loadable", "prompts_of"]

_VERSION: Final = "1"  # of the actions of hints
_MOST_LOADED: Final = "max_load_tokens"  # vLLM's own


def keys_of(request: Any, tokens: int, size: int) -> list[bytes]:
    """The keys of the blocks of a request's first tokens, as the pool has them."""
    return [make_block_hash_with_group_id(h, 0) for h in request.block_hashes[: tokens // size]]


def loadable(request: Any) -> int | None:
    """The most tokens that a request allows to load for it; None where it sets no limit."""
    params = request.kv_transfer_params
    most = params.get(_MOST_LOADED) if isinstance(params, dict) else None
    return most if type(most) is int and most >= 0 else None


def prompts_of(scheduler: Scheduler) -> Callable[[Prompt], list[bytes]]:
    """A function that computes the keys of a prompt's blocks without a request."""
    size = scheduler.block_size

    def keys(prompt: Prompt) -> list[bytes]:
        hashing = get_hash_fn_by_name(scheduler.cache_config.prefix_caching_hash_algo)
        request = Request(
            "preregistration",
            list(prompt.token_ids),
            SamplingParams(max_tokens=1),
            None,
            cache_salt=prompt.salt or None,
            block_hasher=get_request_block_hasher(size, hashing),
        )
        return keys_of(request, len(prompt.token_ids), size)

    return keys


def arrival_of(request: Any, scheduler: Scheduler, *, claims: bool) -> Arrival:
    """Describe a request that arrives to the controller.

    Args:
        claims: whether there may be claims already that it shares blocks with.
    """
    size, metadata = scheduler.block_size, _metadata(request)
    wanted = claims or not metadata.keys().isdisjoint((CLAIM, PIN, TRY))
    arrival = Arrival(
        request.request_id,
        tuple(keys_of(request, request.num_prompt_tokens, size)) if wanted else (),
        blocks=_most_blocks(request, scheduler, request.max_tokens),
        least=_most_blocks(request, scheduler, 1) if _unlimited(request, scheduler) else 0,
        reusable=0 if request.skip_reading_prefix_cache else (request.num_tokens - 1) // size,
        namespace=namespace_of(request.cache_salt),
        adapter=request.lora_request.lora_name if request.lora_request else None,
    )
    if not metadata:
        return arrival
    claim, release, pin, renewal, trial = (_stated(metadata, key) for key in ACTIONS)
    no_admit = metadata.get(NO_ADMIT, False)
    return replace(
        arrival,
        claim=claim,
        release=release,
        pin=pin,
        renewal=renewal,
        trial=trial,
        no_admit=no_admit is True,
        faults={} if isinstance(no_admit, bool) else {NO_ADMIT: "it is neither true nor false"},
        caller=metadata.get(CALLER),
    )


def _metadata(request: Any) -> dict[str, Any]:
    """The metadata of a request: its hints, overridden by its transfer parameters."""
    found: dict[str, Any] = {}
    for action in request.kv_hints.actions if request.kv_hints is not None else ():
        if action.action_type in ACTIONS:
            known = action.action_version == _VERSION
            unknown = f"a hint of version {action.action_version!r:.20}; {_VERSION} is known"
            found[action.action_type] = action.payload if known else unknown
    params = request.kv_transfer_params
    return {**found, **params} if isinstance(params, dict) else found


def _stated(metadata: Mapping[str, Any], key: str) -> Any:
    """The value of a key: NULL for a JSON null, None where there is no such key."""
    return NULL if key in metadata and metadata[key] is None else metadata.get(key)


def bounded_tokens(request: Any, scheduler: Scheduler, blocks: int) -> int:
    """The most tokens that a request may generate so that it uses no more than these blocks."""
    ahead = scheduler.num_spec_tokens + scheduler.num_lookahead_tokens
    room = blocks * scheduler.block_size - request.num_prompt_tokens - ahead
    return int(max(1, min(request.max_tokens, room + 1)))


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
    if request.resumable:
        return int(-(-scheduler.max_model_len // scheduler.block_size))
    tokens = request.num_prompt_tokens + max(0, max_tokens - 1)
    drafts = scheduler.num_spec_tokens if max_tokens > 1 else 0
    tokens = min(tokens + drafts + scheduler.num_lookahead_tokens, scheduler.max_model_len)
    return int(-(-tokens // scheduler.block_size))
