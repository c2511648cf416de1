"""One stream: its pool, its requests, and how each event looks to the claims it concerns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.evaluate.doubt import BLOCKS, CACHED_BY, NAMES, NEED, OTHERS, POOL
from monitor.evaluate.view import View
from monitor.input.records import CANONICAL, Doubt
from monitor.pool.blocks import SHARES
from monitor.pool.news import is_moot, is_unsaid, lose, tell
from monitor.pool.objects import means, open_without
from monitor.pool.ranks import Evicted, is_ranked, is_unsure
from monitor.pool.room import Ends
from monitor.pool.seen import Seen, digest
from monitor.pool.terms import binds, fix_terms, predicate_of, unstated
from monitor.requests.blame import Blame, Early, tell_outcome
from monitor.requests.routes import follow_routes
from monitor.requests.track import Track
from monitor.stream.authority import authorised, differs, ends_early
from monitor.stream.census import TOO_LATE, Census, Keep
from monitor.stream.order import Order
from spec.claims.claim import Mode
from spec.contract.modes import MODES
from spec.contract.observed import reading
from spec.events.alphabet import BLOCKS_GONE, CONFLICT_ACTIONS, ENDS, FACTS, REPORTS, Kind
from spec.events.fields import ABOUT_BLOCKS, RENEWS

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Sequence

    from monitor.evaluate.claim import ClaimRun
    from monitor.evaluate.compile import Compiled
    from monitor.evaluate.watch import Registers
    from monitor.input.records import At, Form, Stamp
    from monitor.pool.room import Sums
    from monitor.requests.request import Request
    from monitor.stream.past import Past
    from spec.events.canonical import Event

__all__ = ["Stream"]

_BEGINS = frozenset({Kind.CLAIM_REGISTERED, Kind.CLAIM_COMMITTED})
_REGISTRY = frozenset({Kind.CLAIM_COMMITTED, Kind.CLAIM_RETIRED})
_INTRODUCES = _BEGINS | {Kind.CLAIM_ACCEPTED}
_STATES = _REGISTRY | _INTRODUCES
_ABOUT_CLAIMS = REPORTS | _REGISTRY | _BEGINS
_BLOCKS_THERE = frozenset({Kind.BLOCK_CACHED, Kind.LOAD_FINISHED})
_SPEAKS = REPORTS - {Kind.CLAIM_REJECTED}  # what is turned away need not have been taken in
_AT_REQUEST = CONFLICT_ACTIONS | {Kind.REQUEST_ARRIVED, Kind.REQUEST_FINISHED}
_UNSEEN = "lines are missing, and with them perhaps the caching of blocks that it holds"
_GONE_UNSEEN = "a block is gone that it may hold since a line that is missing"
_OTHER_OBJECT = "a fact names a claim with another object or cache than its own"
_OF_LOSSES = reading("unsaid")
_COMPUTED = "several requests were in hand, and no line says which of them computed blocks"
_STRAYED = "it may be about blocks behind the end of the claim, which are none of its loss"
_WHOSE = "claims on this object ended so long ago that nobody knows whether it is theirs"


class Stream:
    """The claims of one stream (one engine, one pool, one run).

    Args:
        compiled: the observers that judge.
        name: the stream as its file calls it.
        keep: what is kept of claims that are over; by default all.
    """

    def __init__(self, compiled: Compiled, name: str, keep: Keep | None = None) -> None:
        self.name = name
        self.gap: tuple[At | None, str] | None = None
        self.left: tuple[At | None, str] | None = None  # an assumption of the theorem
        self.contradicted: tuple[At | None, str] | None = None  # by facts
        self._track = Track()
        self._compiled = compiled
        self._names = frozenset(observer.name for observer in compiled.observers)
        self._tiered = MODES[compiled.mode].constants["tiered"]
        self._begun = False
        self._losses = self._missing = 0  # of track, and lines, that the blocks were told of
        self._derived = frozenset[Kind]()  # facts that are read from reports, and contradict none
        self._mode = MODES[compiled.mode].constants
        self._count = 0  # of events
        self._newest = 0  # the event that registered the last claim
        keep = keep or Keep()
        seen = keep.seen or Seen()
        self._census = Census(compiled, name, keep, seen, self._track)
        self.requests, self._clock = self._census.requests, self._census.clock
        self._early = Early(seen)
        self.order = keep.order or Order()

    @property
    def claims(self) -> dict[str, ClaimRun]:
        """The claims in hand by their ids."""
        return self._census.claims

    def knows(self, claim_id: str) -> bool:
        """Whether a claim of this id is judged here, or was."""
        claim = self.claims.get(claim_id)
        judged = claim is not None and not claim.guest and claim.declared_mode is not None
        return judged or self.past.has(claim_id)

    @property
    def live(self) -> int:
        """How many claims in hand have not ended."""
        return self._census.live

    @property
    def past(self) -> Past:
        """The claims that were forgotten."""
        return self._census.past

    # Order.

    def stamp(self, stamp: Stamp, at: At) -> None:
        """Check the order of a line; a step back is disorder, a jump forward may be a loss."""
        if not self._begun:
            self._begun, self._derived = True, stamp.form.derived
        if stamp.observes is not None and not stamp.observes >= self._census.observed:
            self._narrow(stamp.observes & self._census.observed, stamp.form, at)
        back, missing = self.order.check(stamp, at)
        if missing:
            self.lose(at, missing)
        if back:
            self._step_back(at, f"the stream is out of order: {back}")
        if stamp.time_ns is None and stamp.mark is None:
            self._clock.stop(at)
        for claim in self._clock.due(stamp.time_ns):
            if not claim.elapsed:
                claim.elapsed = True
                self._deliver(claim, View(Kind.DURATION_ELAPSED, at, mine=True, named=True))

    def _step_back(self, at: At, why: str) -> None:
        self.left = self.left or (at, why)
        self._census.disorder(at, why, self._count)
        self._track.miss(at, why)

    def _narrow(self, observed: frozenset[Kind], form: Form, at: At) -> None:
        """A line says that the hooks of the stream observe no more than this, from there on.

        What a recorded form does not observe is taken on trust.
        """
        pairs = zip(self._compiled.observers, self._compiled.facts, strict=True)
        blind = frozenset(o.name for o, facts in pairs if not facts <= observed)
        self._census.narrow(observed, blind if form is CANONICAL else frozenset(), at)

    def lose(self, at: At | None, why: str) -> None:
        """Events are missing here: nothing new can be concluded about the claims alive now."""
        self.gap = self.gap or (at, why)
        self.left = self.left or (at, why)
        self._track.miss(at, why)
        self.doubt(Doubt(why), at)

    def doubt(self, doubt: Doubt, at: At | None) -> None:
        """A line says too little: of the claims that it concerns less can be concluded."""
        self._census.doubt(doubt, at)

    def finish(self) -> None:
        """The stream is over: an end that was promised, and what durations came to, are known."""
        if (cut := self.order.cut) is not None:
            self.lose(*cut)
        self._census.finish()

    # Events.

    def take(self, event: Event, at: At) -> None:
        """Project one event onto every claim that it concerns."""
        self._count += 1
        self._census.blocks.now = self._count
        if self._track.losses != self._losses:
            self._losses, self._census.blocks.lost = self._track.losses, self._count - 1
        if self._track.missing != self._missing:
            self._missing = self._track.missing
            self._census.blocks.miss(self._count - 1)
        if event.kind is Kind.STREAM_DISORDER:
            self._step_back(at, "the stream is out of order: it says so itself")
            return
        if event.kind in RENEWS and event.request_id is not None:
            self.requests.renew(event.request_id)
        if self.left is None and self.requests.is_out_of_hand(event):
            self.left = at, "a request is spoken of that is not in hand"
        if event.kind in _AT_REQUEST:
            self._take_request(event, at)
        elif event.kind in BLOCKS_GONE:
            self._take_blocks_gone(event, at)
        elif event.claim_id is not None:
            self._take_claim(event, event.claim_id, at)
        else:
            self._take_unnamed(event, at)
        if event.request_id is not None:
            if event.kind is Kind.PREFIX_REUSED:
                self._tell_others(event, event.request_id, at)
            self.requests.drop(event.request_id)
        if self._census.blocks.full:
            self._census.blocks.full = False
            self.lose(at, f"claims share over {SHARES} blocks, and no more are followed")
        self._census.settle()

    def _take_unnamed(self, event: Event, at: At) -> None:
        """A fact that names no claim is about the claims on its object, or of its blocks."""
        if event.object_id is None and event.kind is Kind.BLOCK_CACHED:
            for left in self._move(event, [], at):
                self._there(event, left, at)
            return
        if (among := self._census.copies(event)) is not None:
            for restless in list(among.values()):
                if not means(event, restless):  # nor will it ever be: claims state ever more
                    del among[restless.claim_id]
                    continue
                view = self._view(event, restless, at)
                view.mine, view.named = True, False
                self._deliver(restless, view, among)
            return
        meant = self._census.meant(event)
        names = [claim.claim_id for claim in meant]
        if event.object_id is None:
            names = self._census.blocks.owners(event.block_ids)
            meant = [claim for name in names if (claim := self._census.known(name)) is not None]
            if not names and (only := open_without(event.kind, self._names)):
                why = f"{event.kind} says neither whose claim nor which object"
                if event.kind is Kind.PREFIX_REUSED and event.request_id is not None:
                    self._tell_others(event, event.request_id, at)  # before they are in doubt
                self.doubt(Doubt(why, only=only), at)
        for left in self._move(event, meant, at) if event.kind in _BLOCKS_THERE else ():
            self._there(event, left, at)
        lost = len(meant) < len(names) or self.past.others_on(event.object_id)
        if event.kind is Kind.LOAD_FAILED and event.request_id is not None and lost:
            self.requests.get(event.request_id).unnamed = (at, _WHOSE)
        if event.kind in _BLOCKS_THERE:
            self._hold(event, meant, at)
            return
        for claim in meant:
            self._concern(event, claim, at, named=False)

    def _take_claim(self, event: Event, claim_id: str, at: At) -> None:
        extent = self.claims[claim_id].extent if claim_id in self.claims else 0
        claim = self._claim(event, claim_id, at)
        bound, unwatched = binds(claim, event), claim.unwatched
        if event.kind in _INTRODUCES:
            claim.size = max(claim.size, event.footprint or 0)
        commits = event.kind is Kind.CLAIM_COMMITTED and bound
        if commits and event.content_keys:
            self._census.state(claim, event.content_keys)
        if claim.known or (bound and event.kind in _BEGINS):
            self._census.join(claim, grows=commits or extent < claim.extent)
        claim.early |= bound and ends_early(event, claim)
        if event.kind is Kind.CLAIM_RETIRED and not claim.responsible:
            self._unwatch(claim, event)
            if bound and (not claim.committed or claim.constants.lapses):
                return
        elapses = event.kind is Kind.DURATION_ELAPSED and event.kind not in self._derived
        if bound and elapses and (fault := self._clock.early(claim, event)):
            self._contradict([claim], at, fault)
        if bound and len(set(event.content_keys)) < len(event.content_keys):
            why = "a claim has one content at two of its positions"
            self._contradict([claim], at, why)
            self._track.lose(at, f"facts contradict: {why}")
        over = (unwatched and event.kind in FACTS) or (bound and is_moot(claim, event))
        if event.kind in _BLOCKS_THERE and bound:
            for left in self._move(event, [claim], at):
                self._there(event, left, at)
        self._concern(event, claim, at, mine=bound and not over, named=not over)
        if self._mode["ranked"] and event.kind in _STATES:  # or a registry may hold it from now on
            self._census.ranks.note(claim)
        claim.accepted = claim.accepted or event.kind is Kind.CLAIM_ACCEPTED
        entered = event.kind in _INTRODUCES and (claim.accepted or self._mode["watched"])
        if entered and (missing := unstated(claim)):
            claim.distrust(at, missing)
        if event.kind is Kind.DURATION_ELAPSED:
            claim.elapsed = True
            self._clock.tell(claim)
        elif event.kind is Kind.CLAIM_COMMITTED:
            self._clock.start(claim, at, event.time_ns)
        elif event.kind is Kind.CLAIM_REGISTERED and not claim.committed:
            self._clock.enter(claim)
        if event.kind in REPORTS and not claim.known:
            self._misnamed(event, claim, at)
        if not bound:
            self._two_identities(event, claim, at)

    def _unwatch(self, claim: ClaimRun, event: Event) -> None:
        """Nothing more is owed of a claim that was watched and is over, if it was time for that."""
        due = claim.elapsed or event.by == claim.owner_scope is not None
        if self._mode["watched"] and not claim.committed and due:
            self._census.unwatch(claim)

    def _concern(
        self, event: Event, claim: ClaimRun, at: At, *, mine: bool = True, named: bool = True
    ) -> None:
        """A claim hears of an event about its object, or under its name."""
        if mine and event.kind in _BLOCKS_THERE:
            self._hold(event, [claim], at)
            return
        view = self._view(event, claim, at)
        view.mine, view.named = mine, named
        if mine:
            follow_routes(claim, view)
            if event.kind in ABOUT_BLOCKS and self._may_hold_more(claim):
                claim.doubt(BLOCKS, at, _UNSEEN)
        if event.request_id is not None:
            request = self.requests.get(event.request_id)
            if self._open(claim, event, at):
                claim.touch(event.request_id)
                if mine and event.kind is Kind.CLAIM_RESTORE_REQUIRED:
                    claim.waiting.add(event.request_id)
            if mine and event.kind is Kind.LOAD_FAILED:
                claim.waiting.discard(event.request_id)
            elif mine and event.kind is Kind.CLAIM_RESTORED:
                claim.waiting.clear()
            if event.kind is Kind.LOAD_FAILED and claim.lost:
                request.unnamed = claim.taint
            elif event.kind is Kind.LOAD_FAILED and claim.known:
                request.failed.add(claim.claim_id)
            elif event.kind is Kind.CLAIM_RESTORATION_FAILED:
                self._track.doubt_failures(claim, request)
                tell_outcome(view, event, claim.claim_id, request)
        if mine and event.kind is Kind.CLAIM_BLOCK_LOST and claim.strayed and self._mode["ranked"]:
            claim.distrust(at, _STRAYED, _OF_LOSSES)
        empty = event.kind is Kind.PREFIX_LOOKUP and event.held is None
        if mine and event.kind is Kind.PREFIX_LOOKUP and not claim.ended:
            self._look_up(event, claim, at)
        if empty and mine:  # a look-up that says nothing of what it found shows nothing
            claim.note(view)
        else:
            self._deliver(claim, view)
        if mine and event.kind is Kind.CLAIM_BLOCK_LOST:
            tell(claim, event)

    def _claim(self, event: Event, claim_id: str, at: At) -> ClaimRun:
        """The claim of this id, made on first sight and filled with what the event tells of it."""
        claim = self._census.find(claim_id, at)
        if claim is None:
            claim = self._census.make(claim_id)
            self._early.tell(claim, at)
            if self._track.lost is not None and event.kind not in _BEGINS:
                claim.distrust(at, "its acceptance may be among the events that are missing")
        if event.kind is Kind.CLAIM_ACCEPTED and self._accepted_unseen(claim):
            claim.distrust(at, "its commitment may be among the events that are missing")
        if claim.unwatched and event.kind in _BEGINS:
            claim.distrust(at, "its entry ended, and its blocks were not followed since")
        if claim.missed and event.kind in _ABOUT_CLAIMS:
            claim.distrust(at, "it ended, and since then events may be missing")
        if event.kind in _INTRODUCES:
            if not claim.registered:
                claim.registered, claim.registered_at = True, self._count
                claim.entry = ((event.kind, at),)
                self._newest = self._count
            if claim.committed and claim.duration is None and event.duration is not None:
                self._clock.lose(claim, at, "its duration was first stated after its commitment")
            if differs(claim, event):
                self._clock.differ(claim, at)
            if event.kind in _BEGINS and len({claim.owner_scope, event.owner_scope} - {None}) > 1:
                claim.distrust(at, "two owners of it are stated")
            fix_terms(claim, event)
            if claim.declared_mode in MODES:
                claim.constants.lapses = claim.declared_mode == Mode.EXPIRING
            if claim.elapsed:
                self._clock.tell(claim)
            if claim.declared_mode not in (None, self._compiled.mode):
                self._census.invite(claim, at)
        elif self._mode["watched"] and not claim.registered and event.kind in _SPEAKS:
            claim.distrust(at, "it was spoken of before it was registered")
        if event.predicate is not None:
            claim.fix_predicate(predicate_of(event.predicate))
        return claim

    def _accepted_unseen(self, claim: ClaimRun) -> bool:
        """Whether a claim is accepted whose commitment may be among lines that are missing."""
        entered = claim.accepted or claim.committed or self._mode["watched"]
        return self._census.blocks.missed >= 0 and claim.registered and not entered

    def _check_identity(self, event: Event, claim: ClaimRun, at: At) -> bool:
        """Whether an event that is not about a claim's object alone names it rightly."""
        over = claim.unwatched and event.kind in FACTS
        if not (bound := binds(claim, event)) and not over:
            self._deliver(claim, View(event.kind, at, named=True))
        return bound

    def _two_identities(self, event: Event, claim: ClaimRun, at: At) -> None:
        if event.kind in FACTS:
            self.left = self.left or (at, _OTHER_OBJECT)
        claim.distrust(at, "the claim goes by two identities")
        self._track.lose(at, f"claim {claim.claim_id} goes by two identities")

    def _may_hold_more(self, claim: ClaimRun) -> bool:
        """Whether what the predicate needs may be held since a line that is missing."""
        return self._census.blocks.missed >= 0 and claim.lead < claim.constants.threshold

    def _misnamed(self, event: Event, stranger: ClaimRun, at: At) -> None:
        """A report under an id that no registry holds, about the object of claims that it does."""
        meant = self._census.meant(event)
        if stranger.lost:
            for claim in meant:
                claim.doubt(
                    NAMES, at, f"nobody knows whether claim {stranger.claim_id} was registered"
                )
            return
        if event.object_id is not None and self.past.others_on(event.object_id):
            self.past.misname(event.object_id)
        if self.past.others_on(event.object_id) and not any(claim.past for claim in meant):
            stranger.lost = True
            stranger.distrust(at, _WHOSE, frozenset({"claim_identity"}))
        for claim in meant:
            self._track.doubt_names(claim)
            self._census.too_late(claim, event)
            self._concern(event, claim, at, named=False)

    def _take_blocks_gone(self, event: Event, at: At) -> None:
        """Blocks are gone from whoever owns them, and from the claims that the event means."""
        meant, misnamed = self._census.meant(event), None
        if event.claim_id is not None:
            named = self._claim(event, event.claim_id, at)
            misnamed = None if self._check_identity(event, named, at) else named
            meant = [] if named.unwatched else [named]
        if not event.block_ids:
            self._census.late(event, meant, at)
        if self._census.blocks.are_unseen(event.block_ids):
            self._census.distrust_hidden(at, _GONE_UNSEEN)
        ranked = self._mode["ranked"]
        owners = {b: self._census.blocks.owners([b]) for b in event.block_ids if ranked}
        stated = event.lowest_priority is not None
        least, blurred = self._least(owners.values()) if stated else (None, False)
        gone: dict[str, list[int]] = {}
        for block, names in owners.items():
            for name in names:
                gone.setdefault(name, []).append(block)
        losers, unseen, strays = self._census.blocks.lose(event, meant)
        for name, claim in losers.items() if ranked else ():
            lose(claim, gone.get(name, ()))
        for claim in strays:
            claim.strayed = True
        for claim in losers.values() if self._tiered else ():
            claim.note_computed(computed=False)
        self._census.room.forget()
        views = [
            (claim, View(event.kind, at, event.request_id, mine=True, named=True, lead=claim.lead))
            for claim in losers.values()
            if claim is not misnamed
        ]
        if ranked:
            for claim in (*losers.values(), *strays):
                self._census.ranks.note(claim)
            if event.kind is Kind.BLOCK_EVICTED:
                lost = [(claim, view) for claim, view in views if is_ranked(claim)]
                blurred = blurred or any(is_unsure(claim) for claim, _ in views)
                evicted = Evicted(event.lowest_priority, least, blurred)
                self._census.ranks.judge(lost, evicted, self._track.lost)
                late = [claim for name, claim in self._census.owing.items() if name not in losers]
                for claim in late if lost else ():  # news of it was due before this
                    self._deliver(claim, View(event.kind, at))
        for claim, view in views:
            self._deliver(claim, view)
        for claim in unseen:
            if claim.alive:
                claim.distrust(at, "a block is gone that may be one that a load did not name")
        if misnamed is not None:
            self._two_identities(event, misnamed, at)

    def _least(self, owners: Iterable[Collection[str]]) -> tuple[int | None, bool]:
        """The lowest priority of a block that goes: a block has that of the highest of its claims;
        None where none has one. And whether nobody knows the priority of one of them.

        Args:
            owners: of each block.
        """
        found, blurred = [], False
        for names in owners:
            claims = [self.claims[name] for name in names if name in self.claims]
            blurred = blurred or any(map(is_unsure, claims))
            ranks = [each.priority or 0 for each in claims if is_ranked(each) and not each.disputed]
            found += [max(ranks)] if ranks else []
        return min(found, default=None), blurred

    def _take_request(self, event: Event, at: At) -> None:
        request_id = event.request_id
        if request_id is None:
            return
        if event.kind is Kind.REQUEST_ARRIVED:
            observed = Kind.REQUEST_FINISHED in self._census.observed
            twice = observed and self.requests.came_twice(request_id)
            if twice:
                self._contradict_named(event, at, f"request {request_id} arrives twice")
            self.requests.arrive(event, at, self._count, unsure=twice)
            if twice:
                return
        elif event.kind is Kind.REQUEST_FINISHED and self._never_came(request_id):
            self._contradict_named(event, at, f"request {request_id} ends and is not in hand")
            return
        named = event.claim_id is not None or event.accused
        if named or self._census.claims or event.kind in CONFLICT_ACTIONS:
            self._tell_request(event, self.requests.get(request_id), request_id, at)
        if event.kind is Kind.REQUEST_FINISHED:
            self.requests.end(request_id)

    def _never_came(self, request_id: str) -> bool:
        observed = Kind.REQUEST_ARRIVED in self._census.observed
        return observed and not (self.requests.has(request_id) or self._track.missing)

    def _tell_request(self, event: Event, request: Request, request_id: str, at: At) -> None:
        """Claims hear of what is done about a request."""
        if event.claim_id is not None:
            about = self._claim(event, event.claim_id, at)
            bound = self._check_identity(event, about, at)
            if self._open(about, event, at):
                about.touch(request_id)
        named = dict.fromkeys(event.accused)
        for name in named:
            self._census.find(name, at)
        if event.kind in CONFLICT_ACTIONS:
            for name in list(request.forgotten):
                if (forgotten := self._census.find(name, at)) is not None:
                    self._census.too_late(forgotten, event)
            request.forgotten.clear()
        concerned = self._concerned(event, request, named)
        ends = self._ends(event, request)
        blames = [Blame(event, request, self.claims, sums) for sums in ends[:2] if sums]
        others, told = self.requests.others(request_id)
        unknown = []
        if request.unsure and not request.ended:
            unknown.append((NEED, request.at, f"request {request_id} arrived twice"))
        if event.kind in CONFLICT_ACTIONS and not (request.came or request.ended):
            unknown.append((NEED, at, f"request {request_id} was acted on and never arrived"))
        if event.kind in CONFLICT_ACTIONS and not told:
            unknown.append((OTHERS, at, "nobody states what another request in hand needs"))
        if (unseen := self._unseen(event, request)) is not None:
            unknown.append((POOL, *unseen))
        if self._track.lost is None and named:
            strangers = [name for name in named if name not in self.claims]
            self._early.add(strangers, event, at, blames[0], tuple(unknown))
        for claim in concerned:
            view = self._view(event, claim, at)
            view.named, view.others = False, others
            part = claim.responsible or claim.claim_id in named
            for doubt in unknown if part else ():
                claim.doubt(*doubt)
            if event.kind in CONFLICT_ACTIONS:
                if part:
                    self._track.doubt_pool(claim)
                if part or claim.claim_id in request.failed:
                    self._track.doubt_failures(claim, request)
                blames[0].tell(view, claim, claim.claim_id)
            elif event.kind is Kind.REQUEST_ARRIVED:
                request.tell(view)
            self._crowd(view, claim, ends.high)
            if ends.unknown:
                claim.doubt(POOL, at, "too many blocks may be shared for them to be compared")
            elif ends.low is not None:
                view.low = view.copied()
                if event.kind in CONFLICT_ACTIONS:
                    blames[1].tell(view.low, claim, claim.claim_id)
                self._crowd(view.low, claim, ends.low)
            follows = self._has_part(claim, event, request, view)
            followed = follows and self._open(claim, event, at)
            view.here = False
            self._deliver(claim, view)
            if event.kind is Kind.REQUEST_REFUSED:
                claim.waiting.discard(request_id)
            if event.kind is Kind.REQUEST_FINISHED and followed:
                self.requests.close(claim, request_id)
        if event.claim_id is not None and not bound:
            self._two_identities(event, about, at)

    def _unseen(self, event: Event, request: Request) -> tuple[At | None, str] | None:
        """Why nobody knows who else is in the pool, where that matters to a request."""
        unseen = self._clock.unseen(self._census.responsible)
        if unseen is None or event.kind in CONFLICT_ACTIONS:
            return unseen
        taken = sum(claim.declared for claim in self._census.responsible.values())
        presses = request.needed <= request.usable < request.needed + taken
        return unseen if request.arrived and presses else None

    def _has_part(self, claim: ClaimRun, event: Event, request: Request, view: View) -> bool:
        """Whether a claim follows the request, or does so from this event on."""
        if view.request_id in claim.requests or self._track.lost is not None:
            return True
        facts = self._unopened(claim, event, request)
        views = [view] if view.low is None else [view, view.low]
        return any(claim.opens(each, facts) for each in views)

    def _concerned(self, event: Event, request: Request, named: Iterable[str]) -> list[ClaimRun]:
        """Claims with a part in the request: it is in hand, or it presses on their pool.

        Where it fits beside them all, it matters to those alone that owe something by its end. What
        a request needs that arrived twice nobody knows.
        """
        found = dict(request.claims)
        found.update((name, self.claims[name]) for name in named if name in self.claims)
        full = (
            self._track.lost is not None
            or request.usable < self._census.room.bound + request.needed
        )
        presses = request.arrived and full and request.needed <= request.usable
        if presses or request.unsure or event.kind in CONFLICT_ACTIONS:
            found.update(self._census.responsible)
        if event.kind is not Kind.REQUEST_ARRIVED:  # what is owed is due before this
            found.update(self._census.owing)
        return [c for c in found.values() if c.taint is None or c.claim_id in request.claims]

    def _open(self, claim: ClaimRun, event: Event, at: At, name: str | None = None) -> bool:
        """Follow a request for a claim, which may have arrived before.

        Returns:
            Whether it is followed: one that a forgotten claim had in hand is not, nor one too many.
        """
        request_id = name or event.request_id or ""
        request = self.requests.get(request_id)
        presses = event.kind in _AT_REQUEST and request.needed <= request.usable
        if presses and claim.responsible:
            self._track.doubt_pool(claim)
        if self._census.too_late(claim, event):
            return False
        if claim.claim_id in request.former or claim.claim_id in request.forgotten:
            claim.distrust(request.at, f"request {request_id} {TOO_LATE}")
        if request_id in claim.requests:
            return True
        facts = self._unopened(claim, event, request)
        return self.requests.follow(claim, request_id, at, facts)

    def _unopened(self, claim: ClaimRun, event: Event, request: Request) -> Registers:
        """The registers of a request before this event, for a claim that does not follow it."""
        before = event.kind is Kind.REQUEST_ARRIVED
        return claim.unopened(request.known(before=before), request.since)

    # Blocks.

    def _move(self, event: Event, meant: Sequence[ClaimRun], at: At) -> list[ClaimRun]:
        """Blocks are at some position, and not at another where they were held; which others hear
        of that.
        """
        named = self.claims.get(event.claim_id or "")
        clash, left = self._census.blocks.move(event, named)
        if clash and self._census.observed >= BLOCKS_GONE:
            why = "a block is cached at a position, or with a content, and was held with another"
            self._contradict([*clash, *meant], at, why)
            self._track.lose(at, f"facts contradict: {why}")
        names = {claim.claim_id for claim in meant}
        return [each for each in left if each.claim_id not in names]

    def _hold(self, event: Event, claims: Sequence[ClaimRun], at: At) -> None:
        """Blocks of the claims that an event means are there, and of every claim on their objects.

        All take them in before any of them hears of it.
        """
        self._census.late(event, claims, at)
        changed = {claim.claim_id: claim for claim in claims}
        asked: set[Hashable] = set()
        beside, stated = self._census.objects.beside, True
        for claim in claims:
            # What a claim that states no contents holds all on its object do: they are asked once.
            start = 0 if event.block_ids and event.positions else claim.held.start
            among = None if claim.keys or not claim.known else (claim.object, start)
            kin = [] if among in asked else [c for c in beside(claim) if c.tracked]
            if among is not None:
                asked.add(among)
            alone = not any(each is claim for each in kin)
            held = self._census.blocks.hold(event, claim, [*kin, claim] if alone else kin)
            changed.update((each.claim_id, each) for each in held.changed)
            stated = stated and held.stated
        self._census.room.forget()
        for each in () if stated else changed.values():
            if not each.ended and each.lead < each.constants.threshold:
                each.distrust(at, "the load does not say how many blocks it brought back")
        direct = {claim.claim_id for claim in claims}
        for name, each in changed.items():
            self._there(event, each, at, direct=name in direct)

    def _there(self, event: Event, claim: ClaimRun, at: At, *, direct: bool = False) -> None:
        """A claim hears that blocks are there, its own or such as it shares."""
        computed = event.request_id
        if event.kind is Kind.BLOCK_CACHED and computed is None and not event.found:
            in_hand = self.requests.in_hand  # no line says which request computed it
            computed = next(iter(in_hand)) if len(in_hand) == 1 else None
            away = claim.responsible and claim.fact("lead") < claim.constants.threshold
            if self._tiered and away and len(in_hand) > 1:
                claim.doubt(CACHED_BY, at, _COMPUTED)
        if self._tiered:
            self._note_computed(event, claim)
        if self._mode["ranked"]:
            self._census.ranks.note(claim)
        view = self._view(event, claim, at)
        view.mine, view.direct, view.lead = True, direct, claim.lead
        if event.kind is Kind.LOAD_FINISHED:
            view.intact = claim.restored and bool(direct or claim.fact("host"))
        followed, view.request_id = computed, computed
        if event.kind is Kind.LOAD_FINISHED and not direct:  # no load of its own
            followed, view.request_id = None, None
        elif event.kind is Kind.BLOCK_CACHED and not self._tiered:
            followed = None
        if followed is not None and self._open(claim, event, at, followed):
            claim.touch(followed)
        self._deliver(claim, view)

    @staticmethod
    def _note_computed(event: Event, claim: ClaimRun) -> None:
        """What was computed of a claim, and what a load brought, is known apart."""
        if event.kind is Kind.BLOCK_CACHED:
            claim.note_computed(computed=not event.found)
            return
        brought = [(at, at + 1) for at in event.positions]
        if event.held is not None and not (event.block_ids and event.positions):
            brought.append((claim.held.start, claim.held.start + event.held))
        claim.note_computed(computed=False, brought=brought)

    def _look_up(self, event: Event, claim: ClaimRun, at: At) -> None:
        """What a look-up finds of a claim is what is held, as far as it asked for it.

        Where hooks do not observe each loss, finding less contradicts nothing.
        """
        if not self._census.observed >= BLOCKS_GONE:
            return
        if event.held is None or claim.predicate is None:
            return
        wanted = None if event.asked is None else event.asked - claim.predicate.start
        if self._census.may_hold_more(claim) and (wanted is None or event.held < wanted):
            claim.distrust(at, "a look-up found fewer blocks than it may hold: some are forgotten")
        if event.held >= claim.lead:
            return
        if wanted is None:
            why = "a look-up found fewer blocks than are held, and does not say what it asked for"
            self.left = self.left or (at, why)
            claim.distrust(at, why)
        elif event.held < min(wanted, claim.lead):
            self._contradict([claim], at, "a look-up found fewer blocks than it asked for are held")

    def _contradict(self, claims: Iterable[ClaimRun] | None, at: At, why: str) -> None:
        """Facts contradict each other: what they touch is inconclusive, claims or the pool."""
        why = f"facts contradict: {why}"
        self._note_contradiction(at, why)
        if claims is None:
            self.doubt(Doubt(why), at)
        else:
            for claim in claims:
                claim.distrust(at, why)

    def _contradict_named(self, event: Event, at: At, why: str) -> None:
        """An event contradicts what happened; of it no more is taken than which claim it names."""
        if event.claim_id is not None:
            self._claim(event, event.claim_id, at)
        self._contradict(None, at, why)

    def _note_contradiction(self, at: At | None, why: str) -> None:
        self.left = self.left or (at, why)
        self.contradicted = self.contradicted or (at, why)

    # Fields.

    def _view(self, event: Event, claim: ClaimRun, at: At) -> View:
        view = View(event.kind, at, event.request_id, named=True)
        view.footprint = event.footprint or 0
        view.unsized = event.kind is Kind.CLAIM_COMMITTED and event.footprint is None
        view.found = event.found
        view.echo, view.from_tier = event.echo, event.from_tier and claim.restored
        view.cost, view.hit = event.cost or 0, bool(event.hit)
        if event.worker is not None:
            view.worker = int.from_bytes(digest("worker", event.worker)) + 1
        if event.by is not None:
            view.by = int.from_bytes(digest("by", event.by)) + 1
        kind = event.kind
        if kind is Kind.CLAIM_BLOCK_LOST:
            held = claim.fact("lead") if claim.unwatched else claim.lead
            view.breaks = held < claim.constants.threshold
            view.unsaid = is_unsaid(claim, event)
        elif kind is Kind.PREFIX_LOOKUP and claim.predicate is not None:
            view.covers = event.asked is not None and event.asked >= claim.predicate.end
        elif kind in ENDS:
            view.authorised = authorised(event, claim, at, self._clock)
        return view

    def _crowd(self, view: View, claim: ClaimRun, sums: Sums) -> None:
        """The room that the claims take, as a claim in the pool sees it."""
        alone = sums.alone(claim.claim_id)
        view.rest = view.stood = sums.total - alone
        view.shared = claim.declared - alone

    def _ends(self, event: Event, request: Request) -> Ends:
        """The sums of the pool; at the end of a request, of what was there from its arrival on."""
        mixed, room = self._census.blocks.mixed, self._census.room
        if event.kind not in CONFLICT_ACTIONS and room.bound + request.needed <= request.usable:
            return Ends(room)  # it fits beside them, whatever they share
        if event.kind is Kind.REQUEST_FINISHED:
            return room.since(request.since, mixed)
        return room.ends(mixed)

    def _tell_others(self, event: Event, request_id: str, at: At) -> None:
        """Claims that follow the request of a reuse hear of it, whichever prefix it reused."""
        for claim in list(self.requests.get(request_id).claims.values()):
            if claim.heard != self._count:
                view = self._view(event, claim, at)
                view.named = False
                claim.heard = self._count
                claim.step_request(request_id, view)

    def _deliver(
        self, claim: ClaimRun, view: View, among: dict[str, ClaimRun] | None = None
    ) -> None:
        claim.heard = self._count
        self._census.step(claim, view, self._count, among)
        if claim.contradicted is not None:
            broken, claim.contradicted = claim.contradicted, None
            self._note_contradiction(*broken)
            if view.kind in _REGISTRY:
                self._track.lose(*broken)
