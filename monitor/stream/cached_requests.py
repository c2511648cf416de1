"""Delivers events of requests that meet a conflict to claims by cached transitions.

Such an event is delivered to every claim of the pool. What it is to one of them depends on where
the claim stands, and on comparisons of what the request needs with what the claims hold; their
truths are its code (`monitor.evaluate.reading`). Claims that agree in
every compared value share one transition, which is looked up once for each event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.evaluate.cached_step import FIRST, Before, code_of, take
from monitor.evaluate.compaction import expand
from monitor.evaluate.python_terms import CLAIM_REGISTERS, REQUEST_REGISTERS
from monitor.evaluate.reading import MOST_READ
from monitor.stream.transition_cache import TransitionCache
from spec.events.alphabet import CONFLICT_ACTIONS, Kind

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from monitor.evaluate.claim import ClaimRun
    from monitor.evaluate.product import Transition
    from monitor.stream.request_events import AtRequest
    from monitor.stream.shortcuts import Way

__all__ = ["CachedRequests"]

_BOTH: Final = 1
"""The sums of the pool have two ends, and the code says what is read at each."""

_LEAD: Final = CLAIM_REGISTERS.index("lead")
_NEEDED: Final = REQUEST_REGISTERS.index("needed")


class CachedRequests(TransitionCache):
    """A stream that delivers events of requests by cached transitions."""

    ways: dict[Kind, Way]

    def _deliver_each(self, concerned: Sequence[ClaimRun], delivery: AtRequest) -> None:
        if not self._is_usual(delivery, len(concerned)):
            super()._deliver_each(concerned, delivery)
            return
        event, request, at = delivery.event, delivery.request, delivery.at
        name = event.request_id or ""
        need = request.needed, request.usable, 0, 0
        arrives, acts = event.kind is Kind.REQUEST_ARRIVED, event.kind in CONFLICT_ACTIONS
        ends = [each for each in delivery.ends[:2] if each is not None]
        alone, low = ends[0].alone, len(ends) > 1
        known: dict[Hashable, Transition] = {}
        met: list[Hashable] = []  # of the keys, so that no other has their ids
        for claim in concerned:
            if not self._try_compact(claim):
                self._deliver_one(claim, delivery)
                continue
            ids, claim_id = claim.ids, claim.claim_id
            slot = self._slot_of(claim, name, request)
            if slot >= FIRST and (arrives or claim.needs[slot - FIRST][:2] != need[:2]):
                self._deliver_one(claim, delivery)
                continue
            part = delivery.blames[0].part(claim_id) if acts else None
            key: Hashable = id(claim.product), slot, id(claim.facts), alone(claim_id), part
            if low:
                key = (
                    key,
                    ends[1].alone(claim_id),
                    delivery.blames[1].part(claim_id) if acts else None,
                )
            if (transition := known.get(key)) is None:
                if (found := self._find_transition(claim, slot, delivery)) is None:
                    continue
                transition = known[key] = found
                met.append(claim.facts)
            if claim.owed and event.kind is Kind.REQUEST_FINISHED:
                self._settle_routes(claim, name)
            if (pick := transition.ids) is not None:
                gone = transition.gone
                claim.ids, claim.needs = pick((*ids, name)), pick((*claim.needs, need))
                if slot < FIRST and name in claim.ids:
                    self.requests.take_in_hand(claim, request)
                if gone == (slot - FIRST,):  # as of most: it has not ended yet
                    self.requests.put_out_of_hand(claim, request)
                elif gone:
                    self.requests.let_go(claim, [ids[each] for each in gone], name)
            claim.last_event = self._count
            take(claim, transition, at)
            if transition.moves or not transition.to.tracked:
                self._note_moved(claim, transition)

    def _is_usual(self, delivery: AtRequest, number: int) -> bool:
        """Whether nothing of a request is in doubt, and the sums of the pool are known.

        Args:
            number: of the claims that it is delivered to.
        """
        request, event, ends = delivery.request, delivery.event, delivery.ends
        if not self.ways or self._track.lost is not None or delivery.unknown or event.from_tier:
            return False
        if ends.unknown or event.claim_id is not None:
            return False
        if self._needing(event.request_id or "") is not request or request.unnamed is not None:
            return False
        return self.requests.has_room(number)

    def _find_transition(
        self, claim: ClaimRun, slot: int, delivery: AtRequest
    ) -> Transition | None:
        """The transition that a claim takes; None where it was moved by its observers."""
        product, kind, request = claim.product, delivery.event.kind, delivery.request
        assert product is not None
        if slot >= FIRST and product.requests[slot - FIRST][0][_NEEDED] is not None:
            self._deliver_one(claim, delivery)
            return None
        need = (0, 0, 0, 0)
        if kind is not Kind.REQUEST_ARRIVED:
            need = request.needed, request.usable, 0, 0
        view, low = self._seen_by(claim, delivery)
        reads, known = claim.compiled.kinds[kind].reads_beside, (claim.constants, claim.facts, need)
        read, more = reads(view, *known), 0
        if low is not None:
            read, more = read << MOST_READ | reads(low, *known), _BOTH
        code = code_of(kind, slot, read, more)
        if (transition := product.after.get(code)) is not None:
            return transition
        before = Before(claim)
        expand(claim)
        self._deliver_one(claim, delivery)
        name, lead = delivery.event.request_id, before.facts[_LEAD]
        before.keep(claim, code, kind, delivery.at, lead, name=name)
        return None
