"""What a vLLM 0.32 engine is: whether it can be hooked, what its cache is, what a request needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace
from vllm import SamplingParams
from vllm.utils.hashing import get_hash_fn_by_name
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, make_block_hash_with_group_id
from vllm.v1.kv_cache_interface import FullAttentionSpec
from vllm.v1.request import Request

from runtime_hooks.engines.v0_32.queue import RankedQueue
from runtime_hooks.requests.arrivals import Arrival
from runtime_hooks.requests.callers import CALLER
from runtime_hooks.requests.metadata import CLAIM, NO_ADMIT, NULL, PIN, RELEASE, namespace_of
from spec.claims.claim import CacheIdentity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from vllm.v1.core.block_pool import BlockPool
    from vllm.v1.core.sched.scheduler import Scheduler

    from runtime_hooks.requests.ahead import Prompt

_PARALLEL: Final = (
    "data_parallel_size",
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "prefill_context_parallel_size",
    "decode_context_parallel_size",
)

__all__ = [
    "Blocks",
    "arrival_of",
    "identity_of",
    "keys_of",
    "loadable",
    "prompts_of",
    "unfit",
]

_ACTIONS: Final = (CLAIM, RELEASE, PIN)
_VERSION: Final = "1"  # of the actions of hints
_MOST_LOADED: Final = "max_load_tokens"  # vLLM's own


def unfit(scheduler: Scheduler) -> str:
    """Why an engine as configured cannot be hooked; empty where it can be."""
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
    """What two blocks of this engine share KV by, but for the salt and the adapter of a request."""
    model, cache = scheduler.vllm_config.model_config, scheduler.cache_config
    return CacheIdentity(
        key_domain=f"vllm/{cache.prefix_caching_hash_algo}",
        model_id=str(model.model),
        tokenizer_domain=str(model.tokenizer),
        namespace="",
        block_size=scheduler.block_size,
        kv_format=str(cache.cache_dtype),
    )


def keys_of(request: Any, tokens: int, size: int) -> list[bytes]:
    """What the pool files the first blocks of a request under."""
    return [make_block_hash_with_group_id(h, 0) for h in request.block_hashes[: tokens // size]]


def loadable(request: Any) -> int | None:
    """How many tokens a request lets be loaded for it; None where it does not say."""
    params = request.kv_transfer_params
    most = params.get(_MOST_LOADED) if isinstance(params, dict) else None
    return most if type(most) is int and most >= 0 else None


def prompts_of(scheduler: Scheduler) -> Callable[[Prompt], list[bytes]]:
    """What finds what the pool files the blocks of a prompt under, before it comes."""
    size = scheduler.block_size

    def keys(prompt: Prompt) -> list[bytes]:
        hashing = get_hash_fn_by_name(scheduler.cache_config.prefix_caching_hash_algo)
        request = Request(
            "ahead",
            list(prompt.token_ids),
            SamplingParams(max_tokens=1),
            None,
            cache_salt=prompt.salt or None,
            block_hasher=get_request_block_hasher(size, hashing),
        )
        return keys_of(request, len(prompt.token_ids), size)

    return keys


def arrival_of(request: Any, scheduler: Scheduler, *, claims: bool) -> Arrival:
    """A request that arrives, as the keeper needs it.

    Args:
        claims: whether there are claims already, with which it may share blocks.
    """
    size, metadata = scheduler.block_size, _metadata(request)
    wanted = claims or not metadata.keys().isdisjoint((CLAIM, PIN))
    arrival = Arrival(
        request.request_id,
        tuple(keys_of(request, request.num_prompt_tokens, size)) if wanted else (),
        blocks=_most_blocks(request, scheduler),
        reusable=0 if request.skip_reading_prefix_cache else (request.num_tokens - 1) // size,
        namespace=namespace_of(request.cache_salt),
        adapter=request.lora_request.lora_name if request.lora_request else None,
    )
    if not metadata:
        return arrival
    claim, release, pin = (_stated(metadata, key) for key in _ACTIONS)
    no_admit = metadata.get(NO_ADMIT, False)
    return replace(
        arrival,
        claim=claim,
        release=release,
        pin=pin,
        no_admit=no_admit is True,
        faults={} if isinstance(no_admit, bool) else {NO_ADMIT: "it is neither true nor false"},
        caller=metadata.get(CALLER),
    )


def _metadata(request: Any) -> dict[str, Any]:
    """What comes with a request: its transfer parameters, and before them its hints."""
    found: dict[str, Any] = {}
    for action in request.kv_hints.actions if request.kv_hints is not None else ():
        if action.action_type in _ACTIONS:
            known = action.action_version == _VERSION
            unknown = f"a hint of version {action.action_version!r:.20}; {_VERSION} is known"
            found[action.action_type] = action.payload if known else unknown
    params = request.kv_transfer_params
    return {**found, **params} if isinstance(params, dict) else found


def _stated(metadata: Mapping[str, Any], key: str) -> Any:
    """What is stated under a key; None where nothing is."""
    return NULL if key in metadata and metadata[key] is None else metadata.get(key)


def _most_blocks(request: Any, scheduler: Scheduler) -> int:
    """The most blocks that a request can come to use: the last token sampled is never stored, but
    what is drafted beyond it has its place.

    A session's prompt grows with each input.
    """
    if request.resumable:
        return int(-(-scheduler.max_model_len // scheduler.block_size))
    tokens = request.num_prompt_tokens + max(0, request.max_tokens - 1)
    drafts = scheduler.num_spec_tokens if request.max_tokens > 1 else 0
    tokens = min(tokens + drafts + scheduler.num_lookahead_tokens, scheduler.max_model_len)
    return int(-(-tokens // scheduler.block_size))


class Blocks:
    """vLLM's block pool as the keeper needs it.

    Args:
        uncomputed: the blocks that are cached and whose content is not there yet.
    """

    def __init__(self, pool: BlockPool, uncomputed: Callable[[], set[int]]) -> None:
        self._pool, self._uncomputed = pool, uncomputed
        self.queue = RankedQueue(pool)
        self.usable = pool.num_gpu_blocks - 1  # one is the null block

    def hold(self, blocks: Sequence[int]) -> None:
        """A block that somebody uses is not in the free queue, and only that is taken from."""
        self._pool.touch([self._pool.blocks[block] for block in blocks])

    def release(self, blocks: Sequence[int]) -> None:
        """One user fewer."""
        self._pool.free_blocks([self._pool.blocks[block] for block in blocks])

    def drop(self, blocks: Sequence[int]) -> None:
        """Whoever uses them may go on."""
        self._pool.evict_blocks(set(blocks))

    def rank(self, ranks: Mapping[int, int | None]) -> None:
        """What has no rank is taken first, and then the lowest rank."""
        self.queue.rank(ranks)

    def lowest(self) -> int | None:
        """The lowest rank of a free block."""
        return self.queue.lowest()

    def unused(self, blocks: Iterable[int]) -> Iterable[int]:
        """Those of these blocks that nobody uses or holds."""
        return [block for block in blocks if not self._pool.blocks[block].ref_cnt]

    def find(self, keys: Sequence[bytes]) -> Iterable[tuple[bytes, int]]:
        """Those of these contents that are cached and computed, with every block."""
        return list(self._found(keys))

    def _found(self, keys: Sequence[bytes]) -> Iterator[tuple[bytes, int]]:
        uncomputed, filed = self._uncomputed(), self._pool.cached_block_hash_to_block._cache
        for key in keys:
            there = filed.get(key)
            if there is not None:
                blocks = list(there) if isinstance(there, dict) else [there.block_id]
                yield from ((key, block) for block in blocks if block not in uncomputed)
