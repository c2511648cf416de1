"""Tracks the blocks that a claim lost and that no report named."""

from __future__ import annotations

from spec.events.alphabet import BLOCKS_GONE, Kind
from spec.projection.concerns import is_mine
from spec.projection.pool import held_by
from spec.projection.sight import Sight

__all__ = ["follow"]


def follow(sight: Sight) -> None:
    """The same after an event. A report without ids is about all of them."""
    event, claim = sight.event, sight.claim
    if event.kind in BLOCKS_GONE and claim.watched and is_mine(sight):
        held = {block for _, block in held_by(sight.pool, claim)}
        claim.unsaid |= (held & set(event.block_ids)) or {None}
    elif event.kind is Kind.CLAIM_BLOCK_LOST and is_mine(sight):
        claim.unsaid = claim.unsaid - set(event.block_ids) if event.block_ids else frozenset()
