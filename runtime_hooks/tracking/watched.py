"""Tracks the claims of modes that owe reports only: soft_priority and best_effort.

These claims never keep a request out. Free blocks of soft_priority claims are evicted after all
other free blocks, the lowest priority first.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from runtime_hooks.enforce.victim_order import VictimOrder
from runtime_hooks.tracking.gains import report_gained
from runtime_hooks.tracking.ledger import Ledger
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runtime_hooks.claims.entry import Entry
    from runtime_hooks.claims.registry import Registry
    from runtime_hooks.enforce.victim_order import RankedPool
    from runtime_hooks.trace.emitter import Emitter
    from runtime_hooks.trace.names import Place

__all__ = ["WatchedClaims"]


class WatchedClaims:
    """The watched claims of one pool, and their blocks."""

    def __init__(self, pool: RankedPool, registry: Registry, emitter: Emitter) -> None:
        self.ledger = Ledger(registry.groups)
        self._order = VictimOrder(pool, enforced=registry.orders_victims)
        self._registry, self._emitter = registry, emitter

    def add(self, entry: Entry) -> None:
        """Add a claim, with the blocks that already hold its contents."""
        self.ledger.add(entry)
        self._rank(entry, entry.places)

    def place(self, pairs: Iterable[tuple[bytes, int]], computed_by: str | None) -> None:
        """Blocks now hold these contents: give them to the claims that own these, and report."""
        for entry, places in self.ledger.place(pairs).items():
            self._rank(entry, places)
            report_gained(self._registry, self._emitter, entry, places, computed_by)

    def split(
        self, kind: Kind, blocks: Sequence[int] | None
    ) -> Iterable[tuple[Sequence[int] | None, dict[str, Any]]]:
        """Split lost blocks into parts, each with the extra fields of its event.

        All victims in a part are ranked by the same claims, so that the losses of one claim are
        reported before another claim loses anything.
        """
        if blocks is None or not self.ledger.owned or kind is not Kind.BLOCK_EVICTED:
            return [(blocks, {})]
        parts = [tuple(part) for _, part in groupby(blocks, self._ranked_by)]
        lowest = self._order.lowest_evictable(parts)
        return [(p, {"lowest_priority": low}) for p, low in zip(parts, lowest, strict=True)]

    def lost(self, blocks: Sequence[int] | None) -> None:
        """Blocks lost their contents (None: all did), as was stated: report it of their claims."""
        losers = self.ledger.lose(blocks)
        self._order.forget(blocks)
        for entry, lost in losers.items():
            if entry.evaluate() == (True, False):
                self._registry.report(entry, Kind.CLAIM_UNMATERIALIZED)
            elif entry.claim.priority is not None:
                self._registry.report(entry, Kind.CLAIM_BLOCK_LOST, block_ids=tuple(lost))

    def remove(self, entry: Entry) -> None:
        """Remove a claim that has ended."""
        if (priority := entry.claim.priority) is not None:
            last_first = [place.block for place in entry.places][::-1]
            self._order.drop(last_first, priority)
        self.ledger.remove(entry)

    def _rank(self, entry: Entry, places: Iterable[Place]) -> None:
        if (priority := entry.claim.priority) is not None:
            self._order.take([place.block for place in places][::-1], priority)

    def _ranked_by(self, block: int) -> frozenset[str]:
        return frozenset(
            entry.claim_id
            for content in self.ledger.holding((block,))
            for entry in content.owners
            if entry.claim.priority is not None
        )
