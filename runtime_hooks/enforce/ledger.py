"""Whose is a block? Claims by the content of blocks, and by the blocks that hold it.

A key names the content of a block and of everything before it (vLLM's block hash), so one key may
stand under several claims: they share a prefix. Several physical blocks may hold one content: a
claim has all these copies, and loses the content with the last of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from spec.contract.modes import MODES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from spec.claims.claim import ResidentClaim

__all__ = ["WATCHED", "Content", "Entry", "Ledger"]

WATCHED: Final = frozenset(mode for mode, spec in MODES.items() if spec.constants["watched"])
"""The modes without acceptance, whose claims are owed news from their registration on."""


@dataclass(slots=True, eq=False)
class Content:
    """What the blocks at one position of some claims hold.

    `at` is the position, the same in all these claims, because a key names all that is before it,
    too. `blocks` are the copies, the one that was there first before the others; `pin` is the one
    that is kept from being a victim, for the sake of `wanted` claims.
    """

    at: int
    owners: dict[Entry, None] = field(default_factory=dict)
    blocks: dict[int, None] = field(default_factory=dict)
    wanted: int = 0
    pin: int | None = None


@dataclass(slots=True, eq=False)
class Entry:
    """A claim that the registry holds: what its positions contain.

    `keys` has one key for each block of the footprint, `contents` what is known of each; `held` are
    the positions of which there is a block. `holds` says whether the materialization predicate was
    true of them when that was last looked at, `there` whether it ever was, and `made_by` names the
    request that alone made it so, by computing.
    `stored` are the positions of which the offload tier has a copy, `copied` that it has all;
    `restores` counts the requests for which it is being restored; `brought` names the request whose
    load brought a part of it back, and that was not told.
    """

    claim: ResidentClaim
    keys: tuple[bytes, ...]
    holds: bool = False
    there: bool = False
    made_by: str | None = None
    copied: bool = False
    contents: tuple[Content, ...] = ()
    held: set[int] = field(default_factory=set)
    stored: set[int] = field(default_factory=set)
    restores: int = 0
    brought: str | None = None

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

    @property
    def pairs(self) -> Iterator[tuple[int, int]]:
        """Each position that is held, with each block that holds it."""
        return ((content.at, block) for content in self.contents for block in content.blocks)

    @property
    def reach(self) -> int:
        """How many of the claim's blocks can be used where they are: not what the predicate needs
        behind a block that is missing before, for nobody finds it.
        """
        before = range(self.claim.materialization_predicate.start)
        return next((at for at in before if at not in self.held), self.footprint)

    def needs(self, position: int) -> bool:
        """Whether the predicate, if it is true, is so because of this position among others."""
        predicate = self.claim.materialization_predicate
        return self.holds and predicate.start <= position < predicate.end

    def look(self) -> tuple[bool, bool]:
        """Whether the predicate was true, and whether it is now."""
        was, self.holds = self.holds, self.claim.materialization_predicate.holds(self.held)
        self.there = self.there or self.holds
        return was, self.holds

    def gain(self, computed_by: str | None) -> bool:
        """Blocks came to be there, computed by this request, or by none that is in hand; whether
        the predicate came to hold.
        """
        was, now = self.look()
        if now and not was:
            self.made_by = computed_by
        elif computed_by != self.made_by:
            self.made_by = None
        return now and not was


class Ledger:
    """The blocks of one pool, as far as claims own them. No operation scans the claims."""

    def __init__(self) -> None:
        self._by_key: dict[bytes, Content] = {}
        self._by_block: dict[int, Content] = {}

    def add(self, entry: Entry) -> None:
        """From now on the contents of the claim's positions are the claim's, where they are."""
        for at, key in enumerate(entry.keys):
            content = self._by_key.get(key)
            if content is None:
                content = self._by_key[key] = Content(at)
            content.owners[entry] = None
        entry.contents = tuple(map(self._by_key.__getitem__, entry.keys))
        entry.held = {content.at for content in entry.contents if content.blocks}

    def remove(self, entry: Entry) -> None:
        """The claim owns nothing any more."""
        for key, content in zip(entry.keys, entry.contents, strict=True):
            del content.owners[entry]
            if not content.owners:
                del self._by_key[key]
                for block in content.blocks:
                    del self._by_block[block]
        entry.contents, entry.held = (), set()

    @property
    def claimed(self) -> bool:
        """Whether any content is a claim's."""
        return bool(self._by_key)

    @property
    def owned(self) -> bool:
        """Whether any block is a claim's."""
        return bool(self._by_block)

    def claims(self, key: bytes) -> bool:
        """Whether the content is a claim's."""
        return key in self._by_key

    def contents(self, keys: Iterable[bytes]) -> Iterator[Content]:
        """Those of these contents that are a claim's."""
        return (content for key in keys if (content := self._by_key.get(key)) is not None)

    def holding(self, blocks: Iterable[int]) -> Iterator[Content]:
        """What these blocks hold, where it is a claim's."""
        return (content for block in blocks if (content := self._by_block.get(block)) is not None)

    def on(self, keys: Iterable[bytes]) -> dict[Entry, set[int]]:
        """The claims on any of these contents, and at which positions."""
        found: dict[Entry, set[int]] = {}
        for content in self.contents(keys):
            for entry in content.owners:
                found.setdefault(entry, set()).add(content.at)
        return found

    def spared(self, keys: Sequence[bytes], *, cached: bool = True, more: int = 0) -> int:
        """How many blocks a request with these contents needs less, because claims have them.

        A block that a claim does not hold yet becomes the claim's; one that it holds is shared,
        unless one before it is missing: then the request cannot reach it, and makes its own.

        Args:
            cached: whether what the request makes is cached, and so can become a claim's.
            more: so many of the first contents are taken for a claim's, whether they are or not.
        """
        count, gap = 0, False
        for at, key in enumerate(keys):
            content = self._by_key.get(key)
            if content is None and at >= more:
                break
            held = content is not None and bool(content.blocks)
            if not (held or cached):
                break
            count += not (held and gap)
            gap = gap or not held
        return count

    def shared(self, keys: Sequence[bytes]) -> dict[Entry, int]:
        """The claims on the first of these contents, and how many of them are under each."""
        shared: dict[Entry, int] = {}
        for at, key in enumerate(keys):
            if (content := self._by_key.get(key)) is None:
                break
            shared.update(dict.fromkeys(content.owners, at + 1))
        return shared

    def place(self, pairs: Iterable[tuple[bytes, int]]) -> dict[Entry, list[tuple[int, int]]]:
        """Blocks came to hold these contents; what claims gained, each a position and a block."""
        gained: dict[Entry, list[tuple[int, int]]] = {}
        for key, block in pairs:
            content = self._by_key.get(key)
            if content is None or block in content.blocks:
                continue
            content.blocks[block] = None
            self._by_block[block] = content
            for entry in content.owners:
                entry.held.add(content.at)
                gained.setdefault(entry, []).append((content.at, block))
        return gained

    def lose(self, blocks: Iterable[int] | None) -> dict[Entry, list[int]]:
        """Blocks are gone, or all of them (None); the claims that lost a content with its last
        block, and these blocks.
        """
        losers: dict[Entry, list[int]] = {}
        for block in list(self._by_block) if blocks is None else blocks:
            if (content := self._by_block.pop(block, None)) is None:
                continue
            del content.blocks[block]
            if not content.blocks:
                for entry in content.owners:
                    entry.held.discard(content.at)
                    if content.at == entry.claim.materialization_predicate.start:
                        entry.brought = None  # nothing that leads is left of what it brought
                    losers.setdefault(entry, []).append(block)
        return losers
