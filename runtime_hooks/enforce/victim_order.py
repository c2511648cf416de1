"""Orders victims: blocks of soft_priority claims are evicted last, by priority."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["RankedPool", "VictimOrder"]


class RankedPool(Protocol):
    """What victim order needs of the engine's block pool."""

    def rank(self, ranks: Mapping[int, int | None]) -> None:
        """Evict these blocks after all blocks without a rank, the lowest rank first.

        Blocks of one rank go in the order in which they became free. None removes the rank.
        """

    def lowest(self) -> int | None:
        """The lowest rank of a free block; None where no free block has a rank."""

    def unused(self, blocks: Iterable[int]) -> Iterable[int]:
        """Those of these blocks that are free, so that they can be evicted."""


class VictimOrder:
    """The priorities of the claims on each block of one pool.

    Args:
        enforced: whether the pool evicts in this order; if not, the order is only known.
    """

    def __init__(self, pool: RankedPool, *, enforced: bool) -> None:
        self._pool, self._enforced = pool, enforced
        self._of: dict[int, list[int]] = {}  # ascending

    def take(self, blocks: Iterable[int], priority: int) -> None:
        """One more claim of this priority owns these blocks."""
        raised: dict[int, int | None] = {}
        for block in blocks:
            of = self._of.setdefault(block, [])
            if not of or of[-1] < priority:
                raised[block] = priority
            insort(of, priority)
        self._rank(raised)

    def drop(self, blocks: Iterable[int], priority: int) -> None:
        """One claim fewer of this priority owns these blocks, which become free in this order."""
        lowered: dict[int, int | None] = {}
        for block in blocks:
            of = self._of[block]
            del of[bisect_left(of, priority)]
            if not of:
                del self._of[block]
                lowered[block] = None
            elif of[-1] < priority:
                lowered[block] = of[-1]
        self._rank(lowered)

    def lowest_evictable(self, victims: Sequence[Sequence[int]]) -> list[int | None]:
        """For each part of an eviction the lowest rank that could have been evicted at that moment.

        None where the part has no ranked block.

        Args:
            victims: the evicted blocks, in parts, in the order of eviction.
        """
        if not self._of:
            return [None] * len(victims)
        lowest, found = self._lowest(victims), []
        for part in reversed(victims):
            ranks = [self._of[block][-1] for block in part if block in self._of]
            lowest = min([*ranks, *([] if lowest is None else [lowest])], default=None)
            found.append(lowest if ranks else None)
        return found[::-1]

    def forget(self, blocks: Iterable[int] | None) -> None:
        """These blocks lost their contents (None: all blocks did)."""
        gone = [b for b in (list(self._of) if blocks is None else blocks) if b in self._of]
        for block in gone:
            del self._of[block]
        self._rank(dict.fromkeys(gone))

    def _lowest(self, victims: Sequence[Sequence[int]]) -> int | None:
        """The lowest rank of a block that could be evicted after these."""
        if self._enforced:
            return self._pool.lowest()
        taken = {block for part in victims for block in part}
        left = self._pool.unused(self._of.keys() - taken)
        return min((self._of[block][-1] for block in left), default=None)

    def _rank(self, ranks: Mapping[int, int | None]) -> None:
        if ranks and self._enforced:
            self._pool.rank(ranks)
