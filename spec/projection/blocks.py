"""Computes the blocks that an event adds and removes, and who holds them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from spec.events.alphabet import BLOCKS_GONE, Kind
from spec.events.canonical import Event
from spec.projection.pool import (
    LARGEST,
    Claim,
    Object,
    Placed,
    Pool,
    TooLarge,
    about_of,
    alike,
    held_by,
    is_tracked,
    lead,
    means,
    meant,
    owners,
    same_object,
)
from spec.projection.sight import Sight

__all__ = ["PLACES", "after", "computed", "gained", "given", "may_share", "placed", "shared"]

PLACES: Final = frozenset({Kind.BLOCK_CACHED, Kind.LOAD_FINISHED})
"""The facts by which blocks are there."""


def shared(pool: Pool, claim: Claim, others: Iterable[Claim], *, gives: bool) -> Pool:
    """The pool where a claim came to some content, and others by it: what they hold is of all that
    are tracked there, and what is held of that is the claim's.

    Args:
        gives: the claim is not over; else what it held may be gone without a report.
    """
    if claim.unwatched:
        return pool
    for each in others:
        pool = replace(pool, placed=pool.placed | given(pool, each))
    pool = replace(pool, placed=pool.placed | gained(pool, claim))
    return replace(pool, placed=pool.placed | given(pool, claim)) if gives else pool


def gained(pool: Pool, claim: Claim) -> frozenset[Placed]:
    """What is held of the content that a claim comes to: for its object, or for tracked claims."""
    found = {
        Placed(claim.claim_id, at, block)
        for owner, at, block in pool.placed
        if (
            means(owner, claim) and at < claim.extent
            if isinstance(owner, Object)
            else is_tracked(pool, pool.claims[owner])
            and _shares(pool, pool.claims[owner], claim, at)
        )
    }
    return frozenset(found)


def given(pool: Pool, claim: Claim) -> frozenset[Placed]:
    """What a claim holds that comes to some content, as that of all that are tracked there."""
    return frozenset(
        Placed(other.claim_id, at, block)
        for owner, at, block in pool.placed
        for other in pool.claims.values()
        if owner == claim.claim_id and is_tracked(pool, other) and _shares(pool, claim, other, at)
    )


def _shares(pool: Pool, one: Claim, other: Claim, position: int) -> bool:
    """Whether what one claim holds at a position is known to be another one's as well.

    An object may be longer than a claim on it: what is behind its extent is none of the claim's,
    and a longer claim on the object may state what that is.
    """
    if not (other.known and position < other.extent):
        return False
    if alike(one, other, position):
        return True
    return one.extent <= position and any(
        same_object(one, each) and alike(each, other, position)
        for each in pool.claims.values()
        if is_tracked(pool, each)
    )


def after(pool: Pool, event: Event) -> Pool:
    """The pool with the blocks that an event brings, or without those that it takes."""
    if event.kind in PLACES:
        return replace(pool, placed=_unmoved(pool, event) | placed(pool, event))
    return replace(pool, placed=_left(pool, event)) if event.kind in BLOCKS_GONE else pool


def _unmoved(pool: Pool, event: Event) -> frozenset[Placed]:
    """What is held, without what was held in one of the blocks of an event at another position for
    no claim that is tracked: that may be gone without a report.
    """
    places: dict[int | None, int] = dict(zip(event.block_ids, event.positions, strict=False))
    return frozenset(
        each
        for each in pool.placed
        if places.get(each.block, each.position) == each.position
        or (isinstance(each.owner, str) and is_tracked(pool, pool.claims[each.owner]))
    )


def placed(pool: Pool, event: Event) -> frozenset[Placed]:
    """What an event brings: to the claim that it names, or to its object, if it says in which
    blocks, or to the owners of its blocks; and to all that are tracked of the same content.

    Raises:
        TooLarge: it counts more blocks than are looked at one by one.
    """
    pairs: list[tuple[int, int | None]] = [(position, None) for position in event.positions]
    named = bool(event.block_ids and event.positions)
    if named:
        pairs = [*zip(event.positions, event.block_ids, strict=False)]
    run = 0 if named or event.held is None else event.held
    if run > LARGEST:
        raise TooLarge(f"{run} blocks are more than {LARGEST}", "judge it without the reference")
    found: set[Placed] = set()
    if event.claim_id is None and event.object_id is not None:
        about = about_of(event)
        found = {Placed(about, position, block) for position, block in pairs if block is not None}
    for claim in _filled(pool, event):
        runs = [(at, None) for at in range(claim.start, claim.start + run)]
        own = [(at, b) for at, b in pairs if event.claim_id is not None or at < claim.extent]
        own += runs
        found |= {Placed(claim.claim_id, at, block) for at, block in own}
        found |= {
            Placed(other.claim_id, at, block)
            for other in pool.claims.values()
            for at, block in own
            if is_tracked(pool, other) and _shares(pool, claim, other, at)
        }
    return frozenset(found)


def _filled(pool: Pool, event: Event) -> list[Claim]:
    """The claims of which an event brings blocks, but for what others share with them."""
    if event.claim_id is not None:
        return [claim for claim in [pool.claims[event.claim_id]] if not claim.unwatched]
    if event.object_id is not None:
        return meant(pool, event)
    return owners(pool, event.block_ids) if event.kind is Kind.LOAD_FINISHED else []


def may_share(pool: Pool, event: Event, claim: Claim) -> bool:
    """Whether blocks that an event brings, at whatever positions, are a claim's as well."""
    return is_tracked(pool, claim) and any(
        _shares(pool, other, claim, at)
        for other in _filled(pool, event)
        for at in range(min(claim.extent, LARGEST))
    )


