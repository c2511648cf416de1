"""The file that a journal is written to: canonical events, one a line."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from runtime_hooks.config import SettingsError
from runtime_hooks.journal import CLOSED
from spec.events import EVENT_ENCODER

if TYPE_CHECKING:
    from spec.events import Event

__all__ = ["NewFile", "TraceFile"]


class NewFile:
    """A file that was not there, written to at once.

    Args:
        what: the name of the file in a message.
        setting: the setting that names it.

    Raises:
        SettingsError: it is there, or cannot be made.
    """

    def __init__(self, path: str, what: str, setting: str) -> None:
        self.path = path
        try:
            self._file = open(path, "xb", buffering=0)  # noqa: SIM115
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise SettingsError(
                f"{what} {path} cannot be made: {reason}", f"name another as `{setting}`"
            ) from None

    def write(self, lines: bytes | bytearray) -> None:
        """Have whole lines in the file."""
        rest = memoryview(lines)
        while rest:
            rest = rest[self._file.write(rest) :]

    def end_with(self, at: int, line: bytes) -> None:
        """Have this line at a place, over what is there, and nothing after it."""
        os.pwrite(self._file.fileno(), line, at)
        self._file.truncate(at + len(line))

    def close(self) -> None:
        """No more."""
        self._file.close()


class TraceFile:
    """The trace of one stream.

    Raises:
        SettingsError: the file is there, or cannot be made.
    """

    def __init__(self, path: str) -> None:
        self._file = NewFile(path, "the trace", "trace")
        self._size = self._last = 0  # bytes of the whole lines, and of those before the last one
        self._event: Event | None = None

    def take(self, events: list[Event]) -> None:
        """Write events."""
        lines = bytearray()
        for event in events:
            lines += EVENT_ENCODER.encode(event) + b"\n"
        self._file.write(lines)
        self._last = self._size + lines.rfind(b"\n", 0, -1) + 1
        self._size += len(lines)
        self._event = events[-1]

    def idle(self) -> None:
        """Nothing waits to be written."""

    def close(self, stream: str, after: int | None) -> None:
        """Say that the end is missing where it is, and close."""
        if after is not None:
            self._file.write(_closed(stream, after))
        self._file.close()

    def fail(self) -> None:
        """Say that the end is missing, in the place of the last event: the disk may be full.

        Otherwise the trace would read like one of a run that ended there.
        """
        if self._event is not None:
            line = _closed(self._event.stream, (self._event.sequence or 0) + 1)
            self._file.end_with(self._last, line)
        self._file.close()


def _closed(stream: str, after: int) -> bytes:
    """A last line: what had the numbers before `after` is missing, as far as it is not there."""
    last = {"kind": CLOSED, "stream": stream, "sequence": after}
    return msgspec.json.encode(last) + b"\n"
