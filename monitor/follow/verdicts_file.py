"""Writes verdicts as JSON lines to a file, each once, however often the writer is restarted."""

from __future__ import annotations

import fcntl
import os
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import msgspec

from monitor.follow.engines import PREFIX
from spec.language.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from monitor.follow.verdict_line import VerdictLine

__all__ = ["KNOWN", "VerdictsFile"]

KNOWN: Final = 1_000_000
"""Ids of lines that are remembered from before a restart: the last ones."""

_CHUNK: Final = 1 << 20


class _At(msgspec.Struct):
    file: str = ""
    line: int = 0


class _Id(msgspec.Struct):
    id: str
    source: str = ""
    at: _At = msgspec.field(default_factory=_At)


class VerdictsFile:
    """The file of verdicts, to which lines are appended.

    After a restart, what was read again is judged again: the lines that the file has beyond those
    of the checkpoint are not written a second time. Engines whose ranks are merged are sources
    here, and judged again where one of the sources is.

    Args:
        path: the file, which may be there already.
        emitted: what `emitted` was at the checkpoint.
        sources: whether each of them is read again from there.

    Raises:
        OutputError: it cannot be opened or read.
    """

    def __init__(
        self,
        path: str,
        emitted: Mapping[str, int] = MappingProxyType({}),
        sources: Mapping[str, bool] = MappingProxyType({}),
    ) -> None:
        self.path, self._sources = path, sources
        self._again = any(sources.values())  # whether engines are judged again
        self._rest, self._done = b"", 0  # lines that wait, and bytes written of the first
        self._known: dict[str, str] = {}  # ids that are there, with the source
        self.cited: dict[str, int] = {}  # of each source the last line that these cite
        # Of each source those that will be decided again, and where they begin.
        self._due: dict[str, dict[str, int]] = {source: {} for source in sources}
        self._descriptor, self._size = -1, 0
        self._open(emitted)

    @property
    def emitted(self) -> dict[str, int]:
        """By source, bytes of the file within which no line of it will be decided again.

        That is the whole file for one that is read as far as it was before the last restart.
        """
        return {name: next(iter(due.values()), self._size) for name, due in self._due.items()}

    def add(self, lines: Sequence[VerdictLine]) -> list[VerdictLine]:
        """Take in lines to be written, but for those that are there; the others are returned."""
        new = [line for line in lines if line.id not in self._known]
        for line in lines:
            self._known.pop(line.id, None)
            self._due.setdefault(line.source, {}).pop(line.id, None)
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
        for due in self._due.values():
            due.clear()  # the old file is not read again
        self._open(None)

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _open(self, emitted: Mapping[str, int] | None) -> None:
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
                self._read_known(emitted)
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

    def _read_known(self, emitted: Mapping[str, int]) -> None:
        begin = {name: at for name, at in emitted.items() if at <= self._size}
        engines = [name for name in begin if name.startswith(PREFIX)]
        self._due |= {name: {} for name in engines}
        names = [*self._sources, *engines] if self._sources else begin
        start = min((begin.get(name, 0) for name in names), default=0)
        rest, at = b"", start
        while start < self._size:
            data = os.pread(self._descriptor, min(_CHUNK, self._size - start), start)
            if not data:
                return
            start += len(data)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._know(line, at, begin)
                at += len(line) + 1

    def _know(self, line: bytes, at: int, begin: Mapping[str, int]) -> None:
        try:
            found = msgspec.json.decode(line, type=_Id)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return  # not a line of ours
        if at < begin.get(found.source, 0):
            return
        self._known[found.id] = found.source
        self.cited[found.at.file] = max(found.at.line, self.cited.get(found.at.file, 0))
        if self._sources.get(found.source, found.source.startswith(PREFIX) and self._again):
            self._due.setdefault(found.source, {})[found.id] = at
        if len(self._known) > KNOWN:
            oldest = next(iter(self._known))
            self._due.get(self._known.pop(oldest), {}).pop(oldest, None)
