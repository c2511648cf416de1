"""Pools made by hand: claims, what is held in which blocks, and requests."""

from __future__ import annotations

from typing import Any

from spec.claims.claim import Mode
from spec.claims.predicates import parse_predicate
from spec.claims.states import ClaimState
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.projection.blocks import after
from spec.projection.pool import Claim, Placed, Pool, Request
from spec.projection.sight import Moment, Sight


def claim(
    name: str,
    size: int = 2,
    *,
    on: str | None = None,
    cache: str | None = "cache",
    keys: str = "",
    held: str = "",
    predicate: str = "leading_prefix_at_least(2)",
    priority: int | None = None,
    responsible: bool = True,
    took: int = 0,
    **more: Any,
) -> tuple[Claim, frozenset[Placed]]:
    """A claim that a registry holds, and what it holds: `held` has a block id for each position.

    Args:
        size: blocks that it declared.
        on: its object; by default one of its own.
        keys: a content key, one letter, for each position.
    """
    stated = {"object_id": on or f"object of {name}", "cache_identity": cache}
    made = Claim(name, met=1, known=True, introduced=True, took=took, priority=priority, **more)
    made.stated = {field: text for field, text in stated.items() if text is not None}
    made.predicate, made.footprint, made.keys = parse_predicate(predicate), size, tuple(keys)
    made.state = ClaimState.ACCEPTED
    made.facts |= {
        **{"registered": True, "committed": responsible, "responsible": responsible},
        **{"declared": size, "footprint": size},
    }
    blocks = frozenset(Placed(name, at, int(block)) for at, block in enumerate(held.split()))
    return made, blocks


def pool(*claims: tuple[Claim, frozenset[Placed]], **requests: Request) -> Pool:
    """A pool of these claims and requests."""
    placed = frozenset[Placed]().union(*(blocks for _, blocks in claims))
    return Pool({made.claim_id: made for made, _ in claims}, requests, placed)


def sight(
    made: Pool, name: str, kind: Kind, mode: Mode = Mode.HARD_PROTECTED, **fields: Any
) -> Sight:
    """An event as one of the claims sees it."""
    event = Event(kind=kind, **fields)
    return Sight(Moment(made, after(made, event), event, mode, event.time_ns), made.claims[name])
