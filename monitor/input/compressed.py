"""Decompresses files by their first bytes. Memory is bounded for any content."""

from __future__ import annotations

import gzip
import lzma
import zlib
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from monitor.input.errors import Corrupt, Unreadable
from spec.installed import how_to_install

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Iterator

__all__ = [
    "CHUNK",
    "Format",
    "decompressed",
    "format_of",
    "format_promised",
]

CHUNK: Final = 1 << 17
"""Most bytes that are decompressed at once."""

_MEMORY: Final = 1 << 27
"""Most bytes that a decoder of xz takes; `xz -9` needs half of it. Those of zstd take as many."""

_PIECE: Final = 256  # of zstd, which may become 32 KiB for each byte


class Format(NamedTuple):
    """A format of compressed files: how they begin, and how their names end."""

    name: str
    begin: bytes
    suffix: str


_GZIP: Final = Format("gzip", b"\x1f\x8b", ".gz")
_XZ: Final = Format("xz", b"\xfd7zXZ\x00", ".xz")
_ZSTD: Final = Format("zstd", b"\x28\xb5\x2f\xfd", ".zst")
_FORMATS: Final = (_GZIP, _XZ, _ZSTD)


def format_of(head: bytes) -> Format | None:
    """The format of data that begin like this; None where they are not compressed."""
    return next((each for each in _FORMATS if head.startswith(each.begin)), None)


def format_promised(file: str) -> Format | None:
    """The format that the name of a file promises."""
    return next((each for each in _FORMATS if file.endswith(each.suffix)), None)


def decompressed(packed: io.BufferedReader[Any], of: Format | None) -> Iterator[bytes]:
    """The content in pieces.

    Args:
        of: the format; None for data that are not compressed.

    Raises:
        Corrupt: the data are damaged, or end too early.
        Unreadable: no installed package decompresses them.
    """
    if of is None:
        while chunk := packed.read1(CHUNK):
            yield chunk
        return
    zstd: Any = None
    damaged: tuple[type[Exception], ...] = (gzip.BadGzipFile, zlib.error, lzma.LZMAError)
    if of is _ZSTD:
        zstd = _zstd()
        damaged = (zstd.ZstdError,)
    try:
        if of is _GZIP:
            unpacked = gzip.GzipFile(fileobj=packed)
            while chunk := unpacked.read1(CHUNK):
                yield chunk
        elif of is _XZ:
            yield from _streams(packed, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _MEMORY))
        elif zstd.__name__ == "zstandard":
            yield from _frames(packed, zstd)
        else:
            yield from _streams(packed, zstd.ZstdDecompressor)
    except EOFError:
        raise Corrupt(f"the {of.name} data is truncated") from None
    except damaged as error:
        raise Corrupt(f"the {of.name} data cannot be decompressed: {error}") from None


def _zstd() -> Any:
    """The module that decompresses zstd: of Python 3.14, or an extra."""
    for name in ("compression.zstd", "zstandard"):
        try:
            return import_module(name)
        except ImportError:
            continue
    reason = "zstd data, and no package that decompresses them is installed"
    raise Unreadable(reason, how_to_install("zstd"))


def _streams(packed: io.BufferedReader[Any], decoder: Callable[[], Any]) -> Iterator[bytes]:
    """The content of streams one after another, by decoders as the standard library has them."""
    data = packed.read1(CHUNK)
    while data:
        stream = decoder()
        while not stream.eof:
            if not data and stream.needs_input and not (data := packed.read1(CHUNK)):
                raise EOFError
            yield stream.decompress(data, CHUNK)
            data = b""
        data = stream.unused_data.lstrip(b"\0")  # xz may pad streams with these
        while not data and (more := packed.read1(CHUNK)):
            data = more.lstrip(b"\0")


def _frames(packed: io.BufferedReader[Any], zstandard: Any) -> Iterator[bytes]:
    """The content of frames of zstd, by the package zstandard, which bounds no output."""
    decoder = zstandard.ZstdDecompressor()
    data = packed.read(_PIECE)
    while data:
        frame = decoder.decompressobj()
        while not frame.eof:
            if not (data := data or packed.read(_PIECE)):
                raise EOFError
            found = frame.decompress(data)
            for at in range(0, len(found), CHUNK):
                yield found[at : at + CHUNK]
            data = b""
        data = frame.unused_data or packed.read(_PIECE)
