"""Follows the requests of one claim, from the event that opens one until it is out of hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.evaluate.claim_findings import ClaimFindings
from monitor.evaluate.compile import CLAIM_REGISTERS, REQUEST_REGISTERS
from monitor.evaluate.in_hand import InHand
from monitor.evaluate.nothing import NOTHING
from monitor.evaluate.observer_state import ObserverState
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from monitor.evaluate.event_view import EventView
    from monitor.evaluate.observer_state import Registers

__all__ = ["ENDED_KEPT", "ClaimRequests"]

ENDED_KEPT = 16  # requests that ended, to which a late report may still belong
_LEAD: Final = CLAIM_REGISTERS.index("lead")
_RESPONSIBLE: Final = CLAIM_REGISTERS.index("responsible")
assert REQUEST_REGISTERS[:6] == ("seen", "arrived", "held", "needed", "usable", "away")
_NOT_KEPT = (Verdict.PENDING, Verdict.UNEXERCISED)


class ClaimRequests(ClaimFindings):
    """The requests that one claim has in hand."""

    __slots__ = ()

    def open_request(self, request_id: str, facts: Registers | None = None) -> bool:
        """Follow a request; False if it was in hand already. It starts where the claim stands.

        Args:
            facts: the registers of the request, if anything is known of it.
        """
        if request_id in self.requests:
            return False
        self.stir()
        watches = [self.base[index] for index in self.compiled.scoped]
        request = InHand(self.compiled.request_initial if facts is None else facts, watches)
        opened = self.opened
        opened.requests, opened.loose = opened.requests or {}, opened.loose or {}
        opened.requests[request_id] = opened.loose[request_id] = request
        return True

    def unopened(
        self, seen: bool, arrived: bool, needed: int, usable: int, since: int
    ) -> Registers:
        """The registers of a request that is not tracked (`spec.stream.scopes.DELIVERY`):
        what the pool knows of it, and what follows from the claim's own ledger.

        Args:
            since: the number of the event by which it arrived.
        """
        facts = self.facts
        away = seen and facts[_LEAD] < self.constants.threshold
        held = bool(facts[_RESPONSIBLE]) and seen and self.took <= since
        return (seen, arrived, held, needed, usable, away, *self.compiled.request_initial[6:])

    def opens(self, view: EventView, facts: Registers) -> bool:
        """Whether an event opens a request of these registers, which the claim does not follow."""
        view.here = True
        was, compiled = self.facts, self.compiled
        req = compiled.request(view, self.constants, was, was, facts)
        return bool(compiled.delivers["opens"](view, self.constants, was, was, facts, req, None))

    def touch(self, request_id: str) -> None:
        """The request has had to do with this claim itself, not only with its pool."""
        self.requests[request_id].touched = True

    def close_request(self, request_id: str) -> list[str]:
        """The request ended; the ids of those that are out of hand now.

        If it touched the claim it is kept a while: reports may come late.
        """
        request = self.requests[request_id]
        if request.ended:
            return []
        request.ended = True
        self.waiting -= {request_id}
        if self.owed:
            self.owed.pop(request_id, None)
        if not request.touched:
            return [self._forget(request_id)]
        opened = self.opened
        opened.ended = (*opened.ended, request_id)
        if len(opened.ended) <= ENDED_KEPT:
            return []
        oldest, *rest = opened.ended
        opened.ended = tuple(rest)
        return [self._forget(oldest)]

    def leave(self, request_id: str) -> None:
        """The request, which ended, is out of hand."""
        self.opened.ended = tuple(name for name in self.opened.ended if name != request_id)
        self._forget(request_id)

    def drop_requests(self) -> list[str]:
        """All requests are out of hand; their ids."""
        names = list(self.requests)
        self.opened.ended = ()
        return [self._forget(request_id) for request_id in names]

    def _forget(self, request_id: str) -> str:
        opened = self.opened
        request = opened.requests.pop(request_id)
        self._loosen(request_id, request)
        del opened.loose[request_id]
        opened.requests, opened.loose = opened.requests or NOTHING, opened.loose or NOTHING
        self._retire(request.watches)
        return request_id

    def _retire(self, watches: list[ObserverState]) -> None:
        """No event belongs to a request any more. What moves it all the same reads none of its
        registers (`proofs check frame`, "retired requests"), so what stands alike moves alike.
        """
        base, alike = self.base, True
        for index, watch in zip(self.compiled.scoped, watches, strict=True):
            own = base[index]
            alike = alike and watch.state == own.state and watch.own == own.own
        retired = InHand(self.compiled.request_initial, watches)
        if not alike and (stands := retired.stands) not in self.retired:
            self.retired = self.retired or {}
            self.retired[stands] = retired
            return
        for index, watch in zip(self.compiled.scoped, watches, strict=True):
            verdict = self.compiled.observers[index].states[watch.state].verdict
            if verdict in _NOT_KEPT:  # what is owed goes on where it stands alike
                continue
            kept = self.kept.get(index)
            if verdict is Verdict.VIOLATED or kept is None or kept.verdict is not verdict:
                self._keep(index, self._finding(index, watch))
