"""Reads a file that is compressed, msgpack or Parquet, once and to its end, as `check` does."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING

from monitor.follow.growing_file import HEAD, digest_of
from monitor.input.errors import InputError
from monitor.input.lines import Fault, Lines

if TYPE_CHECKING:
    from monitor.follow.buffer import Outlet, Position

__all__ = ["PackedFile"]


class PackedFile:
    """The lines of a file that is whole: what is appended later is not waited for.

    After a restart it is read from its beginning, without the lines that were judged.

    Raises:
        InputError: its first lines cannot be read, or a package is missing.
    """

    replays, lossy = True, False

    def __init__(self, path: str) -> None:
        self._path = path
        self._lines = Lines(path)
        blocks = self._lines.blocks()
        self._blocks = chain([next(blocks)], blocks)
        self._resumed: Position = {}

    def seek(self, position: Position) -> None:
        """Read on from there, if this is the same file."""
        self._resumed = dict(position)

    def lag(self) -> int | None:
        """Bytes of the file, as it lies on disk, that were not read."""
        with suppress(OSError):
            return max(0, os.stat(self._path).st_size - self._lines.size)
        return None

    def run(self, outlet: Outlet) -> None:
        """Read to the end of the file, or until asked to stop; what is damaged ends it."""
        outlet.connects += 1
        try:
            self._read(outlet)
        except InputError as error:
            outlet.end(error.reason)
        except OSError as error:
            outlet.end(f"cannot be read: {error.strerror or error}")

    def _read(self, outlet: Outlet) -> None:
        identity, done, number, cut = self._identity(), 0, 0, False
        if resumed := self._resumed:
            done = int(resumed.get("lines", 0))  # none, if it was not compressed
            if resumed != {**identity, "lines": done}:
                done = 0
                outlet.interrupted("the file is not the one that was read last")
        for block in self._blocks:
            if outlet.stopping:
                return
            if isinstance(block, Fault) and block.is_end:
                outlet.end(block.reason)
                return
            lines = [None] if isinstance(block, Fault) else block.removesuffix(b"\n").split(b"\n")
            lines = lines[cut:]  # the end of a line that was too long
            cut = isinstance(block, Fault)
            new = lines[max(done - number, 0) :]
            number += len(lines)
            outlet.lines(new, {**identity, "lines": number})
        outlet.end()

    def _identity(self) -> Position:
        with open(self._path, "rb") as file:
            size, head = os.fstat(file.fileno()).st_size, file.read(HEAD)
        return {"size": size, "head": digest_of(head)}
