"""Tracks losses that no report named yet, and reports that no longer matter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spec.events.alphabet import Kind
from spec.events.fields import ROUTE_REPORTS

if TYPE_CHECKING:
    from collections.abc import Collection

    from monitor.evaluate.claim import ClaimRun
    from spec.events.canonical import Event

__all__ = ["UNREPORTED_KEPT", "is_moot", "is_unreported", "last_lead", "lose", "tell"]

UNREPORTED_KEPT: Final = 10_000
"""Lost blocks of one claim that no report named, of which the ids are remembered."""


_UNFOLLOWED: Final = (
    frozenset({Kind.CLAIM_MATERIALIZED, Kind.CLAIM_RESTORED}),
    frozenset({Kind.CLAIM_UNMATERIALIZED}),
)
"""Reports that contradict what was held last: nothing that makes the predicate true, or enough."""


def last_lead(claim: ClaimRun) -> int:
    """Blocks held one after another from the predicate's start on; after the claim's entry ended,
    when that was.
    """
    return claim.fact("lead") if claim.unwatched else claim.lead


def is_moot(claim: ClaimRun, event: Event) -> bool:
    """Whether a report that names a claim is not owed: about a route, about a loss where the claim
    is ranked, or about what came after the claim's entry ended, and the claim is over; and nothing
    like it that happened before is still to be reported.
    """
    if not claim.known or claim.watched:
        return False
    if event.kind in ROUTE_REPORTS:
        owed = claim.owed.get(event.request_id or "", {})
        return not owed.get(event.kind)
    if claim.unwatched and event.kind in _UNFOLLOWED[claim.constants.threshold <= last_lead(claim)]:
        return True  # it may be so by now: its blocks are not followed any more
    loss = event.kind in (Kind.CLAIM_BLOCK_LOST, Kind.CLAIM_UNMATERIALIZED)
    return loss and claim.constants.ranked and not is_unreported(claim, event)


def is_unreported(claim: ClaimRun, event: Event) -> bool:
    """Whether a report of lost blocks is about such a loss; if their ids are unknown it may."""
    blocks, unreported = event.block_ids, claim.unsaid
    return bool(unreported) and (not blocks or None in unreported or unreported.issuperset(blocks))


def lose(claim: ClaimRun, blocks: Collection[int]) -> None:
    """The claim lost these blocks, or, if none, some whose ids are unknown.

    Of too many it is only remembered that there are some.
    """
    if claim.watched:
        claim.unsaid |= frozenset(blocks or (None,))
        if len(claim.unsaid) > UNREPORTED_KEPT:
            claim.unsaid = frozenset({None})


def tell(claim: ClaimRun, event: Event) -> None:
    """Lost blocks are reported: those that the report names, or all of them."""
    claim.unsaid = claim.unsaid.difference(event.block_ids) if event.block_ids else frozenset()
