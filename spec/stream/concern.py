"""Decides whom an event concerns: the claims that it is about, and those that it may matter to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spec.events.alphabet import BLOCKS_GONE, CONFLICT_ACTIONS, FACTS, Kind
from spec.events.fields import ROUTE_REPORTS
from spec.stream.claim import AT
from spec.stream.facts import FACTS_ABOUT_BLOCKS

if TYPE_CHECKING:
    from collections.abc import Collection

    from spec.events.canonical import Event
    from spec.stream.claim import Claim
    from spec.stream.facts import Effect
    from spec.stream.fields import Moment
    from spec.stream.objects import Objects

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

OPENS_MANY: Final = CONFLICT_ACTIONS | {Kind.REQUEST_ARRIVED, Kind.REQUEST_FINISHED}
"""The kinds of a request that matter to claims which they do not name."""


def about(
    event: Event, claim: Claim | None, effect: Effect, objects: Objects
) -> dict[Claim, tuple[bool, bool]]:
    """The claims that an event is about, each with whether it is its own, and is named.

    Args:
        claim: the one that it names, and binds.
    """
    kind = event.kind
    found: dict[Claim, tuple[bool, bool]] = {}
    if kind in FACTS_ABOUT_BLOCKS:
        gone = kind in BLOCKS_GONE
        claims = [each for each, touch in effect.touched.items() if not gone or touch.lost]
        claims += () if gone else effect.direct
        return {each: (True, True) for each in claims if not _is_moot(each, event)}
    if claim is None:
        return found
    if kind in FACTS:
        if kind is not Kind.CLAIM_RETIRED or _has_entry(claim):
            found[claim] = True, True
        return found
    if not _is_moot(claim, event):
        found[claim] = True, True
    if not claim.known and event.object_id is not None:
        for other in objects.on.get(claim.obj, ()):
            if other is not claim and other.known:
                found[other] = True, False
    return found


def _has_entry(claim: Claim) -> bool:
    ended = not claim.responsible
    return not (ended and (claim.lapses or not claim.facts[AT["committed"]]))


def _is_moot(claim: Claim, event: Event) -> bool:
    """Whether nothing is owed of the claim that the event could be about.

    Late reports about blocks and routes of a claim that was only watched may be true of what
    happened since; of others the lifecycle judges late reports.
    """
    if not (claim.watched and claim.over):
        return claim.final and event.kind in FACTS
    if event.kind in FACTS:
        return True
    if event.kind in ROUTE_REPORTS:
        return not claim.routes.get((event.request_id or "", event.kind))
    return not claim.owes


def concerned(at: Moment, requests: Collection[str]) -> dict[Claim, None]:
    """The claims that an event may change anything of.

    Args:
        requests: those that it belongs to.
    """
    kind, run, found = at.event.kind, at.run, dict.fromkeys(at.mine)
    if kind in _CLOSES:
        found.update(run.owing)
    for request in requests:
        found.update(run.followers.get(request, {}))
    if kind in CONFLICT_ACTIONS:
        found.update(dict.fromkeys(run.capacity))
        named = (run.claims.get(name) for name in at.accused)
        found.update((claim, None) for claim in named if claim is not None)
    elif kind in OPENS_MANY and at.presses:
        restated = kind is Kind.REQUEST_ARRIVED and at.event.restated
        found.update({} if restated else dict.fromkeys(run.capacity))
    return found
