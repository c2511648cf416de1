"""Decides whom an event concerns: the claims that it is about, and those that it may matter to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spec.events.alphabet import BLOCKS_GONE, CONFLICT_ACTIONS, FACTS, Kind
from spec.events.fields import ROUTE_REPORTS
from spec.stream.facts import FACTS_ABOUT_BLOCKS

if TYPE_CHECKING:
    from spec.events.canonical import Event
    from spec.stream.claim import Claim
    from spec.stream.fields import Moment

__all__ = ["OPENS_MANY", "about", "concerned"]

_CLOSES: Final = CONFLICT_ACTIONS | {
    Kind.CLAIM_COMMITTED,
    Kind.BLOCK_EVICTED,
    Kind.CLAIM_RETIRED,
    Kind.PREFIX_REUSED,
    Kind.BLOCK_CACHED,
    Kind.REQUEST_FINISHED,
}
"""The kinds before which something may be due."""

_RETIRED: Final = Kind.CLAIM_RETIRED
_ARRIVES: Final = Kind.REQUEST_ARRIVED
OPENS_MANY: Final = CONFLICT_ACTIONS | {_ARRIVES, Kind.REQUEST_FINISHED}
"""The kinds of a request that matter to claims which they do not name."""


def about(at: Moment, claim: Claim | None) -> dict[Claim, tuple[bool, bool]]:
    """The claims that an event is about, each with whether it is its own, and is named.

    Args:
        claim: the one that it names, and binds.
    """
    event, kind = at.event, at.kind
    if kind in FACTS_ABOUT_BLOCKS:
        gone = kind in BLOCKS_GONE
        claims = [each for each, touch in at.touched.items() if not gone or touch.lost]
        claims += () if gone else at.direct
        return {each: (True, True) for each in claims if not _is_moot(each, event)}
    if claim is None:
        return {}
    if kind in FACTS:
        has_entry = kind is not _RETIRED or _has_entry(claim)
        return {claim: (True, True)} if has_entry else {}
    found = {} if _is_moot(claim, event) else {claim: (True, True)}
    if not claim.known and event.object_id is not None:
        for other in at.run.objects.on.get(claim.obj, ()):
            if other is not claim and other.known:
                found[other] = True, False
    return found


def _has_entry(claim: Claim) -> bool:
    ended = not claim.responsible
    return not (ended and (claim.lapses or not claim.committed))


def _is_moot(claim: Claim, event: Event) -> bool:
    """Whether nothing is owed of the claim that the event could be about.

    Late reports about blocks and routes of a claim that was only watched may be true of what
    happened since; of others the lifecycle judges late reports.
    """
    if event.kind in FACTS:
        return claim.final or (claim.watched and claim.over)
    if not (claim.watched and claim.over):
        return False
    if event.kind in ROUTE_REPORTS:
        return not claim.routes.get((event.request_id or "", event.kind))
    return not claim.owes


def concerned(at: Moment) -> dict[Claim, None]:
    """The claims that an event may change anything of."""
    kind, run, found = at.kind, at.run, dict.fromkeys(at.mine)
    if kind in _CLOSES:
        found |= run.owing
    for request in at.here:
        found |= run.followers.get(request, {})
    if kind in CONFLICT_ACTIONS:
        found |= dict.fromkeys(run.capacity)
        named = (run.claims.get(name) for name in at.accused)
        found |= {claim: None for claim in named if claim is not None}
    elif kind in OPENS_MANY and at.presses and not (at.event.restated and kind is _ARRIVES):
        found |= dict.fromkeys(run.capacity)
    return found
