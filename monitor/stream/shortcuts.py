"""Takes the events that most streams consist of by the shortest way.

Nothing is missing from the stream, the claim is known and nothing of it is in doubt, no other claim
is on its object, the request is in hand and fits: then most of what `Stream.take` asks has one
answer. Each function here checks that this is so, and does what `Stream.take` would come to; or it
changes nothing and leaves the event to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from monitor.evaluate.event_view import EventView
from monitor.stream.entries import Entries
from spec.events.alphabet import ENDS, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from monitor.evaluate.claim import ClaimRun
    from monitor.input.records import At
    from monitor.requests.request import Request
    from spec.events.canonical import Event

__all__ = ["SHORTCUTS", "Shortcuts", "Way"]

Way: TypeAlias = "Callable[[Any, Event, At], bool]"
"""Takes an event in if it can, and says whether it did."""


class Shortcuts(Entries):
    """A stream that takes usual events by the shortest way."""

    # Claims.

    def _take_report(self, event: Event, at: At) -> bool:
        """A report about a claim, or a fact about its copies."""
        claim = self._known(event)
        if claim is None or event.request_id is not None:
            return False
        if event.kind is Kind.CLAIM_UNMATERIALIZED and claim.constants.ranked:
            return False
        self._begin()
        self._move_on(claim, EventView(event.kind, at, None, True, True))
        self._store.settle()
        return True

    def _take_use(self, event: Event, at: At) -> bool:
        """A look-up, a reuse or a restore, of a claim by a request in hand."""
        claim, request = self._known(event), self._in_hand(event)
        if claim is None or request is None:
            return False
        kind, request_id = event.kind, event.request_id or ""
        if kind is Kind.PREFIX_LOOKUP and (event.held is None or claim.predicate is None):
            return False
        self._begin()
        view = EventView(kind, at, request_id, True, True)
        if request_id in claim.requests or self._open_standing(claim, request, request_id, at):
            claim.requests[request_id].touched = True
            if kind is Kind.CLAIM_RESTORE_REQUIRED:
                claim.waiting |= {request_id}
        if kind is Kind.PREFIX_LOOKUP:
            assert claim.predicate is not None
            assert event.held is not None
            view.covers = event.asked is not None and event.asked >= claim.predicate.end
            if not claim.ended and (event.held < claim.lead or claim.keys):
                self._look_up(event, claim, at)
        elif kind is Kind.CLAIM_RESTORED:
            view.from_tier = event.from_tier and claim.restored
            claim.waiting -= claim.waiting
        self._move_on(claim, view)
        if kind is Kind.PREFIX_REUSED and len(request.claims) > 1:
            self._tell_others(event, request_id, at)
        self._store.settle()
        return True

    # Requests.

    def _open_standing(self, claim: ClaimRun, request: Request, request_id: str, at: At) -> bool:
        """Follow a request that is `_in_hand` for a claim of which nothing is in doubt."""
        facts = claim.unopened(True, True, request.needed, request.usable, request.since)
        return self.requests.follow(claim, request_id, at, facts)

    def _in_hand(self, event: Event) -> Request | None:
        """The request of an event, if it is in hand and nothing of it is forgotten or unknown."""
        return self._standing(event.request_id or "")

    def _standing(self, name: str) -> Request | None:
        """The request of this id, if it is in hand and nothing of it is forgotten or unknown."""
        request = self.requests.standing(name)
        if request is None or not request.arrived or request.unsure:
            return None
        return None if request.former or request.forgotten else request

    def _take_arrival(self, event: Event, at: At) -> bool:
        """A request arrives that fits beside all claims."""
        needed, usable = event.needed, event.usable
        if needed is None or usable is None or event.claim_id is not None:
            return False
        fits = self._store.room.bound + needed <= usable
        if not fits or event.accused or not self.requests.is_new(event.request_id or ""):
            return False
        self._begin()
        self.requests.arrive(event, at, self._count)
        self._store.settle()
        return True

    def _take_end(self, event: Event, at: At) -> bool:
        """A request ends that fits beside all claims."""
        request, request_id = self._in_hand(event), event.request_id or ""
        if request is None or event.claim_id is not None or event.accused:
            return False
        if self._store.room.bound + request.needed > request.usable:
            return False
        claims = request.claims
        if not claims.keys() >= self._store.owing.keys():
            return False
        if not all(claim.is_plain for claim in claims.values()):
            return False
        self._begin()
        if claims:
            others, _ = self.requests.others(request_id)
            for claim in list(claims.values()):
                view = EventView(event.kind, at, request_id)
                view.others = others
                self._crowd(view, claim, self._store.room)
                self._move_on(claim, view)
                self.requests.close(claim, request_id)
        self.requests.end(request_id)
        self._store.settle()
        return True

    # Blocks.

    def _take_blocks(self, event: Event, at: At) -> bool:
        """Blocks of a claim are there that are nobody's."""
        claim = self._known(event)
        if claim is None or self._may_rank(claim):
            return False
        if event.request_id is not None and self._in_hand(event) is None:
            return False
        store = self._store
        alone = claim.tracked and not claim.keys and store.objects.is_alone(claim)
        if not (alone and store.blocks.are_free(event.block_ids, event.positions, claim)):
            return False
        self._begin()
        store.blocks.place(event.block_ids, event.positions, claim)
        store.room.forget()
        self._there(event, claim, at, direct=True)
        store.settle()
        return True

    def _take_loss(self, event: Event, at: At) -> bool:
        """Blocks are gone, each of one claim or of none."""
        named = event.claim_id is not None or event.object_id is not None
        if named or not event.block_ids or self._store.blocks.ahead.behind:
            return False
        if event.request_id is not None and self._in_hand(event) is None:
            return False
        blocks = self._store.blocks
        if (run := blocks.sole_run(event.block_ids)) is not None:
            claim, first = run
            if not self._is_loser(claim):
                return False
            self._begin()
            losers = [claim] if blocks.take_run(event.block_ids, claim, first) else []
        else:
            owners = blocks.sole_owners(event.block_ids)
            if owners is None or not all(self._is_loser(claim) for claim, _ in owners if claim):
                return False
            self._begin()
            losers = blocks.take_from(event.block_ids, owners)
        self._store.room.forget()
        for claim in losers:
            if claim.compiled.tiered:
                claim.note_computed(computed=False)
        views = [
            EventView(event.kind, at, event.request_id, True, True, lead=claim.lead)
            for claim in losers
        ]
        for claim, view in zip(losers, views, strict=True):
            self._move_on(claim, view)
        self._store.settle()
        return True

    def _is_loser(self, claim: ClaimRun) -> bool:
        """Whether a loss of a block is to the claim what it is to most: nothing of the claim is in
        doubt, none of its obligations reads which losses were reported, and it has no rank.
        """
        return claim.is_plain and not self._reads_losses(claim)

    def _reads_losses(self, claim: ClaimRun) -> bool:
        """Whether an obligation of the claim reads which losses were reported, or it may rank."""
        return bool(claim.compiled.of_losses) or self._may_rank(claim)


