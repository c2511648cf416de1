"""Groups layers into caches as vLLM 0.32 does, and says how large a block is.

It follows `get_kv_cache_groups` and `get_kv_cache_config_from_groups` in v1/core/kv_cache_utils.py
of vLLM, for layouts of the cache in which the layers are outermost.
"""

from __future__ import annotations

from math import gcd, lcm
from typing import TYPE_CHECKING, NamedTuple

from spec.language.errors import SpecError
from spec.stream.pool import Group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from models.budget.layers import Layer, Placed

__all__ = ["Cache", "Caches", "caches_of"]


class Cache(NamedTuple):
    """A group of layers that share blocks, all like the first one but perhaps for their size.

    On a rank of each pipeline stage, `stages` has the bytes of its layers in a block, and `tokens`
    the bytes of a token in them.
    """

    like: Layer
    layers: int
    stages: tuple[int, ...]
    tokens: tuple[int, ...]


class Caches(NamedTuple):
    """All groups of a model, whose blocks come from one pool.

    `hash_block` is the number of tokens by which prefixes are compared. A hit ends at a multiple of
    `align` tokens.
    """

    groups: tuple[Cache, ...]
    hash_block: int
    align: int

    @property
    def stages(self) -> list[int]:
        """The bytes of a block on a rank of each pipeline stage: those of its largest group."""
        return [max(sizes) for sizes in zip(*(each.stages for each in self.groups), strict=True)]

    @property
    def block_bytes(self) -> int:
        """The bytes of a block on the rank with most of it, by which vLLM counts them."""
        return max(self.stages)

    def needed(self, tokens: int) -> list[int]:
        """The blocks of each group that a hit on the whole blocks of so many tokens needs.

        They are the footprint of a claim as the plugin for vLLM counts it: of a chunked group it
        holds every block, since which chunk is needed depends on the length of the hit.
        """
        positions = tokens // self.align * (self.align // self.hash_block)
        return [len(self._group(each.like).needs(0, positions)) for each in self.groups]

    def _group(self, like: Layer) -> Group:
        span = max(1, like.block // self.hash_block)
        if like.kind == "window":
            return Group("window", -(-(like.reach - 1) // like.block), span)
        return Group("state" if like.kind == "state" else "full", 0, span)


def caches_of(placed: Sequence[Placed], layers: int, stages: int = 1) -> Caches:
    """The groups of a model.

    Args:
        placed: what its layers cache, each with the number of its layer.
        layers: how many layers it has, also those without a cache.
        stages: of the pipeline; vLLM gives each the same number of layers, as far as it can.
    """
    if stages > layers:
        raise SpecError(f"{layers} layers have no {stages} stages", "lower --pipeline-parallel")
    ends = _ends(layers, stages)
    _check_stages(placed, ends)
    groups = [_cache(each, ends) for each in _grouped(placed)]
    blocks = [each.like.block for each in groups]
    return Caches(tuple(groups), gcd(*blocks), lcm(*blocks))


def _cache(group: Sequence[Placed], ends: Sequence[int]) -> Cache:
    sizes, tokens = [0] * len(ends), [0] * len(ends)
    for number, layer in group:
        stage = _stage(number, ends)
        sizes[stage] += layer.page
        tokens[stage] += layer.heads * layer.content
    return Cache(group[0][1], len(group), tuple(sizes), tuple(tokens))


def _check_stages(placed: Sequence[Placed], ends: Sequence[int]) -> None:
    """Raise SpecError if a stage has states alone, while others have attention.

    Its rank does not pad the states, so that vLLM groups them apart from those of other stages.
    """
    kinds = [set[bool]() for _ in ends]
    for number, layer in placed:
        kinds[_stage(number, ends)].add(layer.kind == "state")
    if {True} in kinds and any(False in each for each in kinds):
        raise SpecError(
            "a pipeline stage has states and no attention, and how vLLM groups these is not known "
            "here",
            "lower --pipeline-parallel",
        )


def _stage(number: int, ends: Sequence[int]) -> int:
    return next(at for at, end in enumerate(ends) if number < end)


def _ends(layers: int, stages: int) -> list[int]:
    """Where the layers of each stage end: `get_pp_indices` in vLLM's distributed/utils.py."""
    parts = [layers // stages] * stages
    for at in range(2, layers % stages + 2):
        parts[-at] += 1
    return [sum(parts[: at + 1]) for at in range(stages)]


def _grouped(placed: Sequence[Placed]) -> list[Sequence[Placed]]:
    if _are_one_type([layer for _, layer in placed]):
        return [placed]
    alike: dict[Layer, list[Placed]] = {}
    for number, layer in _of_one_page(placed):
        alike.setdefault(layer, []).append((number, layer))
    counts = [len(each) for each in alike.values()]
    size = max(counts) if max(counts) < min(counts) * 1.5 else min(counts)
    groups: list[Sequence[Placed]] = []
    for each in alike.values():
        number = -(-len(each) // size)
        groups += [each[at::number] for at in range(number)]
    return groups


def _are_one_type(layers: Sequence[Layer]) -> bool:
    """Whether the same number of tokens needs the same number of blocks in all layers."""
    first = layers[0]
    if any(each.block != first.block for each in layers):
        return False
    if first.kind in {"full", "latent"}:
        return all(each.kind in {"full", "latent"} for each in layers)
    if first.kind == "state":
        return all(each.kind == "state" and each.page == first.page for each in layers)
    return all((each.kind, each.reach) == (first.kind, first.reach) for each in layers)


def _of_one_page(placed: Sequence[Placed]) -> list[Placed]:
    """The layers with blocks of one size: those that are smaller hold more tokens, or padding."""
    most = max(layer.page for _, layer in placed)
    made = list[tuple[int, "Layer"]]()
    for number, layer in placed:
        if layer.page == most:
            made.append((number, layer))
        elif layer.kind != "state" and most % layer.page == 0:
            made.append((number, layer._replace(block=layer.block * (most // layer.page))))
        elif layer.kind != "latent":
            made.append((number, layer._replace(padded=most)))
        else:
            raise SpecError(
                f"a block of MLA has {layer.page} bytes, which do not divide the {most} of another "
                "layer, and how vLLM groups these is not known here"
            )
    return made
