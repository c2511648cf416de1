"""Which blocks are victims last, and in which order? Each by the highest priority of its claims."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Ranking", "Ranks"]


class Ranking(Protocol):
    """The blocks of the engine, as far as the order of victims goes."""

    def rank(self, ranks: Mapping[int, int | None]) -> None:
        """From now on these blocks are victims after all that have no rank, the lowest rank first,
        and of one rank in the order in which they came free; None takes the rank away.
        """

    def lowest(self) -> int | None:
        """The lowest rank of a free block; None where none has one."""

    def unused(self, blocks: Iterable[int]) -> Iterable[int]:
        """Those of these blocks that nobody uses or holds: they may be taken."""


class Ranks:
    """The priorities of the claims on each block of one pool.

    Args:
        kept: whether the pool takes blocks in their order; if not, the priorities are only known.
    """

    def __init__(self, pool: Ranking, *, kept: bool) -> None:
        self._pool, self._kept = pool, kept
        self._of: dict[int, list[int]] = {}  # ascending

    def take(self, blocks: Iterable[int], priority: int) -> None:
        """One more claim of this priority is on these blocks."""
        raised: dict[int, int | None] = {}
        for block in blocks:
            of = self._of.setdefault(block, [])
            if not of or of[-1] < priority:
                raised[block] = priority
            insort(of, priority)
        self._rank(raised)

    def drop(self, blocks: Iterable[int], priority: int) -> None:
        """One claim fewer of this priority is on these; they come free in this order."""
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

    def passed_over(self, victims: Sequence[Sequence[int]]) -> list[int | None]:
        """Victims in the order in which they were taken: for each part the lowest rank of a block
        that could have been taken instead, those that were included; None where it has no rank.
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
        """The content of these blocks is gone (None: of all)."""
        gone = [b for b in (list(self._of) if blocks is None else blocks) if b in self._of]
        for block in gone:
            del self._of[block]
        self._rank(dict.fromkeys(gone))

    def _lowest(self, victims: Sequence[Sequence[int]]) -> int | None:
        """The lowest rank of a block that could be taken after these."""
        if self._kept:
            return self._pool.lowest()
        taken = {block for part in victims for block in part}
        left = self._pool.unused(self._of.keys() - taken)
        return min((self._of[block][-1] for block in left), default=None)

    def _rank(self, ranks: Mapping[int, int | None]) -> None:
        if ranks and self._kept:
            self._pool.rank(ranks)
