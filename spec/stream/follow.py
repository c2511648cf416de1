"""Follows what an event changes beside registers: lifecycle, losses, waits, routes, requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spec.claims.states import TRIGGERS, next_state
from spec.events.alphabet import BLOCKS_GONE, Kind
from spec.events.fields import ROUTE_REPORTS
from spec.stream.claim import TERMS, Claim
from spec.stream.fields import route_value
from spec.stream.generate import AT, REQ

if TYPE_CHECKING:
    from spec.events.canonical import Event
    from spec.stream.fields import Moment
    from spec.stream.pool import Object, Touch
    from spec.stream.run import Run

__all__ = ["follow_claim", "follow_entry", "follow_request", "measure"]

_ENTRY: Final = TERMS | {Kind.CLAIM_RETIRED, Kind.DURATION_ELAPSED}
_ROUTED: Final = frozenset({*ROUTE_REPORTS, *(fact for fact, _ in ROUTE_REPORTS.values())})


def follow_claim(at: Moment, claim: Claim) -> None:
    """Move a claim along its lifecycle, and note what else an event changes: blocks that were
    computed while it was away, requests that wait for it, routes and losses not yet reported.
    """
    event, kind = at.event, at.kind
    if kind in TRIGGERS and at.concerns[claim] == (True, True):
        trigger = Kind.CLAIM_DEMOTED if event.demotes else kind
        claim.state = next_state(claim.state, trigger) or claim.state
    touch = at.touched.get(claim)
    if touch is not None and (touch.gained or touch.lost or touch.brought):
        _follow_blocks(at, claim, touch)
    if kind in _ROUTED:
        _follow_route(claim, event)
    elif kind is Kind.CLAIM_BLOCK_LOST:
        claim.lost = claim.lost - set(event.block_ids) if event.block_ids else set()
    elif kind is Kind.LOAD_FAILED:
        claim.waiting.discard(event.request_id or "")
    elif event.claim_id == claim.claim_id:
        if kind is Kind.CLAIM_RESTORED:
            claim.waiting.clear()
        elif kind is Kind.CLAIM_RESTORE_REQUIRED and event.request_id is not None:
            claim.waiting.add(event.request_id)


def _follow_blocks(at: Moment, claim: Claim, touch: Touch) -> None:
    if at.kind in BLOCKS_GONE and touch.lost and claim.live:
        claim.lost |= touch.blocks or {None}
    whole = claim.facts[AT["lead"]] >= claim.threshold
    if touch.lost and not whole:
        claim.computed.clear()
        return
    claim.computed -= touch.lost | touch.brought
    if at.kind is Kind.BLOCK_CACHED and not at.event.found and claim.waiting:
        claim.computed |= touch.gained


def _follow_route(claim: Claim, event: Event) -> None:
    """Append a fact that is to be reported; a report removes the oldest of them."""
    request = event.request_id or ""
    for report, (fact, name) in ROUTE_REPORTS.items():
        if event.kind is fact and claim.live:
            claim.routes.setdefault((request, report), []).append(route_value(event, name))
        elif event.kind is report and claim.routes.get((request, report)):
            claim.routes[request, report].pop(0)


def follow_request(at: Moment) -> None:
    """A request arrives, is looked up, or ends."""
    event, kind, run, request = at.event, at.kind, at.run, at.request
    if (name := event.request_id) is None:
        return
    if kind is Kind.REQUEST_FINISHED or kind is Kind.REQUEST_REFUSED:
        for claim in run.followers.get(name, ()):
            claim.waiting.discard(name)
    if kind is Kind.REQUEST_FINISHED:
        for claim in run.followers.get(name, ()):
            for report in ROUTE_REPORTS:
                claim.routes.pop((name, report), None)
        if (gone := run.requests.finish(name)) is not None:
            run.followers.pop(gone, None)
    elif request is None:
        return
    elif kind is Kind.REQUEST_ARRIVED:
        run.requests.arrive(request, event, at.number)
    elif kind is Kind.LOAD_FAILED:
        request.failed.update(claim.claim_id for claim in at.direct if claim.known)
    elif kind is Kind.PREFIX_LOOKUP and event.held is not None:
        request.found.update((claim.claim_id, event.held) for claim in at.direct)


def follow_entry(at: Moment, claim: Claim) -> None:
    """The entry of a claim begins or ends, or its duration is over."""
    kind, durations = at.kind, at.run.durations
    if kind not in _ENTRY:
        return
    if kind is Kind.DURATION_ELAPSED:
        durations.elapse(claim)
        return
    if kind is Kind.CLAIM_RETIRED:
        claim.early |= claim.duration is not None and not claim.elapsed
        durations.timed.pop(claim, None)
        claim.retired |= claim.elapsed or at.event.by == claim.owner is not None
    at.run.ranks.follow(claim, at.run.pool)


def measure(run: Run, obj: Object) -> None:
    """Correct what the claims on an object hold: an event stated keys or terms, and moved no block.

    The registers change without a step of any observer.
    """
    for claim in run.objects.sharing(obj):
        _measure(claim, run)


def _measure(claim: Claim, run: Run) -> None:
    facts, pool, lead = claim.facts, run.pool, claim.lead_in(run.pool)
    if lead == facts[AT["lead"]] and not (claim.obj.contents or claim.obj.places):
        return
    facts[AT["lead"]] = lead
    facts[AT["there"]] = facts[AT["there"]] or lead >= claim.threshold
    facts[AT["host"]] = claim.is_stored_in(pool)
    facts[AT["whole"]] = claim.is_restorable_from(pool)
    if "predicate" in claim.stated:
        copied = pool.has_copy(claim.obj, claim.start, claim.start + claim.threshold)
        facts[AT["copied"]] = facts[AT["copied"]] or copied
    for scope in claim.requests.values():
        if scope.facts[REQ["seen"]]:
            scope.facts[REQ["away"]] = lead < claim.threshold
    run.ranks.follow(claim, pool)
