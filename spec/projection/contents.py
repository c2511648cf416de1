"""Decides what claims on one object state of its contents: what one states, all of them have.

So two claims that a registry holds have the same at a position if they have equal keys of it; where
neither has one, if they are on one object. That is an equivalence: a block is of all claims with
its content, whichever of them it came to.

Two contents of one position of one object contradict each other. What it touches is inconclusive:
the claim by which that comes to be known, and those that have another key there.
"""

from __future__ import annotations

from spec.claims.states import TERMINAL
from spec.projection.pool import Claim, Placed, Pool, alike, is_tracked, same_object

__all__ = ["adopt", "counts", "disputed", "hidden", "is_early"]


def is_early(pool: Pool, claim: Claim) -> bool:
    """Whether a registry holds the claim, and it is not tracked yet: what it holds may be gone
    without a report.
    """
    over = claim.facts["committed"] or claim.state in TERMINAL
    return claim.known and not (is_tracked(pool, claim) or over or claim.unwatched)


def counts(pool: Pool, claim: Claim) -> bool:
    """Whether what is stated of a claim is stated of its object: it is tracked, or is not yet."""
    return (claim.known and is_tracked(pool, claim)) or is_early(pool, claim)


def _there(pool: Pool, claim: Claim) -> list[Claim]:
    """The claims on its object that count."""
    return [c for c in pool.claims.values() if counts(pool, c) and same_object(c, claim)]


def _differ(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether these contents differ at any position."""
    return any(here != there for here, there in zip(one, other, strict=False))


def disputed(pool: Pool, claim: Claim, before: tuple[str, ...]) -> list[Claim]:
    """The claims of which two contents of one position are stated, now that this one states its
    own, or is on an object, or is longer there.

    Args:
        before: the contents that it had by what others stated.
    """
    there = _there(pool, claim)
    found = [each for each in there if _differ(each.keys, claim.keys)]
    stated = [claim.keys, *(each.keys[: claim.extent] for each in there)]
    longest = max(stated, key=len)
    mixed = any(_differ(longest, keys) for keys in stated)
    return [claim, *found] if mixed or _differ(before, claim.keys) else []


def adopt(pool: Pool, claim: Claim) -> list[Claim]:
    """The claim has the contents that others on its object state, and they have those that it
    states, each as far as it reaches. The others that have more than before.
    """
    there = _there(pool, claim)
    claim.keys = max((claim.keys, *(o.keys[: claim.extent] for o in there)), key=len)
    more = [each for each in there if len(each.keys) < min(len(claim.keys), each.extent)]
    for each in more:
        each.keys = claim.keys[: each.extent]
    return more


def hidden(pool: Pool, claim: Claim) -> frozenset[str]:
    """The claims that are not tracked yet and hold what is the same content, in blocks that this
    one is not known to hold.
    """
    return frozenset(
        str(owner)
        for owner, at, block in pool.placed
        if isinstance(owner, str)
        and is_early(pool, other := pool.claims[owner])
        and at < claim.extent
        and alike(other, claim, at)
        and Placed(claim.claim_id, at, block) not in pool.placed
    )
