"""Stores the claims of one stream: live claims, and retired ones in summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.evaluate.cached_step import step
from monitor.evaluate.claim import ClaimRun
from monitor.evaluate.compile import CLAIM_REGISTERS
from monitor.evaluate.event_view import EventView
from monitor.evaluate.partial_observation import BLOCKS, resting_on_losses
from monitor.requests.blame import BLIND
from monitor.stream.joined_claims import BEHIND, JoinedClaims
from spec.events.alphabet import REPORTS, Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from monitor.evaluate.restless import Restless
    from monitor.input.records import At, Doubt
    from spec.events.canonical import Event

__all__ = ["TOO_LATE", "ClaimStore"]

TROUBLED: Final = 1_000
"""Claims of one mode that stay in hand because they were violated or could not be judged."""

OPEN: Final = 1_000
"""Claims that ended and stay in hand because something of them is owed or not over yet."""

TOO_LATE: Final = "ended too long ago to be tracked"

_RESPONSIBLE: Final = CLAIM_REGISTERS.index("responsible")
_DECLARED: Final = CLAIM_REGISTERS.index("declared")
_REST_ON_BLOCKS: Final = frozenset(
    {
        Kind.CLAIM_COMMITTED,
        Kind.CLAIM_MATERIALIZED,
        Kind.CLAIM_UNMATERIALIZED,
        Kind.CLAIM_RESTORED,
        Kind.CLAIM_HARMED,
    }
)
_REST_ON_REQUEST: Final = REPORTS | {Kind.REQUEST_ROUTED, Kind.REUSE_SERVED}
_OF_COPIES: Final = frozenset({Kind.STORE_FINISHED, Kind.HOST_COPY_FOUND, Kind.HOST_COPY_LOST})
_USES: Final = frozenset({Kind.PREFIX_LOOKUP, Kind.PREFIX_REUSED})
_BLOCKS: Final = (
    "the claim had ended and is no longer tracked, so it is unknown which blocks it holds"
)
_OPEN: Final = "it ended so long ago that its open reports and requests are no longer tracked"


class ClaimStore(JoinedClaims):
    """The claims of one stream as events move them, cast doubt on them and end them."""

    # Moving claims.

    def copies(self, event: Event) -> Restless[ClaimRun] | None:
        """Of the claims that are meant by news of a copy those of which it may change anything.

        None where all are to be asked.
        """
        if event.kind not in _OF_COPIES or event.object_id is None or event.request_id is not None:
            return None
        if self.past.last_on(event.object_id) or self.blocks.ahead.behind:  # it is recalled
            return None
        return self.objects.restless(event)

    def users(self, event: Event, *, settled: bool) -> Restless[ClaimRun] | None:
        """Of the claims that are meant by a look-up or a reuse of an object those of which it may
        change anything: not those of which nothing is concluded any more, which have no request in
        hand. Where no request is stated, and nothing is missing, not those either that the last one
        left as they were.

        None where all are to be asked.

        Args:
            settled: the stream is known to contradict itself; another contradiction adds nothing.
        """
        if event.kind not in _USES or event.object_id is None:
            return None
        if self.past.last_on(event.object_id):  # it is recalled
            return None
        quiet = event.request_id is None and self._track.lost is None and not self._unclear
        among = self.objects.restless(event, quiet, event.held is None)
        if among is None or settled or event.kind is not Kind.PREFIX_LOOKUP or event.held is None:
            return among
        enough = event.held >= among.lead or (event.asked is not None and event.held >= event.asked)
        return among if enough else None

    def use(
        self,
        claim: ClaimRun,
        event: Event,
        at: At,
        among: Restless[ClaimRun],
        take: Callable[[], None],
    ) -> None:
        """A claim takes in a look-up or a reuse; it leaves these if another would change no more
        than the place at which something was last satisfied.

        Args:
            take: takes it in.
        """
        quiet = event.request_id is None and self._track.lost is None and not self._unclear
        before = claim.standing_but_places if quiet else None
        take()
        if claim.past is not None or claim.gone:
            return
        empty = event.kind is Kind.PREFIX_LOOKUP and event.held is None
        if (claim.taint is not None or (quiet and empty)) and not claim.requests:
            claim.rest(among)  # no observer was asked
        elif quiet and not empty and claim.standing_but_places == before:
            claim.rest_but_places(among, at)

    def step(
        self,
        claim: ClaimRun,
        view: EventView,
        number: int,
        among: Restless[ClaimRun] | None = None,
    ) -> None:
        """A claim takes in an event, of this number in the stream.

        Args:
            among: the claims that leave these where the event changes nothing of them.
        """
        if among is not None:
            before = claim.standing
            self._step(claim, view, number)
            if claim.standing == before:
                claim.rest(among)
                return
        else:
            self._step(claim, view, number)
        claim.stir()

    def step_request(self, claim: ClaimRun, request_id: str, view: EventView) -> None:
        """One request of a claim alone takes in an event."""
        claim.step_request(request_id, view)
        if self.moved is not None:
            self.moved.append(claim)

    def step_plain(self, claim: ClaimRun, view: EventView) -> None:
        """A claim of which nothing is in doubt takes in an event that changes neither who is
        responsible for it nor what was declared of it.
        """
        claim.step(view)
        if self.moved is not None:
            self.moved.append(claim)
        self.note_owing(claim)
        if not claim.responsible:
            self.unsettled[claim.claim_id] = claim
        claim.stir()

    def note_owing(self, claim: ClaimRun) -> None:
        """A claim moved: it may owe something now, or nothing any more."""
        if claim.owes:
            if (name := claim.claim_id) not in self.owing:  # it is settled no more
                for undelivered in self._undelivered.values():
                    undelivered[name] = claim
            self.owing[name] = claim
        else:
            self.owing.pop(claim.claim_id, None)

    def note_untracked(self, claim: ClaimRun) -> None:
        """A claim moved for which no runtime is responsible: it may be over."""
        if self.moved is not None:
            self.moved.append(claim)
        self.unsettled[claim.claim_id] = claim

    def take_over(self, claim: ClaimRun, number: int) -> None:
        """The runtime is responsible for a claim since the event of this number."""
        claim.took, self.responsible[claim.claim_id] = number, claim
        for undelivered in self._undelivered.values():
            undelivered[claim.claim_id] = claim

    def give_up(self, claim: ClaimRun) -> None:
        """The runtime is responsible for a claim no more."""
        del self.responsible[claim.claim_id]
        self.clock.leave(claim)

    def _step(self, claim: ClaimRun, view: EventView, number: int) -> None:
        name, before = claim.claim_id, claim.facts
        responsible = bool(before[_RESPONSIBLE])
        known = claim.unusual.past is None or claim.constants.watched
        if not known and view.kind in _REST_ON_BLOCKS:
            claim.doubt(BLOCKS, view.at, _BLOCKS)
        step(claim, view)
        if self.moved is not None:
            self.moved.append(claim)
        after = claim.facts
        responds = bool(after[_RESPONSIBLE])
        if responds and not responsible:
            if not known:
                claim.distrust(view.at, _BLOCKS, resting_on_losses(claim.compiled))
                self.track_again(view.at)
            self.take_over(claim, number)
        elif responsible and not responds:
            self.give_up(claim)
        if responds is not responsible or before[_DECLARED] != after[_DECLARED]:
            declared = claim.declared
            if declared != (before[_DECLARED] if responsible else 0):
                self.room.put(claim, declared)
        self.note_owing(claim)
        if not (responds and responsible):
            self.unsettled[name] = claim

    # Doubting them.

    def disorder(self, at: At, why: str, number: int) -> None:
        """The stream ran backwards, which breaks the order of every claim."""
        for claim in self._tell("disorder"):
            if claim.taint is None:
                claim.distrust(at, why)

        def break_order(run: ClaimRun) -> bool:
            trusted = run.taint is None
            if trusted:
                run.distrust(at, why)
            return trusted

        self.past.change(break_order)

    def doubt(self, doubt: Doubt, at: At | None) -> None:
        """Less can be concluded of the claims that a doubt concerns."""
        if doubt.claim_id is not None:
            claim = (
                self.known(doubt.claim_id)
                if at is None
                else self.find(doubt.claim_id, at, new=True)
            )
            if claim is None:
                self._unmet.add(doubt.claim_id, doubt, at)
            else:
                claim.distrust(at, doubt.why, doubt.only)
            return

        def distrust(run: ClaimRun) -> bool:
            run.expanded()
            before = len(run.doubts)
            settled = run.settled if not doubt.only else not run.alive
            run.missed |= settled and not doubt.only
            live = not settled and run.taint is None
            if live:
                run.distrust(at, doubt.why, doubt.only)
            return live and (run.taint is not None or len(run.doubts) > before)

        self.past.misses += not doubt.only
        for claim in self._tell(doubt.only):
            if distrust(claim):
                self.unsettled[claim.claim_id] = claim
        self.past.change(distrust)

    def doubt_pool(self) -> None:
        """A request came to a pool of which track was lost, or ended there."""
        for claim in self._tell("pool"):
            if claim.responsible and claim.taint is None:
                self._track.doubt_pool(claim)

    def distrust_hidden(self, at: At, why: str) -> None:
        """A block is gone that any claim may have held since a line that is missing."""
        for claim in self._tell("hidden"):
            if claim.alive and not claim.unwatched:
                claim.distrust(at, why)

    def narrow(self, observed: frozenset[Kind], blind: frozenset[str], at: At) -> None:
        """No more is observed than this from now on: of claims that are not over, and of those to
        come, nothing is concluded that rests on more.

        Args:
            blind: the obligations that do.
        """
        self.observed, self.blind = observed, self.blind | blind
        self.requests.arrivals = Kind.REQUEST_ARRIVED in observed

        def distrust(run: ClaimRun) -> bool:
            run.expanded()
            before = len(run.doubts)
            if run.settled:
                run.missed |= bool(blind)
            elif blind:
                run.distrust(at, BLIND, blind)
            return len(run.doubts) > before

        self.past.misses += bool(blind)
        for claim in self.claims.values():
            claim.observed = observed
            if distrust(claim):
                self.unsettled[claim.claim_id] = claim
        self.past.change(distrust)

    def finish(self) -> None:
        """The stream is over: what came of durations that end claims must be known by now."""

        def distrust(run: ClaimRun) -> bool:
            unknown = self.clock.unknown(run) if run.constants.lapses else None
            if unknown is not None:
                run.distrust(*unknown)
            return unknown is not None

        for claim in self.claims.values():
            distrust(claim)
        self.past.change(distrust)

    def too_late(self, claim: ClaimRun, event: Event) -> bool:
        """Whether it is about a request that a claim had in hand when it was forgotten.

        A report about it may rest on what is no longer kept, unless it names a claim that has
        ended; and so may what is owed for a route or a reuse. What else is done with it changes
        nothing.
        """
        if claim.past is None or claim.responsible or event.request_id is None:
            return False
        request = self.requests.get(event.request_id)
        if claim.claim_id not in request.forgotten and not request.gone:
            return False
        named = claim.claim_id in event.accused
        if event.kind in _REST_ON_REQUEST:
            scoped = frozenset(o.name for o in claim.compiled.observers if o.per_request)
            only = scoped - {"blocking_claim_ids"} if named else scoped
            claim.distrust(request.at, f"request {event.request_id} {TOO_LATE}", only)
            request.forgotten -= {claim.claim_id}
        return not named

    def doubt_forgotten(self, why: str) -> None:
        """Any of the forgotten claims may have had a request in hand that is acted on."""

        def distrust(run: ClaimRun) -> bool:
            before = len(run.doubts)
            run.distrust(
                None, why, frozenset(o.name for o in run.compiled.observers if o.per_request)
            )
            return len(run.doubts) > before

        self.past.change(distrust)

    # Forgetting them.

    def settle(self) -> None:
        """An event is taken in: forget those that were over first, beyond what is kept."""
        if not self.unsettled:
            return
        most, changed, self.unsettled = self._keep.ended, self.unsettled, {}
        for name, claim in changed.items():
            over = claim.over
            if over:
                self.clock.over(claim)
            if most is None or name in self._stay:
                continue
            self._over.pop(name, None)
            self._open.pop(name, None)
            if claim.gone:
                (self._over if over else self._open)[name] = claim
        while len(self._open) > OPEN:
            name = next(iter(self._open))
            claim = self._over[name] = self._open.pop(name)
            claim.distrust(None, _OPEN)
        while most is not None and len(self._over) > most:
            self._forget(self._over.pop(next(iter(self._over))))

    def _forget(self, claim: ClaimRun) -> None:
        self.requests.forget(claim)
        self.past.keyed = self.past.keyed or bool(claim.keys)
        if claim.guest:
            self.past.leave(claim)
            self._drop(claim)
            return
        alike = self.past.way(claim, self.clock.reason(claim))
        mode, stayed, most = claim.compiled.mode, self._stayed, self._keep.troubled
        most = TROUBLED if most is None else most
        if alike.troubled and claim.may_be_judged and stayed.get(mode, 0) < most:
            self._stay.add(claim.claim_id)
            stayed[mode] = stayed.get(mode, 0) + 1
            return
        self.past.add(claim, alike)
        self.clock.liken(alike.run, claim)
        if self._keep.on_retired is not None and claim.past is not alike.run:
            self._keep.on_retired(claim)
        self._drop(claim)

    def _drop(self, claim: ClaimRun) -> None:
        """Nothing in hand is about the claim any more."""
        self.claims.pop(claim.claim_id, None)
        for undelivered in self._undelivered.values():
            undelivered.pop(claim.claim_id, None)
        self.blocks.forget(claim)
        for other in self.blocks.ahead.forget(claim):
            other.doubt(BLOCKS, None, BEHIND)
        self.ranks.forget(claim)
        self.contents.forget(claim, last=self.objects.remove(claim))
        self.clock.forget(claim)
