"""Keeps observability losses of claims that have had no event yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.pool.bloom_filter import BloomFilter, digest

if TYPE_CHECKING:
    from monitor.evaluate.claim import ClaimRun
    from monitor.input.records import At, Doubt

__all__ = ["Unmet"]

UNMET: Final = 10_000
"""Claims that were not met yet, of which the doubts are remembered one by one."""

_BEFORE: Final = "a line about it could not be interpreted before its first event"


class Unmet:
    """Observability losses of claims that had no other event.

    Args:
        seen: knows the ids of those beyond `UNMET`.
    """

    def __init__(self, seen: BloomFilter) -> None:
        self._doubts: dict[str, dict[frozenset[str], tuple[At | None, str]]] = {}
        self._seen = seen

    def add(self, claim_id: str, doubt: Doubt, at: At | None) -> None:
        """Record that a line about a claim could not be interpreted; the first of equal reasons
        counts.
        """
        if claim_id in self._doubts or len(self._doubts) < UNMET:
            self._doubts.setdefault(claim_id, {}).setdefault(doubt.only, (at, doubt.why))
        else:
            self._seen.add(digest("doubted", claim_id))

    def tell(self, claim: ClaimRun) -> None:
        """The claim is met: what was in doubt of it is."""
        for only, (at, why) in self._doubts.pop(claim.claim_id, {}).items():
            claim.distrust(at, why, only)
        if self._seen.has("doubted", claim.claim_id):
            claim.distrust(None, _BEFORE)
