"""One stream: its pool, its requests, and how each event looks to the claims it concerns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.blocks import Blocks
from monitor.claim import UNSTATED, ClaimRun
from monitor.doubt import AUTHORITY, FAILURES, NAMES, POOL
from monitor.objects import Objects, open_without
from monitor.order import Clock, Order
from monitor.ranks import compare_losses, is_ranked
from monitor.records import Doubt
from monitor.requests import Blame, Request, Requests, tell_outcome
from monitor.terms import binds, fix_terms, unstated
from monitor.view import Constants, View
from spec.alphabet import BLOCKS_GONE, CONFLICT_ACTIONS, ENDS, REPORTS, Kind
from spec.claims import Mode
from spec.modes import MODES
from spec.predicates import parse_predicate
from spec.states import TERMINAL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from monitor.compile import Compiled
    from monitor.records import At, Stamp
    from spec.events import Event

__all__ = ["Stream"]

_BEGINS = frozenset({Kind.CLAIM_REGISTERED, Kind.CLAIM_COMMITTED})
_INTRODUCES = _BEGINS | {Kind.CLAIM_ACCEPTED}
_BLOCKS_THERE = frozenset({Kind.BLOCK_CACHED, Kind.LOAD_FINISHED})
_AT_REQUEST = CONFLICT_ACTIONS | {Kind.REQUEST_ARRIVED, Kind.REQUEST_FINISHED}


class Stream:
    """The claims of one stream (one engine, one pool, one run).

    Args:
        compiled: the observers that judge.
        name: the stream as its file calls it.
    """

    def __init__(self, compiled: Compiled, name: str) -> None:
        self.name = name
        self.claims: dict[str, ClaimRun] = {}
        self.gap: tuple[At | None, str] | None = None
        self._doubt: tuple[At | None, str] | None = None
        self._compiled = compiled
        self._names = frozenset(observer.name for observer in compiled.observers)
        self._mode = MODES[compiled.mode].constants
        self._declared = 0
        self._count = 0  # of events
        self._newest = 0  # the event that registered the last claim
        self._requests = Requests()
        self._responsible: dict[str, ClaimRun] = {}
        self._owing: dict[str, ClaimRun] = {}
        self._blocks = Blocks()
        self._objects = Objects()
        self._blamed: dict[str, tuple[View, Blame]] = {}  # by ids that were named and not yet known
        self._workers: dict[str, int] = {}
        self._order, self._clock = Order(), Clock()

    # Order.

    def stamp(self, stamp: Stamp, at: At) -> None:
        """Check the order of a line; a step back is disorder, a jump forward may be a loss."""
        back, missing = self._order.check(stamp, at)
        if missing:
            self.lose(at, missing)
        if back:
            for claim in self.claims.values():
                if claim.taint is None:
                    self._deliver(claim, View(Kind.STREAM_DISORDER, at))
                    claim.distrust(at, f"the stream is out of order: {back}")
            self._lose_track(at, f"the stream is out of order: {back}")
        if stamp.time_ns is None and stamp.mark is None:
            self._clock.stop(at)
        for claim in self._clock.due(stamp.time_ns):
            if not claim.elapsed:
                claim.elapsed = True
                self._deliver(claim, View(Kind.DURATION_ELAPSED, at, mine=True, named=True))

    def lose(self, at: At | None, why: str) -> None:
        """Events are missing here: nothing new can be concluded about the claims alive now."""
        self.gap = self.gap or (at, why)
        self._lose_track(at, why)
        self.doubt(Doubt(why), at)

    def doubt(self, doubt: Doubt, at: At | None) -> None:
        """A line says too little: of the claims that it concerns less can be concluded."""
        for claim_id in self.claims if doubt.claim_id is None else (doubt.claim_id,):
            claim = self.claims.get(claim_id)
            if claim is not None and (doubt.claim_id or claim.state not in TERMINAL):
                claim.distrust(at, doubt.why, doubt.only)

    def finish(self) -> None:
        """The stream is over: an end that was promised, and what durations came to, are known."""
        if (cut := self._order.cut) is not None:
            self.lose(*cut)
        if self._mode["lapses"]:
            for claim in self.claims.values():
                if (unknown := self._clock.unknown(claim)) is not None:
                    claim.distrust(*unknown)

    def _lose_track(self, at: At | None, why: str) -> None:
        """From here on nobody knows what the pool holds, nor what happened to its requests."""
        self._doubt = self._doubt or (at, why)
        self._requests.lose_track()

    def _doubt_pool(self, claim: ClaimRun) -> None:
        self._tell_doubt(claim, POOL, "who else is in the pool")

    def _doubt_failures(self, claim: ClaimRun, request: Request) -> None:
        if not request.whole:
            self._tell_doubt(claim, FAILURES, "which restores failed for the request")

    def _tell_doubt(self, claim: ClaimRun, fields: frozenset[str], what: str) -> None:
        """A claim hears, where it matters to it, what nobody knows since track was lost."""
        if self._doubt is not None:
            at, why = self._doubt
            claim.doubt(fields, at, f"{why}, so nobody knows {what}")

    # Events.

    def take(self, event: Event, at: At) -> None:
        """Project one event onto every claim that it concerns."""
        self._count += 1
        if event.kind in _AT_REQUEST:
            self._take_request(event, at)
        elif event.kind in BLOCKS_GONE:
            self._take_blocks_gone(event, at)
        elif event.claim_id is not None:
            self._take_claim(event, event.claim_id, at)
        else:
            self._take_unnamed(event, at)

    def _take_unnamed(self, event: Event, at: At) -> None:
        """A fact that names no claim is about the claims on its object, or of its blocks."""
        meant = self._objects.meant(event)
        if event.object_id is None and event.kind is not Kind.BLOCK_CACHED:
            meant = [self.claims[name] for name in self._blocks.owners(event.block_ids)]
            if not meant and (only := open_without(event.kind, self._names)):
                why = f"{event.kind} says neither whose claim nor which object"
                self.doubt(Doubt(why, only=only), at)
        for claim in meant:
            self._concern(event, claim, at, named=False)

    def _take_claim(self, event: Event, claim_id: str, at: At) -> None:
        claim = self._claim(event, claim_id, at)
        bound = binds(claim, event)
        if event.kind is Kind.CLAIM_RETIRED and not claim.responsible:
            self._unwatch(claim, event)
            return
        self._concern(event, claim, at, mine=bound)
        claim.accepted = claim.accepted or event.kind is Kind.CLAIM_ACCEPTED
        entered = event.kind in _INTRODUCES and (claim.accepted or self._mode["watched"])
        if entered and (missing := unstated(claim)):
            claim.distrust(at, missing)
        if event.kind is Kind.DURATION_ELAPSED:
            claim.elapsed = True
            self._clock.tell(claim)
        elif event.kind is Kind.CLAIM_COMMITTED:
            self._clock.start(claim, at, event.time_ns)
        self._objects.add(claim)
        if event.kind in REPORTS and not claim.known:
            self._misnamed(event, at)
        if not bound:
            self._two_identities(claim, at)

    def _unwatch(self, claim: ClaimRun, event: Event) -> None:
        """Nothing more is owed of a claim that was watched and is over, if it was time for that."""
        due = claim.elapsed or event.by == claim.owner_scope is not None
        if self._mode["watched"] and not claim.committed and due:
            self._blocks.forget(claim)
            claim.priority = None

    def _concern(
        self, event: Event, claim: ClaimRun, at: At, *, mine: bool = True, named: bool = True
    ) -> None:
        """A claim hears of an event about its object, or under its name."""
        view = self._view(event, claim, at)
        view.mine, view.named = mine, named
        if event.request_id is not None:
            self._open(claim, event.request_id)
            claim.touch(event.request_id)
            request = self._requests.get(event.request_id)
            if event.kind is Kind.LOAD_FAILED and claim.known:
                request.failed.add(claim.claim_id)
                request.lacks = request.lacks or claim.responsible
            elif event.kind is Kind.CLAIM_RESTORATION_FAILED:
                self._doubt_failures(claim, request)
                tell_outcome(view, event, claim.claim_id, request)
        empty = event.kind is Kind.PREFIX_LOOKUP and event.held is None
        if not (empty and mine):  # a look-up that says nothing of what it found shows nothing
            self._deliver(claim, view)

    def _claim(self, event: Event, claim_id: str, at: At) -> ClaimRun:
        """The claim of this id, made on first sight and filled with what the event tells of it."""
        claim = self.claims.get(claim_id)
        if claim is None:
            claim = ClaimRun(
                self.name, claim_id, self._compiled, Constants(threshold=UNSTATED, **self._mode)
            )
            self.claims[claim_id] = claim
            if claim_id in self._blamed:
                self._blame_early(claim, *self._blamed.pop(claim_id))
            if self.gap is not None and event.kind not in _BEGINS:
                claim.distrust(at, "its acceptance may be among the events that are missing")
        if event.kind in _INTRODUCES:
            if not claim.registered:
                claim.registered, claim.registered_at = True, self._count
                claim.entry = ((event.kind, at),)
                self._newest = self._count
            if claim.committed and claim.duration is None and event.duration is not None:
                self._clock.lose(claim, at, "its duration was first stated after its commitment")
            fix_terms(claim, event)
        elif self._mode["watched"] and not claim.registered and event.kind in REPORTS:
            claim.distrust(at, "it was spoken of before it was registered")
        if event.predicate is not None:
            claim.fix_predicate(parse_predicate(event.predicate))
        return claim

    def _blame_early(self, claim: ClaimRun, view: View, blame: Blame) -> None:
        """An action named the claim before anything was known of it: that explains nothing."""
        blame.tell(view, claim.claim_id)
        view.proof = False  # its sums are judged by those who were there
        request_id = view.request_id or ""
        claim.open_request(request_id)
        claim.step_request(request_id, view)
        claim.close_request(request_id)

    def _check_identity(self, event: Event, claim: ClaimRun, at: At) -> None:
        """An event that is not about a claim's object alone may still name it wrongly."""
        if not binds(claim, event):
            self._deliver(claim, View(event.kind, at, named=True))
            self._two_identities(claim, at)

    def _two_identities(self, claim: ClaimRun, at: At) -> None:
        claim.distrust(at, "the claim goes by two identities")
        self._lose_track(at, f"claim {claim.claim_id} goes by two identities")

    def _misnamed(self, event: Event, at: At) -> None:
        """A report under an id that no registry holds, about the object of claims that it does."""
        for claim in self._objects.meant(event):
            self._tell_doubt(claim, NAMES, "who was registered")
            view = self._view(event, claim, at)
            view.mine, view.named = True, False
            self._deliver(claim, view)

    def _take_blocks_gone(self, event: Event, at: At) -> None:
        """Blocks are gone from whoever owns them, and from the claims that the event means."""
        meant = self._objects.meant(event)
        if event.claim_id is not None:
            meant = [self._claim(event, event.claim_id, at)]
            self._check_identity(event, meant[0], at)
        losers, unseen = self._blocks.lose(event, meant, self.claims)
        pressed = self._mode["ranked"] and event.kind is Kind.BLOCK_EVICTED
        late = [claim for name, claim in self._owing.items() if name not in losers]
        ranked: list[tuple[ClaimRun, View]] = []
        for claim in losers.values():
            view = View(event.kind, at, event.request_id, mine=True, named=True)
            view.lead = claim.held.lead
            self._deliver(claim, view)
            if pressed and is_ranked(claim):
                ranked.append((claim, view))
        lowest, claims = event.lowest_priority, self.claims.values()
        compare_losses(ranked, self._count, self._newest, claims, lowest)
        for claim in filter(is_ranked, late if ranked else ()):  # news of it was due before this
            self._deliver(claim, View(event.kind, at))
        for claim in unseen:
            if claim.state not in TERMINAL:
                claim.distrust(at, "a block is gone that may be one that a load did not name")

    def _take_request(self, event: Event, at: At) -> None:
        request_id = event.request_id
        if request_id is None:
            return
        if event.kind is Kind.REQUEST_ARRIVED:
            self._requests.arrive(event, at, self._count, self._declared)
        request = self._requests.get(request_id)
        if event.claim_id is not None:
            claim = self._claim(event, event.claim_id, at)
            self._check_identity(event, claim, at)
            self._open(claim, request_id, arriving=event.kind is Kind.REQUEST_ARRIVED)
            claim.touch(request_id)
        blame = Blame(event, request, self.claims)
        if self._doubt is None:
            for name in blame.named - self.claims.keys():
                self._blamed.setdefault(name, (View(event.kind, at, request_id), blame))
        for claim in self._concerned(event, request, blame.named):
            self._open(claim, request_id, arriving=event.kind is Kind.REQUEST_ARRIVED)
            view = self._view(event, claim, at)
            view.named = False
            if event.kind in CONFLICT_ACTIONS:
                self._doubt_pool(claim)
                self._doubt_failures(claim, request)
                blame.tell(view, claim.claim_id)
            elif event.kind is Kind.REQUEST_ARRIVED:
                request.tell(view)
            self._deliver(claim, view)
            if event.kind is Kind.REQUEST_FINISHED:
                self._requests.close(claim, request_id)
        if event.kind is Kind.REQUEST_FINISHED:
            self._requests.end(request_id)

    def _concerned(
        self, event: Event, request: Request, named: frozenset[str]
    ) -> Iterable[ClaimRun]:
        """Claims with a part in the request: it is in hand, or it presses on their pool.

        Where it fits beside them all, it matters to those alone that owe something by its end.
        """
        found = dict(request.claims)
        found.update((name, self.claims[name]) for name in named if name in self.claims)
        full = self._doubt is not None or request.usable < self._declared + request.needed
        presses = request.arrived and (request.again or (full and request.needed <= request.usable))
        if presses or event.kind in CONFLICT_ACTIONS:
            found.update(self._responsible)
        if request.arrived and event.kind is not Kind.REQUEST_ARRIVED:
            since = request.since
            found.update(
                (claim.claim_id, claim)
                for claim in self._owing.values()
                if claim.responsible or claim.took <= since < claim.left
            )
        return [c for c in found.values() if c.taint is None or c.claim_id in request.claims]

    def _open(self, claim: ClaimRun, request_id: str, *, arriving: bool = False) -> None:
        """Follow a request for a claim, telling it of an arrival that was before its time."""
        request = self._requests.get(request_id)
        if claim.responsible and request.needed <= request.usable:
            self._doubt_pool(claim)
        if claim.claim_id in request.former:
            claim.distrust(request.at, f"request {request_id} ended too long ago to be followed")
        request.claims[claim.claim_id] = claim
        if claim.open_request(request_id) and not arriving:
            view = View(Kind.REQUEST_ARRIVED, request.at, request_id)
            request.tell(view)
            there = claim.took <= request.since
            view.rest = (request.pool if there else self._declared) - claim.declared
            claim.step_request(request_id, view)

    # Fields.

    def _view(self, event: Event, claim: ClaimRun, at: At) -> View:
        view = View(event.kind, at, event.request_id, named=True)
        view.rest = self._declared - claim.declared
        view.footprint = event.footprint or 0
        view.echo, view.from_tier = event.echo, event.from_tier
        view.cost, view.hit = event.cost or 0, bool(event.hit)
        if event.worker is not None:
            view.worker = self._workers.setdefault(event.worker, len(self._workers) + 1)
        kind = event.kind
        if kind in _BLOCKS_THERE:
            told = self._blocks.hold(event, claim)
            view.lead = claim.held.lead
            if not told and view.lead < claim.constants.threshold:
                claim.distrust(at, "the load does not say how many blocks it brought back")
        elif kind is Kind.CLAIM_BLOCK_LOST:
            view.breaks = claim.held.lead < claim.constants.threshold
        elif kind in ENDS:
            view.authorised = self._authorised(event, claim, at)
        return view

    def _authorised(self, event: Event, claim: ClaimRun, at: At) -> bool:
        """The owner may end a claim; the runtime may demote and expire as the judged mode has it.

        Streams that carry no actor (the recorded dialects) are taken at their word.
        """
        unknown = self._clock.unknown(claim) if event.kind is Kind.CLAIM_EXPIRED else None
        if unknown is not None and self._mode["lapses"]:
            claim.distrust(*unknown)
        if event.by is None:
            return True
        if event.by != "runtime":
            if claim.owner_scope is None:
                claim.doubt(AUTHORITY, at, f"nobody stated who owns the claim that {event.by} ends")
            return event.by == claim.owner_scope
        if event.kind is Kind.CLAIM_DEMOTED:
            return self._compiled.mode is Mode.DEMOTABLE
        if unknown is not None:
            claim.doubt(AUTHORITY, *unknown)
        return event.kind is Kind.CLAIM_EXPIRED and claim.elapsed

    def _deliver(self, claim: ClaimRun, view: View) -> None:
        name, declared, responsible = claim.claim_id, claim.declared, claim.responsible
        claim.step(view)
        self._declared += claim.declared - declared
        if claim.responsible and not responsible:
            claim.took, self._responsible[name] = self._count, claim
        elif responsible and not claim.responsible:
            claim.left = self._count
            del self._responsible[name]
        if claim.owes:
            self._owing[name] = claim
        else:
            self._owing.pop(name, None)
