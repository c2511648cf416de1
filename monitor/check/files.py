"""Checks files by one mode, or each claim by the mode that it states."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Protocol

from monitor.check.again import seekable
from monitor.check.judging import Judging
from monitor.check.whole import Asked
from monitor.engine import ModeVerdict
from monitor.input.batches import Batch
from monitor.input.reordered import Reordered
from monitor.input.sources import read
from spec.claims.claim import Mode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from monitor.input.records import Record
    from monitor.input.reorder_window import Window
    from monitor.input.sources import Account
    from monitor.report.verdict import Report
    from spec.contract.modes import Bundle

__all__ = ["EXIT_CODES", "Records", "check", "check_each"]

EXIT_CODES = {ModeVerdict.KEPT: 0, ModeVerdict.VIOLATED: 1, ModeVerdict.INCONCLUSIVE: 3}
"""What a process that printed a verdict exits with."""


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

    def batches(self) -> Iterator[Batch | Record]:
        """Canonical events many at a time, and records; raises InputError."""


_EVERY = 4096  # records between two calls of `progress`


def check(
    paths: Sequence[str],
    mode: Mode | None,
    bundle: Bundle,
    *,
    claim: str | None = None,
    strict: bool = False,
    lenient: bool = False,
    window: Window | None = None,
    stdin: BinaryIO | None = None,
    progress: Callable[[int], None] | None = None,
) -> Report:
    """Judge trace files.

    Args:
        mode: judge the claims that ask for this one, or for none by name; None: each claim by the
            mode that it states, and those that state none, or two, by none.
        bundle: the obligations of a mode that are asked about.
        claim: judge the claim of this id alone.
        strict: an obligation that no claim exercised makes the verdict inconclusive.
        lenient: skip and count lines that cannot be read; the verdict is then inconclusive at best.
        window: put the canonical lines of each stream into the order of their numbers, as far as
            this reaches, and drop those that say the same twice; by default lines are taken as they
            come.
        stdin: what `-` stands for, by default the standard input of the process.
        progress: called from time to time with the number of bytes read, as they lie on disk.

    Raises:
        InputError: a file or a line of it cannot be read.
    """
    asked = Asked(bundle, strict, claim)
    if mode is not None:
        judging = Judging(asked, {mode}, own=False)
        source = _source(judging, paths, lenient, stdin, window)
        _run(judging, source, progress)
        return judging.report(source.accounts)
    with seekable(paths, stdin) as copy:

        def again(judging: Judging) -> Records:
            if copy is not None:
                copy.seek(0)
            return _source(judging, paths, lenient, copy, window)

        return check_each(asked, again, progress)


def check_each(
    asked: Asked,
    again: Callable[[Judging], Records],
    progress: Callable[[int], None] | None = None,
) -> Report:
    """Judge records, each claim by the mode that it states.

    Args:
        again: the same records, from the first on, for another judging.
        progress: as `check` has it.
    """
    modes: set[Mode] = set()
    while True:
        judging = Judging(asked, modes, own=True)
        source = again(judging)
        more = _run(judging, source, progress)
        if more is None:
            report = judging.report(source.accounts)
            away = report.unjudged.turned_away or report.unjudged.turned_away_forgotten
            if not away or len(modes) == len(Mode):
                return report
        # One that states no mode is owed nothing only where no mode at all finds otherwise.
        modes |= set(Mode) if more is None else {more}


def _source(
    judging: Judging,
    paths: Sequence[str],
    lenient: bool,
    stdin: BinaryIO | None,
    window: Window | None,
) -> Records:
    reject = judging.reject
    if window is None:
        return read(paths, lenient=lenient, stdin=stdin, on_reject=reject)
    return Reordered(paths, window, lenient=lenient, stdin=stdin, on_reject=reject)


def _run(judging: Judging, source: Records, progress: Callable[[int], None] | None) -> Mode | None:
    """Read to the end, or to where a claim states a mode whose judge has to read from the start."""
    for number, found in enumerate(source.batches()):
        if progress is not None and (isinstance(found, Batch) or number % _EVERY == 0):
            progress(source.size)
        more = judging.take_batch(found) if isinstance(found, Batch) else judging.take(found)
        if more is not None:
            return more
    if progress is not None:
        progress(source.size)
    return None
