"""Holds the state of one stream, and computes the view of an event for one claim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.evaluate.compile import Compiled
from monitor.evaluate.event_view import EventView
from monitor.input.records import CANONICAL, Doubt
from monitor.pool.bloom_filter import number_of
from monitor.pool.holders import SHARES
from monitor.pool.seen import Seen
from monitor.pool.terms import binds, fix_terms, predicate_of
from monitor.pool.unreported import is_unreported, last_lead
from monitor.requests.blame import BLIND, Early
from monitor.requests.observability import ObservabilityLoss
from monitor.stream.authority import authorised, differs
from monitor.stream.claim_store import ClaimStore
from monitor.stream.keep import Keep
from monitor.stream.order import Clock, Order
from spec.contract.modes import MODES
from spec.events.alphabet import CONFLICT_ACTIONS, ENDS, FACTS, REPORTS, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from monitor.evaluate.claim import ClaimRun
    from monitor.evaluate.restless import Restless
    from monitor.input.batches import Run
    from monitor.input.records import At, Form, Stamp
    from monitor.stream.retired_claims import RetiredClaims
    from spec.events.canonical import Event

__all__ = ["AT_REQUEST", "BEGINS", "FORGOT", "INTRODUCES", "REGISTRY", "StreamState"]

AT_REQUEST = CONFLICT_ACTIONS | {Kind.REQUEST_ARRIVED, Kind.REQUEST_FINISHED}
BEGINS = frozenset({Kind.CLAIM_REGISTERED, Kind.CLAIM_COMMITTED})
REGISTRY = frozenset({Kind.CLAIM_COMMITTED, Kind.CLAIM_RETIRED})
INTRODUCES = BEGINS | {Kind.CLAIM_ACCEPTED}
_NEW = INTRODUCES | {Kind.CLAIM_REJECTED}
_ABOUT_CLAIMS = REPORTS | REGISTRY | BEGINS
_NAMES_CLAIM = REPORTS - {Kind.CLAIM_REJECTED}  # what is turned away need not have been taken in
FORGOT: Final = "ids of claims that ended were forgotten; if one begins again, that is not noticed"
_TWO_CONTENTS: Final = "two contents of one position of an object are stated"
_OTHER_OBJECT = "a fact names a claim with another object or cache than its own"


class StreamState:
    """The state of one stream (one engine, one pool, one run), and the steps that all events share.

    Args:
        compiled: the observers that judge; where there are those of several modes, each claim is
            judged by the mode that it states.
        name: the stream as its file calls it.
        keep: what is kept of claims that are over; by default all.
    """

    def __init__(
        self, compiled: Compiled | Sequence[Compiled], name: str, keep: Keep | None = None
    ) -> None:
        self.name = name
        self.gap: tuple[At | None, str] | None = None
        self.left: tuple[At | None, str] | None = None  # an assumption of the theorem
        self.contradicted: tuple[At | None, str] | None = None  # by facts
        self._track = ObservabilityLoss()
        judges = [compiled] if isinstance(compiled, Compiled) else compiled
        self._begun = False
        self._losses = self._missing = 0  # of track, and lines, that the blocks know of
        self._derived = frozenset[Kind]()  # facts that are read from reports, and contradict none
        self._ranked = any(each.ranked for each in judges)
        self._of_losses = any(each.of_losses for each in judges)
        self._count = 0  # of events
        self.left_out = 0  # of events, because of limits
        self.reached: dict[str, str] = {}  # these limits, and why each was
        self._newest = 0  # the event that registered the last claim
        keep = keep or Keep()
        self._limited = keep.live is not None or keep.requests is not None
        seen = keep.seen or Seen(keep.ids)
        self._store = ClaimStore(judges, name, keep, seen, self._track)
        self.requests, self._clock = self._store.requests, self._store.clock
        self._early = Early(seen)
        self.order = keep.order or Order()

    @property
    def store(self) -> ClaimStore:
        """The claims, with the ledgers that follow them."""
        return self._store

    def judge_by(self, compiled: Compiled) -> None:
        """Claims that come are judged by these observers alone."""
        self._ranked, self._of_losses = compiled.ranked, bool(compiled.of_losses)
        self._store.judges, self._store.apart = {compiled.mode: compiled}, False

    @property
    def claims(self) -> dict[str, ClaimRun]:
        """The claims in hand by their ids."""
        return self._store.claims

    def knows(self, claim_id: str) -> bool:
        """Whether a claim of this id is judged here, or was."""
        claim = self.claims.get(claim_id)
        judged = claim is not None and not claim.guest and claim.declared_mode is not None
        return judged or self.past.has(claim_id)

    @property
    def apart(self) -> bool:
        """Whether the stream is to be judged by each mode apart, and the verdicts here are none."""
        return self._store.apart

    @property
    def live(self) -> int:
        """How many claims in hand have not ended."""
        return self._store.live

    @property
    def limits(self) -> dict[str, str]:
        """The limits that were reached, and what came of each."""
        ids = self.past.forgotten
        return {**self.reached, "ids": FORGOT} if ids else self.reached

    @property
    def past(self) -> RetiredClaims:
        """The claims that were forgotten."""
        return self._store.past

    def watch(self, moved: list[ClaimRun]) -> None:
        """Append each claim that an event moves to this list, which the caller empties."""
        self._store.moved = moved

    def stamp(self, stamp: Stamp, at: At) -> None:
        """Check the order of a line; a step back is disorder, a jump forward may be a loss."""
        if not self._begun:
            self._begun, self._derived = True, stamp.form.derived
        if stamp.observes is not None and not stamp.observes >= self._store.observed:
            self._narrow(stamp.observes & self._store.observed, stamp.form, at)
        if stamp.alone:
            self.left, self._store.alone = self.left or (at, stamp.alone), stamp.alone
            self.doubt(Doubt(stamp.alone), at)
        back, missing = self.order.check(stamp, at)
        if missing:
            self.lose(at, missing)
        if back:
            self._step_back(at, f"the stream is out of order: {back}")
        if stamp.time_ns is None and stamp.mark is None:
            self._clock.stop(at)
        self.elapse(stamp.time_ns, at)

    def begin(self, run: Run) -> Clock | None:
        """Check the order of the lines of a run; None where they do not follow what was read. The
        clock is to be set to the time of each event before that is taken.
        """
        first, last = run.events[0], run.events[-1]
        if not self.order.follows(first, last):
            return None
        return self._go_on()

    def begin_one(self, event: Event) -> Clock | None:
        """The same of one event."""
        return self._go_on() if self.order.follows(event, event) else None

    def _go_on(self) -> Clock:
        if not self._begun:
            self._begun, self._derived = True, CANONICAL.derived
        return self._clock

    def elapse(self, time_ns: int | None, at: At) -> None:
        """Durations are over at this time."""
        for claim in self._clock.due(time_ns):
            if not claim.elapsed:
                claim.elapsed = True
                self._deliver(claim, EventView(Kind.DURATION_ELAPSED, at, mine=True, named=True))

    def _step_back(self, at: At, why: str) -> None:
        self.left = self.left or (at, why)
        self._store.disorder(at, why, self._count)
        self._track.miss(at, why)

    def _narrow(self, observed: frozenset[Kind], form: Form, at: At) -> None:
        """A line says that the hooks of the stream observe no more than this, from there on.

        What a recorded form does not observe is taken on trust.
        """
        judges = self._store.judges.values()
        pairs = (pair for j in judges for pair in zip(j.observers, j.facts, strict=True))
        blind = frozenset(o.name for o, facts in pairs if not facts <= observed)
        blind = blind if form is CANONICAL else frozenset()
        self._store.apart |= bool(blind) and len(judges) > 1
        self._store.narrow(observed, blind, at)

    def lose(self, at: At | None, why: str) -> None:
        """Events are missing here: nothing new can be concluded about the claims alive now."""
        self.gap = self.gap or (at, why)
        self.left = self.left or (at, why)
        self._track.miss(at, why)
        self.doubt(Doubt(why), at)

    def doubt(self, doubt: Doubt, at: At | None) -> None:
        """A line says too little: of the claims that it concerns less can be concluded."""
        self._store.doubt(doubt, at)

    def finish(self) -> None:
        """The stream is over: an end that was promised, and what durations came to, are known."""
        if (cut := self.order.cut) is not None:
            self.lose(*cut)
        self._store.finish()

    def _settle(self, at: At) -> None:
        """An event is taken in that may have given blocks to several claims."""
        if self._store.blocks.full:
            self._store.blocks.full = False
            self.lose(at, f"claims share over {SHARES} blocks, and no more are tracked")
        self._store.settle()

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

    def _claim(self, event: Event, claim_id: str, at: At) -> ClaimRun:
        """The claim of this id, made on first sight and filled with what the event states of it."""
        claim = self._store.find(claim_id, at, new=event.kind in _NEW)
        if claim is None:
            mode = event.mode if event.kind in INTRODUCES else None
            claim = self._meet(claim_id, mode, at)
            if self._track.lost is not None and event.kind not in BEGINS:
                claim.distrust(at, "its acceptance may be among the events that are missing")
        if event.kind is Kind.CLAIM_ACCEPTED and self._accepted_unseen(claim):
            claim.distrust(at, "its commitment may be among the events that are missing")
        if claim.unwatched and event.kind in BEGINS:
            claim.distrust(at, "its entry ended, and its blocks were not tracked since")
        if claim.missed and event.kind in _ABOUT_CLAIMS:
            claim.distrust(at, "it ended, and since then events may be missing")
        if event.kind in INTRODUCES:
            if not claim.registered:
                claim.registered = True
                claim.entry_kind, claim.entry_at = event.kind, at
                self._newest = self._count
            if claim.committed and claim.duration is None and event.duration is not None:
                self._clock.lose(claim, at, "its duration was first stated after its commitment")
            if differs(claim, event):
                self._clock.differ(claim, at)
            if event.kind in BEGINS and len({claim.owner_scope, event.owner_scope} - {None}) > 1:
                claim.distrust(at, "two different owners of it are stated")
            fix_terms(claim, event)
            self._store.note_mode(claim)
            if claim.declared_mode in MODES:
                claim.take_constants()
            if claim.elapsed:
                self._clock.tell(claim)
            if claim.declared_mode not in (None, claim.compiled.mode):
                self._store.invite(claim, at)
        elif claim.constants.watched and not claim.registered and event.kind in _NAMES_CLAIM:
            claim.distrust(at, "an event named it before it was registered")
        if event.predicate is not None:
            claim.fix_predicate(predicate_of(event.predicate))
        return claim

    def _meet(self, claim_id: str, mode: str | None, at: At) -> ClaimRun:
        """A claim that is met for the first time, with the actions that named it before."""
        claim = self._store.make(claim_id, mode)
        self._early.tell(claim, at)
        if self._store.blind:
            claim.distrust(None, BLIND, self._store.blind)
        return claim

    def _accepted_unseen(self, claim: ClaimRun) -> bool:
        """Whether a claim is accepted whose commitment may be among lines that are missing."""
        entered = claim.accepted or claim.committed or claim.constants.watched
        return self._store.blocks.missed >= 0 and claim.registered and not entered

    def _check_identity(self, event: Event, claim: ClaimRun, at: At) -> bool:
        """Whether an event that is not about a claim's object alone names it rightly."""
        over = claim.unwatched and event.kind in FACTS
        if not (bound := binds(claim, event)) and not over:
            self._deliver(claim, EventView(event.kind, at, named=True))
        return bound

    def _join(
        self,
        claim: ClaimRun,
        at: At,
        *,
        grows: bool = True,
        commits: bool = False,
        keys: tuple[str, ...] = (),
    ) -> None:
        """A claim is on its object, or more of it, or states its contents."""
        if disputed := self._store.join(claim, grows=grows, commits=commits, keys=keys):
            self._contradict(disputed, at, _TWO_CONTENTS)
            self._track.lose(at, f"facts contradict: {_TWO_CONTENTS}")

    def _two_identities(self, event: Event, claim: ClaimRun, at: At) -> None:
        if event.kind in FACTS:
            self.left = self.left or (at, _OTHER_OBJECT)
        claim.distrust(at, "two different identities of the claim are stated")
        self._track.lose(at, f"claim {claim.claim_id} is stated with two identities")

    def _unwatch(self, claim: ClaimRun, event: Event) -> None:
        """Nothing more is owed of a claim that was watched and is over, if it was time for that."""
        due = claim.elapsed or event.by == claim.owner_scope is not None
        if claim.constants.watched and not claim.committed and due:
            self._store.unwatch(claim)

    def _may_hold_more(self, claim: ClaimRun) -> bool:
        """Whether what the predicate needs may be held since a line that is missing, or in blocks
        that came to another claim before that was tracked. What a claim holds that was forgotten is
        not known at all.
        """
        lacks = last_lead(claim) < claim.constants.threshold
        if self._store.blocks.missed >= 0:
            return lacks or self._store.may_hold_more(claim)
        return lacks and claim.claim_id in self._store.blocks.ahead.behind

    def _view(self, event: Event, claim: ClaimRun, at: At) -> EventView:
        kind = event.kind
        view = EventView(kind, at, event.request_id, False, True)
        if event.footprint is not None:
            view.footprint = event.footprint
        elif kind is Kind.CLAIM_COMMITTED:
            view.unsized = True
        view.found, view.echo = event.found, event.echo
        if event.from_tier:
            view.from_tier = claim.restored
        if event.cost is not None:
            view.cost = event.cost
        if event.hit:
            view.hit = True
        if event.worker is not None:
            view.worker = number_of("worker", event.worker)
        if event.by is not None:
            view.by = number_of("by", event.by)
        if kind is Kind.CLAIM_BLOCK_LOST:
            view.breaks = last_lead(claim) < claim.constants.threshold
            view.new_loss = is_unreported(claim, event)
        elif kind is Kind.PREFIX_LOOKUP and claim.predicate is not None:
            view.covers = event.asked is not None and event.asked >= claim.predicate.end
        elif kind in ENDS:
            view.authorised = authorised(event, claim, at, self._clock)
        return view

    def _deliver(
        self, claim: ClaimRun, view: EventView, among: Restless[ClaimRun] | None = None
    ) -> None:
        claim.last_event = self._count
        self._store.step(claim, view, self._count, among)
        if claim.unusual.contradicted is not None:
            self._note_broken(claim, view.kind)

    def _note_broken(self, claim: ClaimRun, kind: Kind) -> None:
        """A fact about the claim contradicted others."""
        if claim.contradicted is not None:
            broken, claim.contradicted = claim.contradicted, None
            self._note_contradiction(*broken)
            if kind in REGISTRY:
                self._track.lose(*broken)
