"""The file that a journal is written to: canonical events, one a line."""

from __future__ import annotations

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
            self._file = open(path, "xb")  # noqa: SIM115
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise SettingsError(
                f"{what} {path} cannot be made: {reason}", f"name another as `{setting}`"
            ) from None

    def write(self, lines: bytes | bytearray) -> None:
        """Have whole lines in the file."""
        self._file.write(lines)
        self._file.flush()

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

    def take(self, events: list[Event]) -> None:
        """Write events."""
        lines = bytearray()
        for event in events:
            lines += EVENT_ENCODER.encode(event) + b"\n"
        self._file.write(lines)

    def idle(self) -> None:
        """Nothing waits to be written."""

    def close(self, stream: str, after: int | None) -> None:
        """Say that the end is missing where it is, and close."""
        if after is not None:
            last = {"kind": CLOSED, "stream": stream, "sequence": after}
            self._file.write(msgspec.json.encode(last) + b"\n")
        self._file.close()
