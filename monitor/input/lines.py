"""Reads the lines of any file: bounded, decompressed, and hashed as they are on disk."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import itertools
import os
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, TypeAlias

from monitor.input.errors import InputError, did_you_mean
from spec.files.plain import NoFile, open_plain

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LINE_LIMIT", "STDIN", "Lines"]

LINE_LIMIT: Final = 1 << 20
"""Longest line that is read, in bytes; a longer one is dropped while it is read."""

STDIN: Final = "-"
_CHUNK: Final = 1 << 18
_HEAD: Final = 8192
_GZIP: Final = b"\x1f\x8b"
_BOM: Final = b"\xef\xbb\xbf"
_CONTROLS: Final = bytes(sorted({*range(32), 127} - set(b"\t\n\r\f")))
_Readable: TypeAlias = BinaryIO | io.FileIO
_UNREADABLE = (OSError, EOFError, zlib.error)


class Lines:
    """The lines of one file that are not blank, each with its number or with what is wrong with it.

    Iterate once. Memory is bounded by `LINE_LIMIT` whatever the file holds, compressed or not.
    `sha256` is of the bytes as they lie on disk, known when the iteration has ended.
    """

    def __init__(self, file: str, *, stdin: BinaryIO | None = None) -> None:
        self.file = file
        self.sha256 = ""
        self._stdin = stdin
        self._disk: _Hashed | None = None

    @property
    def size(self) -> int:
        """Bytes read so far, as they lie on disk."""
        return self._disk.size if self._disk else 0

    def __iter__(self) -> Iterator[tuple[int, bytes | InputError]]:
        """Lines in order.

        Raises:
            InputError: the file is missing, unreadable, empty or not text.
        """
        with self._opened() as inner:
            disk = self._disk = _Hashed(inner)
            packed = io.BufferedReader(disk, _CHUNK)
            found = False
            for item in _split(self._chunks(packed)):
                number, content = item
                if content is None:
                    yield number, self._too_long(number)
                elif isinstance(content, bytes):
                    yield number, content
                else:
                    yield number, self._damaged(number, content, found)
                found = True
            while packed.read1(_CHUNK):
                pass
            self.sha256 = disk.sha256.hexdigest()
            if not found:
                reason = "the file is empty" if not disk.size else "the file holds only blank lines"
                raise InputError(self.file, reason, hint="a trace has one event on each line")

    @contextmanager
    def _opened(self) -> Iterator[_Readable]:
        if self.file == STDIN:
            if self._stdin is None and sys.stdin is None:
                raise InputError(self.file, "standard input is closed", hint="name a file")
            yield self._stdin or sys.stdin.buffer
            return
        try:
            stream = open_plain(self.file)
        except FileNotFoundError:
            raise InputError(self.file, "no such file", hint=_neighbour(self.file)) from None
        except IsADirectoryError:
            hint = "name the files in it"
            raise InputError(self.file, "this is a directory", hint=hint) from None
        except NoFile as error:
            hint = "write it to a file, or pipe it into standard input, which is -"
            raise InputError(self.file, error.strerror, hint=hint) from None
        except PermissionError:
            hint = "make it readable for you"
            raise InputError(self.file, "permission denied", hint=hint) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(self.file, f"cannot be opened: {reason}") from None
        with stream:
            yield stream

    def _chunks(self, packed: io.BufferedReader[_Hashed]) -> Iterator[bytes | Exception]:
        """The text in pieces of at most `_CHUNK` bytes; last, what ended the reading too early."""
        plain: io.BufferedReader[_Hashed] | gzip.GzipFile = packed
        first = True
        try:
            if packed.peek(len(_GZIP)).startswith(_GZIP):
                plain = gzip.GzipFile(fileobj=packed)
            elif self.file.endswith(".gz") and packed.peek(1):
                hint = "compress it with gzip, or drop the suffix"
                raise InputError(self.file, "named .gz, and not gzip data", hint=hint)
            while chunk := plain.read1(_CHUNK):
                if first and _is_binary(chunk[:_HEAD]):
                    hint = "a trace is JSON, write one event on each line"
                    raise InputError(self.file, "not text", hint=hint)
                yield chunk.removeprefix(_BOM) if first else chunk
                first = False
        except _UNREADABLE as error:
            yield error

    def _too_long(self, number: int) -> InputError:
        reason = f"the line is longer than {LINE_LIMIT} bytes"
        return InputError(self.file, reason, line=number, hint="write one event on each line")

    def _damaged(self, number: int, error: Exception, found: bool) -> InputError:
        if isinstance(error, EOFError):
            reason, hint = "the gzip data is truncated", "copy the file again"
        elif isinstance(error, gzip.BadGzipFile | zlib.error):
            reason, hint = f"the gzip data is corrupt: {error}", "copy the file again"
        else:
            reason, hint = f"cannot be read: {getattr(error, 'strerror', None) or error}", ""
        fault = InputError(self.file, reason, line=number if found else None, hint=hint)
        if not found:
            raise fault
        return fault


class _Hashed(io.RawIOBase):
    """A stream that hashes what is read from it."""

    def __init__(self, inner: _Readable) -> None:
        self._inner = inner
        self.sha256 = hashlib.sha256()
        self.size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        read = getattr(self._inner, "read1", self._inner.read)
        chunk: bytes = read(len(buffer)) or b""
        buffer[: len(chunk)] = chunk
        self.sha256.update(chunk)
        self.size += len(chunk)
        return len(chunk)


def _split(chunks: Iterator[bytes | Exception]) -> Iterator[tuple[int, bytes | Exception | None]]:
    """Numbered lines that are not blank; None for one over `LINE_LIMIT`, as soon as it is."""
    number, rest, skipping = 1, b"", False
    for chunk in chunks:
        if isinstance(chunk, Exception):
            yield number, chunk
            return
        if not rest and not skipping and chunk.isspace():
            number += chunk.count(b"\n")
            continue
        pieces = chunk.split(b"\n")
        pieces[0] = rest + pieces[0]
        rest = pieces.pop()
        for piece in pieces:
            if skipping:
                skipping = False
            elif len(piece) > LINE_LIMIT:
                yield number, None
            elif piece and not piece.isspace():
                yield number, piece
            number += 1
        if skipping:
            rest = b""
        elif len(rest) > LINE_LIMIT:
            yield number, None
            rest, skipping = b"", True
    if rest and not rest.isspace():
        yield number, rest


def _is_binary(head: bytes) -> bool:
    """A NUL, or three in ten characters that no text has (the rule of Perl's -T)."""
    if b"\0" in head:
        return True
    text = head.decode("utf-8", "replace")
    odd = text.count("\ufffd") + len(head) - len(head.translate(None, _CONTROLS))
    return odd * 10 > len(text) * 3


def _neighbour(file: str) -> str:
    """A hint that names a file of nearly the same name."""
    path = Path(file)
    with contextlib.suppress(OSError, ValueError), os.scandir(path.parent) as entries:
        return did_you_mean(path.name, [e.name for e in itertools.islice(entries, 2000)])
    return ""
