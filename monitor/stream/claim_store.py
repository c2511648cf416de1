"""Stores the claims of one stream: live claims, and retired ones in summary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from monitor.evaluate.claim import ClaimRun
from monitor.evaluate.claim_record import UNSTATED
from monitor.evaluate.event_view import Constants, EventView
from monitor.evaluate.partial_observation import BLOCKS
from monitor.pool.blocks import Blocks
from monitor.pool.objects import Objects
from monitor.pool.ranks import Ranks
from monitor.pool.room import Room
from monitor.pool.stated import Stated
from monitor.requests.ledger import Requests
from monitor.stream.order import Clock, Order
from monitor.stream.retired_claims import REMEMBERED, RetiredClaims
from monitor.stream.unmet import Unmet
from spec.contract.modes import MODES
from spec.events.alphabet import BLOCKS_GONE, FACTS, REPORTS, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from monitor.evaluate.compile import Compiled
    from monitor.input.records import At, Doubt
    from monitor.pool.bloom_filter import BloomFilter
    from monitor.requests.observability import ObservabilityLoss
    from spec.events.canonical import Event

__all__ = ["TOO_LATE", "ClaimStore", "Keep"]

TROUBLED: Final = 1_000
"""Claims that stay in hand because they were violated or could not be judged."""

OPEN: Final = 1_000
"""Claims that ended and stay in hand because something of them is owed or not over yet."""

TOO_LATE: Final = "ended too long ago to be tracked"

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
_BLOCKS: Final = (
    "the claim had ended and is no longer tracked, so it is unknown which blocks it holds"
)
_TOO_MUCH: Final = "more was stated about its object, or by claims on it, than is kept"
_BLIND: Final = "the hooks of this stream do not observe all facts that it rests on"
_OPEN: Final = "it ended so long ago that its open reports and requests are no longer tracked"
_KIN: Final = (
    "a later fact concerns blocks of a claim that is no longer tracked and may share blocks with it"
)
_LOST: Final = "a claim of this id may have ended so long ago that only its id is kept"


@dataclass(frozen=True, slots=True)
class Keep:
    """What is kept of claims that are over.

    Args:
        ended: how many stay in hand; those that were over before are forgotten. None for all.
        records: of how many of those something is remembered.
        one: a claim id that stays in hand.
        elsewhere: whether another mode judges the claim of an id. Where that is given, claims that
            asked for another mode are guests: they are followed for the sake of the pool alone.
        told: called with each claim that is retired.
        seen: knows those of which nothing else is known; one for each stream, by default.
        order: of the lines; one for each stream, by default.
    """

    ended: int | None = None
    records: int = REMEMBERED
    one: str | None = None
    elsewhere: Callable[[str], bool] | None = None
    told: Callable[[ClaimRun], None] | None = None
    seen: BloomFilter | None = None
    order: Order | None = None


class ClaimStore:
    """The claims of one stream, and the ledgers that follow them through its pool.

    `responsible` and `owing` are those of which that is so now.
    """

    def __init__(
        self,
        compiled: Compiled,
        stream: str,
        keep: Keep,
        seen: BloomFilter,
        track: ObservabilityLoss,
    ) -> None:
        self.claims: dict[str, ClaimRun] = {}
        self.responsible: dict[str, ClaimRun] = {}
        self.owing: dict[str, ClaimRun] = {}
        self.room, self.observed = Room(), FACTS
        self._blind = frozenset[str]()  # obligations that rest on facts that are not observed
        self.blocks = Blocks(self.claims, Stated(seen))
        self.objects, self.ranks = Objects(), Ranks()
        self.requests, self.clock = Requests(track), Clock()
        self.past, self._unmet = RetiredClaims(seen, keep.records), Unmet(seen)
        self._compiled, self._stream, self._keep, self._track = compiled, stream, keep, track
        self._constants = MODES[compiled.mode].constants
        self._untold: dict[Hashable, dict[str, ClaimRun]] = {}  # by what they were not told of
        self._unclear: dict[bool, At] = {}  # where blocks of forgotten claims came (False) or went
        self._changed: dict[str, ClaimRun] = {}  # those that may be over since this event
        self._over: dict[str, ClaimRun] = {}  # those that are, the first ones first
        self._open: dict[str, ClaimRun] = {}  # those that ended, and something of them is open
        self._stay = set() if keep.one is None else {keep.one}  # those that are not forgotten

    @property
    def live(self) -> int:
        """How many claims in hand have not ended, or are not known to have."""
        return len(self.claims) - len(self._over) - len(self._open) - len(self._stay)

    # Finding claims.

    def known(self, claim_id: str) -> ClaimRun | None:
        """The claim of this id, as far as it was met before and there is a record of it."""
        claim = self.claims.get(claim_id)
        if claim is None and (claim := self.past.recall(claim_id)) is not None:
            self._take_in(claim)
            self._changed[claim_id] = claim
            if claim.known:
                self.objects.add(claim)
            if claim.past is not None:
                self.clock.liken(claim, claim.past)
        return claim

    def find(self, claim_id: str, at: At) -> ClaimRun | None:
        """The claim of this id, if it may have been met before."""
        claim = self.known(claim_id)
        elsewhere = self._keep.elsewhere
        guest = claim is None and elsewhere is not None and elsewhere(claim_id)
        if guest or (claim is None and self.past.lost(claim_id)):
            claim = self.make(claim_id)
            claim.lost = True
            if guest:
                self.invite(claim, at)
            claim.distrust(at, _LOST)
        return claim

    def invite(self, claim: ClaimRun, at: At) -> None:
        """Make a claim a guest, where there are any."""
        if self._keep.elsewhere is not None:
            claim.guest = True
            claim.distrust(at, "another mode judges it")

    def make(self, claim_id: str) -> ClaimRun:
        """A claim that is met for the first time."""
        constants = Constants(threshold=UNSTATED, **self._constants)
        claim = ClaimRun(self._stream, claim_id, self._compiled, constants)
        if self._blind:
            claim.distrust(None, _BLIND, self._blind)
        self._unmet.tell(claim)
        self._take_in(claim)
        return claim

    def join(self, claim: ClaimRun, *, grows: bool = False) -> None:
        """A claim that a registry knows is on its object from now on, with what is held there.

        Args:
            grows: more of the object is its own than was before, or it is committed to.
        """
        if self.objects.add(claim) or grows:
            self._place(claim)

    def state(self, claim: ClaimRun, keys: tuple[str, ...]) -> None:
        """A commitment states the contents of the claim's positions."""
        self.blocks.state(claim, keys)
        self._place(claim)

    def late(self, event: Event, claims: Iterable[ClaimRun], at: At) -> None:
        """Blocks of these claims are there, or gone, and it is not said which. Where one of them
        was forgotten, others may share what it held: those that state contents, or any.
        """
        late = (event.claim_id is None and self.past.others_on(event.object_id)) or any(
            (claim.past is not None or claim.lost) and not (claim.keys or claim.unwatched)
            for claim in claims
        )
        gone = event.kind in BLOCKS_GONE
        if late and (gone or self.past.keyed) and gone not in self._unclear:
            self._unclear[gone] = at
            for claim in self.claims.values():
                self._doubt_kin(claim)

    def may_hold_more(self, claim: ClaimRun) -> bool:
        """Whether a claim may hold blocks that were forgotten: its own, or such as it shares."""
        own = claim.past is not None and not claim.constants.watched
        return own or (bool(claim.keys) and False in self._unclear)

    def distrust_hidden(self, at: At, why: str) -> None:
        """A block is gone that any claim may have held since a line that is missing."""
        for claim in self._tell("hidden"):
            if claim.alive:
                claim.distrust(at, why)

    def _doubt_kin(self, claim: ClaimRun) -> None:
        for gone, at in self._unclear.items():
            if gone or claim.keys:
                claim.doubt(BLOCKS, at, _KIN)

    def _place(self, claim: ClaimRun) -> None:
        """What the claim holds was held before it came; if it is not watched any more, nothing."""
        self.room.put(claim, claim.declared)
        if claim.unwatched:
            return
        if not self.blocks.join(claim):
            claim.doubt(BLOCKS, None, _TOO_MUCH)
        self._doubt_kin(claim)
        lost = self._track.lost
        if lost is not None and self.blocks.is_stale(claim):
            claim.doubt(BLOCKS, lost[0], f"{lost[1]}, so blocks on its object may be lost")
        claim.held.take_fresh()  # it was there before
        whole = claim.lead >= claim.constants.threshold
        claim.measure(claim.lead, there=bool(claim.fact("there")) or whole)
        self.ranks.note(claim)

    def _take_in(self, claim: ClaimRun) -> None:
        self.claims[claim.claim_id], claim.observed = claim, self.observed
        for untold in self._untold.values():
            untold[claim.claim_id] = claim

    def meant(self, event: Event) -> list[ClaimRun]:
        """The claims on the object of an event, with the last one that was forgotten."""
        if event.object_id is not None and (last := self.past.last_on(event.object_id)):
            self.known(last)
        return self.objects.meant(event)

    def unwatch(self, claim: ClaimRun) -> None:
        """Nothing more is owed of a claim that was watched."""
        self.blocks.wipe(claim)
        self.ranks.forget(claim)
        claim.priority, claim.unwatched = None, True
        self._changed[claim.claim_id] = claim

    # Moving claims.

    def copies(self, event: Event) -> dict[str, ClaimRun] | None:
        """Of the claims that are meant by news of a copy those of which it may change anything.

        None where all are to be asked.
        """
        if event.kind not in _OF_COPIES or event.object_id is None or event.request_id is not None:
            return None
        if self.past.last_on(event.object_id):  # it is recalled
            return None
        return self.objects.restless(event)

    def step(
        self,
        claim: ClaimRun,
        view: EventView,
        number: int,
        among: dict[str, ClaimRun] | None = None,
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

    def _step(self, claim: ClaimRun, view: EventView, number: int) -> None:
        name, declared, responsible = claim.claim_id, claim.declared, claim.responsible
        known = claim.past is None or claim.constants.watched
        if not known and view.kind in _REST_ON_BLOCKS:
            claim.doubt(BLOCKS, view.at, _BLOCKS)
        claim.step(view)
        if claim.responsible and not responsible:
            claim.took, self.responsible[name] = number, claim
            for untold in self._untold.values():
                untold[name] = claim
        elif responsible and not claim.responsible:
            claim.left = number
            del self.responsible[name]
            self.clock.leave(claim)
        if claim.declared != declared:
            self.room.put(claim, claim.declared)
        if claim.owes:
            self.owing[name] = claim
        else:
            self.owing.pop(name, None)
        if not (claim.responsible and responsible):
            self._changed[name] = claim

    # Doubting them.

    def disorder(self, at: At, why: str, number: int) -> None:
        """The stream ran backwards, which breaks the order of every claim."""
        for claim in self._tell("disorder"):
            if claim.taint is None:
                self.step(claim, EventView(Kind.STREAM_DISORDER, at), number)
                claim.distrust(at, why)

        def break_order(run: ClaimRun) -> bool:
            trusted = run.taint is None
            if trusted:
                run.step(EventView(Kind.STREAM_DISORDER, at))
                run.distrust(at, why)
            return trusted

        self.past.change(break_order)

    def doubt(self, doubt: Doubt, at: At | None) -> None:
        """Less can be concluded of the claims that a doubt concerns."""
        if doubt.claim_id is not None:
            claim = self.known(doubt.claim_id) if at is None else self.find(doubt.claim_id, at)
            if claim is None:
                self._unmet.add(doubt.claim_id, doubt, at)
            else:
                claim.distrust(at, doubt.why, doubt.only)
            return

        def distrust(run: ClaimRun) -> bool:
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
                self._changed[claim.claim_id] = claim
        self.past.change(distrust)

    def narrow(self, observed: frozenset[Kind], blind: frozenset[str], at: At) -> None:
        """No more is observed than this from now on: of claims that are not over, and of those to
        come, nothing is concluded that rests on more.

        Args:
            blind: the obligations that do.
        """
        self.observed, self._blind = observed, self._blind | blind

        def distrust(run: ClaimRun) -> bool:
            before = len(run.doubts)
            if run.settled:
                run.missed |= bool(blind)
            elif blind:
                run.distrust(at, _BLIND, blind)
            return len(run.doubts) > before

        self.past.misses += bool(blind)
        for claim in self.claims.values():
            claim.observed = observed
            if distrust(claim):
                self._changed[claim.claim_id] = claim
        self.past.change(distrust)

    def _tell(self, what: Hashable) -> list[ClaimRun]:
        """The live claims that this was not delivered to yet; for the others it is nothing new."""
        untold, self._untold[what] = self._untold.get(what, self.claims), {}
        return list(untold.values())

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

        What is said of it may rest on what is no longer kept, unless it names a claim that has
        ended; and so may what is owed for a route or a reuse. What else is done with it changes
        nothing.
        """
        if claim.past is None or claim.responsible or event.request_id is None:
            return False
        request = self.requests.get(event.request_id)
        if claim.claim_id not in request.forgotten:
            return False
        named = claim.claim_id in event.accused
        if event.kind in _REST_ON_REQUEST:
            scoped = frozenset(o.name for o in self._compiled.observers if o.per_request)
            only = scoped - {"blocking_claim_ids"} if named else scoped
            claim.distrust(request.at, f"request {event.request_id} {TOO_LATE}", only)
            request.forgotten.discard(claim.claim_id)
        return not named

    # Forgetting them.

    def settle(self) -> None:
        """An event is taken in: forget those that were over first, beyond what is kept."""
        if not self._changed:
            return
        most, changed, self._changed = self._keep.ended, self._changed, {}
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
        if alike.troubled and len(self._stay) < TROUBLED:
            self._stay.add(claim.claim_id)
            return
        self.past.add(claim, alike)
        self.clock.liken(alike.run, claim)
        if self._keep.told is not None and claim.past is not alike.run:
            self._keep.told(claim)
        self._drop(claim)

    def _drop(self, claim: ClaimRun) -> None:
        """Nothing in hand is about the claim any more."""
        for known in (self.claims, *self._untold.values()):
            known.pop(claim.claim_id, None)
        self.blocks.forget(claim)
        self.ranks.forget(claim)
        self.objects.remove(claim)
        self.clock.forget(claim)
