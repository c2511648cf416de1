"""Checks files by one mode, or each claim by the mode that it states."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from monitor.check.again import seekable
from monitor.check.concluded import concluded
from monitor.check.jobs import Jobs
from monitor.check.judging import Judging
from monitor.check.portion import Portion
from monitor.check.running import Records, run, source_of
from monitor.check.whole import Asked
from monitor.durable.collector import seldom
from monitor.engine import ModeVerdict
from monitor.input.lines import STDIN
from monitor.input.merged import has_ranks
from monitor.stream.limits import Limits
from spec.claims.claim import Mode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Set

    from monitor.input.reorder_window import Window
    from monitor.report.verdict import Report
    from spec.contract.modes import Bundle

__all__ = ["EXIT_CODES", "Records", "check", "check_each"]

EXIT_CODES = {ModeVerdict.KEPT: 0, ModeVerdict.VIOLATED: 1, ModeVerdict.INCONCLUSIVE: 3}
"""What a process that printed a verdict exits with."""


@seldom()
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
        mode: judge the claims that ask for this one, or for none by name; None: each claim by the
            mode that it states, and those that state none, or two, by none.
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
    asked = Asked(bundle, strict, claim, limits=limits or Limits())
    if jobs > 1 and len(set(paths) - {STDIN}) > 1 and not has_ranks(paths):
        with Jobs(asked, paths, jobs, lenient=lenient, window=window, stdin=stdin) as pool:
            if mode is None:
                return _by_own_modes(asked, partial(pool.judge, own=True, progress=progress))
            found = pool.judge({mode}, own=False, progress=progress)
            assert isinstance(found, Portion)
            return concluded(asked, found)
    if mode is not None:
        judging = Judging(asked, {mode}, own=False)
        source = source_of(judging, paths, lenient, stdin, window)
        run(judging, source, progress)
        return judging.report(source.accounts)
    with seekable(paths, stdin) as copy:

        def again(judging: Judging) -> Records:
            if copy is not None:
                copy.seek(0)
            return source_of(judging, paths, lenient, copy, window)

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
    shared = True

    def judged(modes: Set[Mode]) -> Portion | Set[Mode]:
        nonlocal shared
        judging = Judging(asked, modes, own=True, shared=shared)
        source = again(judging)
        more = run(judging, source, progress)
        if judging.apart:
            shared = False
            return judged(modes)
        return judging.portion(source.accounts) if more is None else {more}

    return _by_own_modes(asked, judged)


def _by_own_modes(asked: Asked, judged: Callable[[Set[Mode]], Portion | Set[Mode]]) -> Report:
    """The report of a judging, begun again whenever it found modes that have no judge."""
    modes: Set[Mode] = frozenset()
    while True:
        found = judged(modes)
        if isinstance(found, Portion):
            report = concluded(asked, found)
            away = report.unjudged.turned_away or report.unjudged.turned_away_forgotten
            if not away or len(modes) == len(Mode):
                return report
            # One that states no mode is owed nothing only where no mode at all finds otherwise.
            modes = frozenset(Mode)
        else:
            modes |= found
