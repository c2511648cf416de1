"""Computes how many blocks a memory has, and how many claims of a prefix fit into each tier."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from models.budget.estimate import Estimate
from models.budget.families import layers_of
from models.budget.groups import caches_of
from models.budget.sizes import in_binary
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from models.budget.config import Config
    from models.budget.groups import Cache, Caches
    from models.budget.layers import Options

__all__ = ["GPU", "SCHEMA", "Asked", "Budget", "Group", "Tier", "budget_of"]

SCHEMA: Final = "resident-claims/budget/1"
GPU: Final = "gpu"
_PAGE: Final = 4096
"""vLLM rounds a block in host memory up to a page of the machine."""
_LONGEST: Final = 1 << 40


class Asked(NamedTuple):
    """What is asked of a budget.

    `prefix` is the length of a claim, `max_model_len` vLLM's flag, in tokens. `tiers` has the bytes
    of each other tier, for all ranks together.
    """

    prefix: int | None = None
    max_model_len: int | None = None
    tiers: Mapping[str, int] = {}


NO_MORE: Final = Asked()


class Group(msgspec.Struct, frozen=True):
    """Groups of layers of one kind, each of which has blocks of its own in the pool.

    `layers` share a block; it holds `block_tokens` tokens of each, and `bytes` of them on the rank
    with most. `token_bytes` is what a token takes in a group, 0 where a block holds a state.
    `reach` is the window or the chunk. A claim on the prefix takes `needs` blocks of each group.
    """

    kind: str
    groups: int
    layers: int
    block_tokens: int
    bytes: int
    token_bytes: int
    reach: int
    needs: int | None


class Tier(msgspec.Struct, frozen=True):
    """What fits into one empty tier. Of the GPU block 0 is not usable.

    `longest` is the longest prefix whose blocks fit, in tokens; None where any length does.
    """

    tier: str
    memory: int
    block_bytes: int
    blocks: int
    usable: int
    longest: int | None
    claims: int | None


class Budget(msgspec.Struct, frozen=True):
    """The blocks of a model, and what fits into them.

    `hash_block` is the length at which vLLM compares prefixes; a hit ends at a multiple of `align`
    tokens, so of a `prefix` only `held` tokens are claimed. `footprint` are the blocks of such a
    claim in all groups. `tiers` begins with the GPU; if its memory is estimated, the GPU is there
    twice, at the least and at the most. `request` are the blocks that a request of `max_model_len`
    tokens needs: if that many are not usable, vLLM does not start. `printed` is the size of the
    cache that vLLM then prints. They are None where they depend on batches as well. `unarmed` says
    why the plugin for vLLM would accept no claim on these caches; it is empty where no reason is
    known.
    """

    schema: str
    model_type: str
    ranks: int
    hash_block: int
    align: int
    block_bytes: int
    groups: tuple[Group, ...]
    prefix: int | None
    held: int | None
    footprint: int | None
    tiers: tuple[Tier, ...]
    request: int | None
    printed: int | None
    unarmed: str
    estimate: Estimate | None


def budget_of(
    config: Config, options: Options, memory: int | Estimate, asked: Asked = NO_MORE
) -> Budget:
    """What fits into the memory that one rank has for its cache, and into other tiers.

    Raises:
        SpecError: the model is not known, the memory or a tier holds no block, or the prefix has no
            whole block.
    """
    caches = caches_of(layers_of(config, options), config.layers, options.pipeline_parallel)
    needs = None if asked.prefix is None else caches.needed(asked.prefix)
    if needs is not None and not sum(needs):
        raise SpecError(
            f"a prefix of {asked.prefix} tokens has no whole block: a hit ends at a multiple of "
            f"{caches.align} tokens",
            "give a longer prefix",
        )
    need = None if needs is None else sum(needs)
    request = _request(caches, asked.max_model_len)
    sizes = (memory,) if isinstance(memory, int) else (memory.cache.least, memory.cache.most)
    copy = _copy_bytes(caches, options)
    _check_memory(GPU, sizes[-1], caches.block_bytes)
    for name, size in asked.tiers.items():
        _check_memory(name, size, copy)
    found = [_tier(caches, GPU, each, caches.block_bytes, 1, need) for each in sizes]
    found += [_tier(caches, name, size, copy, 0, need) for name, size in asked.tiers.items()]
    return Budget(
        schema=SCHEMA,
        model_type=config.model_type,
        ranks=options.tensor_parallel * options.pipeline_parallel,
        hash_block=caches.hash_block,
        align=caches.align,
        block_bytes=caches.block_bytes,
        groups=_groups(caches, needs),
        prefix=asked.prefix,
        held=None if asked.prefix is None else asked.prefix // caches.align * caches.align,
        footprint=need,
        tiers=tuple(found),
        request=request,
        printed=_printed(found[0], request, asked.max_model_len) if len(sizes) == 1 else None,
        unarmed=_unarmed(caches),
        estimate=None if isinstance(memory, int) else memory,
    )


def _groups(caches: Caches, needs: list[int] | None) -> tuple[Group, ...]:
    """The groups, of which those that are equal count together."""
    stage = caches.stages.index(caches.block_bytes)
    found = Counter(
        _group(each, None if needs is None else needs[number], stage)
        for number, each in enumerate(caches.groups)
    )
    return tuple(msgspec.structs.replace(one, groups=count) for one, count in found.items())


def _group(cache: Cache, need: int | None, stage: int) -> Group:
    like, size, token = cache.like, cache.stages[stage], cache.tokens[stage]
    return Group(like.kind, 1, cache.layers, like.block, size, token, like.reach, need)


def _copy_bytes(caches: Caches, options: Options) -> int:
    """The bytes of a copy of a block in host memory, of all ranks: vLLM's `CPUOffloadingSpec`.

    Ranks that hold the same share one copy: those of MLA, where there is one pipeline stage.
    """
    ranks = options.tensor_parallel * options.pipeline_parallel
    latent = all(each.like.kind == "latent" for each in caches.groups)
    copies = 1 if latent and options.pipeline_parallel == 1 else ranks
    return -(-caches.stages[0] * copies // _PAGE) * _PAGE


def _check_memory(name: str, memory: int, size: int) -> None:
    if memory < size:
        raise SpecError(
            f"{in_binary(memory)} of {name} hold no block, which has {in_binary(size)}",
            "give the memory with its unit, such as 10.55GiB",
        )


def _tier(caches: Caches, name: str, memory: int, size: int, kept: int, need: int | None) -> Tier:
    blocks = memory // size
    usable = max(0, blocks - kept)
    claims = None if need is None else usable // need
    return Tier(name, memory, size, blocks, usable, _longest(caches, usable), claims)


def _longest(caches: Caches, usable: int) -> int | None:
    if sum(caches.needed(_LONGEST)) <= usable:
        return None
    least, most = 0, _LONGEST // caches.align  # in whole hits
    while most - least > 1:
        middle = (least + most) // 2
        fits = sum(caches.needed(middle * caches.align)) <= usable
        least, most = (middle, most) if fits else (least, middle)
    return least * caches.align


def _request(caches: Caches, length: int | None) -> int | None:
    """The blocks that vLLM demands for a request of `length` tokens.

    Those of a window or of chunks depend on the size of a batch.
    """
    likes = [each.like for each in caches.groups]
    if length is None or any(each.kind in {"window", "chunk"} for each in likes):
        return None
    return sum(like.kept or -(-length // like.block) for like in likes)


def _printed(gpu: Tier, request: int | None, length: int | None) -> int | None:
    """The tokens in vLLM's line `GPU KV cache size`: those of requests of `length` tokens."""
    if request is None or length is None or request > gpu.usable:
        return None
    return int(gpu.blocks / request * length)


def _unarmed(caches: Caches) -> str:
    likes = [each.like for each in caches.groups]
    kinds = {each.kind for each in likes}
    if "chunk" in kinds and not kinds & {"full", "latent"}:
        return "no cache is of full attention, and one is chunked"
    if any(
        like.block != caches.hash_block
        for like in likes
        if like.kind in {"full", "latent", "chunk"}
    ):
        return "blocks of full attention are hashed in another size than they are kept"
    return ""