def computed(sight: Sight) -> frozenset[int]:
    """The positions of a claim, of those held after the event, that were computed since it was last
    away, while a request waited for its restore, and that no load brought.
    """
    claim, threshold = sight.claim, sight.claim.threshold
    then, now = ({at for at, _ in held_by(p, claim)} for p in (sight.pool, sight.later))
    away = lead(sight.pool, claim) < threshold
    if not away and lead(sight.later, claim) < threshold:
        return frozenset()
    found = claim.computed & now
    if sight.event.kind is Kind.LOAD_FINISHED:
        brought = placed(sight.pool, sight.event)
        found -= {each.position for each in brought if each.owner == claim.claim_id}
    if sight.event.kind is Kind.BLOCK_CACHED and not sight.event.found and away:
        found |= now - then if claim.waiting else frozenset()
    return found


def _left(pool: Pool, event: Event) -> frozenset[Placed]:
    """What is still held: without the blocks that are gone, and without what they may have been.

    A block without a known id is gone where the event states its position.
    """
    named = event.claim_id is not None
    about = [pool.claims[event.claim_id]] if event.claim_id is not None else meant(pool, event)
    if not (event.block_ids or named or event.object_id):
        return frozenset()
    gone = set(event.block_ids)
    places: set[tuple[str, int]] = set()
    if not event.block_ids and not named:
        about_it = (each.block for each in pool.placed if _agrees(each.owner, event))
        gone |= {block for block in about_it if block is not None}
    for claim in about:
        held = held_by(pool, claim)
        if not event.block_ids:
            gone |= {block for _, block in held if block is not None}
            places |= {(claim.claim_id, position) for position, _ in held}
        else:
            pairs = zip(event.positions, event.block_ids, strict=False)
            places |= {(claim.claim_id, at) for at, block in pairs if (at, block) not in held}
    places |= {
        (other.claim_id, at)
        for name, at in places
        for other in pool.claims.values()
        if _shares(pool, pool.claims[name], other, at)
    }
    return frozenset(
        each
        for each in pool.placed
        if each.block not in gone and not (each.block is None and each[:2] in places)
    )


def _agrees(about: str | Object, event: Event) -> bool:
    """Whether an event may be about this object, as far as both say."""
    return isinstance(about, Object) and all(
        own is None or stated is None or own == stated
        for own, stated in zip(about, about_of(event), strict=True)
    )
