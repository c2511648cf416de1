"""Is there room, and if not, because of whom? The arithmetic of blocks.

Room is made of blocks: what claims share is counted once, and claims free what nobody else has. A
request that fits the empty pool and does not fit beside the claims is in conflict with them (the
reading `conflict`); those that are named for it explain it, and none is too many (`blame`).
"""

from __future__ import annotations

from collections import Counter
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from spec.events.canonical import CapacityProof

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from runtime_hooks.enforce.ledger import Entry

__all__ = ["Cells", "blockers", "in_conflict", "proof"]


class Cells:
    """The blocks of some `claims`, each once; `owners` says of how many claims each is."""

    def __init__(self) -> None:
        self.owners: dict[bytes, int] = {}
        self.claims = 0

    def __len__(self) -> int:
        return len(self.owners)

    def add(self, keys: Iterable[bytes]) -> None:
        """One more claim, on these contents."""
        self.claims += 1
        for key in keys:
            self.owners[key] = self.owners.get(key, 0) + 1

    def remove(self, keys: Iterable[bytes]) -> None:
        """One claim fewer, on these."""
        self.claims -= 1
        for key in keys:
            if self.owners[key] > 1:
                self.owners[key] -= 1
            else:
                del self.owners[key]

    def lacks(self, keys: Iterable[bytes]) -> int:
        """How many of these contents are no claim's."""
        return sum(key not in self.owners for key in keys)


def in_conflict(declared: int, needed: int, usable: int) -> bool:
    """Whether a request fits the empty pool and not beside what is declared; all in blocks."""
    return needed <= usable < declared + needed


def blockers(entries: Iterable[Entry], among: Cells, shortfall: int) -> list[Entry]:
    """Claims that together free the missing blocks, the largest first, and none too many.

    The smallest are left out first, as far as the others suffice. What cannot be left out then
    cannot be left out of fewer either, so each of those that remain is needed. Empty where all of
    them together do not free so many.

    Args:
        entries: the claims that may be named.
        among: the blocks of all claims that take room; these are some of them.
    """
    named = sorted(entries, key=lambda entry: (-entry.footprint, entry.claim_id))
    free = _freed(named, among)
    if len(free) < shortfall:
        return []
    needed = []
    for entry in reversed(named):
        spare = len(free) - shortfall
        # A content names all that is before it: what nobody else has of a claim is its end.
        lost = list(islice(takewhile(free.__contains__, reversed(entry.keys)), spare + 1))
        if len(lost) <= spare:
            free.difference_update(lost)
        else:
            needed.append(entry)
    return needed[::-1]


def _freed(named: Collection[Entry], among: Cells) -> set[bytes]:
    """The blocks of which nobody is an owner but these."""
    if len(named) == among.claims:
        return set(among.owners)
    inside = Counter(key for entry in named for key in entry.keys)
    return {key for key, owners in inside.items() if owners == among.owners[key]}


def proof(declared: int, needed: int, usable: int) -> CapacityProof:
    """Why the request does not fit."""
    total = declared + needed
    return CapacityProof(declared, needed, total, usable, max(0, total - usable))
