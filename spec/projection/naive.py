"""The naive projection: every event is delivered to every claim, in every scope, by the text alone.

It follows the ledgers by their terms, computes each field by its definition, and moves observers as
`transitions` machines. It is slow, keeps the whole stream, and is what the monitor is compared
with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from spec.alphabet import CONFLICT_ACTIONS, REPORTS, Kind
from spec.claims import Mode
from spec.events import Event
from spec.modes import MODES, Bundle
from spec.projection import contradictions, rights, unknown
from spec.projection.case import Case, View
from spec.projection.concerns import belongs_to, is_direct
from spec.projection.fields import views
from spec.projection.lines import Line, Order
from spec.projection.pool import (
    Claim,
    Placed,
    Pool,
    Request,
    after,
    attributed,
    lead,
    owners,
    placed,
    tell,
)
from spec.projection.ranks import ranked_losers
from spec.projection.sight import Moment, Sight

__all__ = ["Naive"]

_AT_REQUEST: Final = CONFLICT_ACTIONS | {Kind.REQUEST_ARRIVED, Kind.REQUEST_FINISHED}
_REGISTRY: Final = frozenset({Kind.CLAIM_COMMITTED, Kind.CLAIM_RETIRED})
_BEGINS: Final = frozenset({Kind.CLAIM_REGISTERED, Kind.CLAIM_COMMITTED})
_INTRODUCES: Final = _BEGINS | {Kind.CLAIM_ACCEPTED}
_SPEAKS: Final = REPORTS - {Kind.CLAIM_REJECTED, Kind.CLAIM_ACCEPTED}
_EITHER: Final = frozenset({"cache_identity", "object_id"})


class Naive:
    """One stream, judged by one bundle of one mode. Iterating takes in its lines, one by one.

    Args:
        lines: the whole stream.
        first: the sequence numbers that it may begin with.
    """

    def __init__(
        self,
        lines: Iterable[Line],
        mode: Mode,
        bundle: Bundle = Bundle.CONTRACT,
        first: tuple[int, ...] = (0,),
    ) -> None:
        self.mode, self.lines = mode, tuple(lines)
        self.names, self.constants = MODES[mode].names(bundle), MODES[mode].constants
        events = [event for line in self.lines for event in line.events]
        claims = dict.fromkeys(event.claim_id for event in events)
        claims |= dict.fromkeys(name for line in self.lines for name, _ in line.doubts)
        requests = dict.fromkeys(event.request_id for event in events if event.request_id)
        self.pool = Pool({name: Claim(name) for name in claims if name is not None})
        self.cases = {
            name: Case(claim, self.names, self.constants, requests)
            for name, claim in self.pool.claims.items()
        }
        self.order = Order(first)
        self._count = 0  # of events
        self._lost = -1  # the last event before track was lost
        self._stale: frozenset[Placed] = frozenset()  # what was held then
        self._observes: frozenset[Kind] | None = None

    def __iter__(self) -> Iterator[Line]:
        for line in self.lines:
            self._take(line)
            yield line

    def finish(self) -> None:
        """The stream is over: an end that was promised, and what durations came to, are known."""
        if self.order.cut is not None:
            self._lose(self.order.cut)
        for case in self.cases.values() if self.constants["lapses"] else ():
            case.distrust(rights.unclear(self.pool, case.claim))

    # Lines.

    def _take(self, line: Line) -> None:
        back, missing = self.order.take(line)
        if line.observes not in (None, self._observes):
            self._observes = line.observes
            for case in self.cases.values():
                case.observe(line.observes, line.at)
        if missing:
            self._lose(line.at)
        if back:
            self._disorder(line.at)
        for claim in self.pool.claims.values():
            if line.time_ns is None and line.mark is None:
                rights.stop(claim, line.at)
            if rights.is_due(claim, line.time_ns):
                self._event(Event(kind=Kind.DURATION_ELAPSED, claim_id=claim.claim_id), line)
        for event in line.events:
            self._event(event, line)
        for name, only in line.doubts:
            for case in self._alive() if name is None else [self.cases[name]]:
                case.leave_open(only, line.at) if only else case.distrust(line.at)

    def _alive(self) -> list[Case]:
        return [case for case in self.cases.values() if case.claim.alive]

    def _lose_track(self) -> None:
        """From here on nobody knows who is in the pool, and what was held may be gone."""
        self._lost, self._stale = self._count, self.pool.placed

    def _lose(self, at: int) -> None:
        """Events are missing here: of the claims alive nothing more is concluded."""
        self._lose_track()
        for case in self._alive():
            case.distrust(at)

    def _disorder(self, at: int) -> None:
        """The stream steps back, which breaks the order of every claim that was met."""
        moment = Moment(self.pool, self.pool, Event(kind=Kind.STREAM_DISORDER), self.mode)
        for case in self.cases.values():
            if case.claim.met:
                judged = self.is_judged(case.claim)
                case.take(moment.kind, views(Sight(moment, case.claim)), None, at, moves=judged)
                case.distrust(at)
        self._lose_track()

    # Events.

    def _event(self, event: Event, line: Line) -> None:
        """What an event states, contradicts, is to each claim, and comes to."""
        self._count += 1
        if event.kind is Kind.STREAM_DISORDER:
            self._disorder(line.at)
            return
        binds = self._tell(event, line.at)
        moment = Moment(self.pool, after(self.pool, event), event, self.mode, line.time_ns)
        if contradictions.of_request(moment, self._lost, self._observes):
            for case in self._alive():
                case.distrust(line.at)
            if event.kind is Kind.REQUEST_ARRIVED:
                self.pool.requests[event.request_id or ""].unsure = True
            return
        sights = {
            name: Sight(moment, claim, binds or name != event.claim_id)
            for name, claim in self.pool.claims.items()
        }
        seen = {name: views(sight) for name, sight in sights.items()}
        self._contradict(moment, sights, seen, line.at)
        for name, case in self.cases.items():
            self._doubt(case, sights[name], seen[name][0], line.at)
        before = {name for name, claim in self.pool.claims.items() if claim.responsible}
        for name, case in self.cases.items():
            moves = self._moves(sights[name], seen[name][0])
            case.take(event.kind, seen[name], belongs_to(sights[name]), line.at, moves=moves)
            if case.claim.responsible and name not in before:
                case.claim.took = self._count
        self.pool = moment.later
        self._come_to(moment, {name: ends[0] for name, ends in seen.items()}, before, line)

    def _tell(self, event: Event, at: int) -> bool:
        """Take what the event states of the claim that it names; whether it means its object.

        Blocks that claims turn out to hold, by what is stated, were theirs before the event.
        """
        if event.claim_id is None:
            return True
        case = self.cases[event.claim_id]
        claim, held = case.claim, self._leads()
        if not claim.met and self._lost >= 0 and event.kind not in _BEGINS:
            case.distrust(at)  # its acceptance may be among the events that are missing
        if self.constants["watched"] and event.kind in _SPEAKS and not claim.introduced:
            case.distrust(at)  # it is spoken of before it is registered
        if event.kind in _INTRODUCES and claim.facts["committed"] and claim.duration is None:
            late = event.duration is not None
            claim.unclear = claim.unclear or ((at, False) if late else None)
        claim.met = claim.met or at
        binds = tell(claim, event)
        for name, now in self._leads().items():
            if now != held[name]:
                self.pool.claims[name].facts["lead"] = now
        return binds

    def _leads(self) -> dict[str, int]:
        return {name: lead(self.pool, claim) for name, claim in self.pool.claims.items()}

    def _contradict(
        self,
        moment: Moment,
        sights: Mapping[str, Sight],
        seen: Mapping[str, Sequence[View]],
        at: int,
    ) -> None:
        """A fact that contradicts those before it shows nothing of the claims that it touches."""
        twice = contradictions.block_twice(moment, self._stale, self._observes)
        for name, case in self.cases.items():
            sight = sights[name]
            if contradictions.of_claim(sight, case.look(seen[name]), self._observes):
                case.distrust(at)
                if moment.kind in _REGISTRY:
                    self._lost = self._count  # who is in the pool, and with what
            if twice and (is_direct(sight) or case.claim in twice):
                case.distrust(at)

    def _doubt(self, case: Case, sight: Sight, seen: View, at: int) -> None:
        """What nobody knows of an event leaves open what rests on it."""
        event, claim = sight.event, sight.claim
        case.doubt(unknown.unknown_of(sight, seen, self._lost), at)
        if claim.alive and unknown.holds_stale(sight, self._stale):
            case.doubt(unknown.BLOCKS, at)
        if seen["mine"] and unknown.says_too_little(sight):
            case.distrust(at)
        if seen["mine"] and event.kind is Kind.CLAIM_EXPIRED and self.constants["lapses"]:
            case.distrust(rights.unclear(self.pool, claim))
        if seen["mine"]:
            case.attribute(event, attributed(self.pool, event), at)

    def _moves(self, sight: Sight, seen: View) -> bool:
        """Whether the event can move an observer of the claim at all.

        It cannot where another mode judges the claim, or where nobody knows whether it was there. A
        look-up that does not say what it found shows nothing; and that others lose blocks matters
        where one of them is ranked.
        """
        event, claim = sight.event, sight.claim
        if not self.is_judged(claim) or (self._lost >= 0 and not claim.met):
            return False
        if event.kind is Kind.PREFIX_LOOKUP and event.held is None:
            return not seen["mine"]
        lost_by_others = event.kind is Kind.BLOCK_EVICTED and not seen["mine"]
        return bool(not lost_by_others or seen["named"] or ranked_losers(sight))

    def is_judged(self, claim: Claim) -> bool:
        """Whether the claim asked for the mode that judges, or for none, or was accepted in it."""
        said = {claim.mode, claim.other_mode} - {None}
        return not said or self.mode in said or claim.mode not in MODES

    # What becomes of it.

    def _come_to(
        self, moment: Moment, seen: Mapping[str, View], before: set[str], line: Line
    ) -> None:
        """What is remembered of an event that was taken in."""
        event, at = moment.event, line.at
        self._stale -= placed(moment.pool, event)
        self._remember(event, seen, before)
        named = self.cases.get(event.claim_id or "")
        for name, case in self.cases.items():
            if seen[name]["mine"] and event.request_id is not None:
                case.touched.add(event.request_id)
            if case.claim.alive and unknown.may_be_gone(Sight(moment, case.claim)):
                case.distrust(at)
        if not (event.claim_id or event.object_id or owners(moment.pool, event.block_ids)):
            for case in self._alive():
                case.leave_open(unknown.open_without(event.kind, frozenset(self.names)), at)
        if named is None:
            return
        claim, view = named.claim, seen[named.claim.claim_id]
        if event.request_id is not None and event.kind in _AT_REQUEST:
            named.touched.add(event.request_id)
        if view["named"] and not view["mine"]:
            named.distrust(at)
            self._lost = self._count  # who is in the pool
        if event.kind in _INTRODUCES:
            self._introduce(named, at)
        if event.kind is Kind.CLAIM_COMMITTED:
            rights.begin(claim, at, line.time_ns)
        claim.elapsed |= event.kind is Kind.DURATION_ELAPSED
        if event.kind is Kind.CLAIM_RETIRED and self.constants["watched"]:
            due = claim.elapsed or event.by == claim.owner is not None
            claim.unwatched |= due and not claim.facts["committed"]

    def _introduce(self, case: Case, at: int) -> None:
        """What a claim has to state by the time that anything is owed to it; and in which mode."""
        claim = case.claim
        entered = claim.accepted or self.constants["watched"]
        if entered and (not _EITHER & set(claim.stated) or claim.predicate is None):
            case.distrust(at)
        if claim.other_mode is not None and self.mode in (claim.mode, claim.other_mode):
            case.distrust(at)

    def _remember(self, event: Event, seen: Mapping[str, View], before: set[str]) -> None:
        """The requests after the event."""
        name, requests = event.request_id, self.pool.requests
        if name is None:
            return
        if event.kind is Kind.REQUEST_ARRIVED:
            unsure = None in (event.needed, event.usable)
            requests[name] = Request(
                event.needed or 0, event.usable or 0, since=self._count, unsure=unsure
            )
        elif event.kind is Kind.REQUEST_FINISHED and name in requests:
            requests[name].in_hand = False
        elif event.kind is Kind.LOAD_FAILED:
            request = requests.setdefault(name, Request(in_hand=False))
            failed = {n for n, view in seen.items() if view["mine"] or view["named"]}
            failed = {n for n in failed if self.pool.claims[n].known}
            request.failed |= failed
            request.lacks |= bool(failed & before)
        if event.kind in (Kind.REQUEST_ARRIVED, Kind.REQUEST_FINISHED):
            for case in self.cases.values():
                case.forget(name)
