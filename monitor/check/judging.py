"""Judges records by one mode or by several at once, and makes the report."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from monitor.check import concluded
from monitor.check.parts import Trusted, input_of
from monitor.check.stated import Stated
from monitor.check.theorem import Theorem
from monitor.check.whole import Read, by_each, by_one
from monitor.engine import Monitor
from monitor.input.records import At
from monitor.report.verdict import Events
from monitor.stream.known_claims import Keep
from spec.claims.claim import Mode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from monitor.check.whole import Asked
    from monitor.engine import ClaimVerdict, Conclusion
    from monitor.input.batches import Batch
    from monitor.input.errors import InputError
    from monitor.input.records import Record
    from monitor.input.sources import Account
    from monitor.report.verdict import Report

__all__ = ["ENDED", "Judging"]

ENDED: Final = 10_000
"""Claims that are listed after they have ended, of each stream; others are counted."""

_ANY: Final = Mode.BEST_EFFORT
"""Whose monitor finds the claims where none states a mode."""


class _Judge(NamedTuple):
    monitor: Monitor
    theorem: Theorem


class Judging:
    """The judges of some modes, which see the same records.

    Args:
        modes: one; or, with `own`, those that claims may state.
        own: judge each claim by the mode that it states.
    """

    def __init__(self, asked: Asked, modes: Collection[Mode], *, own: bool) -> None:
        self._asked, self._trusted = asked, Trusted()
        self._stated = Stated(modes, asked.claim) if own else None
        keep = Keep(ended=ENDED)
        self._judges = [
            _Judge(
                Monitor(
                    mode, asked.bundle, only=asked.claim, strict=asked.strict, keep=keep, own=own
                ),
                Theorem(mode),
            )
            for mode in Mode
            if mode in (modes or [_ANY])
        ]

    def take(self, record: Record) -> Mode | None:
        """Judge one line, or return the mode that it states and that has no judge yet."""
        if self._stated is not None and self._stated.note(record):
            return self._stated.more
        self._trusted.note(record)
        for judge in self._judges:
            judge.theorem.note(record)
            judge.monitor.take(record)
        return None

    def take_batch(self, batch: Batch) -> Mode | None:
        """Judge canonical lines, or return the first mode that they state and that has no judge."""
        file, lines, events = batch
        if self._stated is not None and self._stated.note_events(events, file):
            return self._stated.more
        places = [At(file, line, event.sequence) for line, event in zip(lines, events, strict=True)]
        kinds = Counter([event.kind for event in events])
        self._trusted.note_kinds(kinds)
        for judge in self._judges:
            judge.theorem.note_events(kinds.keys(), events, places)
            judge.monitor.take_events(events, places)
        return None

    def reject(self, error: InputError) -> None:
        """A line could not be read."""
        for judge in self._judges:
            judge.monitor.reject(At(error.file, error.line or 0))

    def standing(self) -> Iterator[ClaimVerdict]:
        """The verdicts on the claims in hand as they are now, by each of the modes."""
        for judge in self._judges:
            yield from judge.monitor.standing()

    def report(self, accounts: Iterable[Account]) -> Report:
        """The report, every stream being finished.

        Args:
            accounts: one of each file that was read.
        """
        return self._by_one(accounts) if self._stated is None else self._by_each(accounts)

    def _by_one(self, accounts: Iterable[Account]) -> Report:
        (judge,) = self._judges
        conclusion = judge.monitor.conclude()
        left = judge.theorem.left(left for _, left in judge.monitor.left())
        part = concluded.part(judge.monitor.mode, conclusion, left)
        read = self._read(accounts, conclusion)
        return by_one(self._asked, read, part, concluded.others(conclusion))

    def _by_each(self, accounts: Iterable[Account]) -> Report:
        assert self._stated is not None
        parts, conclusions = [], []
        for judge in self._judges:
            mode, conclusion = judge.monitor.mode, judge.monitor.conclude()
            conclusions.append(conclusion)
            forgotten = (each for each, _ in conclusion.forgotten)
            if any(each.judged for each in (*conclusion.claims, *forgotten)):
                left = judge.theorem.left(left for _, left in judge.monitor.left())
                parts.append(concluded.part(mode, conclusion, left, self._stated.forms(mode)))
        read = self._read(accounts, conclusions[0])
        unjudged = concluded.unjudged(conclusions, self._stated.usual)
        return by_each(self._asked, read, parts, unjudged)

    def _read(self, accounts: Iterable[Account], conclusion: Conclusion) -> Read:
        inputs = [input_of(account) for account in accounts]
        events = Events(conclusion.read, conclusion.unknown, conclusion.rejected)
        return Read(inputs, events, self._trusted.report())
