"""Writes the trace: the lines of a journal in canonical form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime_hooks.settings.config import SettingsError
from spec.events.canonical import EVENT_ENCODER
from spec.files.plain import open_new

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runtime_hooks.trace.journal import Line

__all__ = ["NewFile", "TraceFile"]


class NewFile:
    """A new file, written without buffering.

    Args:
        what: the name of the file in a message.
        setting: the setting that names it.

    Raises:
        SettingsError: it exists, or cannot be created.
    """

    def __init__(self, path: str, what: str, setting: str) -> None:
        self.path = path
        try:
            self._file = open_new(path)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise SettingsError(
                f"{what} {path} cannot be made: {reason}", f"name another as `{setting}`"
            ) from None

    def write(self, lines: bytes | bytearray) -> None:
        """Append whole lines."""
        rest = memoryview(lines)
        while rest:
            rest = rest[self._file.write(rest) :]

    def cut(self, size: int) -> None:
        """Truncate it to this many bytes."""
        self._file.truncate(size)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class TraceFile:
    """The trace of one stream, in the file `path`.

    `failed` says that it is written no more; any thread may read it. `lost` is called then, on the
    journal's thread.

    Raises:
        SettingsError: the file exists, or cannot be created.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = NewFile(path, "the trace", "trace")
        self._size = 0  # bytes of the whole lines
        self.failed = False
        self.lost: Callable[[], None] = lambda: None

    def take(self, lines: Sequence[Line]) -> None:
        """Write lines."""
        text = EVENT_ENCODER.encode_lines(lines)
        self._file.write(text)
        self._size += len(text)

    def idle(self) -> None:
        """There is nothing to do: every line is written already."""

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def fail(self) -> None:
        """Remove a partly written line. That the last mark is missing shows the failure."""
        self.failed = True
        self.lost()
        self._file.cut(self._size)
        self._file.close()
