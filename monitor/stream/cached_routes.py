"""Takes events of routed requests by cached transitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.evaluate.cached_step import FIRST, code_of
from monitor.evaluate.python_terms import REQUEST_REGISTERS
from monitor.pool.unreported import is_moot
from monitor.requests.routes import follow_routes
from monitor.stream.cached_entries import CachedEntries
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from monitor.evaluate.claim import ClaimRun
    from monitor.input.records import At
    from spec.events.canonical import Event

__all__ = ["CachedRoutes"]

_COST: Final = REQUEST_REGISTERS.index("cost")


class CachedRoutes(CachedEntries):
    """A stream that takes what is done with routed requests by cached transitions."""

    def _cached_route(self, event: Event, at: At) -> bool:
        """A request in hand is routed to a claim, or reuses it, or that is reported."""
        name = event.request_id or ""
        claim, request = self._compact_of(event), self._needing(name)
        if claim is None or request is None or is_moot(claim, event):
            return False
        product, routed = claim.product, event.kind is Kind.REQUEST_ROUTED
        assert product is not None
        view = self._view(event, claim, at)
        view.mine = True
        if routed and not (view.cost or view.worker):
            return False
        follow_routes(claim, view, take=False)
        slot = self._slot_of(claim, name, request)
        numbers = self._numbers_of(claim, slot)
        read = claim.compiled.kinds[event.kind].reads_about(
            view, claim.constants, claim.facts, numbers
        )
        code = code_of(event.kind, slot, read)
        transition = product.after.get(code)
        if transition is None:
            return self._learn(claim, code, event, at, name)
        if not self._open_slot(claim, transition, name, request):
            return False
        follow_routes(claim, view)
        if routed and name in claim.ids and claim.live:
            slot = claim.ids.index(name)
            needs = claim.needs
            number = *needs[slot][:2], view.cost, view.worker
            claim.needs = (*needs[:slot], number, *needs[slot + 1 :])
        self._take_transition(claim, transition, at)
        return True

    @staticmethod
    def _numbers_of(claim: ClaimRun, slot: int) -> tuple[int, int, int, int]:
        """The registers of a request that are numbers, of the one in this slot."""
        product, place = claim.product, slot - FIRST
        if product is None or place < 0:
            return 0, 0, 0, 0
        needed, usable, cost, worker = claim.needs[place]
        if product.requests[place][0][_COST] is not None:
            cost = worker = 0
        return needed, usable, cost, worker
