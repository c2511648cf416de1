"""Applies events about requests to the claims of their pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.evaluate.event_view import EventView
from monitor.evaluate.partial_observation import NEED, OTHERS, POOL
from monitor.pool.sums import Ends
from monitor.requests.blame import Blame
from monitor.stream.claim_store import TOO_LATE
from monitor.stream.stream_state import StreamState
from spec.events.alphabet import CONFLICT_ACTIONS, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from monitor.evaluate.claim import ClaimRun
    from monitor.evaluate.observer_state import Registers
    from monitor.input.records import At
    from monitor.pool.sums import Sums
    from monitor.requests.request import Request
    from spec.events.canonical import Event

__all__ = ["AtRequest", "RequestEvents"]


class AtRequest:
    """What an event of a request comes to, for all claims that it is delivered to.

    `named` are the claims that it names, `ends` the sums of the pool, with a `Blame` for each,
    `others` what the other requests in hand need, and `unknown` what is unknown of the event:
    which fields, where that is seen, and why. `alike` is what all claims see of it.
    """

    __slots__ = (
        *("alike", "at", "blames", "ends", "event", "named", "others", "request", "unknown"),
    )

    def __init__(
        self,
        event: Event,
        request: Request,
        at: At,
        named: Mapping[str, None],
        ends: Ends,
        blames: Sequence[Blame],
        others: int,
        unknown: Sequence[tuple[frozenset[str], At | None, str]],
    ) -> None:
        self.event, self.request, self.at = event, request, at
        self.named, self.ends, self.blames = named, ends, blames
        self.others, self.unknown = others, unknown
        self.alike: EventView | None = None


class RequestEvents(StreamState):
    """Events on requests: arrivals, actions on a conflict, ends, and reuse."""

    def _take_request(self, event: Event, at: At) -> None:
        request_id = event.request_id
        if request_id is None:
            return
        if event.kind is Kind.REQUEST_ARRIVED:
            observed = Kind.REQUEST_FINISHED in self._store.observed
            twice = observed and self.requests.came_twice(request_id)
            if twice:
                self._contradict_named(event, at, f"request {request_id} arrives twice")
            self.requests.arrive(event, at, self._count, unsure=twice)
            if twice:
                return
        elif event.kind is Kind.REQUEST_FINISHED and self._never_came(request_id):
            self._contradict_named(
                event, at, f"request {request_id} ends, and it has not arrived or has already ended"
            )
            return
        named = event.claim_id is not None or event.accused
        if named or self._store.claims or event.kind in CONFLICT_ACTIONS:
            self._tell_request(event, self.requests.get(request_id), request_id, at)
        if event.kind is Kind.REQUEST_FINISHED:
            self.requests.end(request_id)

    def _never_came(self, request_id: str) -> bool:
        observed = Kind.REQUEST_ARRIVED in self._store.observed
        return observed and not (self.requests.has(request_id) or self._track.missing)

    def _tell_request(self, event: Event, request: Request, request_id: str, at: At) -> None:
        """Deliver an action on a request to the claims."""
        if event.claim_id is not None:
            about = self._claim(event, event.claim_id, at)
            bound = self._check_identity(event, about, at)
            if self._open(about, event, at):
                about.touch(request_id)
        named = dict.fromkeys(event.accused)
        for name in named:
            if name not in self.claims:
                self._store.find(name, at)
        if event.kind in CONFLICT_ACTIONS:
            if request.gone:
                self._store.doubt_forgotten(f"request {request_id} {TOO_LATE}")
            for name in list(request.forgotten):
                if (forgotten := self._store.find(name, at)) is not None:
                    self._store.too_late(forgotten, event)
            request.forgotten = frozenset()
        if self._track.lost is not None and request.needed <= request.usable:
            self._store.doubt_pool()
        concerned = self._concerned(event, request, named)
        ends = self._ends(event, request)
        blames = [Blame(event, request, self.claims, sums) for sums in ends[:2] if sums]
        others, all_stated = self.requests.others(request_id)
        unknown = []
        if request.unsure and not request.ended:
            unknown.append((NEED, request.at, f"request {request_id} arrived twice"))
        if event.kind in CONFLICT_ACTIONS and not (request.came or request.ended):
            unknown.append((NEED, at, f"request {request_id} was acted on and never arrived"))
        if event.kind in CONFLICT_ACTIONS and not all_stated:
            unknown.append(
                (OTHERS, at, "the stream does not state what another unfinished request needs")
            )
        if (unseen := self._unseen(event, request)) is not None:
            unknown.append((POOL, *unseen))
        if self._track.lost is None and named:
            strangers = [name for name in named if name not in self.claims]
            self._early.add(strangers, event, at, blames[0], tuple(unknown), self._store.blind)
        self._deliver_each(
            concerned, AtRequest(event, request, at, named, ends, blames, others, unknown)
        )
        if event.claim_id is not None and not bound:
            self._two_identities(event, about, at)

    def _deliver_each(self, concerned: Sequence[ClaimRun], delivery: AtRequest) -> None:
        """Deliver to each of these claims what an event is to it."""
        for claim in concerned:
            self._deliver_one(claim, delivery)

    def _deliver_one(self, claim: ClaimRun, delivery: AtRequest) -> None:
        """Deliver to a claim what an event is to it."""
        event, request, at = delivery.event, delivery.request, delivery.at
        request_id, acts = event.request_id or "", event.kind in CONFLICT_ACTIONS
        part = claim.responsible or claim.claim_id in delivery.named
        for doubt in delivery.unknown if part else ():
            claim.doubt(*doubt)
        if acts and part:
            self._track.doubt_pool(claim)
        if acts and (part or claim.claim_id in request.failed):
            self._track.doubt_failures(claim, request)
        if delivery.ends.unknown:
            claim.doubt(POOL, at, "too many blocks may be shared for them to be compared")
        view, low = self._seen_by(claim, delivery)
        view.low = low
        follows = self._has_part(claim, event, request, view)
        followed = follows and self._open(claim, event, at)
        view.here = False
        self._deliver(claim, view)
        if event.kind is Kind.REQUEST_REFUSED:
            claim.waiting -= {request_id}
        if event.kind is Kind.REQUEST_FINISHED and followed:
            self.requests.close(claim, request_id)

    def _seen_by(self, claim: ClaimRun, delivery: AtRequest) -> tuple[EventView, EventView | None]:
        """What an event is to a claim; and the same as if all blocks were shared that may be, where
        that is another.
        """
        acts, ends, name = delivery.event.kind in CONFLICT_ACTIONS, delivery.ends, claim.claim_id
        view, low = self._as_all_see(claim, delivery).copied(), None
        if acts:
            delivery.blames[0].tell_one(view, claim, name)
        self._crowd(view, claim, ends.high)
        if ends.low is not None and not ends.unknown:
            low = view.copied()
            if acts:
                delivery.blames[1].tell(low, claim, name)
            self._crowd(low, claim, ends.low)
        return view, low

    def _as_all_see(self, claim: ClaimRun, delivery: AtRequest) -> EventView:
        """What an event is to all claims alike."""
        event = delivery.event
        if delivery.alike is not None and not event.from_tier:
            return delivery.alike
        alike = delivery.alike = self._view(event, claim, delivery.at)
        alike.named, alike.others = False, delivery.others
        if event.kind in CONFLICT_ACTIONS:
            delivery.blames[0].tell_all(alike)
        elif event.kind is Kind.REQUEST_ARRIVED:
            delivery.request.tell(alike)
        return alike

    def _unseen(self, event: Event, request: Request) -> tuple[At | None, str] | None:
        """Why it is unknown which other requests are in the pool, where that matters to a
        request.
        """
        if event.kind in CONFLICT_ACTIONS or self._presses(request):
            return self._clock.unseen(self._store.responsible)
        return None

    def _presses(self, request: Request) -> bool:
        """Whether a request fits the pool, and may not fit beside all claims in it."""
        return request.needed <= request.usable < self._store.room.bound + request.needed

    def _has_part(self, claim: ClaimRun, event: Event, request: Request, view: EventView) -> bool:
        """Whether a claim follows the request, or does so from this event on."""
        if view.request_id in claim.requests:
            return True
        facts = self._unopened(claim, event, request)
        views = [view] if view.low is None else [view, view.low]
        return any(claim.opens(each, facts) for each in views)

    def _concerned(self, event: Event, request: Request, named: Iterable[str]) -> list[ClaimRun]:
        """Claims with a part in the request: it is in hand, or it presses on their pool.

        Where it fits beside them all, it matters to those alone that owe something by its end. What
        a request needs that arrived twice is unknown.
        """
        found = dict(request.claims)
        found.update((name, self.claims[name]) for name in named if name in self.claims)
        acts = event.kind in CONFLICT_ACTIONS
        if acts or request.unsure or self._presses(request):
            found.update(self._store.responsible)
        if event.kind is not Kind.REQUEST_ARRIVED:  # what is owed is due before this
            found.update(self._store.owing)
        return [c for c in found.values() if c.taint is None or c.claim_id in request.claims]

    def _open(self, claim: ClaimRun, event: Event, at: At, name: str | None = None) -> bool:
        """Follow a request for a claim, which may have arrived before.

        Returns:
            Whether it is followed: one that a forgotten claim had in hand is not, nor one too many.
        """
        request_id = name or event.request_id or ""
        request = self.requests.get(request_id)
        if self._store.too_late(claim, event):
            return False
        if request.gone or claim.claim_id in request.former or claim.claim_id in request.forgotten:
            claim.distrust(request.at, f"request {request_id} {TOO_LATE}")
        if request_id in claim.requests:
            return True
        facts = self._unopened(claim, event, request)
        return self.requests.follow(claim, request_id, at, facts)

    def _unopened(self, claim: ClaimRun, event: Event, request: Request) -> Registers:
        """The registers of a request before this event, for a claim that does not follow it."""
        before = event.kind is Kind.REQUEST_ARRIVED
        return claim.unopened(*request.known(before=before), request.since)

    def _crowd(self, view: EventView, claim: ClaimRun, sums: Sums) -> None:
        """The room that the claims take, as a claim in the pool sees it."""
        alone = sums.alone(claim.claim_id)
        view.rest = view.rest_since_arrival = sums.total - alone
        view.shared = claim.declared - alone

    def _ends(self, event: Event, request: Request) -> Ends:
        """The sums of the pool; at the end of a request, of what was there from its arrival on."""
        mixed, room = self._store.blocks.mixed, self._store.room
        if event.kind not in CONFLICT_ACTIONS and not self._presses(request):
            return Ends(room)  # it is in no conflict with them: what they share is not asked
        if event.kind is Kind.REQUEST_FINISHED:
            return room.since(request.since, mixed)
        return room.ends(mixed)

    def _tell_others(self, event: Event, request_id: str, at: At) -> None:
        """Deliver a reuse to the claims that track its request, whichever prefix it reused."""
        for claim in list(self.requests.get(request_id).claims.values()):
            if claim.last_event != self._count:
                view = self._view(event, claim, at)
                view.named = False
                claim.last_event = self._count
                self._store.step_request(claim, request_id, view)
