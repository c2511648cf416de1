"""Takes the events that begin and end usual claims by cached transitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.evaluate.cached_step import NUMBERS
from monitor.evaluate.compaction import compact, compact_as
from monitor.evaluate.python_terms import CLAIM_REGISTERS
from monitor.pool.bloom_filter import number_of
from monitor.stream.authority import ends_early
from monitor.stream.cached_shares import CachedShares
from monitor.stream.entries import says_the_same
from spec.events.alphabet import FACTS, Kind
from spec.events.fields import RUNTIME

if TYPE_CHECKING:
    from monitor.evaluate.claim import ClaimRun
    from monitor.input.records import At
    from spec.events.canonical import Event

__all__ = ["CachedEntries"]

_FITS: Final = 1
_SAME: Final = 2
_SOME: Final = 4
_AUTHORISED: Final = 8
_ATTRIBUTED: Final = 16
_FOOTPRINT: Final = CLAIM_REGISTERS.index("footprint")
_ENDED_BY: Final = CLAIM_REGISTERS.index("ended_by")


class CachedEntries(CachedShares):
    """A stream that takes the entry of a claim, and its end, by cached transitions."""

    def _tell_entry(self, event: Event, claim: ClaimRun, at: At) -> None:
        """Deliver to a claim that it is registered: from then on it is compact, if it may be."""
        entries, holds = claim.compiled.entries, claim.constants.threshold <= 0
        unusual = claim.unusual
        known = unusual.doubts or unusual.unknown or not claim.is_fresh
        blind = unusual.observed is not FACTS and unusual.observed != FACTS
        if known or blind or claim.held or unusual.taint is not None:
            super()._tell_entry(event, claim, at)
        elif (found := entries.get(holds)) is None:
            super()._tell_entry(event, claim, at)
            if (product := compact(claim)) is not None and claim.places in ((), (at,)):
                entries[holds] = product, claim.facts, bool(claim.places)
        else:
            product, claim.facts, placed = found
            compact_as(claim, product, (at,) if placed else ())
            claim.last_event, claim.state, claim.owes = self._count, product.state, product.owes
            self._store.note_owing(claim)
            if self._store.moved is not None:
                self._store.moved.append(claim)

    def _cached_commitment(self, event: Event, at: At) -> bool:
        """The runtime's registry commits to a claim that holds nothing yet, alone on its object."""
        claim, store, keys = self._stated_again(event), self._store, event.content_keys
        if claim is None or claim.responsible or not store.may_join(claim):
            return self._shortcut(event, at)
        if keys and not store.objects.is_alone(claim):
            return self._shortcut(event, at)
        if keys and not store.blocks.are_new(keys):
            return self._commit_to_shared(event, claim, at)
        footprint = event.footprint or 0
        code = NUMBERS[event.kind] | (_FITS if claim.constants.threshold <= footprint else 0)
        transition = self._cached(claim, code)
        if transition is None:
            return self._learn(claim, code, event, at, stated=footprint)
        claim.size = max(claim.size, footprint)
        if keys:
            claim.keys = keys
            store.blocks.state(claim, commits=True)
        store.room.forget()
        store.take_over(claim, self._count + 1)
        store.unsettled[claim.claim_id] = claim  # it may have been over
        self._take_transition(claim, transition, at, stated=footprint)
        if claim.declared:  # it was accepted before
            store.room.put(claim, claim.declared)
        self._clock.start(claim, at, event.time_ns)
        return True

    def _cached_acceptance(self, event: Event, at: At) -> bool:
        """A claim is accepted that was committed to."""
        claim, footprint = self._stated_again(event), event.footprint or 0
        if claim is None or not claim.responsible or footprint > claim.size:
            return self._shortcut(event, at)
        code = NUMBERS[event.kind] | (_SAME if footprint == claim.facts[_FOOTPRINT] else 0)
        code |= _SOME if footprint else 0
        transition = self._cached(claim, code)
        if transition is None:
            return self._learn(claim, code, event, at, stated=footprint)
        declared = claim.declared
        claim.owner_claimed = claim.owner_claimed or event.owner_scope
        self._take_transition(claim, transition, at, stated=footprint)
        if claim.declared != declared:
            self._store.room.put(claim, claim.declared)
        claim.accepted = True
        return True

    def _cached_retirement(self, event: Event, at: At) -> bool:
        """The runtime's registry lets go of a claim that it committed to."""
        claim, store = self._compact_of(event), self._store
        if claim is None or claim.elapsed or not claim.responsible or event.request_id is not None:
            return self._shortcut(event, at)
        if self._may_rank(claim):
            return self._shortcut(event, at)
        by = _by(event)
        code = NUMBERS[event.kind]
        transition = self._cached(claim, code)
        if transition is None:
            return self._learn(claim, code, event, at, stated=by)
        if ends_early(event, claim):
            claim.early = True
        declared = claim.declared
        self._take_transition(claim, transition, at, stated=by)
        if not claim.responsible:
            store.give_up(claim)
        if claim.declared != declared:
            store.room.put(claim, claim.declared)
        return True

    def _cached_ending(self, event: Event, at: At) -> bool:
        """The end of a claim is reported, by any caller but the runtime."""
        claim, owner = self._compact_of(event), event.by
        if claim is None or claim.elapsed or event.request_id is not None:
            return self._shortcut(event, at)
        if owner == RUNTIME or (owner is not None and claim.owner_scope is None):
            return self._shortcut(event, at)
        if event.kind is Kind.CLAIM_EXPIRED:
            return self._shortcut(event, at)
        by, ended_by, code = _by(event), claim.facts[_ENDED_BY], NUMBERS[event.kind]
        code |= _AUTHORISED if owner in (None, claim.owner_scope) else 0
        code |= _SOME if by else 0
        code |= _ATTRIBUTED if ended_by else 0
        code |= _SAME if by == ended_by else 0
        transition = self._cached(claim, code)
        if transition is None:
            return self._learn(claim, code, event, at)
        responsible = claim.responsible
        if transition.facts is not None and responsible:
            return self._shortcut(event, at)
        self._take_transition(claim, transition, at)
        return True

    def _stated_again(self, event: Event) -> ClaimRun | None:
        """The compact claim that an event introduces, if the event states nothing new of it but its
        footprint, and all that its observers read was stated.
        """
        claim = self._compact_of(event)
        if claim is None or claim.elapsed or event.request_id is not None:
            return None
        if event.footprint is None or not says_the_same(claim, event):
            return None
        if self._may_rank(claim):
            return None
        return None if claim.object_id is None or claim.bound_predicate is None else claim


def _by(event: Event) -> int:
    """Who acts, as a number; 0 if that is not stated."""
    return 0 if event.by is None else number_of("by", event.by)
