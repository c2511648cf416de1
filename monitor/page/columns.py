"""Packs tables of numbers and texts into compressed columns, which the page unpacks.

A column has whole numbers of four bytes, from ABSENT on, or of eight. Each is stored as its
difference to the one before, the lowest bytes of all numbers first, then the next: so similar
numbers compress well.
"""

from __future__ import annotations

import sys
import zlib
from array import array
from base64 import b64encode
from operator import sub
from typing import TYPE_CHECKING, Any, Final

import msgspec

from monitor.input.errors import utf8

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ABSENT", "MOST_TEXTS", "Columns", "Texts"]

ABSENT: Final = -1
"""What stands for a value that is not stated."""

MOST_TEXTS: Final = 1_000_000
"""Different texts that a page has; later ones are left out."""

_RANGES: Final = {"i": (ABSENT, 2**31 - 2), "q": (-(2**53), 2**53)}
"""The least and the largest number of a column, of which a script holds each, and the difference
of any two has its size; a number beyond them is shown as the nearest.
"""

_SIZES: Final = {"i": 4, "q": 8}
_LEVEL: Final = 6


class Texts:
    """Numbers texts, each once; `left_out` counts those beyond the limit."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self.left_out = 0

    def number(self, text: str | None) -> int:
        """The number of a text; ABSENT for None."""
        if text is None:
            return ABSENT
        found = self._numbers.get(text)
        if found is None:
            if len(self._numbers) >= MOST_TEXTS:
                self.left_out += 1
                return ABSENT
            found = self._numbers[text] = len(self._numbers)
        return found

    @property
    def listed(self) -> list[str]:
        """The texts by their numbers; what is no UTF-8 is replaced."""
        return [*map(utf8, self._numbers)]


class Columns:
    """Tables of columns by their names, such as `event` with `at` and `kind`."""

    def __init__(self, **tables: dict[str, str]) -> None:
        self._columns = {
            table: {name: array(code) for name, code in columns.items()}
            for table, columns in tables.items()
        }

    def add(self, table: str, *row: int) -> int:
        """Add a row, its values in the order of the columns; return its number."""
        columns = self._columns[table].values()
        for column, value in zip(columns, row, strict=True):
            least, most = _RANGES[column.typecode]
            column.append(min(max(value, least), most))
        return len(column) - 1

    def size(self, table: str) -> int:
        """The number of rows."""
        return len(next(iter(self._columns[table].values())))

    def packed(self, head: dict[str, Any]) -> str:
        """The tables and a head, compressed, in base64: the length of the head in four bytes, the
        head in JSON, then the columns in the order in which the head names them.
        """
        tables = {
            table: {
                "rows": self.size(table),
                "columns": [[name, _SIZES[each.typecode]] for name, each in columns.items()],
            }
            for table, columns in self._columns.items()
        }
        text = msgspec.json.encode({**head, "tables": tables})
        press = zlib.compressobj(_LEVEL)
        parts = [press.compress(len(text).to_bytes(4, "little") + text)]
        for columns in self._columns.values():
            parts += [press.compress(plane) for each in columns.values() for plane in _planes(each)]
        return b64encode(b"".join([*parts, press.flush()])).decode("ascii")


def _planes(column: array[int]) -> Iterable[bytes]:
    """The differences of a column: the lowest byte of each, then the next, to the highest."""
    differences = array(column.typecode, column[:1])
    differences.extend(map(sub, memoryview(column)[1:], column))
    if sys.byteorder == "big":
        differences.byteswap()
    raw, size = differences.tobytes(), differences.itemsize
    return (raw[place::size] for place in range(size))
