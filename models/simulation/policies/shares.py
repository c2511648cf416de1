"""Policies that divide a pool among the prefixes of a workload: equally, or whole ones first."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec

from models.simulation.policies.base import Policy
from models.simulation.policies.prefixes import Prefix, Prefixes
from models.simulation.pool import Pool, RankedPool

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from models.simulation.policies.base import Host
    from models.simulation.request import Workload

__all__ = ["CompletePrefix", "FairShare", "ValueDensity", "equal", "whole"]


def equal(sizes: Sequence[int], usable: int) -> list[int]:
    """The leading blocks that each prefix keeps where all have the same share of the pool."""
    share, rest = divmod(usable, max(len(sizes), 1))
    return [min(size, share + (at < rest)) for at, size in enumerate(sizes)]


def whole(sizes: Sequence[int], usable: int, values: Sequence[float] = ()) -> list[int]:
    """All blocks of the prefixes that fit, in their order, or the highest value by block first."""
    order = range(len(sizes))
    kept = [0] * len(sizes)
    for at in sorted(order, key=lambda at: -values[at]) if values else order:
        if sizes[at] <= usable:
            kept[at], usable = sizes[at], usable - sizes[at]
    return kept


class _Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A prefix is what `shared` sessions begin with; `quota` is the share of a pool for all."""

    shared: Annotated[int, msgspec.Meta(ge=1)] = 2
    quota: Annotated[float, msgspec.Meta(gt=0, le=1)] = 0.5


class FairShare(Policy):
    """Each shared prefix has an equal part of the quota; its leading blocks up to that go last.

    The prefixes are known from the start, in the order of their first requests.

    Source: *Resident KV Claims*, section 5.1, table 6 (`models.experiments.spans`).
    """

    name: ClassVar = "fair_share"
    Options: ClassVar[type[msgspec.Struct]] = _Options

    def __init__(self, kept: Collection[int]) -> None:
        self._kept = kept

    @classmethod
    def made(cls, workload: Workload, blocks: int, options: Any) -> Callable[[], Policy]:
        """Divide a pool among the prefixes of the workload."""
        prefixes, uses = Prefixes(workload, options.shared), Counter[Prefix]()
        for request in workload:
            if prefix := prefixes.of(request.keys, request.prompt):
                uses[prefix] += 1
        sizes = [len(prefix.keys) for prefix in uses]
        usable = int(options.quota * blocks)
        leading = zip(uses, cls._divided(sizes, usable, [*uses.values()]), strict=True)
        kept = {key for prefix, size in leading for key in prefix.keys[:size]}
        return lambda: cls(kept)

    @staticmethod
    def _divided(sizes: Sequence[int], usable: int, uses: Sequence[int]) -> list[int]:
        return equal(sizes, usable)

    def pool(self, engine: Host) -> Pool:
        """A pool that evicts what is kept last."""
        return RankedPool(engine.blocks, lambda key: 1.0 if key in self._kept else None)


class CompletePrefix(FairShare):
    """Whole prefixes go last, as many as fit into the quota.

    Source: *Resident KV Claims*, section 5.1, table 6 (`models.experiments.spans`).
    """

    name: ClassVar = "complete_prefix"

    @staticmethod
    def _divided(sizes: Sequence[int], usable: int, uses: Sequence[int]) -> list[int]:
        return whole(sizes, usable)


class ValueDensity(FairShare):
    """Whole prefixes go last, those with the most requests first: each saves a block by block.

    Source: *Resident KV Claims*, sections 5.1 and 5.2, tables 6 and 7 (`models.experiments.spans`).
    """

    name: ClassVar = "value_density"

    @staticmethod
    def _divided(sizes: Sequence[int], usable: int, uses: Sequence[int]) -> list[int]:
        return whole(sizes, usable, uses)
