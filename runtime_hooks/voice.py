"""What is said of claims: facts as they are, reports as they are unless a drill changes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runtime_hooks.requests import identity_text
from spec.alphabet import Kind

if TYPE_CHECKING:
    from runtime_hooks.config import Drill
    from runtime_hooks.journal import Journal
    from runtime_hooks.ledger import Entry
    from spec.claims import ResidentClaim

__all__ = ["Voice", "terms"]


class Voice:
    """Writes facts and reports of one moment; `now_ns` is set by whoever speaks next."""

    def __init__(self, journal: Journal, drill: Drill) -> None:
        self.now_ns = 0
        self._journal, self._drill = journal, drill

    def fact(self, kind: Kind, **fields: Any) -> None:
        """Write a fact."""
        self._journal.write(self.now_ns, kind, fields)

    def report(self, kind: Kind, **fields: Any) -> None:
        """Write a report, unless a drill keeps it back or has it name another claim."""
        if kind in self._drill.suppress:
            return
        other = self._drill.misattribute.get(kind)
        if other is not None:
            named = {"claim_id": other, "outcome_claim_id": other, "blocking_claim_ids": (other,)}
            fields.update((name, said) for name, said in named.items() if name in fields)
        self._journal.write(self.now_ns, kind, fields)

    def cached(self, entry: Entry, places: dict[int, int]) -> None:
        """A claim gained blocks, by position; say so, and where its predicate came to hold.

        While it is being restored nobody says that: what is said next is how that came out.
        """
        about = {"claim_id": entry.claim_id}
        blocks, positions = tuple(places.values()), tuple(places)
        self.fact(Kind.BLOCK_CACHED, **about, block_ids=blocks, positions=positions)
        if entry.look() == (False, True) and not entry.restores:
            self.report(Kind.CLAIM_MATERIALIZED, **about)

    def gap(self) -> None:
        """Something could not be told."""
        self._journal.gap()


def terms(claim: ResidentClaim) -> dict[str, Any]:
    """What the events that introduce a claim say of it."""
    return {
        "claim_id": claim.claim_id,
        "cache_identity": identity_text(claim.cache_identity),
        "object_id": claim.object_id,
        "predicate": str(claim.materialization_predicate),
        "mode": str(claim.protection_mode),
        "owner_scope": claim.owner_scope,
        "duration": None if claim.duration is None else str(claim.duration),
        "priority": claim.priority,
        "footprint": claim.footprint_blocks,
    }
