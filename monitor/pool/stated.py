"""Tracks blocks that are stated for an object; they belong to every claim on it, also later
ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from monitor.pool.bloom_filter import digest
from monitor.pool.terms import same

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from monitor.evaluate.claim import ClaimRun
    from monitor.pool.bloom_filter import BloomFilter
    from spec.events.canonical import Event

__all__ = ["Stated"]

_MOST: Final = 100_000  # positions of objects, each in a block, that are remembered

_Within: TypeAlias = "tuple[str | None, str | None]"
"""What else an event says of an object: its cache, and its token map."""

_Pairs: TypeAlias = "dict[tuple[int, int], None]"
"""Positions, each with a block."""


class Stated:
    """The blocks of objects. Beyond `_MOST` the oldest object is forgotten.

    Args:
        seen: knows the objects that were forgotten.
    """

    def __init__(self, seen: BloomFilter) -> None:
        self._seen = seen
        self._objects: dict[bytes, dict[_Within, _Pairs]] = {}
        self._places: dict[int, dict[tuple[bytes, _Within, int], None]] = {}  # by their blocks
        self._count = 0

    def add(self, event: Event) -> None:
        """Blocks are there of the object that an event names."""
        if event.object_id is None or not event.block_ids:
            return
        name, within = digest("object_id", event.object_id), (event.cache_identity, event.token_map)
        pairs = self._objects.setdefault(name, {}).setdefault(within, {})
        for position, block in zip(event.positions, event.block_ids, strict=False):
            if (position, block) not in pairs:
                pairs[position, block] = None
                self._places.setdefault(block, {})[name, within, position] = None
                self._count += 1
        while self._count > _MOST:
            self._forget(next(iter(self._objects)))

    def _forget(self, name: bytes) -> None:
        self._seen.add(digest("stated", name.hex()))
        for within, pairs in self._objects.pop(name).items():
            self._count -= len(pairs)
            for position, block in pairs:
                places = self._places[block]
                del places[name, within, position]
                if not places:
                    del self._places[block]

    @property
    def is_empty(self) -> bool:
        """Whether no block is stated for any object."""
        return not self._places

    def are_nowhere(self, blocks: Iterable[int]) -> bool:
        """Whether none of these blocks is stated for an object."""
        return self._places.keys().isdisjoint(blocks)

    def move(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Blocks are at these positions: they are at no other, though no event removed them.

        Args:
            pairs: positions, each with a block.
        """
        for position, block in pairs:
            self._drop(block, but=position)

    def lose(self, blocks: Iterable[int]) -> None:
        """These blocks are gone."""
        for block in blocks:
            self._drop(block)

    def _drop(self, block: int, but: int | None = None) -> None:
        for place in [each for each in self._places.get(block, ()) if each[-1] != but]:
            name, within, position = place
            about = self._objects[name]
            del about[within][position, block], self._places[block][place]
            self._count -= 1
            if not about[within]:
                del about[within]
            if not about:
                del self._objects[name]
        if not self._places.get(block, True):
            del self._places[block]

    def clear(self) -> None:
        """All blocks are gone."""
        self._objects.clear()
        self._places.clear()
        self._count = 0

    def about(self, event: Event) -> set[int]:
        """The blocks of the object that an event names, as far as it says which."""
        within = (event.cache_identity, event.token_map)
        found = self._objects.get(digest("object_id", event.object_id or ""), {}).items()
        return {
            block
            for other, pairs in found
            for _, block in pairs
            if all(None in both or both[0] == both[1] for both in zip(within, other, strict=True))
        }

    def of(self, claim: ClaimRun) -> Iterator[tuple[int, int]]:
        """Positions of the claim that are held for its object, each with a block."""
        for within, pairs in self._objects.get(_object_of(claim), {}).items():
            if _may_be(claim, within):
                yield from (pair for pair in pairs if pair[0] < claim.extent)

    def places(self, block: int, claim: ClaimRun) -> list[int]:
        """The positions of the claim's object that are held in a block."""
        about = _object_of(claim)
        return [
            position
            for name, within, position in self._places.get(block, ())
            if name == about and _may_be(claim, within)
        ]

    def forgot(self, claim: ClaimRun) -> bool:
        """Whether blocks of the claim's object may have been forgotten."""
        return not self._seen.is_empty and self._seen.has("stated", _object_of(claim).hex())


def _may_be(claim: ClaimRun, within: _Within) -> bool:
    """Whether a claim may be in this cache, and have this token map, as far as both say."""
    bound = claim.cache_identity, claim.token_map
    names = zip(("cache_identity", "token_map"), bound, within, strict=True)
    return all(value is None or same(name, known, value) for name, known, value in names)


def _object_of(claim: ClaimRun) -> bytes:
    stated = claim.object_id
    if stated is None:
        return b""
    return stated if isinstance(stated, bytes) else digest("object_id", stated)
