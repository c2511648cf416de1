"""Holds what is known of one run of an engine: what is held, who follows whom, what is in hand.

An event also changes what no register has: what was computed, who waits for a restore, which
reports of routes and losses are due, and the requests in hand. The functions below follow that.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Final

from spec.claims.states import TRIGGERS, next_state
from spec.events.alphabet import BLOCKS_GONE, Kind
from spec.events.fields import ROUTE_REPORTS
from spec.stream.capacity import Capacity, Ranks
from spec.stream.claim import TERMS, Claim
from spec.stream.durations import Durations
from spec.stream.facts import Facts
from spec.stream.fields import route_value
from spec.stream.generate import AT, REQ
from spec.stream.objects import Objects
from spec.stream.pool import Pool
from spec.stream.request import OF_REQUESTS, Requests

if TYPE_CHECKING:
    from collections.abc import Set

    from spec.events.canonical import Event
    from spec.stream.fields import Moment
    from spec.stream.generate import Values
    from spec.stream.pool import Object, Touch
    from spec.stream.request import Request

__all__ = ["Run", "follow_claim", "follow_entry", "follow_request", "measure"]

_ENTRY: Final = TERMS | {Kind.CLAIM_RETIRED, Kind.DURATION_ELAPSED}
_ROUTED: Final = frozenset({*ROUTE_REPORTS, *(fact for fact, _ in ROUTE_REPORTS.values())})

_takes: Final = itemgetter(AT["responsible"], AT["declared"])
"""The registers that decide how many blocks a claim takes."""


class Run:
    """One run, from its first line or from a restatement.

    Attributes:
        claims: those of the stream that are kept, by id.
        owing: the claims of which a report is due.
        followers: by request, the claims that follow it.

    Args:
        requests: how many are followed at most.
    """

    def __init__(self, claims: dict[str, Claim], requests: int) -> None:
        self.claims = claims
        self.pool: Pool = Pool()
        self.objects: Objects = Objects()
        self.capacity: Capacity = Capacity(self.pool)
        self.ranks: Ranks = Ranks()
        self.facts: Facts = Facts(self.pool, self.objects, self.capacity)
        self.requests: Requests = Requests(requests)
        self.durations: Durations = Durations()
        self.owing: dict[Claim, None] = {}
        self.followers: dict[str, dict[Claim, None]] = {}

    # Objects.

    def place(self, claim: Claim, event: Event) -> bool:
        """Put a claim on the object that it states; return whether keys have other names now.

        Raises:
            Contradiction: what it states is not what was stated of the object.
        """
        if claim.final:
            return False
        renamed, claim.placed = False, True
        if claim.obj.object_id is None and "object_id" in claim.stated:
            renamed = self._move(claim)
        self.objects.join(claim)
        claim.obj.bind(event.cache_identity, event.token_map)
        if event.kind not in TERMS or not event.contents:
            return renamed
        with self.capacity.resized(self.objects.sharing(claim.obj)):
            return self.objects.state(claim.obj, event.contents, self.pool) or renamed

    def _move(self, claim: Claim) -> bool:
        """An object of a claim turns out to be one that has a name."""
        stated = claim.stated
        identity, token_map = stated.get("cache_identity"), stated.get("token_map")
        new = self.objects.called(stated["object_id"], identity, token_map)
        own = claim.obj
        self.objects.leave(claim)
        with self.capacity.resized([claim]):
            claim.obj = new
        places = sorted(own.places)
        self.pool.rename([(own.key(g, at), new.key(g, at)) for g, at in places])
        new.places |= {(g, at) for g, at in places if at >= len(new.contents)}
        return True

    # Requests, and what claims take.

    def begin_request(self, event: Event, observes: Set[Kind]) -> Request | None:
        """The request of an event as it was before; scopes of one before it are dropped.

        Raises:
            Contradiction: the request cannot do or undergo that now.
        """
        name = event.request_id
        if name is None or event.kind not in OF_REQUESTS:
            return None
        ended = self.requests.ended(name)
        request = self.requests.of(name, event, observes)
        if ended is not None and ended is not request:
            for claim in self.followers.pop(name, {}):
                claim.drop_request(name)
        return request

    def pressed(self, observes: Set[Kind]) -> bool | None:
        """Whether a request in hand is in a standing conflict; None if that is unknown."""
        found = [
            self.capacity.conflicts(r.needed, r.usable) for r in self.requests.in_hand.values()
        ]
        unknown = None in found or Kind.REQUEST_ARRIVED not in observes
        return True if True in found else None if unknown else False

    def update(self, claim: Claim, facts: Values, number: int) -> None:
        """An event changes the registers of a claim, and with them what it takes.

        Args:
            number: of the event.
        """
        before, claim.facts = claim.facts, facts
        if _takes(before) == _takes(facts):
            return
        if claim.responsible and not before[AT["responsible"]]:
            claim.took = number
        self.capacity.remove(claim)
        if claim.responsible:
            self.capacity.add(claim)

    def owe(self, claim: Claim) -> None:
        """Note whether a report of a claim is due."""
        if claim.owes:
            self.owing[claim] = None
        else:
            self.owing.pop(claim, None)

    def drop(self, claim: Claim) -> None:
        """A claim is no longer followed."""
        self.objects.leave(claim)
        self.capacity.remove(claim)
        self.ranks.drop(claim)
        self.owing.pop(claim, None)
        self.durations.timed.pop(claim, None)
        for name in claim.requests:
            self.followers.get(name, {}).pop(claim, None)
        claim.copies.clear()


# What an event changes beside registers.


def follow_claim(at: Moment, claim: Claim) -> None:
    """A report moves the claim along its lifecycle; and what was computed since it was away, who
    waits for it, and what is still to be reported of its routes and losses.
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
    """What the claims on an object hold turns out to be otherwise than was known, and was so
    before.
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
