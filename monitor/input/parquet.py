"""Turns the rows of a Parquet file into lines of JSON, one for each. Needs the extra `arrow`.

A file has one column of texts, which are the lines of a trace, or a column for each field of an
event; a null is a field that is not there. Rows are read a few at a time, from one row group after
another.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import msgspec

from monitor.input.compressed import CHUNK, Corrupt
from spec.installed import how_to_install

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["GROUP_BYTES", "NoRows", "is_parquet", "lines_of"]

GROUP_BYTES: Final = 256 << 20
"""Most bytes of a row group, decompressed, by what the file says of it."""

_ROWS: Final = 256  # that are decoded at once
_MAGIC: Final = b"PAR1"
_ENCODE: Final = msgspec.json.Encoder().encode
_TYPES: Final = "events have texts, whole numbers, true and false, lists and structs"


class NoRows(Exception):
    """A Parquet file of which the rows cannot be read as events; says why.

    Attributes:
        hint: what to do about it.
    """

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason)
        self.hint = hint


def is_parquet(head: bytes) -> bool:
    """Whether a file that begins like this is a Parquet file."""
    return head.startswith(_MAGIC)


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """A line for each row of a file that can be read at any place.

    Raises:
        NoRows: the extra is not installed, or the file is not one of events.
        Corrupt: the file is damaged, or ends too early.
    """
    try:
        arrow: Any = import_module("pyarrow")
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError:
        reason = "a Parquet file, and pyarrow, which reads it, is not installed"
        raise NoRows(reason, how_to_install("arrow")) from None
    try:
        content = parquet.ParquetFile(
            file, pre_buffer=False, buffer_size=1 << 20, page_checksum_verification=True
        )
        schema, groups = content.schema_arrow, content.metadata
        whole = len(schema) == 1 and _is_line(arrow.types, schema.field(0).type)
        for column in () if whole else schema:
            if fault := _fault_of(arrow.types, column.type):
                raise NoRows(f"the column {column.name[:80]!r} has the type {fault}", _TYPES)
        if len(schema) != len(set(schema.names)):
            raise NoRows("two columns have one name", "give each field of an event one column")
        numbers = range(groups.num_row_groups)
        if any(groups.row_group(n).total_byte_size > GROUP_BYTES for n in numbers):
            reason = f"a row group has over {GROUP_BYTES >> 20} MiB"
            raise NoRows(reason, "write smaller ones, such as row_group_size=100000")
        read = partial(content.iter_batches, _ROWS, use_threads=False)
        for batch in chain.from_iterable(read(row_groups=[n]) for n in numbers):
            rows = batch.to_pylist()
            lines = (_text(*row.values()) if whole else _ENCODE(_stated(row)) for row in rows)
            text = b"".join(line + b"\n" for line in lines)
            yield from (text[at : at + CHUNK] for at in range(0, len(text), CHUNK))
    except (arrow.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        why = " ".join(str(error).split())[:200]
        raise Corrupt(f"the Parquet data cannot be read: {why}") from None


def _is_text(types: Any, of: Any) -> bool:
    return bool(types.is_string(of) or types.is_large_string(of))


def _is_line(types: Any, of: Any) -> bool:
    return _is_text(types, of) or bool(types.is_binary(of) or types.is_large_binary(of))


def _fault_of(types: Any, of: Any) -> str:
    """The type within a type that no field of an event has; empty where there is none."""
    if types.is_list(of) or types.is_large_list(of) or types.is_dictionary(of):
        return _fault_of(types, of.value_type)
    if types.is_struct(of):
        return next(filter(None, (_fault_of(types, field.type) for field in of)), "")
    plain = types.is_integer(of) or types.is_boolean(of) or types.is_null(of)
    return "" if plain or _is_text(types, of) else str(of)[:80]


def _text(value: str | bytes | None) -> bytes:
    """The line that a row holds. Between the tokens of JSON the end of a line is a blank."""
    line = value.encode() if isinstance(value, str) else value or b""
    return line.replace(b"\n", b" ")


def _stated(value: object) -> object:
    """A value without the nulls in its structs."""
    if isinstance(value, dict):
        return {key: _stated(each) for key, each in value.items() if each is not None}
    return [_stated(each) for each in value] if isinstance(value, list) else value
