"""Moves the claims of a stream by cached transitions, and caches new ones.

A transition (`monitor.evaluate.product`) is looked up by the product of a claim and by a code of
the event, which says what of it the observers of a claim read: its kind, the slot that the claim
has for its request, and one bit for each question that remains. One that is met for the first time
is taken by the shortcut, and cached as the difference between the claim before and after.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.evaluate.cached_step import FIRST, Before, take
from monitor.evaluate.compaction import compact, compact_soon, expand
from monitor.evaluate.python_terms import CLAIM_REGISTERS
from monitor.stream.shortcuts import SHORTCUTS, Shortcuts

if TYPE_CHECKING:
    from monitor.evaluate.claim import ClaimRun
    from monitor.evaluate.product import Transition
    from monitor.input.records import At
    from monitor.requests.request import Request
    from spec.events.canonical import Event

__all__ = ["TransitionCache"]

_LEAD: Final = CLAIM_REGISTERS.index("lead")


class TransitionCache(Shortcuts):
    """A stream that moves claims by the cached transitions."""

    def _take_long(self, event: Event, at: At) -> None:
        raise NotImplementedError

    def _shortcut(self, event: Event, at: At) -> bool:
        """Take an event in by its shortcut, where there is one and it fits."""
        take = SHORTCUTS.get(event.kind)
        return take is not None and take(self, event, at)

    # What an event meets.

    def _compact_of(self, event: Event) -> ClaimRun | None:
        """The claim that an event names, compact; None if the event states its identity anew."""
        claim = self._named(event)
        return claim if claim is not None and self._try_compact(claim) else None

    @staticmethod
    def _try_compact(claim: ClaimRun) -> bool:
        """Whether a claim is compact from now on, and is moved by cached transitions."""
        if claim.product is None:
            return compact_soon(claim)
        return not claim.unusual.unwatched

    def _needing(self, name: str) -> Request | None:
        """The request of this id that is `_standing`, if it needs anything of what is usable."""
        request = self._standing(name)
        return request if request is not None and request.usable else None

    @staticmethod
    def _slot_of(claim: ClaimRun, name: str, request: Request) -> int:
        """The number of the slot that a compact claim has for a request, in a code; where there is
        none, whether the claim was there before it.
        """
        ids = claim.ids
        if ids and ids[-1] == name:  # as of most
            return len(ids) - 1 + FIRST
        if name in ids:
            return ids.index(name) + FIRST
        return 1 if claim.took <= request.since else 2

    @staticmethod
    def _cached(claim: ClaimRun, code: int) -> Transition | None:
        """The cached transition for an event of this code, if there is one."""
        product = claim.product
        return None if product is None else product.after.get(code)

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
        need = request.needed, request.usable, 0, 0
        ids, needs = claim.ids + (name,), claim.needs + (need,)  # noqa: RUF005
        claim.ids, claim.needs = pick(ids), pick(needs)
        return True

    @staticmethod
    def _settle_routes(claim: ClaimRun, name: str) -> None:
        """A request of a compact claim ends: what its routes came to is owed no more."""
        product = claim.product
        if product is not None and name in claim.ids:
            *_, ended = product.requests[claim.ids.index(name)]
            if not ended:
                claim.owed.pop(name, None)

    def _take_transition(
        self,
        claim: ClaimRun,
        transition: Transition,
        at: At,
        lead: int | None = None,
        stated: int = 0,
    ) -> None:
        """A claim takes a transition, by the next event of the stream.

        Args:
            lead: what it holds now, where the event changes that.
            stated: the number that the event states of the claim.
        """
        self._count = self._store.blocks.now = claim.last_event = self._count + 1
        take(claim, transition, at, lead, stated)
        if transition.moves or not transition.to.tracked:
            self._note_moved(claim, transition)

    def _note_moved(self, claim: ClaimRun, transition: Transition) -> None:
        """A claim took a transition that changes what is owed, or to where it is not tracked."""
        if transition.moves:
            self._store.note_owing(claim)
        if not transition.to.tracked:
            self._store.note_untracked(claim)

    def _learn(
        self,
        claim: ClaimRun,
        code: int,
        event: Event,
        at: At,
        name: str | None = None,
        stated: int = 0,
    ) -> bool:
        """An event moves a compact claim as if nothing were cached; how it did, is then.

        Args:
            name: of the request that the event belongs to.
            stated: the number that the event states of the claim.
        """
        before = Before(claim)
        expand(claim)
        if not self._shortcut(event, at):
            self._take_long(event, at)
        if self._store.claims.get(claim.claim_id) is not claim:
            return True  # it is forgotten, and that is no part of what the event does
        if event.block_ids and claim.unusual.computed:
            compact(claim)
            return True
        lead = claim.lead if event.block_ids else before.facts[_LEAD]
        before.keep(claim, code, event.kind, at, lead, name=name, stated=stated)
        return True
