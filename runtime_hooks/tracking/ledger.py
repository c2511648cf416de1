"""Records which claims own which blocks, by block content and by block.

A key names the content of a block and of everything before it (vLLM's block hash). One key may
belong to several claims, which then share a prefix. Several physical blocks may hold one content: a
claim owns all these copies, and loses the content with the last of them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from runtime_hooks.claims.entry import Content
from runtime_hooks.trace.names import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runtime_hooks.claims.entry import Entry
    from runtime_hooks.claims.groups import Groups

__all__ = ["Ledger"]


class Ledger:
    """The blocks of one pool that claims own. No operation scans the claims.

    A prompt is named by its keys in the group `lead` of the groups of caches.
    """

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._by_key: dict[bytes, Content] = {}
        self._by_block: dict[int, Content] = {}
        self._first: Counter[bytes] = Counter()  # keys of the first blocks of claimed prompts

    def add(self, entry: Entry) -> None:
        """Add a claim: it owns the contents of its positions."""
        places = self._groups.places(len(entry.keys))
        for key, (at, group) in zip(entry.blocks, places, strict=True):
            content = self._by_key.get(key)
            if content is None:
                content = self._by_key[key] = Content(at, group)
            content.owners[entry] = None
        self._first[entry.keys[0]] += 1
        entry.contents = tuple(map(self._by_key.__getitem__, entry.blocks))
        lacking = {content.at for content in entry.contents if not content.blocks}
        entry.held = set(range(len(entry.keys))) - lacking

    def remove(self, entry: Entry) -> None:
        """Remove a claim: it owns nothing any more."""
        for key, content in zip(entry.blocks, entry.contents, strict=True):
            del content.owners[entry]
            if not content.owners:
                del self._by_key[key]
                for block in content.blocks:
                    del self._by_block[block]
        self._first[entry.keys[0]] -= 1
        if not self._first[entry.keys[0]]:
            del self._first[entry.keys[0]]
        entry.contents, entry.held = (), set()

    @property
    def claimed(self) -> bool:
        """Whether any claim owns a content."""
        return bool(self._by_key)

    @property
    def owned(self) -> bool:
        """Whether any claim owns a block."""
        return bool(self._by_block)

    def claims(self, key: bytes) -> bool:
        """Whether a claim owns this content."""
        return key in self._by_key

    def begins(self, keys: Sequence[bytes]) -> bool:
        """Whether the prompt of some claim has the same first block as this prompt."""
        return bool(keys) and keys[0] in self._first

    def contents(self, keys: Iterable[bytes]) -> Iterator[Content]:
        """Those of these contents that a claim owns."""
        return (content for key in keys if (content := self._by_key.get(key)) is not None)

    def holding(self, blocks: Iterable[int]) -> Iterator[Content]:
        """The contents of these blocks that a claim owns."""
        return (content for block in blocks if (content := self._by_block.get(block)) is not None)

    def on(self, keys: Iterable[bytes]) -> dict[Entry, set[bytes]]:
        """The claims on any of these contents, each with those that it owns."""
        found: dict[Entry, set[bytes]] = {}
        for key in keys:
            if (content := self._by_key.get(key)) is not None:
                for entry in content.owners:
                    found.setdefault(entry, set()).add(key)
        return found

    def spared(self, keys: Sequence[bytes], *, cached: bool = True, more: int = 0) -> int:
        """The blocks that a request with these contents shares with claims, and so need not get.

        A block that the claim does not have yet will be the claim's once the request computes it.
        A block that the claim has is shared, unless it is beyond what a hit can use: then the
        request computes a block of its own. So it does of the last block that it shares, where the
        engine drops the last block found. Blocks of a window are not shared for long, so they do
        not count.

        Args:
            cached: whether the blocks that the request computes are cached, so that claims can own
                them.
            more: treat this many of the first contents as owned by a claim.
        """
        count, reach = 0, self._groups.reach(keys, self._has)
        for group in self._groups.full:
            shared = 0
            for at, key in enumerate(keys):
                content = self._by_key.get(self._groups.key(key, group))
                if content is None and at >= more:
                    break
                held = content is not None and bool(content.blocks)
                if not (held or cached):
                    break
                shared += not (held and at >= reach)
            count += max(0, shared - self._groups.drops)
        return count

    def _has(self, key: bytes) -> bool:
        content = self._by_key.get(key)
        return content is not None and bool(content.blocks)

    def shared(self, keys: Sequence[bytes]) -> dict[Entry, int]:
        """The claims on a prefix of these contents, and how many of the contents each covers.

        A claim that needs only the end of a window covers none of the contents before it.
        """
        shared: dict[Entry, int] = {}
        for at, key in enumerate(keys if self.begins(keys) else ()):
            if (content := self._by_key.get(key)) is not None:
                shared.update(dict.fromkeys(content.owners, at + 1))
            elif self._groups.full:
                break  # claims have every block up to their end
        return shared

    def place(self, pairs: Iterable[tuple[bytes, int]]) -> dict[Entry, list[Place]]:
        """Blocks now hold these contents; returns what each claim gained."""
        gained: dict[Entry, list[Place]] = {}
        for key, block in pairs:
            content = self._by_key.get(key)
            if content is None or block in content.blocks:
                continue
            content.blocks[block] = None
            self._by_block[block] = content
            for entry in content.owners:
                if self._is_held(entry, content.at):
                    entry.held.add(content.at)
                place = Place(content.at, block, content.group)
                gained.setdefault(entry, []).append(place)
        return gained

    def _is_held(self, entry: Entry, position: int) -> bool:
        """Whether blocks hold all contents of a claim at a position, one of which was cached."""
        if not self._groups.several:
            return True
        there = self._groups.at(len(entry.keys), position)
        return all(content.blocks for content in entry.contents[there])

    def lose(self, blocks: Iterable[int] | None) -> dict[Entry, list[int]]:
        """Blocks lost their contents (None: all blocks did); returns the claims that lost the last
        block of a content, with these blocks.
        """
        losers: dict[Entry, list[int]] = {}
        for block in list(self._by_block) if blocks is None else blocks:
            if (content := self._by_block.pop(block, None)) is None:
                continue
            del content.blocks[block]
            if not content.blocks:
                for entry in content.owners:
                    entry.held.discard(content.at)
                    losers.setdefault(entry, []).append(block)
        return losers
