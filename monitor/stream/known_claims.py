"""Finds the claims of one stream: live ones, retired ones, and those met for the first time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.evaluate.cached_step import measure
from monitor.evaluate.claim import ClaimRun
from monitor.evaluate.claim_record import UNSTATED
from monitor.evaluate.constants import constants_of, fixed_by
from monitor.evaluate.partial_observation import BLOCKS, resting_on_losses
from monitor.evaluate.python_terms import CLAIM_REGISTERS
from monitor.pool.blocks import Blocks
from monitor.pool.contents import Contents
from monitor.pool.objects import Objects
from monitor.pool.ranks import Ranks
from monitor.pool.room import Room
from monitor.pool.stated import Stated
from monitor.requests.ledger import Requests
from monitor.stream.order import Clock
from monitor.stream.retired_claims import RetiredClaims
from monitor.stream.unmet import Unmet
from spec.events.alphabet import BLOCKS_GONE, FACTS

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from monitor.evaluate.compile import Compiled
    from monitor.input.records import At
    from monitor.pool.seen import Seen
    from monitor.requests.observability import ObservabilityLoss
    from monitor.stream.keep import Keep
    from spec.claims.claim import Mode
    from spec.events.canonical import Event

__all__ = ["BEHIND", "KnownClaims"]


_NONE: Final[Sequence[ClaimRun]] = ()
_LEAD: Final = CLAIM_REGISTERS.index("lead")
_TOO_MUCH: Final = "more was stated about its object, or by claims on it, than is kept"
BEHIND: Final = (
    "another claim held blocks of the same content before it was tracked, and they may be there"
)
_KIN: Final = (
    "a later fact concerns blocks of a claim that is no longer tracked and may share blocks with it"
)
_LOST: Final = "a claim of this id may have ended so long ago that only its id is kept"


class KnownClaims:
    """The claims of one stream, and the ledgers that follow them through its pool.

    `responsible` and `owing` are those of which that is so now. Each claim is judged by the
    observers of the mode that it states; where there are those of one mode alone, by them. What
    cannot be judged so needs a stream for each mode, which is then `apart`.

    Args:
        judges: the observers of each mode.
    """

    def __init__(
        self,
        judges: Sequence[Compiled],
        stream: str,
        keep: Keep,
        seen: Seen,
        track: ObservabilityLoss,
    ) -> None:
        self.claims: dict[str, ClaimRun] = {}
        self.responsible: dict[str, ClaimRun] = {}
        self.owing: dict[str, ClaimRun] = {}
        self.moved: list[ClaimRun] | None = None  # by events, where somebody asks for that
        self.room, self.observed = Room(self.claims), FACTS
        self.alone = ""  # why nothing is concluded from the stream by itself
        self.blind = frozenset[str]()  # obligations that rest on facts that are not observed
        self.blocks = Blocks(self.claims, Stated(seen))
        self.objects, self.ranks = Objects(), Ranks()
        self.contents = Contents(self.objects)
        self.requests, self.clock = Requests(track, keep.ended_requests), Clock()
        self.past, self._unmet = RetiredClaims(seen, keep.records), Unmet(seen)
        self.judges, self.apart = {each.mode: each for each in judges}, False
        self._stream, self._keep, self._track = stream, keep, track
        self._undelivered: dict[Hashable, dict[str, ClaimRun]] = {}  # by what they did not get yet
        self._unclear: dict[bool, At] = {}  # where blocks of forgotten claims came (False) or went
        self._again: At | None = None  # where one of them was tracked again
        self.unsettled: dict[str, ClaimRun] = {}  # those that may be over since this event
        self._over: dict[str, ClaimRun] = {}  # those that are, the first ones first
        self._open: dict[str, ClaimRun] = {}  # those that ended, and something of them is open
        self._stay = set() if keep.one is None else {keep.one}  # those that are not forgotten
        self._stayed: dict[Mode, int] = {}  # how many of them are troubled, of each mode

    @property
    def keep(self) -> Keep:
        """What is kept of claims that are over."""
        return self._keep

    def keep_by(self, keep: Keep) -> None:
        """Keep this from now on."""
        self._keep, self.past.most = keep, keep.records

    def beyond(self, event: Event) -> tuple[str, str] | None:
        """The limit for which an event is left out, and why: it is about one more claim or request
        than are followed. None where it is not.
        """
        claim_id, most = event.claim_id, self._keep.live
        if most is not None and claim_id is not None and self.live >= most:
            met = claim_id in self.claims or self.past.has(claim_id)
            if not met:
                return "live", f"claim {claim_id} is one more than the {most} that are followed"
        request_id, most = event.request_id, self._keep.requests
        many = most is not None and len(self.requests) >= most
        if many and request_id is not None and self.requests.is_new(request_id):
            return "requests", f"request {request_id} is one more than the {most} that are followed"
        return None

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
            self.unsettled[claim_id] = claim
            if claim.known:
                self.objects.add(claim)
                self.contents.note(claim)
            if claim.past is not None:
                self.clock.liken(claim, claim.past)
        return claim

    def is_unmet(self, claim_id: str) -> bool:
        """Whether no claim of this id was met, here or elsewhere."""
        if claim_id in self.claims or self._keep.elsewhere is not None:
            return False
        return not (self.past.has(claim_id) or self.past.lost(claim_id))

    def find(self, claim_id: str, at: At, *, new: bool = False) -> ClaimRun | None:
        """The claim of this id, if it may have been met before.

        Args:
            new: the event introduces it. Where ids were forgotten, it is then another claim.
        """
        claim = self.known(claim_id)
        elsewhere = self._keep.elsewhere
        guest = claim is None and elsewhere is not None and elsewhere(claim_id)
        lost = self.past.lost if new else self.past.may_be_lost
        if guest or (claim is None and lost(claim_id)):
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

    def make(self, claim_id: str, mode: str | None = None) -> ClaimRun:
        """A claim that is met for the first time.

        Args:
            mode: the one that it states.
        """
        if (compiled := self.judges.get(mode)) is None:  # type: ignore[call-overload]
            self.apart |= len(self.judges) > 1
            compiled = next(iter(self.judges.values()))
        constants = constants_of(UNSTATED, *fixed_by(compiled.mode))
        claim = ClaimRun(self._stream, claim_id, compiled, constants)
        if self.alone:
            claim.distrust(None, self.alone)
        self._unmet.tell(claim)
        self._take_in(claim)
        return claim

    def note_mode(self, claim: ClaimRun) -> None:
        """A claim is introduced: it may state another mode than it did, or than judges it."""
        if len(self.judges) > 1:
            other = (
                claim.unusual.other_mode is not None or claim.declared_mode != claim.compiled.mode
            )
            self.apart |= other

    def join(
        self,
        claim: ClaimRun,
        *,
        grows: bool = False,
        commits: bool = False,
        keys: tuple[str, ...] = (),
    ) -> Sequence[ClaimRun]:
        """A claim that a registry knows is on its object from now on, with what is held there.

        Args:
            grows: more of the object is its own than was before.
            commits: it is committed to.
            keys: the contents of its positions, if this states them.

        Returns:
            Those of which two contents of one position of an object are stated.
        """
        behind, before = claim.claim_id in self.blocks.ahead.behind, claim.keys
        claim.joined = not behind
        if keys:
            self._tell_contents(claim, keys)
        if not ((comes := self.objects.add(claim)) or grows or commits):
            return _NONE
        on, disputed, others = self.contents.note(claim), _NONE, _NONE
        counts = commits or claim.counts
        if (on is not None or before) and counts:
            disputed = self.contents.disputed(claim, on, before)
            if on is not None and not disputed:
                others = self.contents.adopt(claim, on)
        if not others and self._is_new_there(claim):
            self.room.forget()
            return disputed
        again = commits and claim.committed and not claim.tracked
        brings = counts and not disputed and (comes or again or self.blocks.brings(claim))
        self._take_share(claim, others, brings=brings, commits=commits)
        for each in (claim, *others):
            if each.tracked or (commits and each is claim):
                self.blocks.ahead.look(each)
        if commits:
            self.blocks.ahead.catch_up(claim)
        elif claim.held and not claim.tracked:
            self.blocks.ahead.hold(claim)
        return disputed

    def _take_share(
        self, claim: ClaimRun, others: Sequence[ClaimRun], *, brings: bool, commits: bool
    ) -> None:
        """What is held of a claim's object, or of its contents, is its own; and what it holds is of
        all there.

        Args:
            others: those of which more contents are known by it.
            brings: others on its object may lack what it holds.
        """
        brought = [*claim.held.pairs()] if brings and claim.held else []
        before = claim.held.by_position() if brings else None
        runs = claim.held.runs() if brings else []
        self._place(claim)
        if not claim.unusual.unwatched:
            self._agree(claim, commits=commits, brought=before)
        for each in sorted(others, key=lambda other: not other.tracked):
            self._agree(each, extends=True)
        if others and commits and not claim.unusual.unwatched:  # it is not tracked yet
            self._agree(claim, commits=True, brought=before)
        if (brought or runs) and not claim.unusual.unwatched:
            kin = self.objects.beside(claim)
            self._hold_more(self.blocks.spread(claim, kin, brought, runs))

    def _tell_contents(self, claim: ClaimRun, keys: tuple[str, ...]) -> None:
        """A claim states the contents of its positions; the first statement holds."""
        if self.contents.may_state(claim):
            if claim.keys and claim.keys[: len(keys)] != keys:
                self.blocks.unstate(claim)
            self.contents.state(claim, keys)

    def _agree(
        self,
        claim: ClaimRun,
        *,
        commits: bool = False,
        extends: bool = False,
        brought: Mapping[int, frozenset[int]] | None = None,
    ) -> None:
        """What is held of the contents that are known of a claim is its own, and what it holds is
        of all with these contents.
        """
        if claim.keys:
            more = self.blocks.state(claim, commits=commits, extends=extends, brought=brought)
            self._hold_more(more)
            self.room.put(claim, claim.declared)
            self._doubt_kin(claim)

    def may_join(self, claim: ClaimRun) -> bool:
        """Whether `join` would find a claim where it was, and nothing to give it."""
        return self.objects.is_still_on(claim) and self._is_new_there(claim)

    def _is_new_there(self, claim: ClaimRun) -> bool:
        """Whether `_place` would find nothing: the claim takes no room, holds nothing, and of its
        object no block is held or stated, nor may one be without being known.
        """
        blocks, name = self.blocks, claim.claim_id
        if (
            claim.held
            or claim.declared
            or claim.constants.threshold <= 0
            or claim.unusual.unwatched
        ):
            return False
        if claim.keys or self.contents.are_about(claim) or name in blocks.ahead.followers:
            return False
        if self._unclear or self._track.lost is not None or self.room.has(name):
            return False
        if claim.held.fresh or self.ranks.has(name) or claim.facts[_LEAD]:
            return False
        return blocks.is_untouched(claim)

    def state(self, claim: ClaimRun, keys: tuple[str, ...]) -> None:
        """A commitment states the contents of a claim that holds nothing, alone on its object."""
        self.contents.state(claim, keys)
        self._agree(claim, commits=True)
        self._hold_more([claim], more=False)
        self.blocks.ahead.look(claim)
        self.blocks.ahead.catch_up(claim)

    def late(self, event: Event, claims: Iterable[ClaimRun], at: At) -> None:
        """Blocks of these claims are there, or gone, and the event does not name them. Where one of
        them was forgotten, others may share what it held: those that state contents, or any.
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

    def track_again(self, at: At | None) -> None:
        """A claim that was forgotten is tracked again: all with its content hold what it held."""
        if self._again is None and at is not None:
            self._again = self._unclear[True] = at
            for claim in self.claims.values():
                self._doubt_kin(claim)

    def may_hold_more(self, claim: ClaimRun) -> bool:
        """Whether a claim may hold blocks that were forgotten: its own, or such as it shares."""
        own = claim.past is not None and not claim.constants.watched
        return own or (bool(claim.keys) and False in self._unclear)

    def _doubt_kin(self, claim: ClaimRun) -> None:
        for gone, at in self._unclear.items():
            if gone or claim.keys:
                claim.doubt(BLOCKS, at, _KIN)
        if self._again is not None and claim.alive:
            claim.distrust(self._again, _KIN, resting_on_losses(claim.compiled))

    def _place(self, claim: ClaimRun) -> None:
        """What the claim holds was held before it came; if it is not watched any more, nothing."""
        self.room.put(claim, claim.declared)
        if claim.unusual.unwatched:
            return
        before = claim.held.total
        self.blocks.come(claim)
        if not self.blocks.join(claim):
            claim.doubt(BLOCKS, None, _TOO_MUCH)
        self._doubt_kin(claim)
        self._hold_more([claim], more=claim.held.total > before)

    def _hold_more(self, claims: Iterable[ClaimRun], *, more: bool = True) -> None:
        """These claims turn out to hold `more` than was known, or need less, and did before."""
        lost = self._track.lost
        for claim in claims:
            if lost is not None and self.blocks.is_stale(claim):
                claim.doubt(BLOCKS, lost[0], f"{lost[1]}, so blocks on its object may be lost")
            claim.held.take_fresh()
            whole = claim.lead >= claim.constants.threshold
            there = bool(claim.fact("there")) or whole
            measure(claim, claim.lead, there=there, more=more)
            self.ranks.note(claim)
            self.room.forget()

    def _take_in(self, claim: ClaimRun) -> None:
        self.claims[claim.claim_id] = claim
        if self.observed is not FACTS:
            claim.observed = self.observed
        for undelivered in self._undelivered.values():
            undelivered[claim.claim_id] = claim

    def meant(self, event: Event) -> list[ClaimRun]:
        """The claims on the object of an event, with the last one that was forgotten."""
        if event.object_id is not None and (last := self.past.last_on(event.object_id)):
            self.known(last)
        return self.objects.meant(event)

    def unwatch(self, claim: ClaimRun) -> None:
        """Nothing more is owed of a claim that was watched. It may be compact; no cached transition
        moves it any more.
        """
        self.blocks.wipe(claim)
        self.ranks.forget(claim)
        claim.priority, claim.unwatched = None, True
        self.unsettled[claim.claim_id] = claim
        if self.moved is not None:
            self.moved.append(claim)

    def _tell(self, what: Hashable) -> list[ClaimRun]:
        """The live claims that this was not delivered to yet; for the others it is nothing new."""
        undelivered, self._undelivered[what] = self._undelivered.get(what, self.claims), {}
        return list(undelivered.values())
