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
from monitor.pool.room import Room
from monitor.stream.transition_cache import TransitionCache
from spec.events.alphabet import CONFLICT_ACTIONS, Kind

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from typing import TypeAlias

    from monitor.evaluate.claim import ClaimRun
    from monitor.evaluate.product import Transition
    from monitor.stream.request_events import AtRequest
    from monitor.stream.shortcuts import Way

    Part: TypeAlias = tuple[bool, int, bool, bool]

__all__ = ["CachedRequests"]

_BOTH: Final = 1
"""The sums of the pool have two ends, and the code says what is read at each."""

_NO_PART: Final[Part] = (False, 0, False, False)
"""What a claim has to do with an event that is no action."""

_LEAD: Final = CLAIM_REGISTERS.index("lead")
_NEEDED: Final = REQUEST_REGISTERS.index("needed")


class Alike:
    """Where a claim stood before an event of a request, and the transition that it took: most
    claims stand alike.

    `slot` is that of the request, `alone` the blocks that the claim has alone, and `part` what it
    has to do with whom an action names; `low` is the same at the lower end of the sums.
    """

    __slots__ = ("alone", "facts", "low", "part", "product", "slot", "transition")

    def __init__(
        self,
        claim: ClaimRun,
        slot: int,
        alone: int,
        part: Part,
        low: Hashable,
        transition: Transition,
    ) -> None:
        self.product, self.facts, self.slot = claim.product, claim.facts, slot
        self.alone, self.part, self.low, self.transition = alone, part, low, transition

    def is_like(self, claim: ClaimRun, slot: int, alone: int, part: Part, low: Hashable) -> bool:
        """Whether another claim stands so, as far as it is quick to see."""
        return (
            claim.product is self.product
            and claim.facts is self.facts
            and slot == self.slot
            and alone == self.alone
            and part == self.part
            and low == self.low
        )


class CachedRequests(TransitionCache):
    """A stream that delivers events of requests by cached transitions."""

    ways: dict[Kind, Way]

    def _deliver_each(self, concerned: Sequence[ClaimRun], delivery: AtRequest) -> None:
        if not self._is_usual(delivery, len(concerned)):
            super()._deliver_each(concerned, delivery)
            return
        event, request, at = delivery.event, delivery.request, delivery.at
        name = event.request_id or ""
        needed, usable = request.needed, request.usable
        need = needed, usable, 0, 0
        arrives, acts = event.kind is Kind.REQUEST_ARRIVED, event.kind in CONFLICT_ACTIONS
        ends, blames = delivery.ends, delivery.blames
        room = ends.high if isinstance(ends.high, Room) else None
        known: dict[Hashable, Alike] = {}
        last: Alike | None = None
        for claim in concerned:
            if not self._try_compact(claim):
                self._deliver_one(claim, delivery)
                continue
            claim_id, ids = claim.claim_id, claim.ids
            slot = self._slot_of(claim, name, request)
            if slot >= FIRST:
                before = claim.needs[slot - FIRST]
                if arrives or before[0] != needed or before[1] != usable:
                    self._deliver_one(claim, delivery)
                    continue
            alone = ends.high.alone(claim_id) if room is None else room.alone(claim_id)
            part, low = blames[0].part(claim_id) if acts else _NO_PART, None
            if ends.low is not None:
                low = ends.low.alone(claim_id), blames[1].part(claim_id) if acts else _NO_PART
            if last is None or not last.is_like(claim, slot, alone, part, low):
                key: Hashable = id(claim.product), slot, id(claim.facts), alone, part, low
                last = known.get(key)
                if last is None:
                    if (found := self._find_transition(claim, slot, delivery)) is None:
                        continue
                    # It has the facts, so that no others have their id.
                    last = known[key] = Alike(claim, slot, alone, part, low, found)
            transition = last.transition
            if claim.owed and event.kind is Kind.REQUEST_FINISHED:
                self._settle_routes(claim, name)
            if (pick := transition.ids) is not None:
                gone = transition.gone
                claim.ids, claim.needs = pick(ids + (name,)), pick(claim.needs + (need,))  # noqa: RUF005
                if slot < FIRST and name in claim.ids:
                    self.requests.take_in_hand(claim, request)
                if len(gone) == 1 and gone[0] == slot - FIRST:  # as of most: it has not ended yet
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
