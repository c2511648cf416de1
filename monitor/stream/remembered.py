"""Takes the events whose effect on a claim is remembered from a claim that stood alike.

Most events of a stream move a claim as the same event moved another before. Each function here
looks up that transition (`monitor.evaluate.product`) by the situation of the claim and by what of
the event its observers read. What an event does besides, to blocks, to requests and to what is
owed, the function does as the shortcut of the kind would; or it changes nothing and leaves the
event to that.

A transition that is met for the first time is taken by the shortcut, and remembered as the
difference between the claim before and after.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.evaluate.folding import fold, unfold
from monitor.evaluate.product import Transition, moved_facts, picked
from monitor.evaluate.python_terms import CLAIM_REGISTERS
from monitor.pool.terms import names_no_identity, restates
from monitor.stream.shortcuts import Shortcuts
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from monitor.evaluate.claim import ClaimRun
    from monitor.input.records import At
    from monitor.requests.request import Request
    from spec.events.canonical import Event

__all__ = ["Remembered"]

_NUMBERS: Final = {kind: number << 12 for number, kind in enumerate(Kind)}
_SLOT: Final = 6  # bits of a code below the slot of the request, above these:
_HOLDS, _COVERS, _FROM_TIER, _STOOD, _FOUND = (1 << bit for bit in range(5))
_LEAD, _RESPONSIBLE = CLAIM_REGISTERS.index("lead"), CLAIM_REGISTERS.index("responsible")


class Remembered(Shortcuts):
    """A stream that moves claims by the transitions that it remembers.

    The code of a transition says what of an event the observers of a claim read: its kind, the slot
    that the claim has for its request, and one bit for each question that remains.
    """

    def _take_shortcut(self, event: Event, at: At) -> bool:
        if self._track.lost is not None:
            return False
        take = _REMEMBERED.get(event.kind)
        return self._shortcut(event, at) if take is None else take(self, event, at)

    def _shortcut(self, event: Event, at: At) -> bool:
        return super()._take_shortcut(event, at)

    # Each kind of event.

    def _recall_report(self, event: Event, at: At) -> bool:
        """A report about a claim, or a fact about its copies."""
        claim = self._folded(event)
        if claim is None or event.request_id is not None:
            return self._shortcut(event, at)
        code = _NUMBERS[event.kind]
        transition = claim.situation.after.get(code)  # type: ignore[union-attr]
        if transition is None:
            return self._learn(claim, code, event, at)
        self._begin()
        self._follow(claim, transition, at)
        return True

    def _recall_use(self, event: Event, at: At) -> bool:
        """A look-up, a reuse or a restore, of a claim by a request in hand."""
        kind, name = event.kind, event.request_id or ""
        claim, request = self._folded(event), self._standing(name)
        if claim is None or request is None:
            return self._shortcut(event, at)
        code = _NUMBERS[kind] | self._slot_of(claim, name, request)
        if kind is Kind.PREFIX_LOOKUP:
            held, asked, predicate = event.held, event.asked, claim.predicate
            if held is None or predicate is None or claim.keys or held < claim.lead:
                return self._shortcut(event, at)
            if asked is not None and asked >= predicate.end:
                code |= _COVERS
        elif kind is Kind.CLAIM_RESTORED:
            if event.from_tier and claim.restored:
                code |= _FROM_TIER
        elif kind is Kind.PREFIX_REUSED and len(request.claims) > 1:
            return self._shortcut(event, at)
        transition = claim.situation.after.get(code)  # type: ignore[union-attr]
        if transition is None:
            return self._learn(claim, code, event, at, name)
        if not self._open_slot(claim, transition, name, request):
            return self._shortcut(event, at)
        self._begin()
        self._follow(claim, transition, at)
        return True

    def _recall_end(self, event: Event, at: At) -> bool:
        """A request ends that fits beside all claims; one claim has it in hand, or none."""
        name, store = event.request_id or "", self._store
        request, owing = self._standing(name), store.owing
        if request is None or len(request.claims) > 1 or event.claim_id is not None:
            return self._shortcut(event, at)
        fits = store.room.bound + request.needed <= request.usable
        if not fits or event.accused or not self._clock.certain:
            return self._shortcut(event, at)
        if owing.keys() - request.claims.keys():
            return self._shortcut(event, at)
        if not request.claims:
            self._begin()
            self.requests.end(name)
            return True
        (claim,) = request.claims.values()
        if not self._is_folded(claim):
            return self._shortcut(event, at)
        code = _NUMBERS[event.kind] | self._slot_of(claim, name, request)
        transition = claim.situation.after.get(code)  # type: ignore[union-attr]
        if transition is None:
            return self._learn(claim, code, event, at, name)
        self._begin()
        if (pick := transition.ids) is not None:
            self.requests.let_go(claim, [claim.ids[slot] for slot in transition.gone], name)
            claim.ids, claim.needs = pick((*claim.ids, "")), pick((*claim.needs, None))
        self._follow(claim, transition, at)
        self.requests.end(name)
        return True

    def _recall_blocks(self, event: Event, at: At) -> bool:
        """Blocks of a claim are there that are nobody's, and follow those that it holds."""
        claim, kind, name = self._folded(event), event.kind, event.request_id
        if claim is None or not self._follows(event, claim):
            return self._shortcut(event, at)
        code, tiered = _NUMBERS[kind], claim.compiled.tiered
        situation, request = claim.situation, None
        assert situation is not None
        if event.found:
            code |= _FOUND
        elif kind is Kind.BLOCK_CACHED and tiered and situation.away:
            if situation.waiting or (name is None and len(self.requests.in_hand) > 1):
                return self._shortcut(event, at)
        if kind is Kind.BLOCK_CACHED and name is None and not event.found:
            in_hand = self.requests.in_hand  # no line says which request computed it
            name = next(iter(in_hand)) if len(in_hand) == 1 else None
        if name is not None:
            if (request := self._standing(name)) is None:
                return self._shortcut(event, at)
            code |= self._slot_of(claim, name, request)
        lead = claim.held.lead + len(event.block_ids)
        if lead >= claim.constants.threshold:
            code |= _HOLDS
        transition = situation.after.get(code)
        if transition is None:
            return self._learn(claim, code, event, at, name)
        if request is not None and not self._open_slot(claim, transition, name or "", request):
            return self._shortcut(event, at)
        self._begin()
        self._store.blocks.place(event.block_ids, event.positions, claim)
        self._store.room.forget()
        claim.held.take_fresh()
        self._follow(claim, transition, at, lead)
        return True

    def _recall_loss(self, event: Event, at: At) -> bool:
        """All blocks that one claim holds are gone."""
        blocks, ids = self._store.blocks, event.block_ids
        named = event.claim_id is not None or event.object_id is not None
        if named or not ids or event.request_id is not None:
            return self._shortcut(event, at)
        run = blocks.sole_run(ids)
        if run is None or not self._is_folded(run[0]):
            return self._shortcut(event, at)
        claim, first = run
        if not self._is_loser(claim) or claim.computed or not claim.owns(first):
            return self._shortcut(event, at)
        code = _NUMBERS[event.kind] | (_HOLDS if claim.constants.threshold <= 0 else 0)
        transition = claim.situation.after.get(code)  # type: ignore[union-attr]
        if transition is None:
            return self._learn(claim, code, event, at)
        self._begin()
        blocks.take_run(ids, claim, first)
        self._store.room.forget()
        if claim.compiled.tiered:
            claim.held.take_fresh()
        self._follow(claim, transition, at, 0)
        return True

    # What an event meets.

    def _folded(self, event: Event) -> ClaimRun | None:
        """The claim that an event names, folded, if the event states nothing new of its identity."""
        claim = self._store.claims.get(event.claim_id or "")
        if claim is None or not (names_no_identity(event) or restates(claim, event)):
            return None
        return claim if self._is_folded(claim) else None

    @staticmethod
    def _is_folded(claim: ClaimRun) -> bool:
        """Whether a claim is folded from now on."""
        return claim.situation is not None or fold(claim) is not None

    def _standing(self, name: str) -> Request | None:
        """The request of this id, if it is in hand and nothing of it is forgotten or unknown."""
        request = self.requests.standing(name)
        if request is None or not request.arrived or request.unsure or not request.usable:
            return None
        return None if request.former or request.forgotten else request

    @staticmethod
    def _slot_of(claim: ClaimRun, name: str, request: Request) -> int:
        """What a code has of a request: the slot that a folded claim has for it; where it has none,
        whether the claim was there before it.
        """
        if name in claim.ids:
            return (claim.ids.index(name) + 1) << _SLOT
        return _STOOD if claim.took <= request.since else 0

    def _follows(self, event: Event, claim: ClaimRun) -> bool:
        """Whether blocks of an event are nobody's, and follow what a folded claim holds; no other
        claim has a part in them.
        """
        blocks, positions, situation = event.block_ids, event.positions, claim.situation
        assert situation is not None
        if not situation.tracked or claim.compiled.ranked or claim.computed or claim.keys:
            return False
        if claim.priority is not None and self._ranked:
            return False
        end = claim.held.end
        if end is None or len(blocks) != len(positions) or not blocks:
            return False
        if tuple(positions) != tuple(range(end, end + len(positions))):
            return False
        return self._store.objects.is_alone(claim) and self._store.blocks.are_nobodys(blocks)

    # Moving claims.

    def _open_slot(
        self, claim: ClaimRun, transition: Transition, name: str, request: Request
    ) -> bool:
        """A claim follows a request from now on, if the transition says so; unless that is one too
        many.
        """
        if (pick := transition.ids) is None:
            return True
        if not self.requests.take_in_hand(claim, request):
            return False
        need = request.needed, request.usable
        claim.ids, claim.needs = pick((*claim.ids, name)), pick((*claim.needs, need))
        return True

    def _follow(
        self, claim: ClaimRun, transition: Transition, at: At, lead: int | None = None
    ) -> None:
        """A claim takes a transition.

        Args:
            lead: what it holds now, where the event changes that.
        """
        to, places, _, _, facts, moves = transition
        claim.situation, claim.last_event = to, self._count
        if places is not None:
            claim.places = places((*claim.places, at))
        if facts is not None:
            claim.facts = facts.of(claim.facts, claim.facts[_LEAD] if lead is None else lead)
        if moves:
            claim.state, claim.owes = to.state, to.owes
            if to.owes:
                self._store.owing[claim.claim_id] = claim
            else:
                self._store.owing.pop(claim.claim_id, None)

    def _learn(
        self, claim: ClaimRun, code: int, event: Event, at: At, name: str | None = None
    ) -> bool:
        """The shortcut moves a folded claim, and how it did is remembered.

        Args:
            name: of the request that the event belongs to.
        """
        before, ids, places, facts = claim.situation, claim.ids, claim.places, claim.facts
        assert before is not None
        unfold(claim)
        if not self._shortcut(event, at):
            return False
        after = fold(claim)
        if after is None or claim.computed or facts[_RESPONSIBLE] != claim.facts[_RESPONSIBLE]:
            return True
        if claim.facts[_LEAD] not in (facts[_LEAD], claim.lead):
            return True
        moved = None if facts == claim.facts else moved_facts(facts, claim.facts)
        if moved is None and facts != claim.facts:
            return True
        try:
            pick_places = picked(places, at, claim.places)
            new = name if name is not None and name not in ids else object()
            pick_ids = picked(ids, new, claim.ids)
        except ValueError:
            return True
        gone = tuple(slot for slot, each in enumerate(ids) if each not in claim.ids)
        moves = (before.state, before.owes) != (after.state, after.owes)
        before.after[code] = Transition(after, pick_places, pick_ids, gone, moved, moves)
        return True


_REMEMBERED: Final[Mapping[Kind, Callable[[Remembered, Event, At], bool]]] = {
    Kind.CLAIM_MATERIALIZED: Remembered._recall_report,
    Kind.CLAIM_UNMATERIALIZED: Remembered._recall_report,
    Kind.CLAIM_OFFLOADED: Remembered._recall_report,
    Kind.STORE_FINISHED: Remembered._recall_report,
    Kind.HOST_COPY_FOUND: Remembered._recall_report,
    Kind.HOST_COPY_LOST: Remembered._recall_report,
    Kind.PREFIX_LOOKUP: Remembered._recall_use,
    Kind.PREFIX_REUSED: Remembered._recall_use,
    Kind.CLAIM_RESTORE_REQUIRED: Remembered._recall_use,
    Kind.CLAIM_RESTORED: Remembered._recall_use,
    Kind.REQUEST_FINISHED: Remembered._recall_end,
    Kind.BLOCK_CACHED: Remembered._recall_blocks,
    Kind.LOAD_FINISHED: Remembered._recall_blocks,
    Kind.BLOCK_EVICTED: Remembered._recall_loss,
    Kind.BLOCK_LOST: Remembered._recall_loss,
}
"""The way of each kind whose effect is remembered."""
