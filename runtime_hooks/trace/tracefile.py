"""The file that a journal is written to: its lines in canonical form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime_hooks.settings.config import SettingsError
from spec.events.canonical import EVENT_ENCODER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime_hooks.trace.journal import Line

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

    def cut(self, size: int) -> None:
        """Leave so many bytes of it."""
        self._file.truncate(size)

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
        self._size = 0  # bytes of the whole lines

    def take(self, lines: Sequence[Line]) -> None:
        """Write lines."""
        text = b"".join(EVENT_ENCODER.encode(line) + b"\n" for line in lines)
        self._file.write(text)
        self._size += len(text)

    def idle(self) -> None:
        """Nothing waits to be written."""

    def close(self) -> None:
        """No more."""
        self._file.close()

    def fail(self) -> None:
        """Take back a line that was written in part. The last mark is missing, which tells."""
        self._file.cut(self._size)
        self._file.close()
