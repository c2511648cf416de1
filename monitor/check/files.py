"""Checks files: reads each once, and judges each claim by the mode that it states."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Final, Protocol

from monitor.check.conclude import Asked, concluded
from monitor.check.found import found_in
from monitor.durable.collector import seldom
from monitor.input.engines import engines_in
from monitor.input.errors import InputError
from monitor.input.lines import STDIN
from monitor.native import core
from monitor.results import USUAL
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from monitor.check.found import Found
    from monitor.check.jobs import Judge
    from monitor.core import Streams
    from monitor.input.engines import Engines
    from monitor.input.records import Account, Record
    from monitor.input.reorder_window import Window
    from monitor.report.verdict import Report
    from spec.claims.states import Mode
    from spec.contract.modes import Bundle
    from spec.stream.breaks import Limits

__all__ = ["EXIT_CODES", "Records", "check"]

EXIT_CODES: Final = {
    ModeVerdict.KEPT: 0,
    ModeVerdict.VIOLATED: 1,
    ModeVerdict.INCONCLUSIVE: 3,
}
"""What a process that printed a verdict exits with."""

_EVERY: Final = 4096  # records between two calls of `progress`


class Records(Protocol):
    """Records that are read once, as `Source` reads them from files."""

    @property
    def accounts(self) -> list[Account]:
        """What was read of each file."""

    @property
    def size(self) -> int:
        """Bytes read so far."""

    def __iter__(self) -> Iterator[Record]:
        """The records; raises InputError."""


def check(
    paths: Sequence[str],
    mode: Mode | None,
    bundle: Bundle,
    *,
    claim: str | None = None,
    strict: bool = False,
    lenient: bool = False,
    window: Window | None = None,
    jobs: int = 1,
    limits: Limits | None = None,
    stdin: BinaryIO | None = None,
    progress: Callable[[int], None] | None = None,
) -> Report:
    """Judge trace files.

    Args:
        mode: judge the claims that state this one, or none; None: each claim by the mode that it
            states, and those that state none by none.
        bundle: the obligations of a mode that are asked about.
        claim: judge the claim of this id alone.
        strict: an obligation that no claim exercised makes the verdict inconclusive.
        lenient: skip and count lines that cannot be read; the verdict is then inconclusive at best.
        window: put the canonical lines of each stream into the order of their numbers, as far as
            this reaches, and drop those that say the same twice; by default lines are taken as they
            come.
        jobs: judge so many files at once, each in a process of its own.
        limits: how much of each stream is followed at once; by default all.
        stdin: what `-` stands for, by default the standard input of the process.
        progress: called from time to time with the number of bytes read, as they lie on disk.

    Raises:
        InputError: a file or a line of it cannot be read.
        SpecError: there are too few open files or processes for so many jobs.
    """
    asked = Asked(mode, bundle, strict, claim, limits or USUAL)
    engines = engines_in(paths)
    # Ranks are merged, and lines put into order, by the readers in Python.
    if core() == "native" and not (engines or window):
        judge: Judge = partial(_judge_natively, asked, lenient)
    else:
        judge = partial(_judge_files, asked, lenient, window, engines)
    if jobs > 1 and len(set(paths) - {STDIN}) > 1 and not engines:
        from monitor.check.jobs import judge_apart

        several = [*dict.fromkeys(paths)]
        found = judge_apart(judge, several, jobs, stdin=stdin, progress=progress)
    else:
        found = judge(paths, stdin=stdin, progress=progress)
    return concluded(asked, found)


@seldom()
def _judge_files(
    asked: Asked,
    lenient: bool,
    window: Window | None,
    engines: Engines,
    paths: Sequence[str],
    *,
    stdin: BinaryIO | None = None,
    progress: Callable[[int], None] | None = None,
) -> Found:
    """What is found in some files by the judge in Python, with the arguments of `check`."""
    from monitor.core import Streams

    streams = Streams(asked.mode, asked.bundle, limits=asked.limits, only=asked.claim)
    source = _source_of(streams, paths, lenient, stdin, window, engines)
    for number, record in enumerate(source):
        if progress is not None and number % _EVERY == 0:
            progress(source.size)
        streams.take(record)
    if progress is not None:
        progress(source.size)
    streams.finish()
    return found_in(streams, source.accounts)


@seldom()
def _judge_natively(
    asked: Asked,
    lenient: bool,
    paths: Sequence[str],
    *,
    stdin: BinaryIO | None = None,
    progress: Callable[[int], None] | None = None,
) -> Found:
    """The same by the native core, which is imported where it is asked for."""
    from monitor.check.native import judge_natively

    return judge_natively(asked, lenient, paths, stdin=stdin, progress=progress)


def _source_of(
    streams: Streams,
    paths: Sequence[str],
    lenient: bool,
    stdin: BinaryIO | None,
    window: Window | None,
    engines: Engines,
) -> Records:
    from monitor.input.merged import Merged
    from monitor.input.reordered import Reordered

    reject = streams.reject
    if engines.merged and window is not None:
        hint = "leave out --reorder: ranks are put into order by their times"
        raise InputError(engines.merged[0][0].path, "it is a rank of an engine", hint=hint)
    if window is None:
        return Merged(paths, engines, lenient=lenient, stdin=stdin, on_reject=reject)
    return Reordered(paths, window, lenient=lenient, stdin=stdin, on_reject=reject)
