"""Reads the lines of any file: bounded, decompressed, and hashed as they are on disk."""

from __future__ import annotations

import contextlib
import hashlib
import io
import itertools
import os
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, TypeAlias

from monitor.input.compressed import CHUNK, decompressed, format_of, format_promised
from monitor.input.errors import Corrupt, InputError, Unreadable, did_you_mean
from monitor.input.logs import PLAIN, Extraction, LogLines
from monitor.input.msgpack_lines import is_msgpack, lines_of
from monitor.input.parquet import is_parquet
from monitor.input.parquet import lines_of as rows_of
from spec.files.plain import NoFile, open_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["BOM", "LINE_LIMIT", "STDIN", "Fault", "Lines", "is_packed", "size_of", "split"]

LINE_LIMIT: Final = 8 << 20
"""Longest line that is read, in bytes; a longer one is dropped while it is read.

The longest honest lines are messages of KV events in base64. A step of an engine that stores
131,072 tokens in each of eight groups of caches, or 1,048,576 in one, takes 7.9 MB.
"""

STDIN: Final = "-"
_HEAD: Final = 8192
_STRIP: Final = "--strip reads what stands behind the prefix of a log line"
_MAGIC: Final = 8  # bytes by which a format is known
BOM: Final = b"\xef\xbb\xbf"
"""The mark of byte order, with which a text may begin."""
_CONTROLS: Final = bytes(sorted({*range(32), 127} - set(b"\t\n\r\f")))
_Readable: TypeAlias = BinaryIO | io.FileIO


class Fault(NamedTuple):
    """What is wrong with a line, or, if `is_end`, with the file from there on."""

    file: str
    reason: str
    hint: str
    is_end: bool = False

    def at(self, number: int | None) -> InputError:
        """The error of the line of this number, or of the file."""
        return InputError(self.file, self.reason, line=number, hint=self.hint)


