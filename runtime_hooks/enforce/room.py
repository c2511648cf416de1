"""Is there room, and if not, because of whom? The arithmetic of blocks.

A request that fits the empty pool and does not fit beside the claims is in conflict with them (the
reading `conflict`); those that are named for it explain it, and none is too many (`blame`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spec.events import CapacityProof

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runtime_hooks.ledger import Entry

__all__ = ["blockers", "in_conflict", "proof"]


def in_conflict(declared: int, needed: int, usable: int) -> bool:
    """Whether a request fits the empty pool and not beside what is declared; all in blocks."""
    return needed <= usable < declared + needed


def blockers(entries: Iterable[Entry], shortfall: int) -> list[Entry]:
    """Claims that together hold the missing blocks, the largest first, and none too many.

    Taken by size, each of them is needed: without the smallest the others do not suffice, and
    without a larger one even less. Empty where all of them together do not hold so many.
    """
    named: list[Entry] = []
    held = 0
    for entry in sorted(entries, key=lambda entry: (-entry.footprint, entry.claim_id)):
        if held >= shortfall:
            break
        named.append(entry)
        held += entry.footprint
    return named if held >= shortfall else []


def proof(declared: int, needed: int, usable: int) -> CapacityProof:
    """Why the request does not fit."""
    total = declared + needed
    return CapacityProof(declared, needed, total, usable, max(0, total - usable))
