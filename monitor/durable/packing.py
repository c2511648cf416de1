"""Compresses bytes, and bounds what a few compressed ones can grow to."""

from __future__ import annotations

import zlib
from typing import Final

__all__ = ["packed", "unpacked"]

_LEVEL: Final = 1  # higher ones take three times as long, for a tenth less


def packed(content: bytes | bytearray, most: int | None = None) -> bytes:
    """Bytes compressed by zlib.

    Args:
        most: they are no less than so many times smaller: what compresses better is stored as it
            is.
    """
    found = zlib.compress(content, _LEVEL)
    return found if most is None or len(content) <= most * len(found) else zlib.compress(content, 0)


def unpacked(data: bytes | memoryview, size: int) -> bytes:
    """The bytes that `packed` compressed, which are so many; memory is bounded by that number.

    Raises:
        ValueError: they are others, or more or less.
    """
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(data, size + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if len(content) != size or not unpacking.eof or unpacking.unused_data:
        raise ValueError(f"there are not {size} bytes")
    return content
