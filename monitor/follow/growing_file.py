"""Reads a file while it grows, through rotation by renaming and by truncation."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from monitor.follow.buffer import Splitter

if TYPE_CHECKING:
    from monitor.follow.buffer import Outlet, Position

__all__ = ["HEAD", "GrowingFile", "digest_of"]

POLL_S: Final = 0.1
_CHUNK: Final = 1 << 16
HEAD: Final = 256
"""Bytes by which a file is known again."""

_NEIGHBOURS: Final = 10_000  # files of a folder among which a rotated one is looked for
_SUFFIX: Final = re.compile(r"[.-]\d[\d.-]*")  # of rotated files that are not compressed
_ROTATED: Final = "the file was rotated"
_TRUNCATED: Final = "the file was truncated"
_REPLACED: Final = "the file that was read last is not there any more"


class GrowingFile:
    """The lines of a file, and of those that take its place.

    One process at a time is assumed to write: once there is something in the new file, nothing
    more is written to the old one.

    Args:
        until_eof: end where the file ends, without a wait for more.
    """

    replays, lossy = True, False

    def __init__(self, path: str, *, until_eof: bool = False) -> None:
        self._path, self._until_eof = path, until_eof
        self._descriptor = -1
        self._offset = 0
        self._head = b""
        self._splitter = Splitter()
        self._resumed: Position = {}

    def seek(self, position: Position) -> None:
        """Read on from there, in the file that was read last, if it can be found."""
        self._resumed = dict(position)

    def lag(self) -> int | None:
        """Bytes of the file in hand that were not read."""
        with suppress(OSError):
            return max(0, os.fstat(self._descriptor).st_size - self._offset)
        return None

    def run(self, outlet: Outlet) -> None:
        """Read until asked to stop; or to the end of the file, where that is asked for."""
        try:
            if self._begin(outlet):
                outlet.connects += 1
                self._read(outlet)
        except OSError as error:
            outlet.end(f"cannot be read: {error.strerror or error}")
        finally:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1

    def _read(self, outlet: Outlet) -> None:
        while not outlet.stopping:
            if self._is_truncated():
                outlet.interrupted(_TRUNCATED)
                self._restart()
            elif data := os.pread(self._descriptor, _CHUNK, self._offset):
                self._take(data, outlet)
            elif self._is_rotated():
                # What was written before the first byte of the new file is there by now.
                if data := os.pread(self._descriptor, _CHUNK, self._offset):
                    self._take(data, outlet)
                else:
                    self._flush(outlet)
                    outlet.interrupted(_ROTATED)
                    self._open(self._next())
            elif self._until_eof:
                self._flush(outlet)
                outlet.end()
                return
            else:
                outlet.wait(POLL_S)

    def _begin(self, outlet: Outlet) -> bool:
        """Open the file, or the one that was read last; whether there is any."""
        position = self._resumed
        if position:
            for path in self._candidates():
                with suppress(OSError):
                    self._open(path)
                    if self._is_at(position):
                        self._offset = int(position["offset"])
                        return True
            outlet.interrupted(_REPLACED)
        while True:
            try:
                self._open(self._path)
                return True
            except FileNotFoundError:
                if self._until_eof:
                    outlet.end("no such file")
                    return False
                if outlet.wait(POLL_S):
                    return False

    def _candidates(self) -> list[str]:
        """The file of this name, and its neighbours with the number of the one read last."""
        inode = self._resumed.get("inode")
        same = [entry.path for entry in self._neighbours() if entry.inode() == inode]
        return [self._path, *same]

    def _open(self, path: str) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = descriptor
        self._restart()

    def _restart(self) -> None:
        self._offset, self._head = 0, b""
        self._splitter.clear()

    def _take(self, data: bytes, outlet: Outlet) -> None:
        self._offset += len(data)
        if len(self._head) < HEAD:
            self._head = os.pread(self._descriptor, min(HEAD, self._offset), 0)
        outlet.lines(self._splitter.feed(data), self._position())

    def _flush(self, outlet: Outlet) -> None:
        """What is left is a line, though its end is missing."""
        lines = self._splitter.flush()
        outlet.lines(lines, self._position())

    def _position(self) -> Position:
        found = os.fstat(self._descriptor)
        return {
            "device": found.st_dev,
            "inode": found.st_ino,
            "offset": self._offset - self._splitter.held,
            "head": len(self._head),
            "digest": digest_of(self._head),
        }

    def _is_at(self, position: Position) -> bool:
        """Whether the file in hand is the one that a position is in."""
        found = os.fstat(self._descriptor)
        if found.st_ino != position.get("inode") or found.st_size < int(position["offset"]):
            return False
        self._head = os.pread(self._descriptor, int(position["head"]), 0)
        return digest_of(self._head) == position["digest"]

    def _is_truncated(self) -> bool:
        """Whether the file in hand has less than was read, or other content."""
        if os.fstat(self._descriptor).st_size < self._offset:
            return True
        return os.pread(self._descriptor, len(self._head), 0) != self._head

    def _is_rotated(self) -> bool:
        """Whether the file in hand has its name no more, and something is in the one that has it or
        in one that was rotated since.
        """
        old = os.fstat(self._descriptor)
        with suppress(OSError):
            new = os.stat(self._path)
            if (new.st_dev, new.st_ino) == (old.st_dev, old.st_ino):
                return False
            if new.st_size:
                return True
        return self._next() != self._path

    def _next(self) -> str:
        """The file that was written after the one in hand: the oldest of those that were rotated
        since and are not empty, or the one of the name.
        """
        old, later = os.fstat(self._descriptor), []
        for entry in self._neighbours():
            if _SUFFIX.fullmatch(entry.name.removeprefix(os.path.basename(self._path))):
                with suppress(OSError):
                    found = entry.stat()
                    newer = found.st_mtime_ns > old.st_mtime_ns and found.st_size
                    if newer and found.st_ino != old.st_ino:
                        later.append((found.st_mtime_ns, entry.path))
        return min(later)[1] if later else self._path

    def _neighbours(self) -> list[os.DirEntry[str]]:
        with suppress(OSError), os.scandir(Path(self._path).parent) as entries:
            return list(itertools.islice(entries, _NEIGHBOURS))
        return []


def digest_of(head: bytes) -> str:
    """Name the beginning of a file."""
    return hashlib.blake2b(head, digest_size=16).hexdigest()
