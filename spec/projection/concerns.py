"""Determines the claims that an event is about, for every kind.

An event of a request belongs to that request, whatever claim it is about; and some events are
delivered to every claim of the pool without being about any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from spec.contract.modes import MODES
from spec.events.alphabet import CONFLICT_ACTIONS, FACTS, REPORTS, Kind
from spec.events.canonical import Event
from spec.events.fields import REQUEST_KINDS, ROUTE_REPORTS
from spec.events.row import By
from spec.projection.pool import Claim, Object, held_by, means, meant, owners
from spec.projection.rights import lapses
from spec.projection.sight import Sight

__all__ = [
    "ABOUT",
    "CONCERNS",
    "By",
    "belongs_to",
    "is_direct",
    "is_mine",
    "is_named",
    "loses",
    "new_loss",
    "strays",
]


CONCERNS: Final[Mapping[Kind, tuple[By, ...]]] = MappingProxyType(
    {kind: kind.row.finds for kind in Kind}
)
"""One row a kind."""


def _names(sight: Sight) -> bool:
    return sight.event.claim_id == sight.claim.claim_id


def _by_name(sight: Sight) -> bool:
    return _names(sight) and sight.binds


def _by_entry(sight: Sight) -> bool:
    facts, ends = sight.claim.facts, lapses(sight.claim, sight.moment.mode)
    over = not facts["responsible"] and (ends or not facts["committed"])
    return _by_name(sight) and not over


def _by_object(sight: Sight) -> bool:
    return sight.event.claim_id is None and _is_among(sight.claim, meant(sight.pool, sight.event))


def _by_blocks(sight: Sight) -> bool:
    anonymous = sight.event.claim_id is None and sight.event.object_id is None
    return anonymous and _is_among(sight.claim, owners(sight.pool, sight.event.block_ids))


def _by_content(sight: Sight) -> bool:
    return held_by(sight.pool, sight.claim) != held_by(sight.later, sight.claim)


def _by_loss(sight: Sight) -> bool:
    return loses(sight) or ((_by_name(sight) or _by_object(sight)) and _loses_unknown(sight))


def _loses_unknown(sight: Sight) -> bool:
    """Whether a block of the claim is gone that it is not known to hold: nor is the position that
    the event states, or any of its positions may have been in that block. A block that held none of
    its own positions is no block of the claim.
    """
    event, held = sight.event, held_by(sight.pool, sight.claim)
    known, unnamed = {block for _, block in held}, {at for at, block in held if block is None}
    strange = [
        place
        for place, block in enumerate(event.block_ids)
        if block not in known and not _was_behind(sight, place)
    ]
    if not held:
        return bool(strange) or not event.block_ids
    if event.positions:
        held_at = {at for at, _ in held}
        return any(event.positions[place] not in held_at for place in strange)
    if unnamed:
        return bool(strange) and all(block is None for at, block in held if at in unnamed)
    return any(not owners(sight.pool, [event.block_ids[place]]) for place in strange)


def _was_behind(sight: Sight, place: int) -> bool:
    """Whether a block that goes was behind the end of the claim: by the position that the event
    states, else by those at which it is held for the claim's object.
    """
    event, claim = sight.event, sight.claim
    places = [
        at
        for owner, at, block in sight.pool.placed
        if block == event.block_ids[place] and isinstance(owner, Object) and means(owner, claim)
    ]
    places = [event.positions[place]] if event.positions else places
    return bool(places) and not any(_owns(claim, position) for position in places)


def _by_foreign_name(sight: Sight) -> bool:
    name = sight.event.claim_id
    strange = name is not None and not sight.pool.claims[name].known
    return strange and _is_among(sight.claim, meant(sight.pool, sight.event))


def _is_among(claim: Claim, claims: list[Claim]) -> bool:
    return any(claim is each for each in claims)


ABOUT: Final[Mapping[By, Callable[[Sight], bool]]] = MappingProxyType(
    {
        By.NAME: _by_name,
        By.ENTRY: _by_entry,
        By.OBJECT: _by_object,
        By.BLOCKS: _by_blocks,
        By.CONTENT: _by_content,
        By.LOSS: _by_loss,
        By.FOREIGN: _by_foreign_name,
    }
)
"""Whether an event is about a claim, by each of the ways in which it may be."""


def loses(sight: Sight) -> bool:
    """Whether the claim holds a position before the event that it does not hold after, one of its
    own: an object may be longer than what was committed of it.
    """
    return any(_owns(sight.claim, position) for position in _lost(sight))


def strays(sight: Sight) -> bool:
    """Whether it holds a position no more, and all of those are behind its end."""
    return bool(_lost(sight)) and not loses(sight)


def _lost(sight: Sight) -> set[int]:
    then, now = (held_by(pool, sight.claim) for pool in (sight.pool, sight.later))
    return {position for position, _ in then} - {position for position, _ in now}


def _owns(claim: Claim, position: int) -> bool:
    footprint, predicate = int(claim.facts["footprint"]), claim.predicate
    return not footprint or predicate is None or position < max(footprint, predicate.end)


def is_mine(sight: Sight) -> bool:
    """Whether the event is about the claim's object.

    What names the claim with another identity is not; nor is any fact, once it is watched no more.
    """
    kind = sight.event.kind
    if (sight.claim.unwatched and kind in FACTS) or not sight.binds:
        return False
    if _is_moot(sight):
        return False
    return any(ABOUT[by](sight) for by in CONCERNS[kind] if by in ABOUT)


def _is_moot(sight: Sight) -> bool:
    """Whether a report is about what no longer matters: of a route, of a loss where the claim is
    ranked, or of what came after the claim's entry ended, and the claim is over; and nothing like
    it that happened before is still to be reported.
    """
    kind, claim = sight.event.kind, sight.claim
    if not _names(sight) or not sight.binds or not claim.known or claim.watched:
        return False
    if kind in ROUTE_REPORTS:
        return not claim.owed.get((sight.event.request_id, kind))
    if _is_of_later(claim, kind):
        return True
    ranked = MODES[claim.goes_by(sight.moment.mode)].constants["ranked"]
    if not ranked or kind not in (Kind.CLAIM_BLOCK_LOST, Kind.CLAIM_UNMATERIALIZED):
        return False
    return not new_loss(claim, sight.event)


def _is_of_later(claim: Claim, kind: Kind) -> bool:
    """Whether a report contradicts the blocks that a claim held when its entry ended: it may be
    true of those that it holds since, which are not followed.
    """
    held = claim.threshold <= int(claim.facts["lead"])
    since = (Kind.CLAIM_UNMATERIALIZED,) if held else (Kind.CLAIM_MATERIALIZED, Kind.CLAIM_RESTORED)
    return claim.unwatched and kind in since


def new_loss(claim: Claim, event: Event) -> bool:
    """Whether a report of lost blocks is of blocks that no report named; if their ids are unknown
    it may.
    """
    blocks = frozenset(event.block_ids)
    return bool(claim.unsaid) and (None in claim.unsaid or blocks <= claim.unsaid)


def is_named(sight: Sight) -> bool:
    """Whether the event names the claim; facts carry no name of their own, but what they mean."""
    kind = sight.event.kind
    if _is_moot(sight):
        return False
    if kind in FACTS and (sight.claim.unwatched or sight.binds):
        return is_mine(sight)
    about = kind in REPORTS - CONFLICT_ACTIONS
    return _names(sight) and (about or not sight.binds)


def belongs_to(sight: Sight) -> frozenset[str]:
    """The requests that the event belongs to, to this claim.

    A load belongs to each request that waits for the claim. One for another claim on the same
    content belongs to these alone, and to none where no copy of this claim is known.
    """
    loaded = sight.event.kind is Kind.LOAD_FINISHED
    if loaded and not is_direct(sight):
        gains = sight.claim.facts["host"] and is_mine(sight)
        return sight.claim.waiting if gains else frozenset()
    own = frozenset[str]() if sight.moment.belongs is None else frozenset({sight.moment.belongs})
    return own | sight.claim.waiting if loaded else own


def is_direct(sight: Sight) -> bool:
    """Whether a fact names or means the claim, which is not only on the same content as another."""
    return any(ABOUT[by](sight) for by in (By.NAME, By.OBJECT, By.BLOCKS))


_alone = set(By) - set(ABOUT) - {By.REQUEST, By.POOL}
_belong = {kind for kind, ways in CONCERNS.items() if By.REQUEST in ways}
if _alone or _belong != REQUEST_KINDS | {Kind.BLOCK_CACHED}:
    raise TypeError(f"the table of concerns is not whole: {_alone}, {_belong}")
