"""Computes in blocks whether a request fits beside claims, and which claims keep it out.

A block that several claims share counts once, and claims free only blocks that no other claim owns.
A request conflicts with the claims if it fits the empty pool and does not fit beside them (the
interpretation `conflict`). The claims that are named for a conflict explain it, and none of them
is superfluous (the interpretation `blame`).
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

from spec.events.canonical import CapacityProof

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from runtime_hooks.claims.entry import Entry

__all__ = ["ClaimedBlocks", "blockers", "in_conflict", "proof"]


class ClaimedBlocks:
    """The blocks of several claims, each counted once.

    `claims` is the number of claims, `owners` the number of claims that own each content.
    """

    def __init__(self) -> None:
        self.owners: dict[bytes, int] = {}
        self.claims = 0

    def __len__(self) -> int:
        return len(self.owners)

    def add(self, keys: Iterable[bytes]) -> None:
        """Add a claim on these contents."""
        self.claims += 1
        for key in keys:
            self.owners[key] = self.owners.get(key, 0) + 1

    def remove(self, keys: Iterable[bytes]) -> None:
        """Remove a claim on these contents."""
        self.claims -= 1
        for key in keys:
            if self.owners[key] > 1:
                self.owners[key] -= 1
            else:
                del self.owners[key]

    def lacks(self, keys: Iterable[bytes]) -> int:
        """How many of these contents no claim owns."""
        return sum(key not in self.owners for key in keys)


def in_conflict(declared: int, needed: int, usable: int) -> bool:
    """Whether a request fits the empty pool and not beside the declared blocks; all in blocks."""
    return needed <= usable < declared + needed


def blockers(entries: Iterable[Entry], among: ClaimedBlocks, shortfall: int) -> list[Entry]:
    """A minimal set of claims that together free the missing blocks, the largest first.

    Claims are left out from the smallest on, as long as the others suffice. A claim that cannot be
    left out then cannot be left out of a smaller set either, so each claim that remains is needed.
    Empty where all the claims together free too few blocks.

    Args:
        entries: the claims that may be named.
        among: the blocks of all claims that count; `entries` are some of these claims.
        shortfall: the number of missing blocks.
    """
    named = sorted(entries, key=lambda entry: (-len(entry.blocks), entry.claim_id))
    free = _freed(named, among)
    if len(free) < shortfall:
        return []
    needed = []
    for entry in reversed(named):
        spare = len(free) - shortfall
        lost = list(islice(filter(free.__contains__, reversed(entry.blocks)), spare + 1))
        if len(lost) <= spare:
            free.difference_update(lost)
        else:
            needed.append(entry)
    return needed[::-1]


def _freed(named: Collection[Entry], among: ClaimedBlocks) -> set[bytes]:
    """The blocks that only these claims own."""
    if len(named) == among.claims:
        return set(among.owners)
    inside = Counter(key for entry in named for key in entry.blocks)
    return {key for key, owners in inside.items() if owners == among.owners[key]}


def proof(declared: int, needed: int, usable: int) -> CapacityProof:
    """The proof that a request does not fit, in blocks."""
    total = declared + needed
    return CapacityProof(declared, needed, total, usable, max(0, total - usable))
