"""The block ledger of a pool: whose each physical block is, and who loses one that is gone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from monitor.claim import ClaimRun
    from spec.events import Event

__all__ = ["Blocks"]


@dataclass(slots=True)
class Blocks:
    """Which claims hold each physical block, and at which of their positions.

    A load may not name its blocks: `_unnamed` are the claims of which some were never named. Of the
    claims that were forgotten the last one stays known as an owner of its blocks, in `_forgotten`,
    without positions.
    """

    _owners: dict[int, dict[str, set[int]]] = field(default_factory=dict)
    _unnamed: dict[str, ClaimRun] = field(default_factory=dict)
    _forgotten: dict[int, str] = field(default_factory=dict)

    def owners(self, blocks: Iterable[int]) -> list[str]:
        """The claims that hold any of these blocks."""
        return sorted({claim_id for block in blocks for claim_id in self._owners.get(block, ())})

    def forget(self, claim: ClaimRun) -> None:
        """The claim is forgotten, and what it holds is followed no more."""
        for block in claim.held.blocks:
            holders, before = self._owners[block], self._forgotten.get(block, "")
            if not holders.get(before):
                holders.pop(before, None)
            holders[claim.claim_id] = set()
            self._forgotten[block] = claim.claim_id
        self._unnamed.pop(claim.claim_id, None)

    def hold(self, event: Event, claim: ClaimRun) -> bool:
        """Blocks of a claim are there; False where the event does not say which or how many."""
        positions, start = event.positions, claim.held.start
        if event.block_ids and positions:
            pairs = list(zip(positions, event.block_ids, strict=False))
            for position, block in pairs:
                self._owners.setdefault(block, {}).setdefault(claim.claim_id, set()).add(position)
            claim.held.hold(pairs)
            return True
        for position in positions:
            claim.held.hold_run(position, position + 1)
        if event.held is not None:
            claim.held.hold_run(start, start + event.held)
        self._unnamed[claim.claim_id] = claim
        return bool(positions) or event.held is not None

    def lose(
        self, event: Event, meant: Sequence[ClaimRun], claims: Mapping[str, ClaimRun]
    ) -> tuple[dict[str, ClaimRun], list[ClaimRun]]:
        """Blocks are gone: the claims that lose some, and those of which nobody knows whether.

        Args:
            meant: the claims that the event names, or that are on the object that it names.
            claims: all of the pool that were not forgotten.
        """
        losers = {claim.claim_id: claim for claim in meant}
        nobody = event.claim_id is None and event.object_id is None
        if not event.block_ids:  # all of them
            losers = {n: claim for n, claim in claims.items() if claim.held} if nobody else losers
            for claim in losers.values():
                self.wipe(claim)
            if nobody:
                self._owners.clear()
                self._forgotten.clear()
        unseen: dict[str, ClaimRun] = {}
        for place, block in enumerate(event.block_ids):
            holders = self._owners.pop(block, {})
            self._forgotten.pop(block, None)
            for claim_id, positions in holders.items():
                if claim_id not in claims:
                    continue
                losers[claim_id] = claims[claim_id]
                losers[claim_id].held.drop((position, block) for position in positions)
            strangers = [claim for claim in meant if claim.claim_id not in holders]
            for claim in strangers:
                if event.positions:
                    claim.held.drop_unnamed(event.positions[place])
                else:
                    unseen[claim.claim_id] = claim
            if nobody and not holders:
                unseen.update(self._unnamed)
                self._unnamed.clear()
        return losers, [claim for claim in unseen.values() if claim.held.unnamed]

    def wipe(self, claim: ClaimRun) -> None:
        """The claim holds nothing any more."""
        for block in claim.held.blocks:
            holders = self._owners[block]
            del holders[claim.claim_id]
            if not holders:
                del self._owners[block]
        claim.held.clear()
