"""Remembers what nothing else is known of: ids of claims that ended, their objects, and doubts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.pool.bloom_filter import BloomFilter, digest

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["IDS", "Recent", "Seen"]

IDS: Final = 1_000_000
"""Ids of claims of which no more is kept that are remembered, by default."""

_BITS: Final = 64  # for each digest
_PROBES: Final = 12


class Recent:
    """At least the last `most` digests, and at most twice as many: two Bloom filters take turns.

    When both are full, the older one is emptied. Of a thousand million digests that were not met,
    one is taken for met.
    """

    def __init__(self, most: int) -> None:
        self._most, self._count = most, 0  # of the younger filter
        self._size = 1 << (_BITS * most - 1).bit_length()
        self._younger: bytearray | None = None
        self._older: bytearray | None = None
        self.forgotten = 0

    def add(self, known: bytes) -> None:
        """The digest was met."""
        if self._younger is None:
            self._younger = bytearray(self._size // 8)
        elif self._has(self._younger, known):
            return
        if self._count == self._most:
            self.forgotten += self._most * (self._older is not None)
            self._older, self._younger = self._younger, bytearray(self._size // 8)
            self._count = 0
        self._count += 1
        for place in self._places(known):
            self._younger[place >> 3] |= 1 << (place & 7)

    @property
    def is_empty(self) -> bool:
        """Whether no digest was met."""
        return self._younger is None

    def has(self, what: str, text: str) -> bool:
        """Whether the digest of a text was met, as far as that is remembered."""
        return self._younger is not None and digest(what, text) in self

    def __contains__(self, known: bytes) -> bool:
        both = self._younger, self._older
        return any(bits is not None and self._has(bits, known) for bits in both)

    def _has(self, bits: bytearray, known: bytes) -> bool:
        return all(bits[place >> 3] >> (place & 7) & 1 for place in self._places(known))

    def _places(self, known: bytes) -> Iterator[int]:
        place, step = int.from_bytes(known[:6]), int.from_bytes(known[6:]) | 1
        for _ in range(_PROBES):
            yield place & (self._size - 1)
            place += step


class Seen(BloomFilter):
    """Doubts about names of which nothing else is known, and the last ids and objects of claims of
    which no more is kept.

    Args:
        most: ids that are remembered, and objects.
    """

    def __init__(self, most: int = IDS) -> None:
        super().__init__()
        self.ids, self.objects = Recent(most), Recent(most)
