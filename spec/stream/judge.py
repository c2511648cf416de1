"""Judges one stream: takes lines in their order, and tells what they come to for each claim."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from heapq import heappop, heappush
from typing import Final

from spec.claims.claim import Mode
from spec.claims.durations import Duration
from spec.claims.states import next_state
from spec.contract.facts import FACTS_ARE_FACTS, ROOM, Assumption
from spec.contract.modes import MODES, Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.contract.observed import facts_of
from spec.events.alphabet import BLOCKS_GONE, CONFLICT_ACTIONS, FACTS, REPORTS, Kind
from spec.events.canonical import Event, Mark
from spec.events.fields import REQUEST_KINDS, ROUTE_REPORTS
from spec.language.terms import KindIn, parts
from spec.language.verdicts import Verdict
from spec.stream.breaks import Contradiction, Line, Order
from spec.stream.capacity import Capacity
from spec.stream.claim import AT, Claim, verdicts_of
from spec.stream.codes import Code, Reason
from spec.stream.delivery import REQ, Delivery
from spec.stream.facts import FACTS_ABOUT_BLOCKS, Effect, Facts, of_tier
from spec.stream.fields import FIELDS, Moment, route_value
from spec.stream.generate import in_three_values
from spec.stream.objects import Objects
from spec.stream.pool import Group, Object, Pool
from spec.stream.ranks import Ranks
from spec.stream.request import Request, Requests

__all__ = ["Judge", "Limits"]

_MODES: Final = {mode.value: mode for mode in Mode}
_BEGINS: Final = frozenset({Kind.CLAIM_REGISTERED, Kind.CLAIM_COMMITTED})
_TERMS: Final = _BEGINS | {Kind.CLAIM_ACCEPTED}
_NEWS: Final = REPORTS - CONFLICT_ACTIONS
_EARLY: Final = _NEWS - {Kind.CLAIM_REJECTED, Kind.CLAIM_ACCEPTED}
_OF_REQUESTS: Final = REQUEST_KINDS | {Kind.BLOCK_CACHED}
_CLOSES: Final = CONFLICT_ACTIONS | {
    Kind.CLAIM_COMMITTED,
    Kind.BLOCK_EVICTED,
    Kind.CLAIM_RETIRED,
    Kind.PREFIX_REUSED,
    Kind.BLOCK_CACHED,
    Kind.REQUEST_FINISHED,
}
_OPENS_MANY: Final = CONFLICT_ACTIONS | {Kind.REQUEST_ARRIVED, Kind.REQUEST_FINISHED}
_ROUTED: Final = frozenset({*ROUTE_REPORTS, *(fact for fact, _ in ROUTE_REPORTS.values())})


@dataclass(frozen=True)
class Limits:
    """How much of a stream is kept: claims in hand, ended claims, ids of others, requests.

    More claims or requests in hand than this break the stream.
    """

    live: int = 1_000_000
    ended: int = 10_000
    ids: int = 1_000_000
    requests: int = 1_000_000


class Judge:
    """One stream, and the verdict on each of its claims.

    A claim is judged by the mode that its first event states; `default` judges those that state
    none. `claims` has the claims of this period that are in hand or ended last, `past` those of
    periods before. `breaks` are the reasons for
    which a period of the stream ended, and `period` counts them. `left` is the first place at
    which the stream left what the theorem assumes, and why.

    Args:
        first: the sequence numbers that a run may begin with.
        forget: called with each claim that is no longer kept.
    """

    def __init__(
        self,
        default: Mode | None = None,
        bundle: Bundle = Bundle.CONTRACT,
        *,
        first: tuple[int, ...] = (0,),
        limits: Limits = Limits(),
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
        self.left: Reason | None = None
        self.observes = FACTS
        self.told = FACTS
        self.news: dict[Claim, None] = {}
        self._ids: OrderedDict[str, None] = OrderedDict()
        self._ended: OrderedDict[str, Claim] = OrderedDict()
        self._count = 0
        self._begin()

    def _begin(self) -> None:
        """A run begins: nothing is held, and no request is in hand."""
        self.pool, self.objects = Pool(), Objects()
        self.capacity, self.ranks = Capacity(), Ranks()
        self.facts = Facts(self.pool, self.objects, self.capacity)
        self.requests = Requests(self.limits.requests)
        self.owing: dict[Claim, None] = {}
        self.followers: dict[str, dict[Claim, None]] = {}
        self._ends: list[tuple[int, int, Claim]] = []
        self._timed: dict[Claim, None] = {}
        self._steps_stated = False

    # Lines.

    def take(self, line: Line) -> None:
        """The next line of the stream."""
        step = self.order.take(line)
        if step.broken is not None:
            self._break(step.broken)
            if step.begins:
                self._start()
        self._mark(line)
        try:
            if line.time_ns is not None:
                self._elapse(line)
            elif line.mark is None:
                self._untime(line)
            for event in line.events:
                self._event(event, line)
            for name, only, why in line.doubts:
                self._doubt(name, only, why, line.at)
        except Contradiction as found:
            self._leave(found.at(line.at))
            self._break(found.at(line.at))

    def finish(self) -> None:
        """The stream is over: an end that was promised, and what durations came to, are known."""
        if self.order.cut:
            text = "the stream was cut: stream_closed is not its last line"
            self._break(Reason(Code.STREAM_CUT, text, self.order.opened))
        for claim in self.claims.values():
            self._time_end(claim)

    def _start(self) -> None:
        """Another run begins after a break; its claims are judged in a period of their own."""
        self.broken = None
        self.period += 1
        self.past += self._ended.values()
        for name in self._ended:
            del self.claims[name]
        self._ended.clear()
        self._ids.clear()
        most = self.limits.ended
        for claim in self.past[:-most]:
            self._forget(claim)
        self.past = self.past[-most:]
        self._begin()

    def _time_end(self, claim: Claim) -> None:
        """Nothing is concluded of an expiring claim whose end cannot be timed."""
        if claim.lapses and claim.unseen_end and not (claim.in_steps and self._steps_stated):
            text = "it is unknown when the duration of the claim is over"
            claim.distrust(Reason(Code.DURATION_UNTIMED, text, claim.untimed))

    def _mark(self, line: Line) -> None:
        mark = line.mark
        if mark is not None and mark.groups:
            self.pool.groups = {each.group: Group(each.kind, each.window) for each in mark.groups}
        if mark is not None and mark.kind is Mark.STREAM_RESTATED:
            self.restating = self.broken is not None
            if self.restating:
                groups = self.pool.groups
                self._start()
                self.pool.groups = groups
        if line.observes is not None and not self.observes <= line.observes:
            self.observes &= line.observes
            if mark is not None:
                self.told = self.observes
                for claim in self._alive():
                    self._blind(claim, line.at)

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

    def _leave(self, reason: Reason) -> None:
        self.left = self.left or reason

    def _alive(self) -> Iterator[Claim]:
        return (claim for claim in self.claims.values() if not claim.final)

    def _break(self, reason: Reason) -> None:
        """From here on nothing is concluded, until a run begins."""
        self._leave(reason)
        if self.broken is None:
            self.breaks.append(reason)
            self.broken = reason
        self.restating = False
        for claim in [*self._alive()]:
            claim.distrust(reason)
            self._end(claim)
        self._begin()

    # Time.

    def _elapse(self, line: Line) -> None:
        """Durations that are over by the time of this line elapse before it."""
        now = line.time_ns or 0
        while self._ends and self._ends[0][0] <= now:
            end, _, claim = heappop(self._ends)
            if (
                claim in self._timed
                and claim.end == end
                and claim.untimed is None
                and not claim.elapsed
            ):
                self._event(Event(kind=Kind.DURATION_ELAPSED, claim_id=claim.claim_id), line)

    def _untime(self, line: Line) -> None:
        """A line has no time: it may stand before or after the end of a duration that runs."""
        if not self._timed:
            return
        claims = [*self._timed]
        with self.capacity.resized(claims):
            for claim in claims:
                claim.untimed = line.at if claim.untimed is None else claim.untimed
        self._timed.clear()

    # Events.

    def _event(self, event: Event, line: Line) -> None:
        event = of_tier(event)
        if event.restated and not self.restating:
            return
        if self.restating and not event.restated:
            self._restated()
        if self.broken is not None:
            self._unknown(event, line.at)
            return
        self._count += 1
        request = self._request(event)
        claim = None if event.claim_id is None else self._claim(event.claim_id, line.at)
        binds = claim is None or claim.binds(event)
        if claim is not None:
            self._introduce(claim, event, line, binds=binds)
        effect = Effect()
        if event.kind in FACTS_ABOUT_BLOCKS and binds:
            effect = self.facts.take(event, claim)
        at = Moment(
            event,
            self.claims,
            self.pool,
            self.capacity,
            self.requests,
            self.ranks,
            request,
            effect.direct,
            effect.touched,
        )
        at.mine = self._mine(event, claim, effect, binds=binds)
        for each, touch in effect.touched.items():
            if touch.gained or touch.lost:
                self.ranks.follow(each, holds=self._holds(each))
        self._contradict(at, line)
        if event.kind is Kind.CLAIM_RETIRED:
            for each in at.mine:
                each.pressed = self._is_pressed() if each.responsible else each.pressed
        self._deliver(at, line)
        if event.kind is Kind.PREFIX_REUSED:
            for each in at.direct:
                self._reuse(at, each)
        self._after(at, claim, line, binds=binds)

    def _unknown(self, event: Event, at: object) -> None:
        """Nothing is known of the pool: claims that begin are inconclusive."""
        if event.claim_id is None or event.kind not in _TERMS:
            return
        if event.claim_id in self.claims and event.kind is not Kind.CLAIM_REGISTERED:
            return
        claim = self._claim(event.claim_id, at)
        if claim.mode is None and not claim.introduced:
            self._set_mode(claim, event.mode, at)
        if claim.binds(event):
            claim.state_terms(event)
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
        self.owing.clear()

    def _request(self, event: Event) -> Request | None:
        """The request of an event as it was before; scopes of one before it are dropped."""
        name = event.request_id
        over = self.requests.is_over(name)
        request = self.requests.of(event, observes=self.observes)
        if over and name is not None and not self.requests.is_over(name):
            for claim in self.followers.pop(name, {}):
                claim.drop_request(name)
        return request

    def _claim(self, name: str, at: object) -> Claim:
        """The claim of this id, which is new if there is none."""
        claim = self.claims.get(name)
        if claim is not None:
            return claim
        if len(self.claims) - len(self._ended) >= self.limits.live:
            text = f"more than {self.limits.live} claims are in hand"
            raise Contradiction(Code.LIMIT_REACHED, text)
        claim = self.claims[name] = Claim(name, self.bundle, met=at, period=self.period)
        claim.begin(self.default)
        if name in self._ids:
            claim.distrust(Reason(Code.ID_REUSED, "a claim of this id ended before", at))
        return claim

    # What claims state.

    def _introduce(self, claim: Claim, event: Event, line: Line, *, binds: bool) -> None:
        """Take what an event states of the claim that it names."""
        if event.kind in _BEGINS and not claim.known and claim.stated_mode is None:
            self._set_mode(claim, event.mode, line.at)
        elif event.kind in _TERMS and event.mode not in (None, claim.stated_mode):
            if claim.stated_mode is None and not claim.introduced:
                self._set_mode(claim, event.mode, line.at)
            else:
                text = f"it asked for {claim.stated_mode}, and {event.mode} is stated"
                claim.other_mode = claim.other_mode or event.mode
                claim.distrust(Reason(Code.MODE_CONTRADICTS, text, line.at))
        if claim.watched and event.kind in _EARLY and not claim.introduced:
            text = "a report names the claim before it is registered"
            claim.distrust(Reason(Code.NOT_REGISTERED, text, line.at))
        claim.named |= event.kind in _EARLY
        if event.kind is Kind.CLAIM_EXPIRED and binds:
            self._time_end(claim)
        if claim.final and event.kind is Kind.CLAIM_REGISTERED:
            claim.distrust(Reason(Code.ID_REUSED, "the claim ended before", line.at))
        if not binds or (event.kind not in _TERMS and claim.knows(event)):
            return
        before = claim.obj, claim.predicate, claim.extent
        new = not claim.introduced and event.kind in _TERMS
        if why := claim.state_terms(event):
            claim.distrust(Reason(Code.TERMS_CONTRADICT, why, line.at))
        if new:
            self._blind(claim, line.at)
        renamed = self._place_on_object(claim, event)
        if renamed or before != (claim.obj, claim.predicate, claim.extent):
            self._measure(claim.obj)
        if event.kind in _TERMS and claim.entered and not self._is_whole(claim):
            text = "the object and the predicate of the claim are not stated"
            claim.distrust(Reason(Code.TERMS_MISSING, text, line.at))
        self._time(claim, event, line)

    @staticmethod
    def _is_whole(claim: Claim) -> bool:
        return claim.predicate is not None and bool(
            {"cache_identity", "object_id"} & claim.stated.keys()
        )

    def _set_mode(self, claim: Claim, mode: str | None, at: object) -> None:
        claim.stated_mode = mode
        if (judged := _MODES.get(mode or "", self.default)) is not claim.mode:
            claim.begin(judged)
            if claim.named:
                text = "a report names the claim before it is registered"
                claim.distrust(Reason(Code.NOT_REGISTERED, text, at))

    def _place_on_object(self, claim: Claim, event: Event) -> bool:
        """Put a claim on the object that it states; return whether keys have other names now."""
        if claim.final:
            return False
        renamed, claim.placed = False, True
        if claim.obj.object_id is None and "object_id" in claim.stated:
            renamed = self._move(claim, event)
        self.objects.join(claim)
        with self.capacity.resized(self.objects.sharing(claim.obj)):
            renamed = self.objects.bind(claim.obj, event, self.pool) or renamed
            if event.kind in _TERMS and event.contents:
                renamed = self.objects.state(claim.obj, event.contents, self.pool) or renamed
        return renamed

    def _move(self, claim: Claim, event: Event) -> bool:
        """An object of a claim turns out to be one that has a name."""
        stated = claim.stated
        about = stated["object_id"], stated.get("cache_identity"), stated.get("token_map")
        found = self.objects.find(*about)
        if len(found) > 1:
            text = f"two objects are called {stated['object_id']}"
            raise Contradiction(Code.OBJECT_AMBIGUOUS, text)
        own = claim.obj
        self.objects.leave(claim)
        new = found[0] if found else self.objects.add(*about)
        with self.capacity.resized([claim]):
            claim.obj = new
        places = sorted(own.places)
        self.pool.rename([(own.key(g, at), new.key(g, at)) for g, at in places])
        new.places |= {(g, at) for g, at in places if at >= len(new.contents)}
        return True

    def _measure(self, obj: Object) -> None:
        """What claims hold turns out to be otherwise than was known, and was so before."""
        at = Moment(
            Event(kind=Kind.BLOCK_CACHED),
            self.claims,
            self.pool,
            self.capacity,
            self.requests,
            self.ranks,
            None,
        )
        for claim in self.objects.sharing(obj):
            self._remeasure(claim, at)

    def _remeasure(self, claim: Claim, at: Moment) -> None:
        facts, lead = claim.facts, FIELDS["lead"](at, claim)
        if lead == facts[AT["lead"]] and not (claim.obj.contents or claim.obj.places):
            return
        facts[AT["lead"]] = lead
        facts[AT["there"]] = facts[AT["there"]] or lead >= claim.threshold
        facts[AT["host"]] = FIELDS["stored"](at, claim)
        facts[AT["whole"]] = FIELDS["restorable"](at, claim)
        if claim.predicate is not None:
            needed = self.pool.needs(claim.obj, claim.start, claim.start + claim.threshold)
            facts[AT["copied"]] = facts[AT["copied"]] or any(map(self.pool.in_tiers, needed))
        for scope in claim.requests.values():
            if scope.facts[REQ["seen"]]:
                scope.facts[REQ["away"]] = lead < claim.threshold
        self.ranks.follow(claim, holds=self._holds(claim))

    def _holds(self, claim: Claim) -> bool:
        """Whether a block of the GPU holds a key of the claim."""
        end = min(claim.extent, len(claim.obj.contents))
        own = (at for g, at in claim.obj.places if at < claim.extent)
        return any(
            self.pool.on_gpu(claim.obj.key(g, at))
            for g in self.pool.groups
            for at in (*range(end), *own)
        )

    def _time(self, claim: Claim, event: Event, line: Line) -> None:
        """The duration of a claim runs from its commitment."""
        if event.kind not in _BEGINS or claim.duration is None:
            late = event.kind is Kind.CLAIM_ACCEPTED and event.duration and claim.end is None
            if late and claim.facts[AT["committed"]] and claim.untimed is None:
                claim.untimed = line.at
            return
        if not claim.in_steps and self.order.time_ns is not None:
            claim.least = self.order.time_ns + Duration.parse(claim.duration).nanoseconds
        if event.kind is not Kind.CLAIM_COMMITTED:
            return
        claim.elapsed = False
        if claim.in_steps or line.time_ns is None:
            claim.untimed = line.at
            return
        claim.end = line.time_ns + Duration.parse(claim.duration).nanoseconds
        self._timed[claim] = None
        heappush(self._ends, (claim.end, self._count, claim))

    # Whom an event concerns.

    def _mine(
        self, event: Event, claim: Claim | None, effect: Effect, *, binds: bool
    ) -> dict[Claim, tuple[bool, bool]]:
        """The claims that an event is about, each with whether it is its own, and is named."""
        kind, found = event.kind, dict[Claim, tuple[bool, bool]]()
        if claim is not None and not binds:
            found[claim] = False, True
            return found
        if kind in FACTS_ABOUT_BLOCKS:
            gone = kind in BLOCKS_GONE
            for each, touch in effect.touched.items():
                if not gone or touch.lost:
                    found[each] = True, True
            for each in () if gone else effect.direct:
                found[each] = True, True
            return {each: both for each, both in found.items() if not self._is_moot(each, event)}
        if claim is None:
            return found
        if kind in FACTS:
            own = kind is not Kind.CLAIM_RETIRED or self._has_entry(claim)
            if own:
                found[claim] = True, True
            return found
        if not self._is_moot(claim, event):
            found[claim] = True, True
        if not claim.known:
            obj = claim.obj if event.object_id is not None else None
            for other in self.objects.on.get(obj, ()) if obj is not None else ():
                if other is not claim and other.known:
                    found[other] = True, False
        return found

    @staticmethod
    def _has_entry(claim: Claim) -> bool:
        ended = not claim.responsible
        return not (ended and (claim.lapses or not claim.facts[AT["committed"]]))

    @staticmethod
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

    # What contradicts.

    def _contradict(self, at: Moment, line: Line) -> None:
        """Raises Contradiction if a fact contradicts those before it."""
        event, kind = at.event, at.event.kind
        if kind not in FACTS:
            return
        for claim in at.mine:
            if claim not in at.direct and kind in FACTS_ABOUT_BLOCKS:
                continue
            self._assume(at, claim, line)
        if kind is Kind.PREFIX_LOOKUP and event.held is not None:
            for claim in at.direct:
                self._look_up(at, claim)

    def _assume(self, at: Moment, claim: Claim, line: Line) -> None:
        event = at.event
        for assumption, rests_on, holds in _assumed(event.kind, claim.mode):
            if claim.predicate is None or not rests_on <= self.observes:
                continue
            if assumption.name == ROOM and event.footprint is None:
                continue
            if event.contents and event.kind is Kind.STORE_FINISHED:
                continue
            fields = {name: FIELDS[name](at, claim) for name in ("mine", "footprint")}
            if holds(fields, False, claim.threshold, claim.facts, None, None, None, None) is False:
                text = f"facts contradict: {assumption.broken}"
                raise Contradiction(Code.ENTRY_CONTRADICTS, text)
        if event.kind is Kind.DURATION_ELAPSED and event.kind not in line.derived:
            self._check_duration(claim, line)

    def _check_duration(self, claim: Claim, line: Line) -> None:
        """A duration elapses once it is over by the clock of the stream."""
        why, time = "", line.time_ns
        if claim.introduced and claim.duration is None and claim.mode not in (None, Mode.EXPIRING):
            why = "the duration of a claim elapses that has none"
        elif claim.elapsed or (time is None and claim.end is None):
            why = ""
        elif time is None:
            why = "the duration elapses, and the line has no time"
        elif time < max(claim.least or 0, claim.end or 0):
            why = "the duration elapses too early"
        if why:
            raise Contradiction(Code.DURATION_CONTRADICTS, f"facts contradict: {why}")

    def _look_up(self, at: Moment, claim: Claim) -> None:
        """A look-up finds what is held, as far as its prompt could use it."""
        event, found = at.event, at.event.held or 0
        if claim.predicate is None or claim.over or not self.observes >= BLOCKS_GONE:
            return
        held, why = FIELDS["lead"](at, claim), ""
        if event.asked is None:
            if found < held:
                why = "a look-up finds less than is held, and does not state what it asked for"
        elif found < min(event.asked - claim.start, held):
            why = "facts contradict: a look-up finds less than is held"
        if not why and found > held and not any(claim.copies.values()):
            most = self.pool.lead(claim.obj, claim.start, claim.extent, tiers=True)
            if found > most and Kind.BLOCK_CACHED in self.observes:
                why = "facts contradict: a look-up finds more than is held"
        if why:
            raise Contradiction(Code.LOOKUP_CONTRADICTS, why)

    def _reuse(self, at: Moment, claim: Claim) -> None:
        """What is reused is held."""
        if claim.predicate is None or claim.over or not self.observes >= BLOCKS_GONE:
            return
        found = claim.threshold
        if at.request is not None:
            found = min(found, at.request.found.get(claim.claim_id, found))
        if FIELDS["lead"](at, claim) < found:
            text = "facts contradict: what is reused is not held"
            raise Contradiction(Code.REUSE_NOT_HELD, text)

    # Delivery.

    def _deliver(self, at: Moment, line: Line) -> None:
        event = at.event
        kind, name = event.kind, event.request_id
        here = {name} if name is not None and kind in _OF_REQUESTS else set()
        perhaps: set[str] = set()
        if kind is Kind.BLOCK_CACHED and name is None and not event.found:
            hands = self.requests.in_hand
            (here if len(hands) == 1 else perhaps).update(hands)
        for claim in self._concerned(at, here):
            self._deliver_to(claim, at, here, perhaps, line)

    def _concerned(self, at: Moment, here: set[str]) -> dict[Claim, None]:
        """The claims that an event may change anything of."""
        kind, found = at.event.kind, dict.fromkeys(at.mine)
        if kind in _CLOSES:
            found.update(self.owing)
        for request in here:
            found.update(self.followers.get(request, {}))
        if kind in _OPENS_MANY:
            found.update(self._pressed(at))
        return found

    def _pressed(self, at: Moment) -> dict[Claim, None]:
        """The claims that an event of a request may matter to for the sake of capacity."""
        event = at.event
        if event.kind in CONFLICT_ACTIONS:
            found = dict.fromkeys(self.capacity)
            named = (self.claims.get(name) for name in at.accused)
            found.update((claim, None) for claim in named if claim is not None)
            return found
        if event.kind is Kind.REQUEST_ARRIVED and event.restated:
            return {}
        return dict.fromkeys(self.capacity) if at.presses else {}

    def _is_pressed(self) -> bool | None:
        """Whether a request in hand is in a standing conflict with the responsible claims."""
        total, unknown = self.capacity.total, False
        for request in self.requests.in_hand.values():
            if request.needed is None or request.usable is None or total is None:
                unknown = True
            elif request.needed <= request.usable < total + request.needed:
                return True
        return None if unknown else False

    def _deliver_to(
        self, claim: Claim, at: Moment, here: set[str], perhaps: set[str], line: Line
    ) -> None:
        event = at.event
        mine, named = at.mine.get(claim, (False, False))
        belongs = here
        if event.kind is Kind.LOAD_FINISHED and mine:
            direct = claim in at.direct
            gains = direct or claim.facts[AT["host"]]
            belongs = ((here if direct else set()) | claim.waiting) if gains else set()
        unsure = perhaps if self._matters_who(claim, mine=mine) else set()
        shows = True
        if event.kind is Kind.PREFIX_LOOKUP:
            shows = event.held is not None or not mine
        elif event.kind is Kind.BLOCK_EVICTED:
            shows = mine or any(map(_is_ranked, at.mine))
        delivery = Delivery(
            claim,
            at,
            belongs,
            unsure,
            line.at,
            moves=shows,
            exercised=not event.restated,
        )
        if mine or named or claim in self.owing:
            delivery.to_claim()
        for name, scope in [*claim.requests.items()]:
            if mine or name in belongs:
                delivery.to_request(name, scope)
        for name in belongs | unsure:
            if name in claim.requests or not (mine or event.kind in _OPENS_MANY):
                continue
            over = self.requests.is_over(name)
            if over and claim.may_forget:
                claim.leave_open_of_requests(name, line.at)
            else:
                delivery.opens(name, self.requests.get(name), over=over)
        for name in delivery.opened:
            self.followers.setdefault(name, {})[claim] = None
        if delivery.now is not claim.facts:
            responsible, size = claim.responsible, claim.size
            claim.facts = delivery.now
            self._counted(claim, responsible, size)
        if delivery.moved:
            self._note_owing(claim)
        if mine and named:
            claim.state = next_state(claim.state, event.kind) or claim.state

    @staticmethod
    def _matters_who(claim: Claim, *, mine: bool) -> bool:
        """Whether it matters which of several requests computed blocks of the claim."""
        away = claim.facts[AT["lead"]] is None or claim.facts[AT["lead"]] < claim.threshold
        return mine and away and claim.responsible and claim.mode is Mode.OFFLOADABLE

    def _counted(self, claim: Claim, responsible: bool, size: int | None) -> None:
        """What a claim takes after an event."""
        if claim.responsible and not responsible:
            claim.took = self._count
        if claim.responsible != responsible or claim.size != size:
            self.capacity.remove(claim)
            if claim.responsible:
                self.capacity.add(claim)

    def _note_owing(self, claim: Claim) -> None:
        if claim.owes:
            self.owing[claim] = None
        else:
            self.owing.pop(claim, None)

    # What becomes of it.

    def _after(self, at: Moment, named: Claim | None, line: Line, *, binds: bool) -> None:
        event = at.event
        for claim in at.mine:
            self._follow(at, claim)
        self._follow_request(at)
        if named is not None and binds:
            self._follow_entry(named, event)
        if named is not None and not binds:
            text = f"{event.kind} names the claim with another object, cache or predicate"
            reason = Reason(Code.IDENTITY_CONTRADICTS, text, line.at)
            if event.kind in FACTS:
                raise Contradiction(reason.code, reason.text)
            named.distrust(reason)
        ends = event.kind is Kind.REQUEST_FINISHED and event.request_id is not None
        moved = {**dict.fromkeys(at.mine), **at.moved}
        if ends and event.request_id is not None:
            for claim in self.followers.get(event.request_id, {}):
                claim.end_request(event.request_id)
                moved[claim] = None
        if named is not None:
            moved[named] = None
        for claim in moved:
            self._settle(claim)

    def _follow(self, at: Moment, claim: Claim) -> None:
        """What was computed since the claim was away, who waits for it, and what is still to be
        reported of its routes and losses.
        """
        event, kind = at.event, at.event.kind
        touch = at.touched.get(claim)
        if touch is not None and (touch.gained or touch.lost or touch.brought):
            self._follow_blocks(at, claim)
        if kind is Kind.LOAD_FAILED and event.request_id is not None:
            claim.waiting.discard(event.request_id)
        if kind in _ROUTED:
            self._follow_route(claim, event)
        if kind is Kind.CLAIM_BLOCK_LOST:
            claim.lost = claim.lost - set(event.block_ids) if event.block_ids else set()
        if event.claim_id != claim.claim_id:
            return
        if kind is Kind.CLAIM_RESTORED:
            claim.waiting.clear()
        if kind is Kind.CLAIM_RESTORE_REQUIRED and event.request_id is not None:
            claim.waiting.add(event.request_id)

    def _follow_blocks(self, at: Moment, claim: Claim) -> None:
        event, touch = at.event, at.touched[claim]
        if event.kind in BLOCKS_GONE and touch.lost and claim.live:
            claim.lost |= touch.blocks or {None}
        whole = claim.facts[AT["lead"]] >= claim.threshold
        if touch.lost and not whole:
            claim.computed.clear()
            return
        claim.computed -= touch.lost | touch.brought
        if event.kind is Kind.BLOCK_CACHED and not event.found and claim.waiting:
            claim.computed |= touch.gained

    @staticmethod
    def _follow_route(claim: Claim, event: Event) -> None:
        """Append a fact that is to be reported; a report removes the oldest of them."""
        request = event.request_id or ""
        for report, (fact, name) in ROUTE_REPORTS.items():
            if event.kind is fact and claim.live:
                claim.routes.setdefault((request, report), []).append(route_value(event, name))
            elif event.kind is report and claim.routes.get((request, report)):
                claim.routes[request, report].pop(0)

    def _follow_request(self, at: Moment) -> None:
        event, kind, name = at.event, at.event.kind, at.event.request_id
        if name is None:
            return
        if kind is Kind.REQUEST_ARRIVED and at.request is not None:
            self.requests.arrive(at.request, event, self._count)
        if kind in (Kind.REQUEST_FINISHED, Kind.REQUEST_REFUSED):
            for claim in self.followers.get(name, {}):
                claim.waiting.discard(name)
        if kind is Kind.REQUEST_FINISHED:
            for claim in self.followers.get(name, {}):
                for report in ROUTE_REPORTS:
                    claim.routes.pop((name, report), None)
            if (gone := self.requests.finish(name)) is not None:
                self.followers.pop(gone, None)
        if at.request is None:
            return
        if kind is Kind.LOAD_FAILED:
            at.request.failed.update(each.claim_id for each in at.direct if each.known)
        if kind is Kind.PREFIX_LOOKUP and event.held is not None:
            at.request.found.update((claim.claim_id, event.held) for claim in at.direct)

    def _follow_entry(self, claim: Claim, event: Event) -> None:
        if event.kind is Kind.DURATION_ELAPSED:
            claim.elapsed = True
            self._timed.pop(claim, None)
            self._steps_stated |= claim.in_steps
        if event.kind is Kind.CLAIM_RETIRED:
            claim.early |= claim.duration is not None and not claim.elapsed
            self._timed.pop(claim, None)
            claim.retired |= claim.elapsed or event.by == claim.owner is not None
        if event.kind in _TERMS or event.kind is Kind.CLAIM_RETIRED:
            self.ranks.follow(claim, holds=self._holds(claim))

    def _settle(self, claim: Claim) -> None:
        """Note that a verdict is violated, or final."""
        self.news[claim] = None
        if not claim.final and claim.settled:
            self._end(claim)

    def _end(self, claim: Claim) -> None:
        """Nothing changes the verdict any more but a late report."""
        if not claim.in_steps:  # whether the stream states ends in steps is known when it is over
            self._time_end(claim)
        claim.final = True
        self.objects.leave(claim)
        self.capacity.remove(claim)
        self.ranks.follow(claim, holds=False)
        self.owing.pop(claim, None)
        self._timed.pop(claim, None)
        for name in claim.requests:
            self.followers.get(name, {}).pop(claim, None)
        claim.copies.clear()
        self._ended[claim.claim_id] = claim
        self.news[claim] = None
        if len(self._ended) > self.limits.ended:
            name, oldest = self._ended.popitem(last=False)
            self.claims.pop(name, None)
            self._ids[name] = None
            self._forget(oldest)
            if len(self._ids) > self.limits.ids:
                self._ids.popitem(last=False)


def _is_ranked(claim: Claim) -> bool:
    """Whether each loss of the claim is to be reported before another one loses blocks."""
    return claim.mode is not None and MODES[claim.mode].constants["ranked"]


@cache
def _assumed(
    kind: Kind, mode: Mode | None
) -> list[tuple[Assumption, frozenset[Kind], Callable[..., bool | None]]]:
    """The assumptions about facts of this kind, what each rests on, and whether it holds."""
    return [
        (each, each.rests_on, in_three_values(each.holds, kind, mode))
        for each in FACTS_ARE_FACTS
        if any(kind in part.kinds for part in parts(each.holds) if isinstance(part, KindIn))
    ]


@cache
def _unseen(names: tuple[str, ...], stated: frozenset[Kind]) -> dict[str, frozenset[Kind]]:
    """The obligations that rest on facts which a stream does not observe, with those."""
    found = {name: facts_of(OBLIGATIONS[name]) - stated for name in names}
    return {name: unseen for name, unseen in found.items() if unseen}