SHORTCUTS: Final[Mapping[Kind, Way]] = {
    Kind.CLAIM_MATERIALIZED: Shortcuts._take_report,
    Kind.CLAIM_UNMATERIALIZED: Shortcuts._take_report,
    Kind.CLAIM_OFFLOADED: Shortcuts._take_report,
    Kind.CLAIM_HARMED: Shortcuts._take_report,
    **dict.fromkeys({*ENDS, Kind.CLAIM_RETIRED}, Shortcuts._take_step),
    Kind.CLAIM_REGISTERED: Shortcuts._take_entry,
    **dict.fromkeys((Kind.CLAIM_COMMITTED, Kind.CLAIM_ACCEPTED), Shortcuts._take_step),
    Kind.STORE_FINISHED: Shortcuts._take_report,
    Kind.HOST_COPY_FOUND: Shortcuts._take_report,
    Kind.HOST_COPY_LOST: Shortcuts._take_report,
    Kind.PREFIX_LOOKUP: Shortcuts._take_use,
    Kind.PREFIX_REUSED: Shortcuts._take_use,
    Kind.CLAIM_RESTORE_REQUIRED: Shortcuts._take_use,
    Kind.CLAIM_RESTORED: Shortcuts._take_use,
    Kind.REQUEST_ARRIVED: Shortcuts._take_arrival,
    Kind.REQUEST_FINISHED: Shortcuts._take_end,
    Kind.BLOCK_CACHED: Shortcuts._take_blocks,
    Kind.LOAD_FINISHED: Shortcuts._take_blocks,
    Kind.BLOCK_EVICTED: Shortcuts._take_loss,
    Kind.BLOCK_LOST: Shortcuts._take_loss,
}
"""The short way of each kind that has one."""
