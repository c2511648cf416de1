"""Takes the events whose effect on a claim is cached from another one.

Most events of a stream move a claim as the same event moved another before. Each function here
finds the claim and the code of the event, and takes the cached transition.
What an event does besides, to blocks, to requests and to what is owed, the function does as the
shortcut of the kind would; or it changes nothing and leaves the event to that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.evaluate.cached_step import NUMBERS, SLOT
from monitor.stream.cached_routes import CachedRoutes
from monitor.stream.shortcuts import SHORTCUTS
from spec.events.alphabet import ENDS, Kind
from spec.events.fields import ROUTE_REPORTS

if TYPE_CHECKING:
    from monitor.evaluate.claim import ClaimRun
    from monitor.input.records import At
    from monitor.stream.shortcuts import Way
    from spec.events.canonical import Event

__all__ = ["WAYS", "CachedEvents"]

# What of an event the observers of a claim read, besides its kind and its request.
_HOLDS: Final = 1
_COVERS: Final = 2
_FROM_TIER: Final = 4
_FOUND: Final = 8

_LOOKUP: Final = Kind.PREFIX_LOOKUP
_REUSED: Final = Kind.PREFIX_REUSED
_RESTORED: Final = Kind.CLAIM_RESTORED
_CACHED: Final = Kind.BLOCK_CACHED


class CachedEvents(CachedRoutes):
    """A stream that takes most events by cached transitions."""

    # Each kind of event.

    def _cached_report(self, event: Event, at: At) -> bool:
        """A report about a claim, or a fact about its copies."""
        claim = self._compact_of(event)
        if claim is None or event.request_id is not None:
            return self._shortcut(event, at)
        code = NUMBERS[event.kind]
        transition = self._cached(claim, code)
        if transition is None:
            return self._learn(claim, code, event, at)
        self._take_transition(claim, transition, at)
        return True

    def _cached_use(self, event: Event, at: At) -> bool:
        """A look-up, a reuse or a restore, of a claim by a request in hand."""
        kind, name = event.kind, event.request_id or ""
        claim, request = self._compact_of(event), self._needing(name)
        if claim is None or request is None:
            return self._shortcut(event, at)
        code = NUMBERS[kind] | self._slot_of(claim, name, request) << SLOT
        if kind is _LOOKUP:
            held, asked, predicate = event.held, event.asked, claim.predicate
            if held is None or predicate is None or held < claim.lead:
                return self._shortcut(event, at)
            if claim.keys and self._store.may_hold_more(claim):
                return self._shortcut(event, at)
            if asked is not None and asked >= predicate.end:
                code |= _COVERS
        elif kind is _RESTORED:
            if event.from_tier and claim.restored:
                code |= _FROM_TIER
        elif kind is _REUSED and len(request.claims) > (name in claim.ids):
            return self._shortcut(event, at)  # other claims are concerned, too
        transition = self._cached(claim, code)
        if transition is None:
            return self._learn(claim, code, event, at, name)
        if not self._open_slot(claim, transition, name, request):
            return self._shortcut(event, at)
        self._take_transition(claim, transition, at)
        return True

    def _cached_end(self, event: Event, at: At) -> bool:
        """A request ends that fits beside all claims; one claim has it in hand, or none."""
        name, store = event.request_id or "", self._store
        request, owing = self._needing(name), store.owing
        if request is None or len(request.claims) > 1 or event.claim_id is not None:
            return self._shortcut(event, at)
        fits = store.room.bound + request.needed <= request.usable
        if not fits or event.accused:
            return self._shortcut(event, at)
        for claim_id in owing:
            if claim_id not in request.claims:
                return self._shortcut(event, at)
        if not request.claims:
            self._begin()
            self.requests.end(name)
            return True
        (claim,) = request.claims.values()
        if not self._try_compact(claim):
            return self._shortcut(event, at)
        code = NUMBERS[event.kind] | self._slot_of(claim, name, request) << SLOT
        transition = self._cached(claim, code)
        if transition is None:
            return self._learn(claim, code, event, at, name)
        if claim.owed:
            self._settle_routes(claim, name)
        if (pick := transition.ids) is not None:
            self.requests.let_go(claim, [claim.ids[slot] for slot in transition.gone], name)
            claim.ids, claim.needs = pick((*claim.ids, "")), pick((*claim.needs, None))
        self._take_transition(claim, transition, at)
        self.requests.end(name)
        return True

    def _cached_blocks(self, event: Event, at: At) -> bool:
        """Blocks of a claim are there that had no owner, and follow those that it holds."""
        claim, kind, name = self._compact_of(event), event.kind, event.request_id
        end = None if claim is None else self._end_before(event, claim)
        if claim is None or end is None:
            shared = claim is not None and self._cached_shared(event, claim, at)
            return shared or self._shortcut(event, at)
        code, tiered = NUMBERS[kind], claim.compiled.tiered
        product, request = claim.product, None
        assert product is not None
        if event.found:
            code |= _FOUND
        elif kind is _CACHED:
            in_hand = self.requests.in_hand
            unclear = product.waiting or (name is None and len(in_hand) > 1)
            if tiered and product.away and unclear:
                return self._shortcut(event, at)
            if name is None and len(in_hand) == 1:  # no line says which request computed it
                (name,) = in_hand
        if name is not None:
            if (request := self._needing(name)) is None:
                return self._shortcut(event, at)
            code |= self._slot_of(claim, name, request) << SLOT
        blocks = event.block_ids
        lead = end - claim.held.start + len(blocks)
        if lead >= claim.constants.threshold:
            code |= _HOLDS
        transition = self._cached(claim, code)
        if transition is None:
            return self._learn(claim, code, event, at, name)
        if request is not None and not self._open_slot(claim, transition, name or "", request):
            return self._shortcut(event, at)
        store = self._store
        store.blocks.now = self._count + 1
        store.blocks.extend(blocks, event.positions, claim, end, fresh=not tiered)
        if self._ranked:
            store.ranks.note(claim)
        store.room.forget()
        self._take_transition(claim, transition, at, lead)
        return True

    def _cached_loss(self, event: Event, at: At) -> bool:
        """All blocks that one claim holds are gone."""
        blocks, ids = self._store.blocks, event.block_ids
        named = event.claim_id is not None or event.object_id is not None
        if named or not ids or event.request_id is not None or blocks.ahead.behind:
            return self._shortcut(event, at)
        run = blocks.sole_run(ids)
        if run is None or not self._try_compact(run[0]):
            return self._shortcut(event, at)
        claim, first = run
        if self._reads_losses(claim) or claim.unusual.computed or not claim.owns(first):
            return self._shortcut(event, at)
        code = NUMBERS[event.kind] | (_HOLDS if claim.constants.threshold <= 0 else 0)
        transition = self._cached(claim, code)
        if transition is None:
            return self._learn(claim, code, event, at)
        blocks.take_run(ids, claim, first)
        if claim.compiled.tiered:
            claim.held.take_fresh()
        self._store.room.forget()
        self._take_transition(claim, transition, at, 0)
        return True

    def _end_before(self, event: Event, claim: ClaimRun) -> int | None:
        """Where what a compact claim holds ends, if the blocks of an event have no owner and follow
        there, and no other claim has a part in them; else None.
        """
        blocks, positions, product = event.block_ids, event.positions, claim.product
        assert product is not None
        if not product.tracked or claim.unusual.computed:
            return None
        end = at = claim.held.end
        if end is None or at is None or len(blocks) != len(positions) or not blocks:
            return None
        for position in positions:
            if position != at:
                return None
            at += 1
        store = self._store
        if claim.keys and not store.blocks.has_alone(claim, positions):
            return None
        alone = store.objects.is_alone(claim) and store.blocks.are_unowned(blocks)
        return end if alone else None


_ROUTE: Final = CachedEvents._cached_route

WAYS: Final[dict[Kind, Way]] = {
    **SHORTCUTS,
    Kind.CLAIM_COMMITTED: CachedEvents._cached_commitment,
    Kind.CLAIM_ACCEPTED: CachedEvents._cached_acceptance,
    Kind.CLAIM_RETIRED: CachedEvents._cached_retirement,
    **dict.fromkeys(ENDS, CachedEvents._cached_ending),
    Kind.CLAIM_MATERIALIZED: CachedEvents._cached_report,
    Kind.CLAIM_UNMATERIALIZED: CachedEvents._cached_report,
    Kind.CLAIM_OFFLOADED: CachedEvents._cached_report,
    Kind.STORE_FINISHED: CachedEvents._cached_report,
    Kind.HOST_COPY_FOUND: CachedEvents._cached_report,
    Kind.HOST_COPY_LOST: CachedEvents._cached_report,
    Kind.PREFIX_LOOKUP: CachedEvents._cached_use,
    Kind.PREFIX_REUSED: CachedEvents._cached_use,
    Kind.CLAIM_RESTORE_REQUIRED: CachedEvents._cached_use,
    Kind.CLAIM_RESTORED: CachedEvents._cached_use,
    Kind.REQUEST_FINISHED: CachedEvents._cached_end,
    Kind.BLOCK_CACHED: CachedEvents._cached_blocks,
    Kind.LOAD_FINISHED: CachedEvents._cached_blocks,
    **dict.fromkeys((*ROUTE_REPORTS, *(fact for fact, _ in ROUTE_REPORTS.values())), _ROUTE),
    Kind.BLOCK_EVICTED: CachedEvents._cached_loss,
    Kind.BLOCK_LOST: CachedEvents._cached_loss,
}
"""The short way of each kind that has one; by cached transitions where it can."""
