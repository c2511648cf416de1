"""Checks files: reads each once, and judges each claim by the mode that it states."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from types import NoneType
from typing import TYPE_CHECKING, BinaryIO, Final, TypeAlias, cast

from monitor.check.conclude import Asked, concluded, found_in
from monitor.durable.collector import seldom
from monitor.input.engines import engines_in
from monitor.input.errors import InputError
from monitor.input.lines import STDIN
from monitor.input.logs import PLAIN
from monitor.input.reorder_window import Window
from monitor.native import core
from monitor.results import USUAL
from spec.contract.modes import Bundle
from spec.contract.names import find_bundle, find_mode
from spec.language.errors import SpecError, require
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from monitor.check.conclude import Found
    from monitor.check.jobs import Judge
    from monitor.input.engines import Engines
    from monitor.input.logs import Extraction
    from monitor.report.verdict import Report
    from monitor.timeline.items import Item
    from spec.claims.states import Mode
    from spec.stream.breaks import Limits

__all__ = ["EXIT_CODES", "check", "check_files", "claim_asked"]

_Path: TypeAlias = "str | os.PathLike[str]"

EXIT_CODES: Final = {
    ModeVerdict.KEPT: 0,
    ModeVerdict.VIOLATED: 1,
    ModeVerdict.INCONCLUSIVE: 3,
}
"""What a process that printed a verdict exits with."""

_PATHS: Final = "a text or a pathlib.Path, or several of them"
_EVERY: Final = 4096  # records between two calls of `progress`


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
    every: bool = True,
    limits: Limits | None = None,
    how: Extraction = PLAIN,
    stdin: BinaryIO | None = None,
    progress: Callable[[int], None] | None = None,
    timeline: Callable[[Item], None] | None = None,
    conclude: Callable[[Asked, Found], Report] = concluded,
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
        every: list every claim. A report for text or annotations needs those alone that were not
            kept; the native core may then count the others in `forgotten.verdicts` and
            `forgotten.obligations`.
        limits: how much of each stream is followed at once; by default all.
        how: how lines of events are taken out of a log. Where other lines are skipped, a line that
            begins with an object and cannot be read is counted as with `lenient`.
        stdin: what `-` stands for, by default the standard input of the process.
        progress: called from time to time with the number of bytes read, as they lie on disk.
        timeline: called with each item of `monitor.timeline`. Then the judge in Python reads all
            files, one after the other.
        conclude: makes the report of what was asked and found.

    Raises:
        InputError: a file or a line of it cannot be read.
        SpecError: there are too few open files or processes for so many jobs.
    """
    asked = Asked(mode, bundle, strict, claim, limits or USUAL)
    engines, lenient = engines_in(paths, how), lenient or how.skip
    if engines.merged and window is not None:
        hint = "leave out --reorder: ranks are put into order by their times"
        raise InputError(engines.merged[0][0].path, "it is a rank of an engine", hint=hint)
    # The readers in Python merge ranks, put lines into order, and see which streams have numbers.
    if core() == "native" and not (engines or window or how.skip or timeline):
        from monitor.check.native import judge_natively

        # Whether a claim goes on in another file, or occurs, is seen in the list.
        every = every or claim is not None or len(paths) > 1
        judge: Judge = partial(judge_natively, asked, every, lenient, how)
    else:
        judge = partial(_judge_files, asked, lenient, window, engines, how, timeline)
    if jobs > 1 and len(set(paths) - {STDIN}) > 1 and not (engines or timeline):
        from monitor.check.jobs import judge_apart

        several = [*dict.fromkeys(paths)]
        found = judge_apart(judge, several, jobs, stdin=stdin, progress=progress)
    else:
        found = judge(paths, stdin=stdin, progress=progress)
    return conclude(asked, found)


@seldom()
def _judge_files(
    asked: Asked,
    lenient: bool,
    window: Window | None,
    engines: Engines,
    how: Extraction,
    timeline: Callable[[Item], None] | None,
    paths: Sequence[str],
    *,
    stdin: BinaryIO | None = None,
    progress: Callable[[int], None] | None = None,
) -> Found:
    """What is found in some files by the judge in Python, with the arguments of `check`."""
    from monitor.core import Streams
    from monitor.input.merged import Merged
    from monitor.input.sources import Source

    streams: Streams
    if timeline is None:
        streams = Streams(asked.mode, asked.bundle, limits=asked.limits, only=asked.claim)
    else:
        from monitor.timeline import Recorder, Written

        streams = Recorder(
            Written(timeline), asked.mode, asked.bundle, limits=asked.limits, only=asked.claim
        )
    reject = streams.reject
    source: Source | Merged
    if window is None:
        source = Merged(paths, engines, lenient=lenient, stdin=stdin, on_reject=reject, how=how)
    else:
        source = Source(
            paths, lenient=lenient, window=window, stdin=stdin, on_reject=reject, how=how
        )
    for number, record in enumerate(source):
        if progress is not None and number % _EVERY == 0:
            progress(source.size)
        streams.take(record)
    if progress is not None:
        progress(source.size)
    streams.finish()
    return found_in(streams, source.accounts)


def check_files(
    paths: _Path | Iterable[_Path],
    mode: Mode | str | None = None,
    *,
    bundle: Bundle | str = Bundle.CONTRACT,
    claim: str | None = None,
    strict: bool = False,
    lenient: bool = False,
    reorder: str | None = None,
) -> Report:
    """Judge trace files, as `python -m monitor check` does.

    Args:
        paths: a file or several, plain or compressed, in the canonical form or a recorded
            dialect; `-` is standard input.
        mode: the mode, or its name; claims that ask for another are counted and not judged. By
            default each claim is judged by the mode that it states.
        bundle: which bundle of the mode, or its name.
        claim: judge the claim of this id alone.
        strict: an obligation that no claim exercised makes the verdict inconclusive.
        lenient: skip and count lines that cannot be read; the verdict is then inconclusive at best.
        reorder: put lines into the order of their numbers, within a window such as `100`, `5s` or
            `100,5s`, and drop repeated ones; by default lines are taken as they come.

    Raises:
        InputError: a file or a line of it cannot be read.
        UnknownName: there is no such mode, or no such bundle.
        SpecError: what is given is no path, the id of no claim, or no window.
    """
    return check(
        _texts(paths),
        None if mode is None else find_mode(mode).mode,
        find_bundle(bundle),
        claim=claim_asked(claim),
        strict=strict,
        lenient=lenient,
        window=None if reorder is None else Window.parse(reorder),
    )


def _texts(paths: _Path | Iterable[_Path]) -> list[str]:
    if isinstance(paths, str | bytes | os.PathLike):
        return [_text(paths)]
    require(paths, Iterable, "paths", _PATHS)
    return [_text(path) for path in paths]


def _text(path: object) -> str:
    require(path, (str, os.PathLike), "a path", _PATHS)
    text = os.fspath(cast("_Path", path))
    require(text, str, "a path", _PATHS)
    return text


def claim_asked(claim: str | None) -> str | None:
    """The same id; raises SpecError for what is the id of no claim."""
    require(claim, (str, NoneType), "claim", "the id of a claim, or None")
    if claim == "":
        raise SpecError("claim is empty", "give the id of a claim, or None for all of them")
    return claim
