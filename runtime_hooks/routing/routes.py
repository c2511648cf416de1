"""Passes the live claims of each data-parallel rank to the processes that route requests.

A rank appends a line to its file of routes when a claim begins or ends, before the answer to the
client leaves. A process that routes reads what is new in the files of all ranks before each choice.
So a claim that was made through one API server is known to all of them.

The first line of a file has the number of its run. A rank that has written many lines writes its
live claims to a new file, with the next number, and puts it in the place of the old one.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import msgspec

from runtime_hooks.routing.rank import rank_in
from runtime_hooks.trace.faults import LOG

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["SUFFIX", "Known", "Prefix", "RouteLog", "RouteTable"]

SUFFIX: Final = ".routes"
"""The end of the name of a file of routes; before it comes that of the engine's socket."""

T = TypeVar("T")
_SPARE: Final = 4096  # lines beyond those of live claims before a file is written anew
_LOOK_S: Final = 1.0  # between two looks for files of ranks that have none yet


class Prefix(NamedTuple):
    """A prefix of prompts: how many tokens it has, and their digest."""

    tokens: int
    digest: str


class _Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line: a claim that begins, with its prefix where that is known; or one that ends. The first
    line has the run, and the size of a block in tokens.

    `routed` says that the claim's routes are reported.
    """

    claim: str = ""
    tokens: int = 0
    digest: str = ""
    routed: bool = False
    ended: str = ""
    run: int = 0
    block: int = 0


class RouteLog:
    """The file of one rank. Everything here runs on the engine's thread.

    If the file cannot be written, that is logged once, and the rank has no routes any more.

    Args:
        block: the size of a block, in tokens.
    """

    def __init__(self, path: Path, block: int) -> None:
        self._path, self._block, self._run, self._lines = path, block, 0, 0
        self._live: dict[str, _Line] = {}
        self._fd: int | None = None
        self._attempt()

    def begin(self, claim: str, prefix: Prefix | None, *, routed: bool = False) -> None:
        """A claim begins."""
        self._live[claim] = line = _Line(claim, *(prefix or (0, "")), routed)
        self._attempt(line)

    def end(self, claim: str) -> None:
        """A claim ends."""
        if self._live.pop(claim, None) is not None:
            self._attempt(_Line(ended=claim))

    def close(self) -> None:
        """The rank has no claims any more: remove the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        with suppress(OSError):
            os.unlink(self._path)

    def _attempt(self, line: _Line | None = None) -> None:
        if line is not None and self._fd is None:
            return
        try:
            if line is None or self._lines > 2 * len(self._live) + _SPARE:
                self._write_anew()
            else:
                self._write([line])
        except OSError as error:
            self.close()
            LOG.error("resident-claims: no request is routed to this rank's claims: %s", error)

    def _write_anew(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
        self._run, self._lines = self._run + 1, 0
        new = f"{self._path}.new"
        self._fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        self._write([_Line(run=self._run, block=self._block), *self._live.values()])
        os.replace(new, self._path)

    def _write(self, lines: list[_Line]) -> None:
        content = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
        self._lines += len(lines)
        while content and self._fd is not None:
            content = content[os.write(self._fd, content) :]


class Known:
    """The claims of one rank: their prefixes by their ids, and how many claims have each prefix,
    how many a prefix of each length, and how many of each prefix are `routed`. `block` is the size
    of a block in tokens.
    """

    def __init__(self, block: int) -> None:
        self.block = block
        self.claims: dict[str, Prefix] = {}
        self.prefixes: Counter[Prefix] = Counter()
        self.lengths: Counter[int] = Counter()
        self.routed: Counter[Prefix] = Counter()
        self._routed: set[str] = set()

    def begin(self, claim: str, prefix: Prefix, *, routed: bool) -> None:
        """A claim begins."""
        self.end(claim)
        self.claims[claim] = prefix
        self.prefixes[prefix] += 1
        self.lengths[prefix.tokens] += 1
        if routed:
            self._routed.add(claim)
            self.routed[prefix] += 1

    def end(self, claim: str) -> None:
        """A claim ends, if it is known."""
        prefix = self.claims.pop(claim, None)
        if prefix is None:
            return
        _less(self.prefixes, prefix)
        _less(self.lengths, prefix.tokens)
        if claim in self._routed:
            self._routed.remove(claim)
            _less(self.routed, prefix)


def _less(counts: Counter[T], one: T) -> None:
    """Count one less; what is not there any more is no key."""
    counts[one] -= 1
    if not counts[one]:
        del counts[one]


class _File:
    """A file of routes, as far as it was read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen, self._run, self._at = (0, 0, 0), 0, 0
        self.known = Known(1)

    def read(self) -> bool:
        """Read what is new; False where the file is gone.

        Raises:
            OSError, ValueError: it cannot be read.
        """
        try:
            there = os.stat(self._path)
        except FileNotFoundError:
            return False
        seen = (there.st_ino, there.st_size, there.st_mtime_ns)
        if seen == self._seen:
            return True
        with self._path.open("rb") as file:
            head = file.readline()
            first = msgspec.json.decode(head, type=_Line)
            if first.run != self._run:
                self._run, self._at = first.run, len(head)
                self.known = Known(max(1, first.block))
            file.seek(self._at)
            content = file.read()
        whole = content.rfind(b"\n") + 1
        for line in content[:whole].splitlines():
            found = msgspec.json.decode(line, type=_Line)
            if found.claim:
                prefix = Prefix(found.tokens, found.digest)
                self.known.begin(found.claim, prefix, routed=found.routed)
            else:
                self.known.end(found.ended)
        self._at += whole
        self._seen = seen
        return True


class RouteTable:
    """The live claims of a server's ranks, as their files in a folder say.

    Args:
        end: what the names of the files of this server end with.
    """

    def __init__(self, folder: Path, end: str) -> None:
        self._folder, self._end = folder, end
        self._files: dict[int, _File] = {}
        self._ranks, self._looked_at = 1, float("-inf")

    def refresh(self) -> None:
        """Read what is new. A file that cannot be read is no route."""
        if len(self._files) < self._ranks and time.monotonic() - self._looked_at >= _LOOK_S:
            self._look()
        for number, file in [*self._files.items()]:
            try:
                there = file.read()
            except (OSError, ValueError) as error:
                there = False
                LOG.error("resident-claims: the routes of rank %d: %s", number, error)
            if not there:
                del self._files[number]

    def known(self) -> Iterator[tuple[int, Known]]:
        """The claims of each rank that has a file, in the order of the ranks."""
        return ((number, file.known) for number, file in sorted(self._files.items()))

    def _look(self) -> None:
        """Find the files of ranks."""
        self._looked_at = time.monotonic()
        with suppress(OSError):
            for name in os.listdir(self._folder):
                rank = rank_in(name) if name.endswith(self._end) else None
                if rank is not None and rank.number not in self._files:
                    self._ranks = rank.ranks
                    self._files[rank.number] = _File(self._folder / name)
