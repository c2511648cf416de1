"""Turns a stream of msgpack maps and arrays into lines of JSON, one for each."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import msgspec

from monitor.input.errors import Corrupt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["is_msgpack", "lines_of"]

_OBJECTS: Final = re.compile(
    rb"(?:[\x91-\x9f]|\xdc..|\xdd....)?"  # an array of them, or none
    rb"(?:[\x81-\x8f]|\xde..|\xdf....)"  # a map
    rb"(?:[\xa1-\xbf]|\xd9.|\xda..)[A-Za-z_]",  # its first key
    re.DOTALL,
)
_FIXED: Final = (
    dict.fromkeys((*range(0x80), *range(0xE0, 0x100)), 1)  # small numbers
    | {0xA0 + size: 1 + size for size in range(0x20)}  # short texts
    | {0xC0: 1, 0xC2: 1, 0xC3: 1, 0xCA: 5, 0xCB: 9, 0xCC: 2, 0xCD: 3, 0xCE: 5, 0xCF: 9}
    | {0xD0: 2, 0xD1: 3, 0xD2: 5, 0xD3: 9}
    | {0xD4: 3, 0xD5: 4, 0xD6: 6, 0xD7: 10, 0xD8: 18}
)
"""The bytes of values of one size, by the first byte."""

_BOXES: Final = dict.fromkeys((*range(0x80, 0x90), 0xDE, 0xDF), 2) | dict.fromkeys(
    (*range(0x90, 0xA0), 0xDC, 0xDD), 1
)
"""The values in each item of a map, which is a pair, and of an array, by the first byte."""

_SIZES: Final = (
    {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}  # bytes and texts
    | {0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}  # arrays and maps
    | {0xC7: 1, 0xC8: 2, 0xC9: 4}  # of other types, which a further byte states
)
"""In how many bytes a size is stated, by the first byte; small maps and arrays have it in that."""

_DECODE: Final = msgspec.msgpack.Decoder().decode
_ENCODE: Final = msgspec.json.Encoder().encode
_MOST_BOXES: Final = 1 << 20
"""Most maps and arrays of one value: each may be one byte there, and takes 64 bytes in memory."""

_BINARY: Final = frozenset({"frames", "payload"})
"""The fields whose bytes are base64 in JSON; others are hexadecimal, as block hashes are."""


def is_msgpack(head: bytes) -> bool:
    """Whether data begin with a map that has names as keys, or with an array of such."""
    return _OBJECTS.match(head) is not None


def lines_of(chunks: Iterable[bytes], most: int) -> Iterator[bytes]:
    """The values as lines of JSON.

    Args:
        most: bytes of one value.

    Raises:
        Corrupt: a value is no map or array, is too long, or is damaged or cut.
    """
    buffer, due = bytearray(), 0
    for chunk in chain(chunks, [b""]):
        buffer += chunk
        if chunk and len(buffer) < due:
            continue
        at = 0
        while (found := _scanned(buffer, at)) is not None:
            end, pairs = found
            yield _line(bytes(buffer[at:end]), pairs)
            at = end
        del buffer[:at]
        if len(buffer) > most:
            raise Corrupt(f"a msgpack value is longer than {most} bytes")
        due = 2 * len(buffer)  # a value is scanned from its beginning: not for every small chunk
    if buffer:
        raise Corrupt("the msgpack data is truncated")


def _scanned(data: bytearray, at: int) -> tuple[int, int] | None:
    """Where the value at this place ends, and how many pairs its maps have; None where the data end
    before it does.
    """
    due, pairs, boxes, length = 1, 0, 0, len(data)
    while due:
        if at >= length:
            return None
        first = data[at]
        due -= 1
        if first in _FIXED:
            at += _FIXED[first]
            continue
        if first in _SIZES:
            begin = at + 1 + _SIZES[first]
            size = int.from_bytes(data[at + 1 : begin], "big")
        elif first in _BOXES:
            begin, size = at + 1, first & 15
        else:
            raise Corrupt(f"the msgpack data is corrupt: no value begins with {first:#x}")
        if begin > length:
            return None
        if first not in _BOXES:
            at = begin + size + (0xC7 <= first <= 0xC9)
            continue
        at, boxes = begin, boxes + 1
        due += _BOXES[first] * size
        pairs += size if _BOXES[first] == 2 else 0
        if boxes > _MOST_BOXES:
            raise Corrupt(f"a msgpack value has over {_MOST_BOXES} maps and arrays")
    return None if at > length else (at, pairs)


def _line(packed: bytes, pairs: int) -> bytes:
    """One value as a line.

    Args:
        pairs: of its maps. A decoder keeps one of two pairs with one key.
    """
    found = 0

    def plain(value: Any, *, binary: bool = False) -> Any:
        nonlocal found
        if isinstance(value, bytes) and not binary:
            return value.hex()
        if isinstance(value, list):
            return [plain(each, binary=binary) for each in value]
        if isinstance(value, dict):
            found += len(value)
            return {key: plain(each, binary=key in _BINARY) for key, each in value.items()}
        return value

    try:
        value = plain(_DECODE(packed))
        line = _ENCODE(value)
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError) as error:
        raise Corrupt(f"the msgpack data is corrupt: {str(error)[:100]}") from None
    if not isinstance(value, dict | list):
        raise Corrupt("a msgpack value is no map and no array")
    if found != pairs:
        raise Corrupt("a key occurs twice in a msgpack map")
    return line + b"\n"
