"""Reads sizes such as 10.55GiB as whole bytes, and writes bytes as people read them."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from spec.language.errors import SpecError

__all__ = ["MOST", "in_binary", "parse_size"]

MOST: Final = 1 << 60
"""Bytes; more is refused."""

_UNITS: Final = {
    "": 1,
    "B": 1,
    **{f"{p}B": 1000**n for n, p in enumerate(("k", "M", "G", "T"), 1)},
    **{f"{p}iB": 1024**n for n, p in enumerate(("K", "M", "G", "T"), 1)},
}
_SIZE: Final = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,9})?) ?([A-Za-z]{0,3})", re.ASCII)


def parse_size(text: str) -> int:
    """The whole bytes of a size; what its unit leaves of a byte is dropped.

    Raises:
        SpecError: it is no size, a fraction without a unit, no byte at all, or over 2^60 bytes.
    """
    found = _SIZE.fullmatch(text)
    if found is None or found[2] not in _UNITS:
        raise SpecError(f"{text[:40]!r} is no size", "write bytes, or 10.55GiB, 512MiB, 80GB")
    if "." in found[1] and not found[2]:
        raise SpecError(f"{text[:40]!r} has no unit", f"write {found[1]}GiB, MiB or GB")
    size = int(Fraction(found[1]) * _UNITS[found[2]])
    if not 1 <= size <= MOST:
        raise SpecError(f"{text[:40]!r} is out of range", "give at least a byte, at most 2^60")
    return size


def in_binary(size: int) -> str:
    """Bytes in the largest binary unit of which there is one, to two digits."""
    for unit, bytes_ in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= bytes_:
            whole, rest = divmod(size, bytes_)
            return f"{whole} {unit}" if not rest else f"{size / bytes_:.2f} {unit}"
    return f"{size} bytes"
