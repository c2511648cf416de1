"""Takes the events that begin and end usual claims by the shortest way.

As `monitor.stream.shortcuts` does it: each function checks that what `Stream.take` would ask has
the usual answer, and does what it would come to; or it changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.pool.terms import binds, fix_terms, predicate_of, restates, unstated
from monitor.stream.authority import ends_early
from monitor.stream.block_events import BlockEvents
from monitor.stream.stream_state import INTRODUCES, REGISTRY
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from monitor.evaluate.claim import ClaimRun
    from monitor.evaluate.event_view import EventView
    from monitor.input.records import At
    from spec.events.canonical import Event

__all__ = ["Entries", "says_the_same"]


class Entries(BlockEvents):
    """A stream that takes the entry of a claim, and its end, by the shortest way."""

    def _known(self, event: Event) -> ClaimRun | None:
        """The claim that an event names, if it states nothing new of the claim's identity, and
        nothing of the claim is in doubt.
        """
        claim = self._named(event)
        return claim if claim is not None and claim.is_plain else None

    def _named(self, event: Event) -> ClaimRun | None:
        """The claim that an event names; None if the event states its identity anew."""
        claim = self._store.claims.get(event.claim_id or "")
        if claim is None or not claim.joined:
            return None
        return claim if restates(claim, event) else None

    def _may_rank(self, claim: ClaimRun) -> bool:
        """Whether a claim may have a place among those of other priorities."""
        return self._ranked and (claim.priority is not None or claim.compiled.ranked)

    def _take_entry(self, event: Event, at: At) -> bool:
        """A claim is registered that was not met before, with its mode and its predicate."""
        claim_id, mode, store = event.claim_id or "", event.mode, self._store
        if mode not in store.judges or event.predicate is None or event.content_keys:
            return False
        if event.request_id is not None or not store.is_unmet(claim_id):
            return False
        self._begin()
        claim = self._meet(claim_id, mode, at)
        claim.registered = True
        claim.entry_kind, claim.entry_at = event.kind, at
        self._newest = self._count
        fix_terms(claim, event)
        claim.fix_predicate(predicate_of(event.predicate))
        binds(claim, event)
        claim.size = event.footprint or 0
        self._join(claim, at)
        self._tell_entry(event, claim, at)
        if self._ranked:
            store.ranks.note(claim)
        if claim.constants.watched and (missing := unstated(claim)):
            claim.distrust(at, missing)
        self._clock.enter(claim)
        self._settle(at)
        return True

    def _tell_entry(self, event: Event, claim: ClaimRun, at: At) -> None:
        """Deliver to a claim that it is registered."""
        view = self._view(event, claim, at)
        view.mine = True
        self._deliver(claim, view)

    def _take_step(self, event: Event, at: At) -> bool:
        """A claim is committed to, or accepted, or it ends."""
        claim, kind = self._known(event), event.kind
        if claim is None or claim.elapsed or event.request_id is not None:
            return False
        if kind is Kind.CLAIM_RETIRED and not claim.responsible:
            return not claim.committed and self._take_entry_out(claim, event, at)
        if kind in INTRODUCES and (event.content_keys or not says_the_same(claim, event)):
            return False
        self._begin()
        if kind in INTRODUCES:
            extent, claim.size = claim.extent, max(claim.size, event.footprint or 0)
            if kind is Kind.CLAIM_ACCEPTED:
                claim.owner_claimed = claim.owner_claimed or event.owner_scope
            commits = kind is Kind.CLAIM_COMMITTED
            if commits or extent < claim.extent:
                self._join(claim, at, commits=commits)
        elif kind is Kind.CLAIM_RETIRED:
            claim.early |= ends_early(event, claim)
        view = self._view(event, claim, at)
        view.mine = True
        self._deliver(claim, view)
        if self._ranked and kind in _STATES:
            self._store.ranks.note(claim)
        if kind in INTRODUCES:
            claim.accepted = claim.accepted or kind is Kind.CLAIM_ACCEPTED
            if (claim.accepted or claim.constants.watched) and (missing := unstated(claim)):
                claim.distrust(at, missing)
            if kind is Kind.CLAIM_COMMITTED:
                self._clock.start(claim, at, event.time_ns)
        self._settle(at)
        return True

    def _take_entry_out(self, claim: ClaimRun, event: Event, at: At) -> bool:
        """The registry lets go of a claim that no runtime committed to."""
        self._begin()
        claim.early |= ends_early(event, claim)
        self._unwatch(claim, event)
        self._settle(at)
        return True

    # What all have in common.

    def _begin(self) -> None:
        """The event is the next one of the stream."""
        self._count += 1
        self._store.blocks.now = self._count

    def _move_on(self, claim: ClaimRun, view: EventView) -> None:
        """Deliver an event that changes neither responsibility nor what was declared."""
        claim.last_event = self._count
        self._store.step_plain(claim, view)
        if claim.unusual.contradicted is not None:
            self._note_broken(claim, view.kind)


_STATES: Final = REGISTRY | INTRODUCES


def says_the_same(claim: ClaimRun, event: Event) -> bool:
    """Whether an event states no terms of a claim but those that it had before, and perhaps what
    its positions hold.
    """
    return (
        event.mode in (None, claim.declared_mode)
        and event.owner_scope in (None, claim.owner_scope)
        and event.duration in (None, claim.duration)
        and event.priority in (None, claim.priority)
    )
