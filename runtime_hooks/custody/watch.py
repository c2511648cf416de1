"""Claims of the modes that promise to tell: what becomes of their blocks is told, and no more.

Nobody is kept out for a best_effort or a soft_priority claim. The blocks of soft_priority claims
are victims after all others that are free, the lowest priority first.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from runtime_hooks.enforce.ledger import Ledger
from runtime_hooks.enforce.ranks import Ranks
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runtime_hooks.custody.registry import Registry
    from runtime_hooks.custody.voice import Voice
    from runtime_hooks.enforce.ledger import Entry
    from runtime_hooks.enforce.ranks import Ranking

__all__ = ["Watch"]


class Watch:
    """The watched claims of one pool, and the blocks that they have."""

    def __init__(self, pool: Ranking, registry: Registry, voice: Voice) -> None:
        self.ledger = Ledger()
        self._ranks = Ranks(pool, kept=registry.ranks)
        self._voice = voice

    def add(self, entry: Entry) -> None:
        """From now on the contents of the claim's positions are the claim's."""
        self.ledger.add(entry)
        self._take(entry, entry.pairs)

    def place(self, pairs: Iterable[tuple[bytes, int]], computed_by: str | None) -> None:
        """Blocks came to hold these contents, computed by this request, or found: claims gain them,
        and it is told.
        """
        for entry, places in self.ledger.place(pairs).items():
            self._take(entry, places)
            self._voice.cached(entry, places, computed_by)

    def apart(
        self, kind: Kind, blocks: Sequence[int] | None
    ) -> Iterable[tuple[Sequence[int] | None, dict[str, Any]]]:
        """Blocks that are gone, with what is to be said of them; victims in parts, each of the same
        ranked claims: the losses of one are told before another loses blocks.
        """
        if blocks is None or not self.ledger.owned or kind is not Kind.BLOCK_EVICTED:
            return [(blocks, {})]
        parts = [tuple(part) for _, part in groupby(blocks, self._ranked)]
        lowest = self._ranks.passed_over(parts)
        return [(p, {"lowest_priority": low}) for p, low in zip(parts, lowest, strict=True)]

    def gone(self, blocks: Sequence[int] | None) -> None:
        """Blocks are gone, or all of them (None), which was stated: tell it of the claims."""
        losers = self.ledger.lose(blocks)
        self._ranks.forget(blocks)
        for entry, lost in losers.items():
            about = {"claim_id": entry.claim_id}
            if entry.look() == (True, False):
                self._voice.report(Kind.CLAIM_UNMATERIALIZED, **about)
            elif entry.claim.priority is not None:
                self._voice.report(Kind.CLAIM_BLOCK_LOST, **about, block_ids=tuple(lost))

    def remove(self, entry: Entry) -> None:
        """The claim is over: its blocks are nobody's."""
        if (priority := entry.claim.priority) is not None:
            last_first = [block for _, block in entry.pairs][::-1]
            self._ranks.drop(last_first, priority)
        self.ledger.remove(entry)

    def _take(self, entry: Entry, places: Iterable[tuple[int, int]]) -> None:
        if (priority := entry.claim.priority) is not None:
            self._ranks.take([block for _, block in places][::-1], priority)

    def _ranked(self, block: int) -> frozenset[str]:
        return frozenset(
            entry.claim_id
            for content in self.ledger.holding((block,))
            for entry in content.owners
            if entry.claim.priority is not None
        )
