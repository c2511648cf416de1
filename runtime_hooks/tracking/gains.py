"""Reports the blocks that a claim gained, and that its predicate became true."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime_hooks.trace.names import cached_blocks, without_copies
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime_hooks.claims.entry import Entry
    from runtime_hooks.claims.registry import Registry
    from runtime_hooks.trace.emitter import Emitter
    from runtime_hooks.trace.names import Place

__all__ = ["report_gained", "report_materialized"]


def report_gained(
    registry: Registry,
    emitter: Emitter,
    entry: Entry,
    places: Sequence[Place],
    computed_by: str | None,
) -> None:
    """State that blocks of a claim are cached, and report if its predicate became true.

    Args:
        computed_by: the request that computed the blocks; None where they were found.
    """
    for part in without_copies(places):
        fields = cached_blocks(part, computed_by)
        emitter.fact(Kind.BLOCK_CACHED, claim_id=entry.claim_id, **fields)
        if entry.gain(computed_by):
            report_materialized(registry, entry, computed_by)


def report_materialized(registry: Registry, entry: Entry, computed_by: str | None) -> None:
    """Report that a claim's predicate became true.

    Where a load brought a part of the claim back unreported, this is a restore, for the request
    that the part was loaded for. While a restore is under way nothing is reported: the next report
    says how that came out.
    """
    if entry.restores:
        return
    if entry.brought and computed_by is None:
        request_id, restored = entry.brought, Kind.CLAIM_RESTORED
        registry.report(entry, Kind.CLAIM_RESTORE_REQUIRED, request_id=request_id)
        registry.report(entry, restored, request_id=request_id, from_tier=True)
    else:
        registry.report(entry, Kind.CLAIM_MATERIALIZED)
    entry.brought = None
