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

__all__ = ["TraceFile"]


class TraceFile:
    """A new file; one that exists is never overwritten.

    Raises:
        SettingsError: the file cannot be made.
    """

    def __init__(self, path: str) -> None:
        self.path = path.replace("{pid}", str(os.getpid()))
        try:
            self._file = open(self.path, "xb")  # noqa: SIM115
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise SettingsError(
                f"the trace {self.path} cannot be made: {reason}", "name another as `trace`"
            ) from None

    def take(self, events: list[Event]) -> None:
        """Write events, and have them in the file."""
        lines = bytearray()
        for event in events:
            lines += EVENT_ENCODER.encode(event) + b"\n"
        self._file.write(lines)
        self._file.flush()

    def close(self, stream: str, missing: int | None) -> None:
        """Say that the end is missing where it is, and close."""
        if missing is not None:
            last = {"kind": CLOSED, "stream": stream, "sequence": missing}
            self._file.write(msgspec.json.encode(last) + b"\n")
        self._file.close()
