"""Reads the lines of a workload's file, compressed by gzip or not; memory is bounded."""

from __future__ import annotations

import gzip
import io
import zlib
from functools import cache
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from spec.files.json_text import KeyTwice, check_keys
from spec.files.plain import open_plain
from spec.language.errors import DocumentError, SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LINE_LIMIT", "decode", "lines_of", "wrong"]

LINE_LIMIT: Final = 8 << 20
"""Longest line that is read, in bytes: a prompt of 400,000 blocks."""

MOST_BYTES: Final = 1 << 36
"""The most that a file may hold, decompressed."""

_BLANK: Final = 100_000
"""Blank lines that are passed over; a small file may decompress to billions."""

_GZIP: Final = b"\x1f\x8b"
_ONE_LINE: Final = "write one JSON object on each line"

S = TypeVar("S", bound=msgspec.Struct)


def wrong(file: str, line: int, reason: str, remedy: str = "") -> DocumentError:
    """The error of a line of a file."""
    return DocumentError(f"{file}:{line}: {reason}", remedy, line=line)


def lines_of(file: str) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, each with its number.

    Raises:
        DocumentError: a line is too long, or compressed data are damaged or end too early.
        SpecError: the file cannot be opened, or has no lines.
    """
    number = size = found = 0
    try:
        with open_plain(file) as raw, io.BufferedReader(raw) as plain:
            packed = plain.peek(2).startswith(_GZIP)
            text = io.BufferedReader(gzip.GzipFile(fileobj=plain)) if packed else plain
            while line := text.readline(LINE_LIMIT + 1):
                number += 1
                size += len(line)
                if len(line) > LINE_LIMIT:
                    raise wrong(file, number, f"a line of over {LINE_LIMIT} bytes", _ONE_LINE)
                if size > MOST_BYTES:
                    raise wrong(file, number, f"over {MOST_BYTES} bytes", "split the file")
                if not line.isspace():
                    found += 1
                    yield number, line
                elif number - found > _BLANK:
                    raise wrong(file, number, f"over {_BLANK} blank lines", _ONE_LINE)
    except (EOFError, gzip.BadGzipFile, zlib.error) as problem:
        raise wrong(
            file, number + 1, f"damaged gzip data: {problem}", "copy the file again"
        ) from None
    except (OSError, ValueError) as problem:
        if isinstance(problem, SpecError):
            raise
        reason = getattr(problem, "strerror", None) or str(problem)
        raise SpecError(f"cannot read {file}: {reason}", "name a file") from None
    if not found:
        raise SpecError(f"{file} is empty", "give a file with one request on each line")


def decode(line: bytes, kind: type[S], file: str, number: int, strings: int = 0) -> S:
    """The object on a line; fields that `kind` lacks are passed over.

    Args:
        strings: how many strings a line has that states each required field once and no others.

    Raises:
        DocumentError: not JSON, no such object, or a key stands twice.
    """
    try:
        made: S = _decoder(kind).decode(line)
        if not strings or line.count(b'"') != 2 * strings:
            check_keys(line)
    except (KeyTwice, RecursionError, ValueError) as problem:
        raise wrong(file, number, _said(problem), _ONE_LINE) from None
    return made


@cache
def _decoder(kind: type[S]) -> msgspec.json.Decoder[S]:
    return msgspec.json.Decoder(kind)


def _said(problem: Exception) -> str:
    if isinstance(problem, RecursionError):
        return "nested too deep"
    said = " ".join(str(problem).split())[:200].replace("`", "")
    if isinstance(problem, KeyTwice | msgspec.ValidationError):
        return said[:1].lower() + said[1:]
    return f"not JSON: {said}"
