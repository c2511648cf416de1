"""Remembers names in fixed space: digests, and a Bloom filter."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Final

__all__ = ["DIGEST", "BloomFilter", "digest", "number_of"]

DIGEST: Final = 12  # bytes
_BITS: Final = 1 << 27  # 16 MiB
_PROBES: Final = 5


@lru_cache(maxsize=4096)
def digest(what: str, text: str) -> bytes:
    """`DIGEST` bytes that stand for a text where it is the value of a field called `what`."""
    content, person = text.encode("utf-8", "surrogatepass"), what.encode()
    return hashlib.blake2b(content, digest_size=DIGEST, person=person).digest()


@lru_cache(maxsize=4096)
def number_of(what: str, text: str) -> int:
    """A number above zero that stands for a text where it is the value of a field."""
    return int.from_bytes(digest(what, text)) + 1


class BloomFilter:
    """Digests that were met (a Bloom filter): one that was is never missed.

    After two million of them 2 in a million others are taken for met, after ten million 3 in a
    thousand.
    """

    def __init__(self) -> None:
        self._bits: bytearray | None = None

    def add(self, known: bytes) -> None:
        """The digest was met."""
        if self._bits is None:
            self._bits = bytearray(_BITS // 8)
        for place in _places(known):
            self._bits[place >> 3] |= 1 << (place & 7)

    @property
    def is_empty(self) -> bool:
        """Whether no digest was met."""
        return self._bits is None

    def has(self, what: str, text: str) -> bool:
        """Whether the digest of a text may have been met."""
        return self._bits is not None and digest(what, text) in self

    def __contains__(self, known: bytes) -> bool:
        bits = self._bits
        return bits is not None and all(bits[n >> 3] >> (n & 7) & 1 for n in _places(known))


def _places(known: bytes) -> list[int]:
    first, step = int.from_bytes(known[:6]), int.from_bytes(known[6:]) | 1
    return [(first + number * step) % _BITS for number in range(_PROBES)]
