"""Remembers by digests which claim ids were used, in some 7 bytes an id."""

from __future__ import annotations

import hashlib
import secrets
from typing import Final

__all__ = ["UsedIds"]

_BUCKETS: Final = 1 << 10
_BUCKET_BYTES: Final = 2  # of a digest, which choose the bucket by 10 of their bits
_KEPT: Final = 5  # bytes of a digest that its bucket keeps


class UsedIds:
    """The ids of all claims that an engine accepted, as digests of 50 bits.

    A set of digests takes some 134 bytes an id. Here each of 1,024 buckets is one array of bytes.
    The key of the digests is random, so nobody can choose an id that collides with another. A new
    id is taken for one of n used ones with a probability of n / 2^50. Its claim is then rejected,
    as one whose id was used before; that is no verdict.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(16)
        self._buckets = [bytearray() for _ in range(_BUCKETS)]
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, used: str) -> bool:
        bucket, kept = self._digest(used)
        at = bucket.find(kept)
        while at % _KEPT and at > 0:
            at = bucket.find(kept, at + 1)
        return at >= 0

    def add(self, used: str) -> None:
        """Remember an id that is not contained."""
        bucket, kept = self._digest(used)
        bucket += kept
        self._count += 1

    def _digest(self, used: str) -> tuple[bytearray, bytes]:
        """The bucket of an id, and what is kept there."""
        text, size = used.encode("utf-8", "surrogatepass"), _BUCKET_BYTES + _KEPT
        digest = hashlib.blake2b(text, digest_size=size, key=self._key).digest()
        bucket = int.from_bytes(digest[:_BUCKET_BYTES]) % _BUCKETS
        return self._buckets[bucket], digest[_BUCKET_BYTES:]
