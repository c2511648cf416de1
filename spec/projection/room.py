"""Computes capacity: which positions of responsible claims are one block, and their sums.

Two positions of which it is unknown whether they are one block may be either. Then there are two
ends: `Sharing.LEAST` takes them for different blocks, `Sharing.MOST` for one. Every sum lies
between, and only grows or only shrinks from one end to the other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence, Set
from enum import Enum
from itertools import combinations
from typing import NamedTuple, TypeAlias

from spec.projection.pool import (
    LARGEST,
    Claim,
    Object,
    Pool,
    TooLarge,
    held_by,
    in_hand,
    object_of,
    same_object,
)

__all__ = [
    "Cells",
    "Place",
    "Sharing",
    "Spot",
    "cells",
    "freed",
    "frees_nothing",
    "least_share",
    "most_taken",
    "needs_of_others",
    "one_block",
    "responsible_of",
    "responsible_since_arrival",
    "rest_of",
    "share",
    "shared_by",
    "shared_unblamed",
    "spots",
]

Place: TypeAlias = tuple[str, int]
"""A claim id and one of its positions."""


class Spot(NamedTuple):
    """A position of a claim, with the physical blocks that are known to hold it.

    `key` is its content, as the claim states it, or another one on the same object.
    """

    claim: Claim
    position: int
    blocks: frozenset[int]
    key: str | None


Cells: TypeAlias = dict[Place, int]
"""Which block each place takes, as a number; equal numbers are one block."""


def most_taken(pool: Pool) -> int:
    """The blocks of all responsible claims if no two share, but those on one object that state no
    contents: these hold the same positions of it. They take no more than this.
    """
    sizes: dict[str | Object, list[int]] = {}
    for claim in pool.claims.values():
        on = object_of(claim)
        apart = claim.keys or on.object_id is None
        sizes.setdefault(claim.claim_id if apart else on, []).append(claim.size)
    return sum(map(max, sizes.values()))


class Sharing(Enum):
    """What counts as one block where this is unknown."""

    LEAST = "only what is known to be one block"
    MOST = "all that may be one block"


def one_block(one: Spot, other: Spot) -> bool | None:
    """Whether two positions take one block; None if it is unknown.

    Content keys decide where both claims state them. Else the same position of one object is one
    block, and so is what is held in one and the same physical block; what is held in physical
    blocks that are known and different is not.
    """
    if one.key is not None and other.key is not None:
        return one.key == other.key
    here = one.position == other.position
    same = same_object(one.claim, other.claim) if here else False
    if same or one.blocks & other.blocks:
        return True
    return False if same is False or (one.blocks and other.blocks) else None


def spots(pool: Pool, claim: Claim, claims: Sequence[Claim] = ()) -> list[Spot]:
    """The positions of a claim that take blocks: as many as it declared, while responsible.

    Args:
        claims: those that may state what it does not.

    Raises:
        TooLarge: they are more than are looked at one by one.
    """
    if claim.size > LARGEST:
        why = f"claim {claim.claim_id} takes {claim.size} blocks, more than {LARGEST}"
        raise TooLarge(why, "judge it without the reference")
    held, claims = held_by(pool, claim), [c for c in claims if c.size and same_object(c, claim)]
    keys: list[str | None] = [*claim.keys[: claim.size]]
    for at in range(len(keys), claim.size):
        keys.append(next((c.keys[at] for c in claims if at < min(len(c.keys), c.size)), None))
    return [
        Spot(claim, at, frozenset(b for p, b in held if p == at and b is not None), key)
        for at, key in enumerate(keys)
    ]


def cells(pool: Pool, sharing: Sharing, among: Collection[str] | None = None) -> Cells:
    """The blocks that the responsible claims take, or those of these ids; raises TooLarge."""
    claims = [c for n, c in pool.claims.items() if among is None or n in among]
    places = [spot for claim in claims for spot in spots(pool, claim, claims)]
    found = {(each.claim.claim_id, each.position): n for n, each in enumerate(places)}
    for one, other in combinations(places, 2):
        same = one.claim is not other.claim and one_block(one, other)
        if same or (same is None and sharing is Sharing.MOST):
            kept, gone = (found[each.claim.claim_id, each.position] for each in (one, other))
            found = {place: kept if cell == gone else cell for place, cell in found.items()}
    return found


def rest_of(room: Cells, claim: Claim) -> set[int]:
    """The blocks of the other claims."""
    return {cell for (name, _), cell in room.items() if name != claim.claim_id}


def shared_by(room: Cells, claim: Claim) -> int:
    """How many blocks of this claim are others', too."""
    others = rest_of(room, claim)
    return sum(cell in others for (name, _), cell in room.items() if name == claim.claim_id)


def responsible_since_arrival(pool: Pool, request_id: str) -> list[str]:
    """The claims that the runtime has been responsible for since a request arrived."""
    request = pool.requests.get(request_id)
    if request is None:
        return []
    return [n for n, c in pool.claims.items() if c.responsible and c.took <= request.since]


def needs_of_others(pool: Pool, request_id: str | None) -> int:
    """What the other requests in hand need, all together, as far as it is known."""
    return sum(each.needed for name, each in in_hand(pool).items() if name != request_id)


# Blame.


def responsible_of(pool: Pool, names: Iterable[str]) -> set[str]:
    """Those of these ids that are claims for which the runtime is responsible."""
    return {name for name in names if name in pool.claims and pool.claims[name].responsible}


def freed(room: Cells, names: Collection[str]) -> int:
    """How many blocks these claims free: those that no other claim has."""
    kept = {cell for (name, _), cell in room.items() if name not in names}
    return len({cell for cell in room.values() if cell not in kept})


def share(room: Cells, names: Set[str], name: str) -> int:
    """What would not be freed without this one of them."""
    return freed(room, names) - freed(room, names - {name})


def shared_unblamed(room: Cells, claim: Claim, names: Set[str]) -> int:
    """How many blocks of this claim others have whom the event does not name."""
    kept = {cell for (n, _), cell in room.items() if n not in names and n != claim.claim_id}
    return sum(cell in kept for (name, _), cell in room.items() if name == claim.claim_id)


def least_share(room: Cells, claim: Claim, names: Set[str]) -> int:
    """The smallest share, above nothing, of another claim that is named; 0 for none."""
    shares = (share(room, names, name) for name in names - {claim.claim_id})
    return min((blocks for blocks in shares if blocks), default=0)


def frees_nothing(room: Cells, ids: Set[str], names: Set[str]) -> bool:
    """Whether any of these ids has no share, as any that is not among those named."""
    return any(share(room, names, name) == 0 for name in ids)
