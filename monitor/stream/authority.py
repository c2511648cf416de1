"""Checks who may end a claim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.evaluate.partial_observation import AUTHORITY
from monitor.pool.terms import binds
from spec.claims.claim import Mode
from spec.claims.durations import Duration
from spec.events.alphabet import Kind
from spec.events.fields import RUNTIME

if TYPE_CHECKING:
    from monitor.evaluate.claim import ClaimRun
    from monitor.input.records import At
    from monitor.stream.order import Clock
    from spec.events.canonical import Event

__all__ = ["authorised", "differs", "ends_early"]


def authorised(event: Event, claim: ClaimRun, at: At, clock: Clock) -> bool:
    """The owner may end a claim; the runtime may demote and expire as the judged mode has it.

    Streams that carry no actor (the recorded dialects) are taken at their word.
    """
    unknown = clock.unknown(claim) if event.kind is Kind.CLAIM_EXPIRED else None
    if unknown is not None and claim.constants.lapses and binds(claim, event):
        claim.distrust(*unknown)
    if event.by is None:
        return True
    if event.by != RUNTIME:
        if claim.owner_scope is None:
            why = f"no line states who owns the claim that {event.by} ends"
            if claim.owner_claimed is not None:
                why = f"only its acceptance states who owns the claim that {event.by} ends"
            claim.doubt(AUTHORITY, at, why)
        return event.by == claim.owner_scope
    if event.kind is Kind.CLAIM_DEMOTED:
        return claim.goes_by is Mode.DEMOTABLE
    if unknown is not None:
        claim.doubt(AUTHORITY, *unknown)
    return event.kind is Kind.CLAIM_EXPIRED and claim.elapsed and not claim.early


def differs(claim: ClaimRun, event: Event) -> bool:
    """Whether an event states another duration of the claim than was stated before."""
    if claim.duration is None or event.duration is None or claim.duration == event.duration:
        return False
    return Duration.parse(claim.duration) != Duration.parse(event.duration)


def ends_early(event: Event, claim: ClaimRun) -> bool:
    """Whether the entry of a claim ends whose duration is not over."""
    lasts = claim.duration is not None and not claim.elapsed
    return event.kind is Kind.CLAIM_RETIRED and lasts
