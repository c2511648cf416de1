"""Turns the rows of a Parquet file into lines of JSON, one for each. Needs the extra `arrow`.

A file has one column of texts, which are the lines of a trace, or a column for each field of an
event; a null is a field that is not there. Rows are read a few at a time, from one row group after
another. A text that many rows repeat stays in a dictionary, and a row is measured before its texts
are copied out of there: a few bytes of a file may stand for any number.
"""

from __future__ import annotations

from functools import partial, reduce
from importlib import import_module
from io import SEEK_END
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import msgspec

from monitor.input.compressed import CHUNK
from monitor.input.errors import Corrupt, Unreadable
from spec.installed import how_to_install

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FOOTER_BYTES", "GROUP_BYTES", "GROUP_VALUES", "is_parquet", "lines_of"]

FOOTER_BYTES: Final = 4 << 20
"""Most bytes of the footer, which names each column of each row group: it is in memory as a whole,
and takes many times as much there.
"""

GROUP_BYTES: Final = 256 << 20
"""Most bytes of a row group, decompressed, by what the file says of it."""

GROUP_VALUES: Final = GROUP_BYTES // 8
"""Most values of a row group in lists of one column."""

_SHARED: Final = frozenset({"DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"})
"""Encodings of texts that pyarrow decodes to no dictionary; texts of one share their beginnings."""

_ROWS: Final = 256  # that are decoded at once
_MAGIC: Final = b"PAR1"
_ENCODE: Final = msgspec.json.Encoder().encode
_SMALLER: Final = "write smaller ones, such as row_group_size=100000"
_TYPES: Final = "events have texts, whole numbers, true and false, lists and structs"


def is_parquet(head: bytes) -> bool:
    """Whether a file that begins like this is a Parquet file."""
    return head.startswith(_MAGIC)


def lines_of(file: BinaryIO, limit: int) -> Iterator[bytes]:
    """A line for each row of a file that can be read at any place.

    Args:
        limit: bytes of a line; a longer one comes as some text that is longer, too.

    Raises:
        Unreadable: the extra is not installed, or the file is not one of events.
        Corrupt: the file is damaged, or ends too early.
    """
    try:
        arrow: Any = import_module("pyarrow")
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError:
        reason = "a Parquet file, and pyarrow, which reads it, is not installed"
        raise Unreadable(reason, how_to_install("arrow")) from None
    try:
        options = {"pre_buffer": False, "buffer_size": 1 << 20, "page_checksum_verification": True}
        file.seek(-8, SEEK_END)
        size = int.from_bytes(file.read(4), "little")
        if size > FOOTER_BYTES and is_parquet(file.read(4)):  # otherwise the file is truncated
            reason = f"the footer has over {FOOTER_BYTES >> 20} MiB"
            raise Unreadable(reason, "write fewer columns, or larger row groups")
        content = parquet.ParquetFile(file, **options)
        schema, groups = content.schema_arrow, content.metadata
        whole = len(schema) == 1 and _is_line(arrow.types, schema.field(0).type)
        for column in () if whole else schema:
            if fault := _fault_of(arrow.types, column.type):
                raise Unreadable(f"the column {column.name[:80]!r} has the type {fault}", _TYPES)
        if len(schema) != len(set(schema.names)):
            raise Unreadable("two columns have one name", "give each field of an event one column")
        columns = [content.schema.column(n) for n in range(len(content.schema))]
        numbers = range(groups.num_row_groups)
        lists = [n for n, each in enumerate(columns) if each.max_repetition_level]
        texts = [n for n, each in enumerate(columns) if each.physical_type == "BYTE_ARRAY"]
        for group in map(groups.row_group, numbers):
            if group.total_byte_size > GROUP_BYTES:
                raise Unreadable(f"a row group has over {GROUP_BYTES >> 20} MiB", _SMALLER)
            if any(group.column(n).num_values > GROUP_VALUES for n in lists):
                raise Unreadable(f"a row group has over {GROUP_VALUES} values in lists", _SMALLER)
            for n in texts:
                if odd := {*group.column(n).encodings} & _SHARED:
                    reason = f"the column {columns[n].path[:80]!r} has the encoding {min(odd)}"
                    raise Unreadable(reason, "write texts plain, or in a dictionary")
        paths = [columns[n].path for n in texts]
        content = parquet.ParquetFile(file, read_dictionary=paths, **options)
        read = partial(content.iter_batches, _ROWS, use_threads=False)
        for batch in chain.from_iterable(read(row_groups=[n]) for n in numbers):
            for rows in _parts(arrow, batch, limit):
                if rows is None:
                    text = b"?" * (limit + 1) + b"\n"
                else:
                    lines = (_text(*r.values()) if whole else _ENCODE(_stated(r)) for r in rows)
                    text = b"".join(line + b"\n" for line in lines)
                yield from (text[at : at + CHUNK] for at in range(0, len(text), CHUNK))
    except (arrow.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        why = " ".join(str(error).split())[:200]
        raise Corrupt(f"the Parquet data cannot be read: {why}") from None


def _parts(arrow: Any, batch: Any, limit: int) -> Iterator[list[dict[str, Any]] | None]:
    """The rows of a batch, of `limit` bytes at most at once; None for a row that has more."""
    compute: Any = import_module("pyarrow.compute")
    weights = [_weights(arrow, compute, column) for column in batch.columns]
    each = reduce(compute.add, weights).to_pylist() if weights else [0] * len(batch)
    begin = total = 0
    for row, weight in enumerate([*each, limit]):
        if (total + weight > limit or weight >= limit) and begin < row:
            yield batch.slice(begin, row - begin).to_pylist()
            begin, total = row, 0
        if row < len(each) and weight > limit:
            yield None
            begin = row + 1
        else:
            total += weight


def _weights(arrow: Any, compute: Any, array: Any) -> Any:
    """The bytes that each value of an array takes at least when it is copied as a line; a null,
    and a field of a struct, takes one.
    """
    types, of = arrow.types, array.type
    ones = arrow.repeat(arrow.scalar(1, arrow.int64()), len(array))
    if types.is_dictionary(of):
        sizes = _weights(arrow, compute, array.dictionary)
        return compute.fill_null(sizes.take(array.indices), 1)
    if types.is_struct(of):
        fields = (_weights(arrow, compute, field) for field in array.flatten())
        return reduce(compute.add, fields, ones)
    if types.is_list(of) or types.is_large_list(of):
        values = compute.cumulative_sum(_weights(arrow, compute, array.values))
        sums = arrow.concat_arrays([arrow.array([0], arrow.int64()), values])
        ends = sums.take(array.offsets)
        return compute.add(ones, compute.subtract(ends.slice(1), ends.slice(0, len(array))))
    if _is_line(types, of):
        return compute.fill_null(compute.add(compute.binary_length(array).cast("int64"), 1), 1)
    return ones


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
