"""Defines partial observation: what is unknown, and what an observer still concludes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from spec.contract.obligations import OBLIGATIONS
from spec.contract.observed import facts_of, reading, resting_on, without_fields
from spec.events.alphabet import BLOCKS_GONE, CONFLICT_ACTIONS, ENDS, Kind
from spec.events.canonical import Event
from spec.language.machine import Observer
from spec.projection.blocks import may_share
from spec.projection.concerns import is_mine
from spec.projection.pool import Pool, Request, held_by, is_over, is_tracked, lead, meant, owners
from spec.projection.ranks import is_ranked
from spec.projection.rights import owner_unknown, some_end_unseen
from spec.projection.room import most_taken
from spec.projection.sight import Sight

__all__ = [
    "AUTHORITY",
    "BLOCKS",
    "CACHED_BY",
    "CHOICE",
    "FAILURES",
    "NAMES",
    "NEED",
    "POOL",
    "may_be_gone",
    "may_lose",
    "may_mean_another",
    "open_without",
    "says_too_little",
    "unknown_of",
    "unobserved",
    "without",
]

POOL: Final = frozenset(
    {
        *("rest", "rest_since_arrival", "shared", "others", "shared_unblamed"),
        *("blamed_rest", "blamed_least", "invalid_blocker"),
    }
)
"""The fields that rest on all claims and requests of the pool."""
OTHERS: Final = frozenset({"others"})
"""The field that rests on what all requests in hand need."""
FAILURES: Final = frozenset({"blames_unfailed", "unfounded_failure"})
"""The fields that rest on all failures of a request."""
AUTHORITY: Final = frozenset({"authorised"})
"""The field that rests on who owns the claim and when its duration is over."""
NAMES: Final = frozenset({"named"})
"""The field that rests on who was registered."""
BLOCKS: Final = frozenset({"lead"})
"""The field, and the register, that rest on which blocks a claim holds."""
CHOICE: Final = frozenset({"lower_priority_available"})
"""The field that rests on what else could have been taken."""
NEED: Final = frozenset({"needed", "usable"})
"""The fields, and the registers, that rest on what a request needs."""
CACHED_BY: Final = frozenset({"found", "away"})
"""The field, and the register, that rest on which request computed the blocks of a claim."""


_AT_REQUEST: Final = CONFLICT_ACTIONS | {Kind.REQUEST_ARRIVED, Kind.REQUEST_FINISHED}


@cache
def without(name: str, fields: frozenset[str]) -> Observer | None:
    """What is left of the observer of this name (`without_fields`)."""
    return without_fields(OBLIGATIONS[name], fields)


# What is not known of an event.


def unknown_of(sight: Sight, seen: Mapping[str, object], lost: int) -> frozenset[str]:
    """The fields and registers that are unknown from this event on, as far as they matter to it.

    Args:
        seen: the fields of the event.
        lost: the last event before track of the stream was lost, below 0 if it never was.
    """
    event, claim = sight.event, sight.claim
    request = sight.pool.request_of(event)
    found: set[str] = set()
    if event.kind in ENDS and seen["mine"] and owner_unknown(sight):
        found |= AUTHORITY
    if _ranked_loss(sight, seen) and (seen["lower_priority_available"] is None or lost >= 0):
        found |= CHOICE
    if event.kind in _AT_REQUEST and (claim.responsible or seen["blamed"]):
        arrives = event.kind is Kind.REQUEST_ARRIVED
        stated = None not in (event.needed, event.usable)
        unsure = request is not None and request.in_hand and request.unsure and not arrives
        acts = event.kind in CONFLICT_ACTIONS
        unmet = acts and (request is None or not (request.in_hand or request.ended))
        found |= NEED if unsure or unmet or (arrives and not stated) else frozenset()
        found |= POOL if lost >= 0 and _presses(event, request) else frozenset()
        unseen = some_end_unseen(sight.pool, sight.moment.mode)
        found |= POOL if unseen and _presses(event, request, sight.pool) else frozenset()
        found |= OTHERS if acts and sight.moment.others_unsure else frozenset()
    if lost < 0:
        return frozenset(found)
    since = request.since if request is not None else -1
    judged = seen["mine"] if event.kind is Kind.CLAIM_RESTORATION_FAILED else _has_part(sight, seen)
    if since <= lost and judged:
        found |= FAILURES
    if seen["mine"] and not seen["named"]:
        found |= NAMES
    return frozenset(found)


def _ranked_loss(sight: Sight, seen: Mapping[str, object]) -> bool:
    evicted = sight.event.kind is Kind.BLOCK_EVICTED
    return bool(evicted and seen["mine"] and is_ranked(sight.claim))


def _presses(event: Event, request: Request | None, pool: Pool | None = None) -> bool:
    """Whether what the pool holds matters to an event of a request: it fits an empty pool.

    Args:
        pool: where given, it does not fit beside all claims that may be responsible.
    """
    if event.kind in CONFLICT_ACTIONS:
        return True
    if event.kind is Kind.REQUEST_ARRIVED:
        needed, usable = event.needed or 0, event.usable or 0
    elif request is not None and request.in_hand:
        needed, usable = request.needed, request.usable
    else:
        return False
    if pool is None:
        return needed <= usable
    return needed <= usable < needed + most_taken(pool)


def _has_part(sight: Sight, seen: Mapping[str, object]) -> bool:
    """Whether the claim has a part in an action on a request."""
    request = sight.pool.request_of(sight.event)
    failed = request is not None and sight.claim.claim_id in request.failed
    part = bool(seen["blamed"]) or sight.claim.responsible or failed
    return sight.event.kind in CONFLICT_ACTIONS and part


def may_be_gone(sight: Sight) -> bool:
    """Whether a block is gone that may hold a position of the claim: one that a load did not name.

    It is if no claim is known to hold it, or if the event names or means the claim, which does not
    hold it, and does not say which position it held.
    """
    event, held = sight.event, held_by(sight.pool, sight.claim)
    anonymous = event.claim_id is None and event.object_id is None
    ours = event.claim_id == sight.claim.claim_id or sight.claim in meant(sight.pool, event)
    if not any(block is None for _, block in held_by(sight.later, sight.claim)):
        return False
    if anonymous:
        return any(not owners(sight.pool, [block]) for block in event.block_ids)
    known = {block for _, block in held}
    return ours and not event.positions and any(block not in known for block in event.block_ids)


def may_lose(sight: Sight) -> bool:
    """Whether blocks go that a claim holds, or may hold unseen: of others it is behind. The rest
    that it is known to hold is too little.
    """
    claim, pool = sight.claim, sight.later
    if not claim.behind or sight.event.kind not in BLOCKS_GONE or not is_tracked(pool, claim):
        return False
    if lead(pool, claim) >= claim.threshold:
        return False
    # Whatever object the event names: the blocks are gone.
    seen = (Sight(sight.moment, pool.claims[name]) for name in (claim.claim_id, *claim.behind))
    return any(map(is_mine, seen))


def says_too_little(sight: Sight) -> bool:
    """Whether a load of the claim, which is not over, or of one that it shares content with, does
    not say how many blocks came back.
    """
    event, claim = sight.event, sight.claim
    stated = event.positions or event.held is not None
    if event.kind is not Kind.LOAD_FINISHED or stated or not sight.moment.binds:
        return False
    if is_over(sight.pool, claim):
        return False
    short = lead(sight.later, claim) < claim.threshold
    return short and (is_mine(sight) or may_share(sight.pool, event, claim))


def may_mean_another(sight: Sight) -> frozenset[str]:
    """The obligations that a report of a lost block leaves open: of a claim that lost blocks from
    behind its end it may mean these, which are none of its loss.
    """
    of_loss = sight.event.kind is Kind.CLAIM_BLOCK_LOST and sight.claim.strayed
    return reading("new_loss", sight.moment.mode) if of_loss else frozenset()


# What a stream does not observe.


def unobserved(name: str, observes: frozenset[Kind]) -> bool:
    """Whether an obligation rests on facts that a stream does not observe: it can be neither kept
    nor broken there.
    """
    return not facts_of(OBLIGATIONS[name]) <= observes


# Facts that do not say whose they are.

_RESTS: Final = frozenset(
    {
        *(Kind.STORE_FINISHED, Kind.HOST_COPY_FOUND, Kind.HOST_COPY_LOST),
        *(Kind.LOAD_FINISHED, Kind.PREFIX_REUSED),
    }
)
_OF_A_REQUEST: Final = frozenset({Kind.LOAD_FAILED, Kind.REQUEST_ROUTED, Kind.REUSE_SERVED})


def open_without(kind: Kind, obligations: frozenset[str]) -> frozenset[str]:
    """Which of a bundle's obligations are open where a fact does not say whose object it is about.

    What is on the GPU and in the tier, and when something is done with a claim, all others rest on.
    """
    if kind in _RESTS:
        return obligations if "offload_restorability" in obligations else frozenset()
    return obligations & resting_on(kind) if kind in _OF_A_REQUEST else frozenset()
