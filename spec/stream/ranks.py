"""Decides which of two claims of different priority may lose a block first."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from spec.claims.states import Mode
from spec.stream.claim import Claim

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spec.events.canonical import Event
    from spec.stream.pool import Pool, Touch

__all__ = ["Ranks"]


class Ranks:
    """The claims of soft_priority that hold blocks, by priority.

    Of a claim whose priority is not stated, or stated twice, it is unknown which others it may
    outlast.
    """

    def __init__(self) -> None:
        self._priority: dict[Claim, int | None] = {}
        self._holders: Counter[int] = Counter()
        self._unsure: set[Claim] = set()

    def follow(self, claim: Claim, pool: Pool) -> None:
        """Note whether a claim holds blocks of the GPU."""
        ranked = self._is_ranked(claim) and _holds(pool, claim)
        unsure = ranked and (claim.disputed or claim.priority is None)
        self.drop(claim)
        if unsure:
            self._unsure.add(claim)
        elif ranked and claim.priority is not None:
            self._priority[claim] = claim.priority
            self._holders[claim.priority] += 1

    def drop(self, claim: Claim) -> None:
        """A claim is no longer followed."""
        before = self._priority.pop(claim, None)
        if before is not None:
            self._holders[before] -= 1
            if not self._holders[before]:
                del self._holders[before]
        self._unsure.discard(claim)

    def higher_kept(self, claim: Claim) -> bool:
        """Whether a claim of higher priority holds a block."""
        own = claim.priority or 0
        return not claim.disputed and any(own < rank for rank in self._holders)

    def lower_available(
        self, event: Event, touched: Mapping[Claim, Touch], claim: Claim
    ) -> bool | None:
        """Whether a block of a claim of lower priority could be evicted instead; None: unknown.

        One could if such a claim still holds blocks, and the event states a lowest priority of
        what could be evicted that is below the claim's. It is unknown where a claim of that
        priority or a lower one loses a block by the same event, since that block may be the one.
        """
        if claim.disputed or claim.priority is None:
            return None
        own, lowest = claim.priority, event.lowest_priority
        lower = [rank for rank in self._holders if rank < own]
        rivals = bool(lower or self._unsure)
        if lowest is None:
            return None if rivals else False
        losers = [each for each, touch in touched.items() if touch.lost or touch.blocks]
        unsure = any(each.mode is Mode.SOFT_PRIORITY and each.priority is None for each in losers)
        unsure = unsure or any(each.disputed for each in losers)
        ranks = {each: each.priority or 0 for each in losers if self._is_ranked(each)}
        least = self._least(touched, ranks, own)
        if own <= lowest:
            return None if rivals and (least < lowest or unsure) else False
        if not (rivals or unsure) and least == lowest:
            return False  # that block went, and no other is left
        if lowest in ranks.values() or least <= lowest or unsure:
            return None
        return True if any(lowest <= rank for rank in lower) else None

    @staticmethod
    def _least(touched: Mapping[Claim, Touch], ranks: dict[Claim, int], own: int) -> int:
        """The lowest priority of a block that goes: that of the highest of its claims."""
        found: dict[object, int] = {}
        for claim, rank in ranks.items():
            for block in touched[claim].blocks:
                found[block] = max(rank, found.get(block, rank))
        return min(found.values(), default=own)

    @staticmethod
    def _is_ranked(claim: Claim) -> bool:
        return claim.mode is Mode.SOFT_PRIORITY and claim.known and claim.live


def _holds(pool: Pool, claim: Claim) -> bool:
    """Whether a block of the GPU holds a key of the claim."""
    end = min(claim.extent, len(claim.obj.contents))
    own = (at for _, at in claim.obj.places if at < claim.extent)
    positions = (*range(end), *own)
    return any(pool.on_gpu(claim.obj.key(g, at)) for g in pool.groups for at in positions)
