"""Which of two claims of different priority may lose a block first."""

from __future__ import annotations

from spec.projection.concerns import is_mine
from spec.projection.pool import Claim, Pool, held_by, owners
from spec.projection.sight import Sight

__all__ = ["is_ranked", "passed", "ranked_losers", "spared"]


def is_ranked(claim: Claim) -> bool:
    """Whether the claim has a place among those of other priorities: it is not over."""
    return claim.known and claim.priority is not None and claim.watched


def _ranked(pool: Pool) -> list[tuple[int, Claim]]:
    return [(c.priority or 0, c) for c in pool.claims.values() if is_ranked(c)]


def ranked_losers(sight: Sight) -> list[int]:
    """The priorities of the claims that lose a block by the event."""
    ranked = ((rank, Sight(sight.moment, claim)) for rank, claim in _ranked(sight.pool))
    return [rank for rank, seen in ranked if is_mine(seen)]


def passed(sight: Sight) -> bool | None:
    """Whether a block of a claim of lower priority could be taken instead; None where nobody knows.

    It could if one such claim still holds blocks, and the event states a lowest priority of what
    could be taken that is that low. If a claim of just that priority loses a block by the event,
    that block may be the one that could be taken, and so may a copy of one of its blocks; if one of
    less goes, what is stated is not so.
    """
    own, lowest = sight.claim.priority or 0, sight.event.lowest_priority
    lower = [r for r, c in _ranked(sight.pool) if r < own and held_by(sight.later, c)]
    taken, least = ranked_losers(sight), _least(sight)
    if not lower or (lowest is not None and own <= lowest <= least):
        return False
    if lowest is None or lowest in taken or least <= lowest:
        return None
    return True if any(lowest <= rank for rank in lower) else None


def _least(sight: Sight) -> int:
    """The lowest priority of a block that goes: a block has that of the highest of its claims."""
    found = []
    for block in sight.event.block_ids:
        ranks = [c.priority or 0 for c in owners(sight.pool, [block]) if is_ranked(c)]
        found += [max(ranks)] if ranks else []
    return min(found, default=max(ranked_losers(sight)))


def spared(sight: Sight) -> bool:
    """Whether a claim of higher priority holds a block after the event."""
    own = sight.claim.priority or 0
    return any(own < rank and held_by(sight.later, c) for rank, c in _ranked(sight.pool))
