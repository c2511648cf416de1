"""Checks whether a vLLM engine can be hooked, and reads its cache identity."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.kv_cache_interface import (
    ChunkedLocalAttentionSpec,
    FullAttentionSpec,
    MambaSpec,
    MLAAttentionSpec,
    SlidingWindowSpec,
)

from runtime_hooks.engines.shared.parallel import rank_of, unfit_parallel
from spec.claims.claim import CacheIdentity
from spec.events.canonical import CacheGroup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vllm.config import VllmConfig
    from vllm.v1.kv_cache_interface import KVCacheGroupSpec, KVCacheSpec

__all__ = [
    "DRAFTING",
    "EVERYWHERE",
    "LOADED",
    "TIER",
    "UNOBSERVED",
    "Tried",
    "connector_of",
    "drops_last",
    "groups_of",
    "identity_of",
    "no_tier",
    "unfit",
    "unfit_class",
    "unfit_config",
    "unobserved",
]

LOADED: Final = (
    "the kinds of the model's caches",
    "blocks are hashed in the size in which they are kept",
    "the number of blocks",
    "whether the offload tier has others behind it",
)
"""What is known only once the model is loaded."""

TIER: Final = "OffloadingConnector"
"""The KV connector that is an offload tier for claims, and was tried with every version."""

UNOBSERVED: Final = (
    "which blocks {} saves",
    "how long {} keeps them",
    "which bytes {} loads",
    "loads of {} that fail without a report",
)
"""What the base class of KV connectors does not report of one."""

_LONGEST: Final = 200  # characters of the name of a connector

DRAFTING: Final = ("ngram", "eagle", "eagle3", "draft_model")
"""The methods of drafting that were tried with most versions."""

_EAGLE: Final = ("eagle", "eagle3")
_CACHES: Final = (
    FullAttentionSpec,
    MLAAttentionSpec,
    SlidingWindowSpec,
    ChunkedLocalAttentionSpec,
    MambaSpec,
)


class Tried(NamedTuple):
    """What was tried with a version, beside what every version runs.

    Args:
        connectors: whether KV connectors other than the offload tier were, by their base class.
        several: whether the offload tier was tried with several caches.
        tiers: whether the offload tier was tried with other tiers behind it.
        images: whether models that take images were tried.
        within: whether states that are saved within a prefill were, as those of Mamba 2 are.
        sparse: whether models without full attention were.
        drafting: methods of drafting.
        dropping: whether several caches were where drafting drops the last block that is found.
    """

    connectors: bool = False
    several: bool = False
    tiers: bool = False
    images: bool = False
    within: bool = False
    sparse: bool = False
    drafting: tuple[str, ...] = DRAFTING
    dropping: bool = False


EVERYWHERE: Final = Tried()
"""What was tried with every version."""


def connector_of(config: VllmConfig) -> str:
    """The KV connector of a configuration, with its module where it names one; or empty."""
    transfer = config.kv_transfer_config
    if transfer is None or transfer.kv_connector is None:
        return ""
    module = transfer.kv_connector_module_path
    name = str(transfer.kv_connector)
    return (f"{module}.{name}" if module else name)[-_LONGEST:]


def unobserved(config: VllmConfig) -> tuple[str, ...]:
    """What is not observed of the KV connector; empty where there is none, or it is the tier."""
    name = connector_of(config)
    return () if name in ("", TIER) else tuple(each.format(name) for each in UNOBSERVED)


def no_tier(config: VllmConfig) -> str:
    """Why claims have no offload tier, where the engine has none that can be hooked."""
    name = connector_of(config)
    untold = f": {name} does not report which blocks it has" if name not in ("", TIER) else ""
    return f"it has no offload tier{untold}"


def unfit(scheduler: Scheduler, tried: Tried) -> str:
    """Why an engine cannot be hooked as it is configured; empty where it can be."""
    kind, config = type(scheduler), scheduler.vllm_config
    why = unfit_class(kind) or unfit_config(config, tried)
    return why or _unfit_cache(scheduler, tried)


def unfit_class(kind: type) -> str:
    """Why schedulers of a class cannot be hooked; empty where they can be."""
    if kind in (Scheduler, AsyncScheduler):
        return ""
    return f"the scheduler is {kind.__module__}.{kind.__qualname__}, and vLLM's own was tried"


def unfit_config(config: VllmConfig, tried: Tried) -> str:
    """Why no engine of a configuration can be hooked; empty where one may be."""
    if why := unfit_parallel(config):
        return why
    if os.environ.get("VLLM_USE_RUST_FRONTEND", "0") not in ("", "0"):
        return "VLLM_USE_RUST_FRONTEND is set, and refusals were tried with the Python server"
    drafting = config.speculative_config
    if drafting is not None and drafting.method not in tried.drafting:
        known = ", ".join(tried.drafting)
        return f"tokens are drafted by {drafting.method}, and {known} were tried"
    if why := _unfit_connector(config, tried):
        return why
    if config.model_config.is_multimodal_model and (why := _unfit_images(config, tried)):
        return f"the model takes more than text, {why}"
    if not config.cache_config.enable_prefix_caching:
        return "prefix caching is off, so there is nothing to claim"
    return ""


def _unfit_images(config: VllmConfig, tried: Tried) -> str:
    """Why prompts with images were not tried like this. The hash of a block has its images."""
    if not tried.images:
        return "and prompts of text were tried"
    more = (config.kv_transfer_config, config.speculative_config, config.lora_config)
    if any(each is not None for each in more) or rank_of(config) is not None:
        return "which was tried without KV connector, drafting, adapters and data-parallel ranks"
    return ""


def _unfit_connector(config: VllmConfig, tried: Tried) -> str:
    """Why the KV connector was not tried. One that is no offload tier is observed by its base
    class, whatever it is.
    """
    name = connector_of(config)
    if not name:
        return ""
    if config.speculative_config is not None:
        return f"the KV connector is {name}, which was tried without drafting"
    if name == TIER:
        return ""
    if not tried.connectors:
        return f"the KV connector is {name}, and {TIER} was tried"
    if config.lora_config is not None:
        return f"the KV connector is {name}, which was tried without adapters"
    return ""


def _unfit_cache(scheduler: Scheduler, tried: Tried) -> str:
    """Why the blocks cannot be claimed."""
    specs = [group.kv_cache_spec for group in scheduler.kv_cache_config.kv_cache_groups]
    coordinator = scheduler.kv_cache_manager.coordinator
    for spec in specs:
        if type(spec) not in _CACHES:
            kinds = ", ".join(kind.__name__ for kind in _CACHES)
            return f"the model has a cache of {type(spec).__name__}, and {kinds} were tried"
    if not specs:
        return "the model has no cache"
    whole = [spec for spec in specs if not isinstance(spec, SlidingWindowSpec | MambaSpec)]
    if {spec.block_size for spec in whole or specs} != {scheduler.hash_block_size}:
        return "blocks of full attention are hashed in another size than they are kept"
    if not any(isinstance(spec, FullAttentionSpec) for spec in specs) and (
        why := _unfit_sparse(scheduler, tried)
    ):
        return f"no cache of the model is of full attention, {why}"
    if coordinator.enable_partial_hash_hits:
        return "parts of blocks are hashed, and whole ones were tried"
    managers = coordinator.single_type_managers
    if any(getattr(each, "has_prefill_checkpoint_blocks", False) for each in managers):
        if not tried.within:
            return "states are saved within a prefill, and those at its ends were tried"
        if scheduler.connector is not None:
            return "states are saved within a prefill, which was tried without KV connector"
    if len(specs) > 1 and coordinator.eagle_group_ids and (why := _unfit_drops(scheduler, tried)):
        return f"the model has several caches, and drafting that drops a block was tried {why}"
    if len(specs) > 1 and scheduler.vllm_config.model_config.is_multimodal_model:
        return "the model takes more than text, which was tried with one cache"
    if len(specs) > 1 and scheduler.connector is not None:
        return _unfit_loads(scheduler.vllm_config, specs, tried)
    return ""


def _unfit_sparse(scheduler: Scheduler, tried: Tried) -> str:
    """Why a model without full attention was not tried like this.

    vLLM takes earlier chunks for found, though no block has them: a claim on them is never there.
    """
    if not tried.sparse:
        return "and models with one were tried"
    groups = scheduler.kv_cache_config.kv_cache_groups
    if any(isinstance(group.kv_cache_spec, ChunkedLocalAttentionSpec) for group in groups):
        return "and one is chunked, of which a hit needs the last chunk alone"
    config = scheduler.vllm_config
    more = scheduler.connector, config.speculative_config, config.lora_config
    if any(each is not None for each in more) or rank_of(config) is not None:
        return "which was tried without KV connector, drafting, adapters and data-parallel ranks"
    if config.model_config.is_multimodal_model:
        return "which was tried with text alone"
    return ""


def _unfit_drops(scheduler: Scheduler, tried: Tried) -> str:
    """Where drafting that drops the last block found was tried, if not with caches like these."""
    groups = scheduler.kv_cache_config.kv_cache_groups
    specs = [group.kv_cache_spec for group in groups]
    if not tried.dropping:
        return "with one"
    if scheduler.vllm_config.speculative_config.method not in _EAGLE:
        return f"by {' and '.join(_EAGLE)}"
    if any(not isinstance(spec, FullAttentionSpec | SlidingWindowSpec) for spec in specs):
        return "with full attention and windows"
    if len({spec.block_size for spec in specs}) > 1:
        return "with blocks of one size"
    if len(scheduler.kv_cache_manager.coordinator.eagle_group_ids) < len(groups):
        return "where the last block is dropped of every cache"
    return ""


def _unfit_loads(config: VllmConfig, specs: Sequence[KVCacheSpec], tried: Tried) -> str:
    """Why several caches cannot be claimed where a KV connector loads into them."""
    if (name := connector_of(config)) != TIER or not tried.several:
        return f"the model has several caches, and the KV connector {name} was tried with one"
    if any(isinstance(spec, ChunkedLocalAttentionSpec) for spec in specs):
        return "a cache of the model is chunked, and a load brings its last chunk alone back"
    if len({spec.block_size for spec in specs}) > 1:
        return "the caches of the model have blocks of several sizes, and loads into one were tried"
    windows = [spec for spec in specs if isinstance(spec, SlidingWindowSpec)]
    if any(spec.sliding_window % spec.block_size == 1 for spec in windows):
        return "a load needs one block more of a window than a hit, and a claim does not hold it"
    return ""


def drops_last(scheduler: Scheduler) -> bool:
    """Whether the last block that a look-up finds is dropped, so that a draft model computes it."""
    return bool(scheduler.kv_cache_manager.coordinator.eagle_group_ids)


def groups_of(
    groups: Sequence[KVCacheGroupSpec], size: int, *, drops: bool
) -> tuple[CacheGroup, ...]:
    """The groups of caches, with the blocks of each that a hit needs; none where there is one of
    full attention.

    Args:
        size: tokens of a position, in which blocks are hashed.
        drops: whether the last block that is found is dropped.
    """
    if len(groups) == 1 and isinstance(groups[0].kv_cache_spec, FullAttentionSpec):
        return ()
    specs = (group.kv_cache_spec for group in groups)
    return tuple(_group_of(at, spec, size, drops=drops) for at, spec in enumerate(specs))


def _group_of(number: int, spec: KVCacheSpec, size: int, *, drops: bool) -> CacheGroup:
    """A group: of a sliding window vLLM needs the blocks of all its tokens but the last, and the
    block that it drops.

    Which blocks a chunked group needs depends on the length of the hit, which no kind of group
    states: all of them count as needed.
    """
    span = spec.block_size // size if spec.block_size > size else None
    if isinstance(spec, MambaSpec):
        return CacheGroup(number, "state", span=span)
    window = vars(spec).get("sliding_window") if isinstance(spec, SlidingWindowSpec) else None
    if window is not None:
        return CacheGroup(number, "window", -(-(window - 1) // spec.block_size) + drops, span)
    return CacheGroup(number, "full", span=span)


def identity_of(scheduler: Scheduler) -> CacheIdentity:
    """The cache identity of this engine, without the salt and the adapter of a request."""
    model, cache = scheduler.vllm_config.model_config, scheduler.cache_config
    return CacheIdentity(
        key_domain=f"vllm/{cache.prefix_caching_hash_algo}",
        model_id=str(model.model),
        tokenizer_domain=str(model.tokenizer),
        namespace="",
        block_size=scheduler.hash_block_size,
        kv_format=str(cache.cache_dtype),
    )
