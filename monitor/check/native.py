"""Judges files by the native core, which finds what `Streams` find in the records of `Source`.

The core reads lines of canonical events itself. All other lines go through the reader in Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from monitor.check.conclude import Found
from monitor.durable.collector import seldom
from monitor.input.engines import explained
from monitor.input.errors import InputError
from monitor.input.lines import Fault, Lines
from monitor.input.records import Account
from monitor.streams import NativeStreams
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from monitor.check.conclude import Asked
    from monitor.input.dialects import Reader
    from monitor.input.logs import Extraction

__all__ = ["judge_natively"]


@seldom()
def judge_natively(
    asked: Asked,
    every: bool,
    lenient: bool,
    how: Extraction,
    paths: Sequence[str],
    *,
    stdin: BinaryIO | None = None,
    progress: Callable[[int], None] | None = None,
) -> Found:
    """What is found in some files, none of which is a rank of an engine.

    Args:
        every: list every claim, also those that were kept; without, the SHA-256 of a file is stated
            only where a claim was not, for then lines of it may be quoted.
        lenient: lines that cannot be read are left out and counted.
        how: how lines of events are taken out of a log; none is skipped.
        stdin: what `-` stands for.
        progress: called from time to time with the number of bytes read.

    Raises:
        InputError: a file or a line of it cannot be read.
    """
    found, size = Found(), 0
    for path in dict.fromkeys(paths):
        lines = Lines(path, stdin=stdin, how=how, hashed=every)
        file = _File(asked, path, lenient=lenient)
        number = 1
        for block in lines.blocks():
            if isinstance(block, Fault):
                file.fault(block.at(number))
                continue
            number = file.take(block, number)
            if progress is not None:
                progress(size + lines.size)
        size += lines.size
        found.join(file.finish(lines, every=every))
    return found


class _File:
    """One file, and the streams of it."""

    def __init__(self, asked: Asked, path: str, *, lenient: bool) -> None:
        self._account, self._lenient = Account(path), lenient
        self._reader: Reader | None = None  # of lines that the core does not read
        self._streams = NativeStreams(
            path, asked.mode, asked.bundle, limits=asked.limits, only=asked.claim
        )

    def take(self, block: bytes, number: int) -> int:
        """Judge whole lines from this number on; return the number of the next line."""
        at = 0
        while at < len(block):
            if self._reader is None or self._reader.is_canonical:
                taken, lines = self._streams.judge.feed(block, number, at)
                number += lines
                at += taken
            if at < len(block):
                end = block.find(b"\n", at)
                line = block[at : end if end >= 0 else None]
                if line and not line.isspace():
                    self._read(line, number)
                number += 1
                at += len(line) + 1
        return number

    def fault(self, error: InputError) -> None:
        """A line is too long, or the file is damaged from there on."""
        self._account.lines += 1
        self._reject(error)

    def _reject(self, error: InputError) -> None:
        """A line cannot be read; raises the error if lines are not left out."""
        if not self._lenient:
            raise error
        self._account.reject(error)
        self._streams.reject(error)

    def finish(self, lines: Lines, *, every: bool) -> Found:
        """What was found in these lines. Where Python read some all claims are listed: those that
        were kept name the form of the words in which they state their mode.
        """
        for record in () if self._reader is None else self._reader.flush():
            self._streams.take(explained(record, {}))
        self._account.form = "" if self._reader is None else self._reader.says
        self._streams.finish()
        occurred = self._streams.occurred
        self._account.lines += occurred.read - self._streams.read.read  # by the core
        found = self._streams.found(every=every or self._reader is not None)
        claims = (claim for stream in found for claim in stream.claims)
        quoted = not every and any(claim.verdict is not ModeVerdict.KEPT for claim in claims)
        self._account.sha256 = lines.hash_again() if quoted else lines.sha256
        return Found([self._account], occurred, found)

    def _read(self, line: bytes, number: int) -> None:
        """A line that the core leaves to the reader in Python."""
        self._account.lines += 1
        if self._reader is None:
            from monitor.input.dialects import Reader

            self._reader = Reader(self._account.file)
        try:
            for record in self._reader.feed(line, number):
                self._streams.take(explained(record, {}))
        except InputError as error:
            self._reject(error)
