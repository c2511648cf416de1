"""Judges a stream by delivering every event to every claim, in every scope, by definition.

It follows the ledgers by their terms, computes each field by its definition, and moves observers as
`transitions` machines. It is slow, keeps the whole stream, and is what the monitor is compared
with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from spec.claims.claim import Mode
from spec.contract.modes import MODES, Bundle
from spec.events.alphabet import BLOCKS_GONE, FACTS, REPORTS, Kind
from spec.events.canonical import Event
from spec.events.fields import ABOUT_BLOCKS, RENEWS
from spec.projection import contents, contradictions, losses, rights, routes, unknown
from spec.projection.blocks import PLACES, after, computed, shared
from spec.projection.case import Case, View
from spec.projection.concerns import belongs_to, is_direct, is_mine, strays
from spec.projection.fields import views
from spec.projection.lines import Line, Order
from spec.projection.pool import (
    Claim,
    Object,
    Pool,
    Request,
    attributed,
    held_by,
    is_to_watch,
    is_tracked,
    lead,
    object_of,
    owners,
    tell,
)
from spec.projection.ranks import ranked_losers
from spec.projection.sight import Moment, Sight

__all__ = ["Naive"]

_REGISTRY: Final = frozenset({Kind.CLAIM_COMMITTED, Kind.CLAIM_RETIRED})
_BEGINS: Final = frozenset({Kind.CLAIM_REGISTERED, Kind.CLAIM_COMMITTED})
_INTRODUCES: Final = _BEGINS | {Kind.CLAIM_ACCEPTED}
_ABOUT_CLAIMS: Final = REPORTS | _REGISTRY | _BEGINS
_NAMES_CLAIM: Final = REPORTS - {Kind.CLAIM_REJECTED, Kind.CLAIM_ACCEPTED}
_EITHER: Final = frozenset({"cache_identity", "object_id"})


class Naive:
    """One stream, judged by one bundle of one mode. Iterating takes in its lines, one by one.

    `left` is the first line, if any, that leaves what is assumed of a stream, with the reason.

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
        self.requests = tuple(dict.fromkeys(e.request_id for e in events if e.request_id))
        known = {name: Claim(name) for name in claims if name is not None}
        self._bundle = frozenset(self.names)
        self.pool = Pool(known, watched=self.constants["watched"])
        self.cases = {
            name: Case(claim, self.names, self.mode, self.requests)
            for name, claim in self.pool.claims.items()
        }
        self.order = Order(first)
        self._count = 0  # of events
        self._lost = -1  # the last event before track was lost
        self._missing = -1  # the last event before lines may be missing
        self._stated: dict[int | None, int] = {}  # by block, the last event that placed it
        self._placed: set[int] = set()  # blocks that were placed since lines may be missing
        self._observes = FACTS
        self.left: tuple[int, str] | None = None

    def __iter__(self) -> Iterator[Line]:
        for line in self.lines:
            self._take(line)
            yield line

    def finish(self) -> None:
        """The stream is over: an end that was promised, and what durations came to, are known."""
        if self.order.cut is not None:
            self._leave(self.order.cut, self.order.why)
            self._lose(self.order.cut)
        for case in self.cases.values():
            if rights.lapses(case.claim, self.mode):
                case.distrust(rights.unclear(self.pool, case.claim))

    # Lines.

    def _take(self, line: Line) -> None:
        back, missing = self.order.take(line)
        self._narrow(line)
        if missing:
            self._leave(line.at, "lines are missing before this one")
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
            if name is None and not only:
                self._miss(line.at)
            for case in self._alive() if name is None else [self.cases[name]]:
                case.leave_open(only, line.at) if only else case.distrust(line.at)

    def _narrow(self, line: Line) -> None:
        """From here on no more is observed than this line says: of claims that are not over, and of
        those to come, nothing is concluded that rests on more.

        A recorded form is taken on trust where it observes nothing.
        """
        if line.observes is None or self._observes <= line.observes:
            return
        self._observes &= line.observes
        blind = [name for name in self.names if unknown.unobserved(name, self._observes)]
        for case in self.cases.values() if blind and line.mark is not None else ():
            if case.claim.met and case.settled:
                case.claim.missed = True
            else:
                case.leave_open(blind, line.at)

    def _leave(self, at: int, why: str) -> None:
        self.left = self.left or (at, why)

    def _alive(self) -> list[Case]:
        return [case for case in self.cases.values() if case.claim.alive]

    def _lose_track(self) -> None:
        """From here on the requests in the pool are unknown, and blocks that were held may be
        lost.
        """
        self._lost = self._count

    def _lose(self, at: int) -> None:
        """Events are missing here: of the claims alive nothing more is concluded."""
        self._lose_track()
        self._missing = self._count
        self._placed.clear()
        self._miss(at)

    def _miss(self, at: int) -> None:
        """Anything may have happened here that was not observed: of a claim that is not over
        nothing more is concluded.
        """
        for case in self.cases.values():
            if case.claim.met and case.settled:
                case.claim.missed = True
            elif case.claim.met:
                case.distrust(at)

    def _disorder(self, at: int) -> None:
        """The stream steps back, which breaks the order of every claim that was met."""
        self._leave(at, "the stream is out of order")
        for case in self.cases.values():
            if case.claim.met:
                case.distrust(at)
        self._lose_track()
        self._missing = self._count
        self._placed.clear()

    # Events.

    def _views(self, sight: Sight) -> Sequence[View]:
        """An event as one claim sees it."""
        return views(sight)

    def _event(self, event: Event, line: Line) -> None:
        """What an event states, contradicts, is to each claim, and comes to."""
        self._count += 1
        self._renew(event)
        if contradictions.out_of_hand(self.pool, event):
            self._leave(line.at, "an event names a request that has not arrived or has ended")
        binds = self._tell(event, line.at)
        later = after(self.pool, event) if binds or event.kind in BLOCKS_GONE else self.pool
        moment = Moment(self.pool, later, event, self.mode, line.time_ns, binds)
        if why := contradictions.of_request(moment, self._missing, self._observes):
            self._leave(line.at, why)
            self._miss(line.at)
            if event.kind is Kind.REQUEST_ARRIVED:
                self.pool.requests[event.request_id or ""].unsure = True
            return
        sights = {
            name: Sight(moment, claim, binds or name != event.claim_id)
            for name, claim in self.pool.claims.items()
        }
        seen = {name: self._views(sight) for name, sight in sights.items()}
        self._contradict(moment, sights, seen, line.at)
        for name, case in self.cases.items():
            self._doubt(case, sights[name], seen[name][0], line.at)
        before = {name for name, claim in self.pool.claims.items() if claim.responsible}
        for name, case in self.cases.items():
            self._follow(sights[name])
            moves = self._moves(sights[name], seen[name][0])
            case.take(event.kind, seen[name], belongs_to(sights[name]), line.at, moves=moves)
            if case.claim.responsible and name not in before:
                case.claim.took = self._count
        self.pool = moment.later
        first = {name: ends[0] for name, ends in seen.items()}
        self._come_to(moment, first, line)

    def _renew(self, event: Event) -> None:
        """Of a request that has ended nothing is left where another of its id begins."""
        name, request = event.request_id, self.pool.request_of(event)
        if event.kind in RENEWS and name is not None and request is not None and request.ended:
            del self.pool.requests[name]
            for case in self.cases.values():
                case.renew(name)

    def _tell(self, event: Event, at: int) -> bool:
        """Take what the event states of the claim that it names; whether it means its object.

        Blocks that the claim turns out to hold, by what is stated, were its own before the event.
        """
        if event.claim_id is None:
            return True
        case = self.cases[event.claim_id]
        claim = case.claim
        if claim.missed and event.kind in _ABOUT_CLAIMS:
            case.distrust(at)  # it ended, and events about it may be missing
        if event.kind is Kind.CLAIM_ACCEPTED and self._missing >= 0 and self._enters_unseen(claim):
            case.distrust(at)  # its commitment may be among the events that are missing
        if claim.unwatched and event.kind in _BEGINS:
            case.distrust(at)  # its blocks are not followed any more
        if not claim.met and self._lost >= 0 and event.kind not in _BEGINS:
            case.distrust(at)  # its acceptance may be among the events that are missing
        if is_to_watch(self.pool, claim) and event.kind in _NAMES_CLAIM and not claim.introduced:
            case.distrust(at)  # it is named before it is registered
        late = claim.facts["committed"] and claim.duration is None and event.duration is not None
        if event.kind in _INTRODUCES and late:
            claim.unclear = at, False
        if event.kind in _INTRODUCES and rights.differs(claim, event):
            claim.unclear = claim.unclear or (at, False)
        if event.kind in _BEGINS and len({claim.owner, event.owner_scope} - {None}) > 1:
            case.distrust(at)  # two owners of it are stated
        claim.met = claim.met or at
        on, extent, keys = self._object_of(claim), claim.extent, claim.keys
        known = claim.predicate, claim.facts["lead"]
        binds = tell(claim, event)
        commits = binds and event.kind is Kind.CLAIM_COMMITTED
        if commits or on != self._object_of(claim) or (claim.known and extent < claim.extent):
            self._come(case, keys, at, commits=commits)
        if not claim.unwatched:
            claim.facts["lead"] = lead(self.pool, claim)
        if known != (claim.predicate, claim.facts["lead"]):
            case.measure()
        return binds

    def _enters_unseen(self, claim: Claim) -> bool:
        """Whether a claim that is registered is accepted without a commitment."""
        entered = claim.facts["committed"] or claim.accepted or is_to_watch(self.pool, claim)
        return claim.introduced and not entered

    def _object_of(self, claim: Claim) -> Object | None:
        """The object that a claim is on, its cache, and the map of its positions, once it is known
        to a registry.
        """
        if not claim.known or "object_id" not in claim.stated:
            return None
        return object_of(claim)

    def _come(self, case: Case, keys: tuple[str, ...], at: int, *, commits: bool) -> None:
        """A claim comes to some content, with those on its object that have it by what it states.
        What is held of that is theirs from now on, and what they hold is of all on that content.

        Args:
            keys: the contents that it had before.
        """
        claim, before = case.claim, self.pool.placed
        counts = commits or contents.counts(self.pool, claim)
        disputed = contents.disputed(self.pool, claim, keys) if counts else []
        more = contents.adopt(self.pool, claim) if counts and not disputed else []
        self.pool = shared(self.pool, claim, more, gives=counts)
        self._weigh(case, at)
        for name in {each.owner for each in self.pool.placed - before}:
            other = self.cases[str(name)]
            self._weigh(other, at)
            other.claim.facts["lead"] = lead(self.pool, other.claim)
            other.measure()
        for each in (claim, *more):
            if is_tracked(self.pool, each) or (each is claim and commits):
                each.behind |= contents.hidden(self.pool, each)
        for each in self.pool.claims.values() if commits else ():
            each.behind -= {claim.claim_id}  # from now on it holds what this one does
        if disputed:
            self._leave(
                at, "facts contradict: two contents of one position of an object are stated"
            )
            self._lose_track()
        for each in disputed:
            self.cases[each.claim_id].distrust(at)

    def _weigh(self, case: Case, at: int) -> None:
        """A claim turns out to hold more than was known, and did so before."""
        claim = case.claim
        if self._lost >= 0 and any(
            b in self._stale(self._lost) for _, b in held_by(self.pool, claim)
        ):
            case.doubt(unknown.BLOCKS, at)
        claim.facts["there"] |= claim.threshold <= lead(self.pool, claim)

    def _stale(self, lost: int) -> set[int | None]:
        """The blocks that may be gone: they were placed before this event, or have no known ids."""
        return {None, *(block for block, at in self._stated.items() if at <= lost)}

    def _contradict(
        self,
        moment: Moment,
        sights: Mapping[str, Sight],
        seen: Mapping[str, Sequence[View]],
        at: int,
    ) -> None:
        """A fact that contradicts those before it shows nothing of the claims that it touches."""
        gone = self._stale(self._missing)
        twice = contradictions.block_twice(moment, gone, self._observes) if moment.binds else []
        if twice:
            self._leave(at, "facts contradict: a block is at two positions, or holds two contents")
            self._lose_track()
        for name, case in self.cases.items():
            sight = sights[name]
            look, derived = case.look(seen[name]), self.lines[0].derived
            if why := contradictions.of_claim(sight, look, self._observes, derived):
                self._leave(at, why)
                case.distrust(at)
                if moment.kind in _REGISTRY:
                    self._lose_track()
            if twice and (is_direct(sight) or case.claim in twice):
                case.distrust(at)

    def _doubt(self, case: Case, sight: Sight, seen: View, at: int) -> None:
        """What is unknown of an event leaves open what depends on it."""
        event, claim = sight.event, sight.claim
        if claim.met or self._lost < 0:
            case.doubt(unknown.unknown_of(sight, seen, self._lost), at)
        unseen = self._missing >= 0 or claim.behind
        if (unseen and self._is_hidden(sight, seen)) or unknown.may_lose(sight):
            case.doubt(unknown.BLOCKS, at)
        if self._missing >= 0 and claim.alive and not claim.unwatched and self._is_nobodys(sight):
            case.distrust(at)
        if unknown.says_too_little(sight):
            case.distrust(at)
        if seen["mine"]:
            case.leave_open(unknown.may_mean_another(sight), at)
        expires = event.kind is Kind.CLAIM_EXPIRED and rights.lapses(claim, self.mode)
        if seen["mine"] and expires:
            case.distrust(rights.unclear(self.pool, claim))
        if seen["mine"]:
            case.attribute(event, attributed(self.pool, event), at)

    @staticmethod
    def _is_hidden(sight: Sight, seen: View) -> bool:
        """Whether an event is about a prefix that may be there unseen."""
        claim = sight.claim
        names_claim = seen["mine"] and sight.event.kind in ABOUT_BLOCKS
        return bool(names_claim) and claim.facts["lead"] < claim.threshold

    def _is_nobodys(self, sight: Sight) -> bool:
        """Whether a block is gone that any claim may hold since a missing line."""
        event = sight.event
        gone = event.block_ids if event.kind in BLOCKS_GONE else ()
        return any(b not in self._placed and not owners(sight.pool, [b]) for b in gone)

    def _moves(self, sight: Sight, seen: View) -> bool:
        """Whether the event can move an observer of the claim at all.

        It cannot where another mode judges the claim, or where it is unknown whether it was there.
        A look-up that does not say what it found shows nothing; and that others lose blocks matters
        where one of them is ranked.
        """
        event, claim = sight.event, sight.claim
        if not self.is_judged(claim) or (self._lost >= 0 and not claim.met):
            return False
        if event.kind is Kind.PREFIX_LOOKUP and event.held is None:
            return not seen["mine"]
        lost_by_others = event.kind is Kind.BLOCK_EVICTED and not seen["named"]
        return not lost_by_others or bool(ranked_losers(sight))

    def is_judged(self, claim: Claim) -> bool:
        """Whether the claim may go by the mode that judges."""
        return claim.may_go_by(self.mode)

    # What becomes of it.

    def _come_to(self, moment: Moment, seen: Mapping[str, View], line: Line) -> None:
        """What is remembered of an event that was taken in."""
        event, at = moment.event, line.at
        if moment.binds and event.kind in PLACES:
            self._stated |= dict.fromkeys(event.block_ids, self._count)
            self._placed |= set(event.block_ids)
        if event.kind in BLOCKS_GONE:
            self._placed -= set(event.block_ids)
        self._remember(event, seen)
        named = self.cases.get(event.claim_id or "")
        for case in self.cases.values() if event.kind in BLOCKS_GONE else ():
            sight = Sight(moment, case.claim)
            case.claim.strayed |= strays(sight)
            if case.claim.alive and unknown.may_be_gone(sight):
                case.distrust(at)
        if not (event.claim_id or event.object_id or owners(moment.pool, event.block_ids)):
            for case in self._alive():
                case.leave_open(unknown.open_without(event.kind, self._bundle), at)
        if named is None:
            return
        claim = named.claim
        if not moment.binds:
            if event.kind in FACTS:
                self._leave(at, "a fact names a claim with another object or cache than its own")
            named.distrust(at)
            self._lose_track()
        if event.kind in _INTRODUCES:
            self._introduce(named, at)
        commits = event.kind is Kind.CLAIM_COMMITTED
        if commits or (event.kind is Kind.CLAIM_REGISTERED and not claim.facts["committed"]):
            rights.enter(claim, self.order.time_ns)
        if commits:
            rights.begin(claim, at, line.time_ns)
        if event.kind is Kind.DURATION_ELAPSED:
            claim.elapsed = claim.told = True
        if event.kind is Kind.CLAIM_RETIRED and is_to_watch(self.pool, claim):
            due = claim.elapsed or event.by == claim.owner is not None
            claim.unwatched |= due and not claim.facts["committed"]

    @staticmethod
    def _follow(sight: Sight) -> None:
        """What was computed since the claim was away, who waits for it, and what is still to be
        with its unreported routes and losses.
        """
        event, claim = sight.event, sight.claim
        routes.follow(sight)
        losses.follow(sight)
        if event.kind in PLACES | BLOCKS_GONE:
            claim.computed = computed(sight)
        failed = event.kind is Kind.LOAD_FAILED and is_mine(sight)
        if failed or event.kind in (Kind.REQUEST_FINISHED, Kind.REQUEST_REFUSED):
            claim.waiting = claim.waiting.difference([event.request_id])
        if event.claim_id != claim.claim_id or not sight.binds:
            return
        claim.early |= rights.ends_early(sight)
        if event.kind is Kind.CLAIM_RESTORED:
            claim.waiting = frozenset()
        if event.kind is Kind.CLAIM_RESTORE_REQUIRED and event.request_id is not None:
            claim.waiting |= {event.request_id}

    def _introduce(self, case: Case, at: int) -> None:
        """What a claim has to state by the time that anything is owed to it."""
        claim = case.claim
        entered = claim.accepted or is_to_watch(self.pool, claim)
        if entered and (not _EITHER & set(claim.stated) or claim.predicate is None):
            case.distrust(at)

    def _remember(self, event: Event, seen: Mapping[str, View]) -> None:
        """The requests after the event."""
        name, requests = event.request_id, self.pool.requests
        if name is None:
            return
        if event.kind is Kind.REQUEST_ARRIVED:
            arrived = Request(event.needed or 0, event.usable or 0, since=self._count)
            arrived.unsure = None in (event.needed, event.usable)
            arrived.failed = requests.get(name, arrived).failed
            requests[name] = arrived
        elif event.kind is Kind.REQUEST_FINISHED:
            ended = requests.setdefault(name, Request())
            ended.in_hand, ended.ended = False, True
        elif event.kind is Kind.LOAD_FAILED:
            request = requests.setdefault(name, Request(in_hand=False))
            failed = {n for n, view in seen.items() if view["named"]}
            failed = {n for n in failed if self.pool.claims[n].known}
            request.failed |= failed
