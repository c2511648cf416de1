"""Whose is a block? Claims by the content of blocks, and by the blocks that hold it.

A key names the content of a block and of everything before it (vLLM's block hash), so one key may
stand under several claims: they share a prefix. A claim owns one block for each of its positions;
a second physical copy of the same content is ordinary cache.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from spec.modes import MODES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence, Set

    from spec.claims import ResidentClaim

__all__ = ["WATCHED", "Entry", "Ledger"]

WATCHED: Final = frozenset(mode for mode, spec in MODES.items() if spec.constants["watched"])
"""The modes without acceptance, whose claims are owed news from their registration on."""

K = TypeVar("K", bytes, int)


@dataclass(slots=True, eq=False)
class Entry:
    """A claim that the registry holds: what its positions contain, and which blocks hold them.

    `keys` has one key for each block of the footprint; `blocks` maps positions to blocks. `holds`
    says whether the materialization predicate was true of them when that was last looked at.
    `stored` are the positions of which the offload tier has a copy, `copied` that it has all;
    `restores` counts the requests for which it is being restored.
    """

    claim: ResidentClaim
    keys: tuple[bytes, ...]
    holds: bool = False
    copied: bool = False
    blocks: dict[int, int] = field(default_factory=dict)
    stored: set[int] = field(default_factory=set)
    restores: int = 0

    @property
    def claim_id(self) -> str:
        return self.claim.claim_id

    @property
    def watched(self) -> bool:
        """Whether the claim's mode promises no more than to tell: nobody is kept out for it."""
        return self.claim.protection_mode in WATCHED

    @property
    def footprint(self) -> int:
        """Blocks that the claim declares."""
        return self.claim.footprint_blocks

    def needs(self, position: int) -> bool:
        """Whether the predicate, if it is true, is so because of this position among others."""
        predicate = self.claim.materialization_predicate
        return self.holds and predicate.start <= position < predicate.end

    def look(self) -> tuple[bool, bool]:
        """Whether the predicate was true, and whether it is now."""
        was, self.holds = self.holds, self.claim.materialization_predicate.holds(self.blocks.keys())
        return was, self.holds


class Ledger:
    """The blocks of one pool, as far as claims own them. No operation scans the claims."""

    def __init__(self) -> None:
        self._by_key: dict[bytes, dict[Entry, int]] = {}
        self._by_block: dict[int, dict[Entry, int]] = {}

    def add(self, entry: Entry) -> None:
        """From now on the contents of the claim's positions are the claim's."""
        for position, key in enumerate(entry.keys):
            self._by_key.setdefault(key, {})[entry] = position

    def remove(self, entry: Entry) -> None:
        """The claim owns nothing any more."""
        for key in entry.keys:
            _discard(self._by_key, key, entry)
        for block in entry.blocks.values():
            _discard(self._by_block, block, entry)
        entry.blocks.clear()

    @property
    def claimed(self) -> bool:
        """Whether any content is a claim's."""
        return bool(self._by_key)

    @property
    def owned(self) -> bool:
        """Whether any block is a claim's."""
        return bool(self._by_block)

    def owned_of(self, blocks: Collection[int]) -> Set[int]:
        """Those of these blocks that are a claim's."""
        return self._by_block.keys() & blocks

    def on(self, keys: Iterable[bytes]) -> dict[Entry, set[int]]:
        """The claims on any of these contents, and at which positions."""
        found: dict[Entry, set[int]] = {}
        for key in keys:
            for entry, position in self._by_key.get(key, {}).items():
                found.setdefault(entry, set()).add(position)
        return found

    def spared(self, keys: Iterable[bytes], *, cached: bool = True) -> int:
        """How many blocks a request with these contents needs less, because claims have them.

        A block that a claim does not hold yet becomes the claim's; one that it holds is shared,
        unless one before it is missing: then the request cannot reach it, and makes its own.

        Args:
            cached: whether what the request makes is cached, and so can become a claim's.
        """
        count, gap = 0, False
        for key in keys:
            owners = self._by_key.get(key)
            if owners is None:
                break
            held = any(position in entry.blocks for entry, position in owners.items())
            if not (held or cached):
                break
            count += not (held and gap)
            gap = gap or not held
        return count

    def covered(self, keys: Sequence[bytes], found: int) -> dict[Entry, int]:
        """Of the claims on these contents, how many of the first `found` are under each."""
        covered: dict[Entry, int] = dict.fromkeys(self._by_key.get(keys[0], ()) if keys else (), 0)
        for key in keys[:found]:
            for entry in self._by_key.get(key, ()):
                covered[entry] = covered.get(entry, 0) + 1
        return covered

    def place(self, pairs: Iterable[tuple[bytes, int]]) -> dict[Entry, dict[int, int]]:
        """Blocks came to hold these contents; the positions that claims gained, and the blocks."""
        gained: dict[Entry, dict[int, int]] = {}
        for key, block in pairs:
            for entry, position in self._by_key.get(key, {}).items():
                if position not in entry.blocks:
                    entry.blocks[position] = block
                    self._by_block.setdefault(block, {})[entry] = position
                    gained.setdefault(entry, {})[position] = block
        return gained

    def lose(self, blocks: Iterable[int] | None) -> dict[Entry, list[int]]:
        """Blocks are gone, or all of them (None); the claims that lost some, and which."""
        losers: dict[Entry, list[int]] = {}
        if not self._by_block or (blocks is not None and self._by_block.keys().isdisjoint(blocks)):
            return losers
        for block in list(self._by_block) if blocks is None else blocks:
            for entry, position in self._by_block.pop(block, {}).items():
                losers.setdefault(entry, []).append(block)
                del entry.blocks[position]
        return losers

    def owners(self, block: int) -> Mapping[Entry, int]:
        """The claims whose block it is, and at which position."""
        return self._by_block.get(block, {})


def _discard(index: dict[K, dict[Entry, int]], key: K, entry: Entry) -> None:
    owners = index.get(key, {})
    owners.pop(entry, None)
    if not owners:
        index.pop(key, None)
