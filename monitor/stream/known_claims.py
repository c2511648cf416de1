"""Finds the claims of one stream: live ones, retired ones, and those met for the first time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.evaluate.claim import ClaimRun
from monitor.evaluate.claim_record import UNSTATED
from monitor.evaluate.constants import constants_of, fixed_by
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
from spec.events.alphabet import FACTS

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from monitor.evaluate.compile import Compiled
    from monitor.input.records import At
    from monitor.pool.seen import Seen
    from monitor.requests.observability import ObservabilityLoss
    from monitor.stream.keep import Keep
    from spec.claims.claim import Mode
    from spec.events.canonical import Event

__all__ = ["KnownClaims"]


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
