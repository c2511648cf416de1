"""Computes how many blocks a memory has, and how many claims of a prefix fit into each tier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from models.budget.families import layers_of
from models.budget.groups import caches_of
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from models.budget.config import Config
    from models.budget.groups import Cache, Caches
    from models.budget.layers import Options

__all__ = ["GPU", "SCHEMA", "Budget", "Group", "Tier", "budget_of", "found_in"]

SCHEMA: Final = "resident-claims/budget/1"
GPU: Final = "gpu"
_PAGE: Final = 4096
"""vLLM rounds a block in host memory up to a page of the machine."""
_LONGEST: Final = 1 << 40


class Group(msgspec.Struct, frozen=True):
    """A group of layers that share blocks, on the rank with the most bytes in a block.

    `token_bytes` is what a token takes in the group, 0 where a block holds a state. `reach` is the
    window or the chunk. `needs` are the blocks that a claim on the prefix takes of it.
    """

    kind: str
    layers: int
    block_tokens: int
    bytes: int
    token_bytes: int
    reach: int
    needs: int | None


class Tier(msgspec.Struct, frozen=True):
    """What fits into one tier. Of the GPU block 0 is not usable.

    `longest` is the longest prefix of which the blocks fit, in tokens; None where any length does.
    """

    tier: str
    memory: int
    block_bytes: int
    blocks: int
    usable: int
    longest: int | None
    claims: int | None


class Budget(msgspec.Struct, frozen=True):
    """The blocks of a model and what fits into them.

    `prefix` is in tokens, `held` the tokens of its whole blocks, `footprint` the blocks of a claim
    on it in all groups. `tiers` begins with the GPU. Where the memory is estimated it has the GPU
    twice, at the least and at the most.
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
    estimate: dict[str, tuple[int, int]] | None = None


def budget_of(
    config: Config,
    options: Options,
    memory: int | tuple[int, int],
    *,
    prefix: int | None = None,
    tiers: Mapping[str, int] | None = None,
) -> Budget:
    """What fits into the memory that one rank has for its cache, and into other tiers.

    Args:
        memory: bytes; the least and the most, where they are estimated.
        prefix: tokens of the prefix of a claim.
        tiers: the bytes of each other tier, for all ranks together.

    Raises:
        SpecError: the model is not known, or the prefix has no whole block.
    """
    caches = caches_of(layers_of(config, options), config.layers, options.pipeline_parallel)
    needs = None if prefix is None else caches.needed(prefix)
    if needs is not None and not sum(needs):
        raise SpecError(
            f"a prefix of {prefix} tokens has no whole block: a hit ends at a multiple of "
            f"{caches.align} tokens",
            "give a longer prefix",
        )
    need = None if needs is None else sum(needs)
    sizes = [memory] if isinstance(memory, int) else sorted(set(memory))
    found = [_tier(caches, GPU, each, caches.block_bytes, 1, need) for each in sizes]
    copy = _copy_bytes(caches, options)
    found += [_tier(caches, name, size, copy, 0, need) for name, size in (tiers or {}).items()]
    at = caches.stages.index(caches.block_bytes)
    return Budget(
        SCHEMA,
        config.model_type,
        options.tensor_parallel * options.pipeline_parallel,
        caches.hash_block,
        caches.align,
        caches.block_bytes,
        tuple(
            _group(each, at, None if needs is None else needs[n])
            for n, each in enumerate(caches.groups)
        ),
        prefix,
        None if prefix is None else prefix // caches.align * caches.align,
        need,
        tuple(found),
    )


def _group(cache: Cache, stage: int, needs: int | None) -> Group:
    like, size = cache.like, cache.stages[stage]
    token = 0 if like.kind == "state" else size // like.block
    return Group(like.kind, cache.layers, like.block, size, token, like.reach, needs)


def _copy_bytes(caches: Caches, options: Options) -> int:
    """The bytes of a copy of a block in host memory, of all ranks: `CPUOffloadingSpec` of vLLM.

    Ranks that hold the same (MLA without pipeline) share one copy.
    """
    same = all(each.like.kind == "latent" for each in caches.groups)
    ranks = options.tensor_parallel * options.pipeline_parallel
    copies = 1 if same and options.pipeline_parallel == 1 else ranks
    return -(-caches.stages[0] * copies // _PAGE) * _PAGE


def _tier(caches: Caches, name: str, memory: int, size: int, kept: int, need: int | None) -> Tier:
    blocks = memory // size
    usable = max(0, blocks - kept)
    claims = None if need is None else usable // need
    return Tier(name, memory, size, blocks, usable, _longest(caches, usable), claims)


def _longest(caches: Caches, usable: int) -> int | None:
    """The longest prefix, in tokens, whose blocks are at most `usable`; None for any length."""
    if sum(caches.needed(_LONGEST)) <= usable:
        return None
    least, most = 0, _LONGEST // caches.align  # in whole hits
    while most - least > 1:
        middle = (least + most) // 2
        fits = sum(caches.needed(middle * caches.align)) <= usable
        least, most = (middle, most) if fits else (least, middle)
    return least * caches.align
