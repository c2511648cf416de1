"""Judges files by the native core, which finds what `Streams` find in the records of `Source`.

The core reads lines of canonical events itself. All other lines go through the reader in Python.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, BinaryIO

from monitor.check.found import Found, StreamFound
from monitor.core import TROUBLED, Ended, Occurred, left_of, line_of
from monitor.input.dialects import Reader
from monitor.input.lines import Fault, Lines
from monitor.input.merged import explained
from monitor.input.records import CANONICAL, at_line
from monitor.input.sources import Account
from monitor.native.judge import NativeJudge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from monitor.check.conclude import Asked
    from monitor.input.records import At, Form, Record
    from monitor.native.judge import NativeStream

__all__ = ["judge_natively"]


def judge_natively(
    asked: Asked,
    paths: Sequence[str],
    *,
    stdin: BinaryIO | None = None,
    progress: Callable[[int], None] | None = None,
) -> Found:
    """What is found in some files, none of which is a rank of an engine.

    Args:
        stdin: what `-` stands for.
        progress: called from time to time with the number of bytes read.

    Raises:
        InputError: a file or a line of it cannot be read.
    """
    found, size = Found([], Occurred(), []), 0
    for path in dict.fromkeys(paths):
        lines = Lines(path, stdin=stdin)
        file = _File(asked, path)
        number = 1
        for block in lines.blocks():
            if isinstance(block, Fault):
                raise block.at(number)
            number = file.take(block, number)
            if progress is not None:
                progress(size + lines.size)
        size += lines.size
        found.join(file.finish(lines.sha256))
    return found


class _File:
    """One file, and the native judge of its streams."""

    def __init__(self, asked: Asked, path: str) -> None:
        self._asked, self._account = asked, Account(path)
        self._unnamed = path.encode(errors="backslashreplace").decode()
        self._occurred, self._reader = Occurred(), Reader(path)
        self._forms: dict[str, Form] = {CANONICAL.name: CANONICAL}
        self._judge = NativeJudge(
            asked.mode,
            asked.bundle,
            limits=asked.limits,
            only=asked.claim,
            unnamed=self._unnamed,
            troubled=TROUBLED,
        )

    def take(self, block: bytes, number: int) -> int:
        """Judge whole lines from this number on; return the number of the next line."""
        at = 0
        while at < len(block):
            if self._reader.is_canonical:
                taken, lines = self._judge.feed(block, number, at)
                self._account.lines += lines
                number += block.count(b"\n", at, at + taken)
                at += taken
            if at < len(block):
                end = block.find(b"\n", at)
                line = block[at : end if end >= 0 else None]
                if line and not line.isspace():
                    self._read(line, number)
                number += end >= 0
                at += len(line) + 1
        return number

    def finish(self, sha256: str) -> Found:
        """What was found; `sha256` is of the file."""
        for record in self._reader.flush():
            self._record(record)
        self._account.sha256 = sha256
        self._judge.finish()
        kinds, streams = self._judge.found(self._at)
        self._occurred.kinds.update(kinds)
        self._occurred.read += sum(kinds.values())
        return Found([self._account], self._occurred, [*map(self._stream, streams)])

    def _read(self, line: bytes, number: int) -> None:
        """A line that the core leaves to the reader in Python."""
        self._account.lines += 1
        for record in self._reader.feed(line, number):
            self._record(record)

    def _record(self, record: Record) -> None:
        record = explained(record, {})
        self._occurred.note(record)
        stamp, at, form = record.stamp, record.at, record.stamp.form
        self._forms[form.name] = form
        place = at.line, at.sequence
        stream = self._unnamed if stamp.stream == self._account.file else stamp.stream
        self._judge.take(line_of(record), place, stream, form.name, form.first)

    def _at(self, line: int, sequence: int | None) -> At:
        return at_line(self._account.file, line, sequence)

    def _stream(self, found: NativeStream) -> StreamFound:
        return StreamFound(
            self._account.file,
            self._account.file if found.name == self._unnamed else found.name,
            self._forms[found.form],
            found.first,
            found.last,
            frozenset(found.open),
            found.period + 1,
            tuple(found.breaks),
            left_of(found.left, found.forgotten, self._asked.limits),
            tuple(found.claims),
            Ended(
                Counter(found.verdicts),
                Counter(found.obligations),
                Counter(found.entered),
                found.away,
            ),
        )
