"""Makes the parts of a report that the monitor and the reference have in common."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from monitor.input.resequencer import Disorder
from monitor.report.verdict import Input, Place, Trust
from spec.events.alphabet import FACTS, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from monitor.input.records import At, Record
    from monitor.input.sources import Account

__all__ = ["Trusted", "input_of", "order_of", "place_of", "text_of"]


class Trusted:
    """Counts the facts that are read."""

    def __init__(self) -> None:
        self._facts: Counter[Kind] = Counter()
        self._derived: set[Kind] = set()

    def note(self, record: Record) -> None:
        """One line."""
        for event, _ in record.events:
            if event.kind in FACTS:
                self._facts[event.kind] += 1
                if event.kind in record.stamp.form.derived:
                    self._derived.add(event.kind)

    def note_kinds(self, kinds: Mapping[Kind, int]) -> None:
        """Canonical lines: how many there are of each kind."""
        for kind, number in kinds.items():
            if kind in FACTS:
                self._facts[kind] += number

    def join(self, other: Trusted) -> None:
        """The facts of other files."""
        self._facts += other._facts
        self._derived |= other._derived

    def report(self) -> Trust:
        """The facts that were read, by kind."""
        return Trust(
            {str(kind): self._facts[kind] for kind in Kind if kind in self._facts},
            [str(kind) for kind in Kind if kind in self._derived],
        )


def place_of(at: At) -> Place:
    """Where something was read."""
    return Place(text_of(at.file), at.line, at.sequence)


def input_of(account: Account) -> Input:
    """A file that was read."""
    rejection = "" if account.rejection is None else text_of(str(account.rejection))
    return Input(text_of(account.file), account.sha256, account.lines, account.rejected, rejection)


def order_of(accounts: Iterable[Account]) -> Disorder:
    """What was out of order in some files, as far as that was looked at."""
    found = Disorder()
    for each in (account.disorder for account in accounts if account.disorder is not None):
        found.duplicates += each.duplicates
        found.held += each.held
        found.late += each.late
        found.contradicting += each.contradicting
    return found


def text_of(name: str) -> str:
    """A file name as text that can be written: its bytes that are no UTF-8 are replaced."""
    return name.encode("utf-8", "replace").decode("utf-8")
