"""Judges one stream: takes lines in their order, and states what each claim came to."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final

from spec.claims.states import Mode
from spec.contract.facts import facts_of
from spec.contract.modes import Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.events.alphabet import CONFLICT_ACTIONS, ENVIRONMENT, FACTS, REPORTS, Kind
from spec.events.canonical import Event, Mark
from spec.language.verdicts import Verdict
from spec.stream.breaks import Contradiction, Limits, Line, Order
from spec.stream.claim import BEGINS, TERMS, Claim, identity_of, verdicts_of
from spec.stream.codes import Code, Reason
from spec.stream.contradictions import check, check_reuse
from spec.stream.delivery import about, concerned, deliver
from spec.stream.facts import FACTS_ABOUT_BLOCKS, of_tier
from spec.stream.fields import Concern, Moment
from spec.stream.follow import follow_claim, follow_entry, follow_request, measure
from spec.stream.pool import Group, groups_of
from spec.stream.run import Run

__all__ = ["Judge"]

_USUAL: Final = Limits()
_RETIRED: Final = Kind.CLAIM_RETIRED
_REUSED: Final = Kind.PREFIX_REUSED
_FINISHED: Final = Kind.REQUEST_FINISHED
_MODES: Final = {mode.value: mode for mode in Mode}
_UNREGISTERED: Final = "a report names the claim before it is registered"
_EARLY: Final = REPORTS - CONFLICT_ACTIONS - {Kind.CLAIM_REJECTED, Kind.CLAIM_ACCEPTED}


class Judge:
    """One stream, and the verdict on each of its claims.

    A claim is judged by the mode that its first event states; `default` judges those that state
    none.

    Args:
        first: the sequence numbers that a run may begin with.
        forget: called with each claim that is no longer kept.

    Attributes:
        claims: those of this period that are in hand or ended last; `past` those of periods before.
        breaks: the reasons for which a period of the stream ended; `broken` is the last of them
            while nothing is known.
        restating: whether the events that come state what stands.
        period: how many runs ended before this one; `run` is what is known of this one.
        observes: the kinds of facts of which the stream states each one. `told` is the same as of
            the last mark that restricted it: obligations that rest on other facts are left open.
        news: the claims that were moved, until the caller empties it.
        noticed: called with each event after all that it changed, if it is set.
    """

    def __init__(
        self,
        default: Mode | None = None,
        bundle: Bundle = Bundle.CONTRACT,
        *,
        first: tuple[int, ...] = (0,),
        limits: Limits = _USUAL,
        forget: Callable[[Claim], None] = lambda claim: None,
    ) -> None:
        self.default, self.bundle, self.limits, self._forget = default, bundle, limits, forget
        self.order = Order(first)
        self.claims: dict[str, Claim] = {}
        self.past: list[Claim] = []
        self.breaks: list[Reason] = []
        self.broken: Reason | None = None
        self.restating = False
        self.period = 0
        self.observes = FACTS
        self.told = FACTS
        self.news: dict[Claim, object] = {}
        self.noticed: Callable[[Moment], None] | None = None
        self._ids: OrderedDict[str, None] = OrderedDict()
        self._ended: OrderedDict[str, Claim] = OrderedDict()
        self._count = 0
        self._begin()

    def _begin(self, groups: Mapping[int, Group] | None = None) -> None:
        """Begin a run: nothing is held, and no request is in hand.

        Args:
            groups: the groups of caches of the run before, if they stay.
        """
        self.run = Run(self.claims, self.limits)
        if groups is not None:
            self.run.pool.groups = {**groups}

    @property
    def left(self) -> Reason | None:
        """The first place at which the stream left what the theorem assumes, and why."""
        return self.breaks[0] if self.breaks else None

    # Lines.

    def take(self, line: Line) -> None:
        """The next line of the stream."""
        step = self.order.take(line)
        if step.closed:
            self._close()
        if step.broken is not None:
            self._break(step.broken)
            if step.begins:
                self._start()
        if line.mark is not None or line.observes is not None:
            self._mark(line)
        try:
            self._elapse(line)
            for event in line.events:
                self._event(event, line)
            for name, only, why in line.doubts:
                self._doubt(name, only, why, line.at)
        except Contradiction as found:
            self._break(found.at(line.at))

    def _elapse(self, line: Line) -> None:
        """End the durations that are over by the time of a line; without one that is unknown."""
        durations = self.run.durations
        if line.time_ns is not None:
            while (claim := durations.over_by(line.time_ns)) is not None:
                restated = self.restating  # it does not end what is restated around it
                name = claim.claim_id
                elapsed = Event(kind=Kind.DURATION_ELAPSED, claim_id=name, restated=restated)
                self._event(elapsed, line)
        elif line.mark is None and durations.timed:
            with self.run.capacity.resized(durations.timed):
                durations.untime(line.at)

    def finish(self) -> None:
        """The stream is over: an end that was promised, and what durations came to, are known."""
        if self.order.cut:
            text = "the stream was cut: stream_closed is not its last line"
            self._break(Reason(Code.STREAM_CUT, text, self.order.opened))
        self._end_run()

    def _close(self) -> None:
        """The run is over, and another one follows: its claims keep what they came to."""
        self._end_run()
        for claim in [*self._alive()]:
            self._end(claim)

    def _end_run(self) -> None:
        """The run is over, and with it what is restated."""
        if self.restating:
            self._restated()
        if self.broken is None:
            self._time_ends()

    def _time_ends(self) -> None:
        """The run is over, so it is known whether it states ends in steps."""
        for claim in self.claims.values():
            self.run.durations.distrust(claim)

    def _start(self, groups: Mapping[int, Group] | None = None) -> None:
        """Another run begins after a break; its claims are judged in a period of their own."""
        self.broken = None
        self.period += 1
        self.past += self._ended.values()
        for name in self._ended:
            del self.claims[name]
        self._ended.clear()
        self._ids.clear()
        more = max(len(self.past) - self.limits.ended, 0)
        for claim in self.past[:more]:
            self._forget(claim)
        del self.past[:more]
        self._begin(groups)

    def _mark(self, line: Line) -> None:
        mark = line.mark
        if mark is not None and mark.groups:
            self._regroup(groups_of(mark.groups), line.at)
        if mark is not None and mark.kind is Mark.STREAM_RESTATED:
            self.restating = self.broken is not None
            if self.restating:
                self._start(self.run.pool.groups)
        if line.observes is not None and not self.observes <= line.observes:
            self.observes &= line.observes
            if mark is not None:
                self.told = self.observes
                for claim in self._alive():
                    self._blind(claim, line.at)

    def _regroup(self, groups: dict[int, Group], at: object) -> None:
        """Take the groups that a mark states; others than before may not hold what stands."""
        pool = self.run.pool
        if groups != pool.groups and (pool.holds_anything or any(self._alive())):
            text = "other groups of caches are stated while claims or copies stand"
            self._break(Reason(Code.GROUPS_CONTRADICT, text, at))
        self.run.pool.groups = groups

    def _blind(self, claim: Claim, at: object) -> None:
        """Leave open the obligations that rest on facts which the stream does not observe."""
        for name, unseen in _unseen(claim.names, self.told).items():
            text = f"not observed: {', '.join(sorted(unseen))}"
            claim.leave_open(name, Reason(Code.NOT_OBSERVED, text, at))

    def _doubt(self, name: str | None, only: frozenset[str], why: str, at: object) -> None:
        """What the form of the stream does not state leaves open what depends on it."""
        claims = [*self._alive()] if name is None else [self._claim(name, at)]
        for claim in claims:
            for obligation in only:
                if obligation in claim.names:
                    claim.leave_open(obligation, Reason(Code.FORM_OMITS_FIELD, why, at))
            if not only:
                claim.distrust(Reason(Code.FORM_OMITS, why, at))
            if self.broken is not None and not claim.final:
                self._end(claim)

    def _alive(self) -> Iterator[Claim]:
        return (claim for claim in self.claims.values() if not claim.final)

    def _break(self, reason: Reason) -> None:
        """From here on nothing is concluded, until a run begins."""
        if self.broken is not None:
            return
        for claim in [*self._alive()]:
            claim.distrust(reason)
            self._end(claim)
        self._time_ends()
        self.breaks.append(reason)
        self.broken = reason
        self.restating = False
        self._begin(self.run.pool.groups)

    # Events.

    def _event(self, event: Event, line: Line) -> None:
        if event.tier is not None:
            event = of_tier(event)
        if event.restated != self.restating:
            if event.restated:
                return
            self._restated()
        if self.broken is not None:
            self._unknown(event, line.at)
            return
        self._count += 1
        run, kind = self.run, event.kind
        request = run.begin_request(event, self.observes)
        at = Moment(event, line, self._count, run, request, self.observes)
        claim, binds = None, True
        if event.claim_id is not None:
            claim, stated = self._claim(event.claim_id, line.at), identity_of(event)
            binds = not stated or claim.binds(stated)
            self._introduce(at, claim, stated, binds=binds)
            if not binds and kind in ENVIRONMENT:
                self._contradict(at, claim)
        if claim is not None and not binds:
            at.concerns = {claim: Concern(mine=False)}
        else:
            if kind in FACTS_ABOUT_BLOCKS:
                run.facts.take(at, claim)
            at.concerns = about(at, claim)
        for each, touch in at.touched.items():
            if touch.gained or touch.lost:
                run.ranks.follow(each, run.pool)
        if kind in FACTS:
            check(at)
        if kind is _RETIRED:
            for each in at.concerns:
                if each.responsible:
                    each.pressed = run.pressed(self.observes)
        for each in self._concerned(at):
            self._deliver_to(each, at)
        if kind is _REUSED:
            check_reuse(at)
        self._after(at, claim, binds=binds)

    def _unknown(self, event: Event, at: object) -> None:
        """Nothing is known of the pool: claims that begin are inconclusive."""
        if event.claim_id is None or event.kind not in TERMS:
            return
        if event.claim_id in self.claims and event.kind is not Kind.CLAIM_REGISTERED:
            return
        claim = self._claim(event.claim_id, at)
        if claim.stated_mode is None and not claim.introduced:
            self._set_mode(claim, event.mode, at)
        stated = identity_of(event)
        if claim.binds(stated):
            claim.state_terms(event, stated)
        if not claim.final:
            claim.distrust(Reason(Code.UNKNOWN_POOL, "nothing is known of the pool", at))
            self._end(claim)

    def _restated(self) -> None:
        """What stands is stated: what restated events alone made due is not owed.

        What a request in hand waits for, as a restore that was reported to be required, still is.
        """
        self.restating = False
        for claim in self._alive():
            stands = claim.own.stands
            for place, (name, stand) in enumerate(zip(claim.names, stands, strict=True)):
                if stand is not None and verdicts_of(name)[stand.state] is Verdict.PENDING:
                    stands[place] = stand._replace(state=0, exercised=False)
        self.run.owing.clear()

    def _claim(self, name: str, at: object) -> Claim:
        """The claim of this id, which is new if there is none."""
        claim = self.claims.get(name)
        if claim is not None:
            return claim
        if len(self.claims) - len(self._ended) >= self.limits.live:
            text = f"more than {self.limits.live} claims are in hand"
            raise Contradiction(Code.CLAIMS_LIMIT, text)
        claim = self.claims[name] = Claim(name, self.bundle, period=self.period)
        claim.begin(self.default)
        if name in self._ids:
            claim.distrust(Reason(Code.ID_REUSED, "a claim of this id ended before", at))
        return claim

    # What claims state.

    def _introduce(
        self, at: Moment, claim: Claim, stated: Mapping[str, str], *, binds: bool
    ) -> None:
        """Take what an event states of the claim that it names."""
        kind = at.kind
        if kind in TERMS:
            self._take_mode(claim, at.event, at.place)
            if claim.final and kind is Kind.CLAIM_REGISTERED:
                claim.distrust(Reason(Code.ID_REUSED, "the claim ended before", at.place))
        elif kind in _EARLY:
            if claim.watched and not claim.introduced:
                claim.distrust(Reason(Code.NOT_REGISTERED, _UNREGISTERED, at.place))
            claim.named = True
            if kind is Kind.CLAIM_EXPIRED and binds:
                self.run.durations.distrust(claim)
        news = kind in TERMS or not (claim.placed and stated.keys() <= claim.stated.keys())
        if binds and news:
            self._bind(at, claim, stated)

    def _take_mode(self, claim: Claim, event: Event, at: object) -> None:
        """The mode that an event states judges the claim, if none did so before."""
        new = event.kind in BEGINS and not claim.known and claim.stated_mode is None
        if new or (claim.stated_mode is None and not claim.introduced):
            self._set_mode(claim, event.mode, at)
        elif event.mode not in (None, claim.stated_mode):
            text = f"it asked for {claim.stated_mode}, and {event.mode} is stated"
            claim.other_mode = claim.other_mode or event.mode
            claim.distrust(Reason(Code.MODE_CONTRADICTS, text, at))

    def _bind(self, at: Moment, claim: Claim, stated: Mapping[str, str]) -> None:
        """Take the object and the terms that an event states of a claim."""
        event, terms = at.event, at.kind in TERMS
        before = claim.obj, claim.start, claim.threshold, claim.extent
        new = terms and not claim.introduced
        if why := claim.state_terms(event, stated):
            claim.distrust(Reason(Code.TERMS_CONTRADICT, why, at.place))
        if new:
            self._blind(claim, at.place)
        renamed = self.run.place(claim, event)
        if renamed or before != (claim.obj, claim.start, claim.threshold, claim.extent):
            measure(self.run, claim.obj)
        needed = max(claim.stop, claim.footprint or 0)
        if self.run.objects.forgot_keys and len(claim.obj.contents) < needed:
            text = "its keys are not stated, and keys of an object were forgotten"
            claim.distrust(Reason(Code.KEYS_FORGOTTEN, text, at.place))
        if not terms:
            return
        if claim.entered and not claim.is_whole:
            text = "the object and the predicate of the claim are not stated"
            claim.distrust(Reason(Code.TERMS_MISSING, text, at.place))
        with self.run.capacity.resized([claim]):  # unknown where its end is not timed
            last = self.order.time_ns
            self.run.durations.start(claim, event, at.line, last_ns=last, number=at.number)

    def _set_mode(self, claim: Claim, mode: str | None, at: object) -> None:
        claim.stated_mode = mode
        if (judged := _MODES.get(mode or "", self.default)) is not claim.mode:
            claim.begin(judged)
            if claim.introduced:
                self._blind(claim, at)
            if claim.named:
                claim.distrust(Reason(Code.NOT_REGISTERED, _UNREGISTERED, at))

    # Delivery.

    def _concerned(self, at: Moment) -> dict[Claim, None]:
        return concerned(at)

    def _deliver_to(self, claim: Claim, at: Moment) -> None:
        deliver(at, claim)

    # What becomes of it.

    def _after(self, at: Moment, named: Claim | None, *, binds: bool) -> None:
        moved: dict[Claim, object] = {**at.concerns, **at.moved}
        for claim in at.concerns:
            follow_claim(at, claim)
        follow_request(at)
        if named is not None:
            moved[named] = None
            if binds:
                follow_entry(at, named)
            else:
                self._contradict(at, named)
        name = at.event.request_id
        if at.kind is _FINISHED and name is not None:
            for claim in self.run.followers.get(name, ()):
                claim.end_request(name)
                moved[claim] = None
        self.news |= moved
        for claim in moved:
            if not claim.final and claim.settled:
                self._end(claim)
        if self.noticed is not None:
            self.noticed(at)

    @staticmethod
    def _contradict(at: Moment, named: Claim) -> None:
        """An event names a claim, and does not mean its object.

        Facts of the environment are no deeds of the runtime, and are delivered to no observer.
        """
        text = f"{at.kind} names the claim with another object, cache or predicate"
        if at.kind in FACTS:
            raise Contradiction(Code.IDENTITY_CONTRADICTS, text)
        named.distrust(Reason(Code.IDENTITY_CONTRADICTS, text, at.place))

    def _end(self, claim: Claim) -> None:
        """Nothing changes the verdict any more but a late report."""
        if not claim.in_steps:  # whether the stream states ends in steps is known when it is over
            self.run.durations.distrust(claim)
        claim.final = True
        self.run.drop(claim)
        self._ended[claim.claim_id] = claim
        self.news[claim] = None
        if len(self._ended) > self.limits.ended:
            name, oldest = self._ended.popitem(last=False)
            self.claims.pop(name, None)
            self._ids[name] = None
            self.run.durations.distrust(oldest)
            self._forget(oldest)
            if len(self._ids) > self.limits.ids:
                self._ids.popitem(last=False)


@cache
def _unseen(names: tuple[str, ...], stated: frozenset[Kind]) -> dict[str, frozenset[Kind]]:
    """The obligations that rest on facts which a stream does not observe, with those."""
    found = {name: facts_of(OBLIGATIONS[name]) - stated for name in names}
    return {name: unseen for name, unseen in found.items() if unseen}
