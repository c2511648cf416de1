"""A check from files to a report: by one mode, or each claim by the mode that it states."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

from monitor.check import concluded
from monitor.check.again import seekable
from monitor.check.parts import Trusted, input_of
from monitor.check.stated import Stated
from monitor.check.theorem import Theorem
from monitor.check.whole import Asked, Read, by_each, by_one
from monitor.engine import ModeVerdict, Monitor
from monitor.input.records import At
from monitor.input.sources import read
from monitor.report.verdict import Events
from monitor.stream.claim_store import Keep
from spec.claims.claim import Mode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from monitor.engine import Conclusion
    from monitor.input.errors import InputError
    from monitor.input.sources import Account
    from monitor.report.verdict import Report
    from spec.contract.modes import Bundle

__all__ = ["ENDED", "EXIT_CODES", "check", "report_of"]

ENDED: Final = 10_000
"""Claims that are listed after they have ended, of each stream; others are counted."""

EXIT_CODES = {ModeVerdict.KEPT: 0, ModeVerdict.VIOLATED: 1, ModeVerdict.INCONCLUSIVE: 3}
"""What a process that printed a verdict exits with."""

_EVERY = 4096  # records between two calls of `progress`


def check(
    paths: Sequence[str],
    mode: Mode | None,
    bundle: Bundle,
    *,
    claim: str | None = None,
    strict: bool = False,
    lenient: bool = False,
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
        stdin: what `-` stands for, by default the standard input of the process.
        progress: told now and then how many bytes have been read, as they lie on disk.

    Raises:
        InputError: a file or a line of it cannot be read.
    """
    asked = Asked(bundle, strict, claim)
    keep = Keep(ended=ENDED)

    def judge(mode: Mode, *, own: bool) -> _Judge:
        monitor = Monitor(mode, bundle, only=claim, strict=strict, keep=keep, own=own)
        return _Judge(monitor, Theorem(mode))

    if mode is not None:
        reading = _Reading([judge(mode, own=False)], None)
        reading.run(paths, lenient, stdin, progress)
        return reading.report()
    modes: set[Mode] = set()
    with seekable(paths, stdin) as copy:
        while True:
            judges = [judge(each, own=True) for each in Mode if each in modes]
            stated = Stated(modes, claim)
            reading = _Reading(judges or [judge(_ANY, own=True)], stated)
            reading.run(paths, lenient, copy, progress)
            if stated.more is None:
                return _by_each(asked, reading, stated)
            modes.add(stated.more)
            if copy is not None:
                copy.seek(0)


_ANY: Final = Mode.BEST_EFFORT
"""Whose monitor finds the claims where none states a mode."""


class _Judge(NamedTuple):
    monitor: Monitor
    theorem: Theorem


class _Reading:
    """One reading of the files by the judges of some modes, side by side.

    Args:
        stated: what claims state of modes; once it meets another mode than those that judge the
            reading ends, for its judge has to read from the beginning.
    """

    def __init__(self, judges: Sequence[_Judge], stated: Stated | None) -> None:
        self.judges = judges
        self._stated, self._trusted = stated, Trusted()

    def run(
        self,
        paths: Sequence[str],
        lenient: bool,
        stdin: BinaryIO | None,
        progress: Callable[[int], None] | None,
    ) -> None:
        """Read to the end, or to where a judge is missing."""
        source = self._source = read(paths, lenient=lenient, stdin=stdin, on_reject=self._reject)
        for number, record in enumerate(source):
            if progress is not None and number % _EVERY == 0:
                progress(source.size)
            if self._stated is not None and self._stated.note(record):
                return
            self._trusted.note(record)
            for judge in self.judges:
                judge.theorem.note(record)
                judge.monitor.take(record)
        if progress is not None:
            progress(source.size)

    def _reject(self, error: InputError) -> None:
        for judge in self.judges:
            judge.monitor.reject(At(error.file, error.line or 0))

    def read(self, conclusion: Conclusion) -> Read:
        """What was read."""
        return _read(self._source.accounts, conclusion, self._trusted)

    def report(self) -> Report:
        """The report by its only judge."""
        (judge,) = self.judges
        return report_of(judge.monitor, self._trusted, judge.theorem, self._source.accounts)


def _read(accounts: Iterable[Account], conclusion: Conclusion, trusted: Trusted) -> Read:
    events = Events(conclusion.read, conclusion.unknown, conclusion.rejected)
    return Read([input_of(account) for account in accounts], events, trusted.report())


def report_of(
    monitor: Monitor, trusted: Trusted, theorem: Theorem, accounts: Iterable[Account]
) -> Report:
    """The report on what the monitor of one mode has read, every stream being finished.

    Args:
        trusted: noted the same records.
        theorem: noted the same records.
        accounts: one of each file that was read.
    """
    conclusion = monitor.conclude()
    left = theorem.left(left for _, left in monitor.left())
    part = concluded.part(monitor.mode, conclusion, left)
    asked = Asked(monitor.bundle, monitor.strict, monitor.only)
    read = _read(accounts, conclusion, trusted)
    return by_one(asked, read, part, concluded.others(conclusion))


def _by_each(asked: Asked, reading: _Reading, stated: Stated) -> Report:
    parts, conclusions = [], []
    for judge in reading.judges:
        mode, conclusion = judge.monitor.mode, judge.monitor.conclude()
        conclusions.append(conclusion)
        if any(each.judged for each in (*conclusion.claims, *(e for e, _ in conclusion.forgotten))):
            left = judge.theorem.left(left for _, left in judge.monitor.left())
            parts.append(concluded.part(mode, conclusion, left, stated.forms(mode)))
    read = reading.read(conclusions[0])
    return by_each(asked, read, parts, concluded.unjudged(conclusions, stated.usual))
