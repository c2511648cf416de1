"""Splits a trace file into runs: lines of one stream, each with its number, in their order.

A line goes to the stream that it names. A line that no reader understands may be of any stream of
its file: each stream gets it, before the next line of its own or at the end of the file. Lines that
name no stream by themselves, such as captures of KV events and requests of OpenTelemetry, are the
stream without a name.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from monitor.input.dialects._json import parse
from monitor.input.errors import InputError
from monitor.input.lines import LINE_LIMIT, Lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

__all__ = ["RUN_BYTES", "STREAMS", "Lined", "Run", "natural", "packed", "runs_of", "unpacked"]

RUN_BYTES: Final = 1 << 20
"""Bytes of lines that are held before their runs are passed on, of all streams of a file."""

STREAMS: Final = 100_000
"""Streams of one file; a line of one more is taken for a line that cannot be read."""

_SHOWN: Final = 200  # bytes of a line that cannot be read: its streams need no more to refuse it
_REMEMBERED: Final = 1_000  # lines that cannot be read, of one file
_EACH: Final = 64  # bytes that a line takes beside its text
_DIGITS: Final = re.compile(r"(\d+)")
_NAME: Final = b'"stream"'
_ESCAPE: Final = b"\\u"  # it may spell the name of the field


class Lined(NamedTuple):
    """A line and its number. `text` is None where it is too long, and `why` says what is wrong with
    a file whose next lines cannot be read.
    """

    number: int
    text: bytes | None
    why: str = ""


class Run(NamedTuple):
    """Lines of one stream of one file, as `packed` wrote them, and the number of the first."""

    stream: str
    first: int
    data: bytes


class _Head(msgspec.Struct):
    stream: str = ""


_number: Final = attrgetter("number")
_DECODE: Final = msgspec.json.Decoder(_Head).decode
_PACK: Final = msgspec.msgpack.Encoder().encode
_UNPACK: Final = msgspec.msgpack.Decoder(list[Lined]).decode


def packed(lines: list[Lined]) -> bytes:
    """Lines with their numbers, as one value."""
    return _PACK(lines)


def unpacked(data: bytes) -> list[Lined]:
    """What `packed` was given; raises msgspec.MsgspecError where it is something else."""
    return _UNPACK(data)


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key that sorts names as people do: `trace-9` before `trace-10`."""
    parts = _DIGITS.split(name)
    return [(0, int(p), p) if p.isdigit() and p.isascii() else (1, 0, p) for p in parts if p]


def runs_of(path: str, *, content: BinaryIO | None = None) -> Iterator[Run]:
    """The runs of a file, plain or compressed, JSON Lines or Parquet.

    Memory is bounded by `RUN_BYTES`, a line, and the names of `STREAMS` streams. A file that cannot
    be opened, or that ends in damaged data, says so in the stream without a name, and in all others
    that it has.

    Args:
        content: what the file holds, where it is on no disk of this machine.
    """
    return _Splitter().split(Lines("-" if content is not None else path, stdin=content))


class _Splitter:
    """Collects the lines of each stream of one file."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[Lined]] = {}
        self._last: dict[str, int] = {}  # the number of the last line of each stream
        self._strange: list[Lined] = []  # lines that any stream may have lost
        self._size = 0

    def split(self, lines: Lines) -> Iterator[Run]:
        number = 0
        try:
            for number, line in lines:
                if isinstance(line, InputError) or (stream := self._stream_of(line)) is None:
                    self._note(number, line)
                else:
                    self._take(stream, number, line)
                if self._size > RUN_BYTES:
                    yield from self._flush()
        except InputError as error:
            self._note(number + 1, error)
        if self._strange:
            self._last.setdefault("", 0)
            for stream in self._last:
                self._catch_up(stream)
        yield from self._flush()

    def _stream_of(self, line: bytes) -> str | None:
        """The stream that a line names; None where the line cannot be read."""
        if len(line) > LINE_LIMIT:
            return None
        if line.lstrip()[:1] == b"[":
            return ""
        try:
            stream = _DECODE(line).stream
            line.decode()  # the decoder skips other texts, and the name of a field may be damaged
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        if line.count(_NAME) + line.count(_ESCAPE) > 1 and not _is_sound(line):
            return None  # which of two names is meant is not known
        full = len(self._last) >= STREAMS and stream not in self._last
        return None if full else stream

    def _note(self, number: int, line: bytes | InputError) -> None:
        """A line cannot be read."""
        if isinstance(line, InputError):
            found = Lined(number, b"?", line.reason)
        else:
            found = Lined(number, None if len(line) > LINE_LIMIT else line[:_SHOWN])
        if len(self._strange) >= _REMEMBERED:
            self._strange.pop()
        self._strange.append(found)

    def _take(self, stream: str, number: int, line: bytes) -> None:
        if stream not in self._last:
            self._last[stream] = 0
        self._catch_up(stream)
        self._last[stream] = number
        self._waiting.setdefault(stream, []).append(Lined(number, line))
        self._size += len(line) + _EACH

    def _catch_up(self, stream: str) -> None:
        """Give a stream the first line that it may have lost since its last one."""
        at = bisect_right(self._strange, self._last[stream], key=_number)
        if at < len(self._strange):
            self._waiting.setdefault(stream, []).append(self._strange[at])
            self._last[stream] = self._strange[-1].number

    def _flush(self) -> Iterator[Run]:
        waiting, self._waiting, self._size = self._waiting, {}, 0
        for stream, lines in waiting.items():
            yield Run(stream, lines[0].number, packed(lines))


def _is_sound(line: bytes) -> bool:
    """Whether a line has each field once."""
    try:
        parse(line, "", 0, lists=True)
    except InputError:
        return False
    return True