class Lines:
    """The lines of one file that are not blank, each with its number or with what is wrong with it.

    Iterate once, over lines or over blocks. Memory is bounded by `LINE_LIMIT` whatever the file
    holds, compressed or not. `sha256` is of the bytes as they lie on disk, known when the iteration
    has ended.

    Args:
        how: how lines of events are taken out of a log; what is skipped counts as a blank line.
        hashed: without, `sha256` is empty, and `hash_again` finds it.
    """

    def __init__(
        self,
        file: str,
        *,
        stdin: BinaryIO | None = None,
        how: Extraction = PLAIN,
        hashed: bool = True,
    ) -> None:
        self.file = file
        self._hashed = hashed
        self._stat: tuple[int, ...] = ()  # of the file as it was opened
        self._log = None if how == PLAIN else LogLines(how, LINE_LIMIT)
        self.sha256 = ""
        self._stdin = stdin
        self._disk: _Disk | None = None

    @property
    def size(self) -> int:
        """Bytes read so far, as they lie on disk."""
        return self._disk.size if self._disk else 0

    @property
    def says(self) -> str:
        """How many lines of other programs were skipped; empty if none."""
        return "" if self._log is None else self._log.says

    def hash_again(self) -> str:
        """The SHA-256 of the file, which is read once more; empty if it was changed since, or is
        standard input.
        """
        if self.file == STDIN:
            return ""
        with contextlib.suppress(OSError, ValueError), open_plain(self.file) as stream:
            digest = hashlib.file_digest(stream, "sha256")
            if self._stat == _stat(stream):
                return digest.hexdigest()
        return ""

    def __iter__(self) -> Iterator[tuple[int, bytes | InputError]]:
        """Lines in order.

        Raises:
            InputError: the file is missing, unreadable, empty or not text.
        """
        number = 1
        for block in self.blocks():
            if isinstance(block, Fault):
                yield number, block.at(number)
                continue
            yield from split(block, number)
            number += block.count(b"\n")

    def blocks(self) -> Iterator[bytes | Fault]:
        """Many whole lines at a time, with their ends; the last line of a file may have none.

        Blank lines are among them, so that a reader can count. A line that is too long has its
        fault in its place, before the end of the line.

        Raises:
            InputError: the file is missing, unreadable, empty or not text.
        """
        with self._opened() as inner:
            disk = self._disk = _Disk(inner, hashed=self._hashed)
            packed = io.BufferedReader(disk, CHUNK)
            found = False
            blocks = self._blocks(self._chunks(packed))
            for block in blocks if self._log is None else self._extracted(self._log, blocks):
                if isinstance(block, Fault) and block.is_end and not found:
                    raise block.at(None)
                found = found or isinstance(block, Fault) or not block.isspace()
                yield block
            while packed.read1(CHUNK):
                pass
            self.sha256 = disk.sha256
            if not found:
                raise self._empty(disk.size)

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
            self._stat = _stat(stream)
            yield stream

    def _chunks(self, packed: io.BufferedReader[_Disk]) -> Iterator[bytes | Fault]:
        """The text in pieces; last, what ended the reading too early."""
        try:
            head = packed.peek(_MAGIC)
            if is_parquet(head):
                yield from packed.raw.aside(partial(rows_of, limit=LINE_LIMIT))
                return
            found, promised = format_of(head), format_promised(self.file)
            if head and promised is not None and promised is not found:
                reason = f"named {promised.suffix}, and not {promised.name} data"
                hint = f"compress it with {promised.name}, or drop the suffix"
                raise InputError(self.file, reason, hint=hint)
            yield from self._text(decompressed(packed, found))
        except Unreadable as error:
            raise InputError(self.file, str(error), hint=error.hint) from None
        except OSError as error:
            yield Fault(self.file, f"cannot be read: {error.strerror or error}", "", is_end=True)
        except Corrupt as error:
            yield Fault(self.file, str(error), "copy the file again", is_end=True)

    def _text(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """The text of a file without its mark of byte order; that of msgpack is JSON."""
        first = next(filter(None, chunks), b"")
        if is_msgpack(first):
            yield from lines_of(itertools.chain([first], chunks), LINE_LIMIT)
            return
        if _is_binary(first[:_HEAD]):
            from monitor.input.looks import describe_file

            reason, hint = describe_file(first)
            raise InputError(self.file, reason, hint=hint)
        yield first.removeprefix(BOM)
        yield from chunks

    def _blocks(self, chunks: Iterator[bytes | Fault]) -> Iterator[bytes | Fault]:
        """Whole lines; a fault in the place of one over `LINE_LIMIT`, as soon as it is."""
        rest, skipping = b"", False
        for chunk in chunks:
            if isinstance(chunk, Fault):
                yield chunk
                return
            if not rest and not skipping and chunk.isspace():
                yield b"\n" * chunk.count(b"\n")
                continue
            end = chunk.rfind(b"\n") + 1
            if end:
                first = chunk.find(b"\n")
                if not skipping and len(rest) + first > LINE_LIMIT:
                    yield self._too_long()
                    skipping = True
                yield chunk[first:end] if skipping else b"".join((rest, memoryview(chunk)[:end]))
                rest, skipping = chunk[end:], False
            elif not skipping:
                rest += chunk
            if len(rest) > LINE_LIMIT:
                yield self._too_long()
                rest, skipping = b"", True
        if rest:
            yield rest

    def _extracted(self, log: LogLines, blocks: Iterator[bytes | Fault]) -> Iterator[bytes | Fault]:
        """The lines that are of events, in their places, each with its end; and what is left."""
        for block in blocks:
            if isinstance(block, Fault) or not block:
                yield block
                continue
            found: list[bytes] = []
            for line in block.removesuffix(b"\n").split(b"\n"):
                content = log.take(line)
                if content is not None:
                    found.append(content)
                    continue
                if found:
                    yield b"\n".join(found) + b"\n"
                yield self._too_long()
                found = [b""]
            yield b"\n".join(found) + b"\n"
        if rest := log.flush():
            yield rest

    def _empty(self, size: int) -> InputError:
        """The file has no line of an event."""
        if self.says:
            reason, hint = f"no line begins with an object: {self.says}", _STRIP
        else:
            reason = "the file holds only blank lines" if size else "the file is empty"
            hint = "a trace has one event on each line"
        return InputError(self.file, reason, hint=hint)

    def _too_long(self) -> Fault:
        reason = f"the line is longer than {LINE_LIMIT} bytes"
        return Fault(self.file, reason, "write one event on each line")


class _Disk(io.RawIOBase):
    """A stream that counts what is read from it, and may hash it."""

    def __init__(self, inner: _Readable, *, hashed: bool) -> None:
        self._inner = inner
        self._hash = hashlib.sha256() if hashed else None
        self.size = 0

    @property
    def sha256(self) -> str:
        return "" if self._hash is None else self._hash.hexdigest()

    def readable(self) -> bool:
        return True

    def aside(self, read: Callable[[BinaryIO], Iterator[bytes]]) -> Iterator[bytes]:
        """What is read at any places of the stream, which then goes on where it was."""
        if not self._inner.seekable():
            hint = "write it to a file, and name that"
            raise Unreadable("a Parquet file, which cannot be read from a pipe", hint)
        place = self._inner.seek(0, os.SEEK_CUR)
        try:
            yield from read(self._inner)
        finally:
            if not self._inner.closed:
                self._inner.seek(place)

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        if isinstance(self._inner, io.FileIO):
            size = self._inner.readinto(buffer) or 0
        else:
            read = getattr(self._inner, "read1", self._inner.read)
            chunk: bytes = read(len(buffer)) or b""
            size = len(chunk)
            buffer[:size] = chunk
        if self._hash is not None:
            self._hash.update(memoryview(buffer)[:size])
        self.size += size
        return size


def is_packed(file: str) -> bool:
    """Whether a file is no plain text, by its first bytes, or by its name; raises OSError."""
    with open_plain(file) as stream:
        head = stream.read(_HEAD)
    compressed = format_of(head) or format_promised(file)
    return compressed is not None or is_msgpack(head) or is_parquet(head)


def _stat(stream: io.FileIO) -> tuple[int, ...]:
    """What is another if a file is, or was written to."""
    found = os.fstat(stream.fileno())
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def size_of(file: str) -> int:
    """The bytes of a file as it lies on disk; 0 where that is unknown."""
    try:
        return os.stat(file).st_size
    except (OSError, ValueError):
        return 0


def split(block: bytes, number: int) -> Iterator[tuple[int, bytes]]:
    """The lines of a block that are not blank, numbered from this number on."""
    for line in () if block.isspace() else block.split(b"\n"):
        if line and not line.isspace():
            yield number, line
        number += 1


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
        if path.is_symlink():
            return "it is a link, and what it points to is not there"
        return did_you_mean(path.name, [e.name for e in itertools.islice(entries, 2000)])
    return ""
