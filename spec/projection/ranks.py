"""Decides which of two claims of different priority may lose a block first."""

from __future__ import annotations

from spec.claims.claim import Mode
from spec.projection.concerns import is_mine
from spec.projection.pool import Claim, Pool, held_by, owners
from spec.projection.sight import Sight

__all__ = ["higher_priority_kept", "is_ranked", "lower_priority_available", "ranked_losers"]


def is_ranked(claim: Claim) -> bool:
    """Whether the claim has a place among those of other priorities: it is not over."""
    return claim.known and claim.priority is not None and claim.watched


def _ranked(pool: Pool) -> list[tuple[int, Claim]]:
    """The ranked claims of which the priority is known, with that."""
    claims = (claim for claim in pool.claims.values() if is_ranked(claim) and not claim.disputed)
    return [(claim.priority or 0, claim) for claim in claims]


def _is_unsure(claim: Claim, mode: Mode) -> bool:
    """Whether the claim has a place among them, and which is unknown: no priority of it was
    stated, or two.
    """
    unstated = claim.priority is None and claim.may_go_by(mode)
    return claim.known and claim.watched and (claim.disputed or unstated)


def ranked_losers(sight: Sight) -> list[Claim]:
    """The ranked claims that lose a block by the event."""
    claims = filter(is_ranked, sight.pool.claims.values())
    return [claim for claim in claims if is_mine(Sight(sight.moment, claim))]


def lower_priority_available(sight: Sight) -> bool | None:
    """Whether a block of a claim of lower priority could be taken instead; None if it is unknown.

    It could if one such claim still holds blocks, and the event states a lowest priority of what
    could be taken that is that low. If a claim of just that priority loses a block by the event,
    that block may be the one that could be taken, and so may a copy of one of its blocks; if one of
    less goes, what is stated is not so. Nor is anything known where a block could go that no claim
    is known to hold. A claim of unknown priority may be a lower one.
    """
    if sight.claim.disputed:
        return None
    own, lowest = sight.claim.priority or 0, sight.event.lowest_priority
    lower = [r for r, c in _ranked(sight.pool) if r < own and held_by(sight.later, c)]
    rivals = bool(lower) or any(held_by(sight.later, c) for c in _unsure(sight))
    if lowest is None:
        return None if rivals else False
    taken, least, blurred = _taken(sight), _least(sight), _blurred(sight)
    if own <= lowest:
        return None if rivals and (least < lowest or blurred) else False
    if not (rivals or blurred) and least == lowest:
        return False  # that block went, and no other is left
    if lowest in taken or least <= lowest or blurred:
        return None
    return True if any(lowest <= rank for rank in lower) else None


def _taken(sight: Sight) -> list[int]:
    """The priorities of the claims that lose a block by the event."""
    losers = ranked_losers(sight)
    return [rank for rank, claim in _ranked(sight.pool) if claim in losers]


def _least(sight: Sight) -> int:
    """The lowest priority of a block that goes: a block has that of the highest of its claims."""
    found, ranked = [], _ranked(sight.pool)
    for block in sight.event.block_ids:
        on = owners(sight.pool, [block])
        ranks = [rank for rank, claim in ranked if claim in on]
        found += [max(ranks)] if ranks else []
    return min(found, default=max(_taken(sight)))


def _unsure(sight: Sight) -> list[Claim]:
    claims = sight.pool.claims.values()
    return [claim for claim in claims if _is_unsure(claim, sight.moment.mode)]


def _blurred(sight: Sight) -> bool:
    """Whether a claim of unknown priority has a block that goes, or loses one."""
    on = owners(sight.pool, sight.event.block_ids)
    return any(c in on or is_mine(Sight(sight.moment, c)) for c in _unsure(sight))


def higher_priority_kept(sight: Sight) -> bool:
    """Whether a claim of higher priority holds a block after the event."""
    own = sight.claim.priority or 0
    higher = (claim for rank, claim in _ranked(sight.pool) if own < rank)
    return not sight.claim.disputed and any(held_by(sight.later, claim) for claim in higher)
