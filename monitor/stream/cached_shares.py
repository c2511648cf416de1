"""Takes events about blocks that claims on different objects share, by what they say of these.

A claim that states the contents of its positions holds a block of another claim where both state
the same. What comes to each of them is up to the pool; each is moved by a cached transition
(`monitor.evaluate.cached_step`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.evaluate.event_view import EventView
from monitor.stream.cached_requests import CachedRequests
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from monitor.evaluate.claim import ClaimRun
    from monitor.input.records import At
    from spec.events.canonical import Event

__all__ = ["CachedShares"]


class CachedShares(CachedRequests):
    """A stream that takes blocks which claims share by the shortest way."""

    def _commit_to_shared(self, event: Event, claim: ClaimRun, at: At) -> bool:
        """The runtime's registry commits to a claim that holds nothing of its own yet, and of which
        others state some contents, too.
        """
        keys, store = event.content_keys, self._store
        if len(set(keys)) < len(keys) or self._ranked:
            return False
        self._begin()
        footprint = event.footprint or 0
        claim.size = max(claim.size, footprint)
        store.state(claim, keys)
        view = EventView(event.kind, at, None, True, True, footprint=footprint)
        self._deliver(claim, view)
        self._clock.start(claim, at, event.time_ns)
        self._settle(at)
        return True

    def _cached_shared(self, event: Event, claim: ClaimRun, at: At) -> bool:
        """Blocks of a compact claim are there that had no owner; they are of all that state the
        same contents.
        """
        blocks, store, product = event.block_ids, self._store, claim.product
        if event.request_id is not None or product is None or not product.tracked:
            return False
        if not claim.keys or not blocks or len(blocks) != len(event.positions):
            return False
        if event.kind is not Kind.BLOCK_CACHED or event.content_keys or self._ranked:
            return False
        if not store.objects.is_alone(claim) or not store.blocks.are_unowned(blocks):
            return False
        self._begin()
        in_hand, computed = self.requests.in_hand, None
        if not event.found and len(in_hand) == 1:  # no line says which request computed it
            (computed,) = in_hand
        for each in (claim, *store.blocks.hold(event, claim, (claim,)).changed):
            direct = each is claim
            if direct and claim.last_event == self._count:
                continue  # it came first, and is among the changed ones again
            if each.compiled.tiered:
                self._there(event, each, at, direct=direct)
                continue
            view = EventView(event.kind, at, computed, True, True, direct=direct, lead=each.lead)
            view.found = event.found
            self._deliver(each, view)
        store.room.forget()
        self._settle(at)
        return True
