"""Writes verdicts as JSON lines to a file, each once, however often the writer is restarted."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING, Final

import msgspec

from spec.language.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.follow.verdict_line import VerdictLine

__all__ = ["KNOWN", "VerdictsFile"]

KNOWN: Final = 1_000_000
"""Ids of lines that are remembered from before a restart: the last ones."""

_CHUNK: Final = 1 << 20


class _Id(msgspec.Struct):
    id: str


class VerdictsFile:
    """The file of verdicts, to which lines are appended.

    After a restart, what was read again is judged again: the lines that the file has beyond those
    of the checkpoint are not written a second time.

    Args:
        path: the file, which may be there already.
        emitted: the size of the file at the checkpoint.

    Raises:
        OutputError: it cannot be opened or read.
    """

    def __init__(self, path: str, emitted: int = 0) -> None:
        self.path = path
        self._rest, self._done = b"", 0  # lines that wait, and bytes written of the first
        self._known: dict[str, None] = {}
        self._descriptor, self._size = -1, 0
        self._open(emitted)

    @property
    def emitted(self) -> int:
        """Bytes of whole lines in the file."""
        return self._size

    def add(self, lines: Sequence[VerdictLine]) -> list[VerdictLine]:
        """Take in lines to be written, but for those that are there; the others are returned."""
        new = [line for line in lines if line.id not in self._known]
        for line in lines:
            self._known.pop(line.id, None)
        self._rest += b"".join(msgspec.json.encode(line) + b"\n" for line in new)
        return new

    def flush(self) -> None:
        """Write what was taken in; raises OSError, and what the disk did not take waits."""
        while self._rest:
            self._done += os.write(self._descriptor, self._rest[self._done :])
            whole = self._rest.rfind(b"\n", 0, self._done) + 1
            self._rest = self._rest[whole:]
            self._size, self._done = self._size + whole, self._done - whole

    def sync(self) -> None:
        """Have what was written on the disk; raises OSError."""
        os.fsync(self._descriptor)

    def reopen(self) -> None:
        """Go on in the file that has the name now, after a rotation; raises OutputError."""
        self.close()
        self._done = 0  # a line that the old file has in part is written again
        self._open(None)

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _open(self, emitted: int | None) -> None:
        """Open the file without the torn line that it may end with; None: know no line of it."""
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        try:
            self._descriptor = os.open(self.path, flags, 0o644)
            self._lock()
            size = os.fstat(self._descriptor).st_size
            self._size = self._whole(size)
            if self._size < size:
                os.ftruncate(self._descriptor, self._size)
            if emitted is not None:
                self._read_known(emitted if emitted <= self._size else 0)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise OutputError(f"cannot write {self.path}: {reason}", "name another") from None

    def _lock(self) -> None:
        """Keep other followers from writing here; raises OutputError where one does."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(f"another process writes to {self.path}", "name another") from None
        except OSError:
            return  # the file system has no locks

    def _whole(self, size: int) -> int:
        """Bytes up to the end of the last whole line."""
        end = size
        while end:
            start = max(0, end - _CHUNK)
            last = os.pread(self._descriptor, end - start, start).rfind(b"\n")
            if last >= 0:
                return start + last + 1
            end = start
        return 0

    def _read_known(self, start: int) -> None:
        rest = b""
        while start < self._size:
            data = os.pread(self._descriptor, min(_CHUNK, self._size - start), start)
            if not data:
                return
            start += len(data)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                try:
                    self._known[msgspec.json.decode(line, type=_Id).id] = None
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                    continue  # not a line of ours
                if len(self._known) > KNOWN:
                    del self._known[next(iter(self._known))]
