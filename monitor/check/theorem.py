"""Checks whether the theorem of a mode applies to a stream: whether its assumptions hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spec.contract.environments import ENVIRONMENTS
from spec.events.alphabet import FACTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Set

    from monitor.input.records import At, Record
    from spec.claims.claim import Mode
    from spec.events.alphabet import Kind
    from spec.events.canonical import Event

__all__ = ["WORLDS", "Theorem", "covers_all"]


WORLDS: Final = frozenset.intersection(*ENVIRONMENTS.values())
"""The kinds of events that the theorem of each mode covers."""


def covers_all(record: Record) -> bool:
    """Whether the theorem of no mode is left by a line."""
    if record.unknown is not None or record.stamp.observes is not None:
        return False
    return all(event.kind in WORLDS for event, _ in record.events)


class Theorem:
    """Looks at each line for what the theorem of a mode does not assume.

    The monitor checks the order of the lines and contradictions between facts.
    """

    def __init__(self, mode: Mode) -> None:
        self._mode, self._world = mode, ENVIRONMENTS[mode]
        self._left: tuple[At | None, str] | None = None

    def note(self, record: Record) -> None:
        """One line."""
        if self._left is None and (why := self._leaves(record)):
            self._left = record.at, why

    def note_events(self, kinds: Set[Kind], events: Iterable[Event], places: Iterable[At]) -> None:
        """Canonical lines: their kinds, the event of each and its place."""
        if self._left is not None or kinds <= self._world:
            return
        for event, at in zip(events, places, strict=True):
            if event.kind not in self._world:
                self._left = at, self._outside(event.kind)
                return

    def _outside(self, kind: Kind) -> str:
        return f"{kind} is outside the environment of {self._mode}"

    def _leaves(self, record: Record) -> str:
        if record.unknown is not None:
            return f"{record.unknown} is an unknown kind"
        for event, _ in record.events:
            if event.kind not in self._world:
                return self._outside(event.kind)
        observes = record.stamp.observes
        if observes is not None and (unseen := sorted(FACTS - observes)):
            rest = f", {len(unseen) - 1} more" if len(unseen) > 1 else ""
            return f"not observed: {unseen[0]}{rest}"
        return ""

    def join(self, later: Theorem) -> None:
        """What was seen in files that come after these."""
        self._left = self._left or later._left

    def left(self, others: Iterable[tuple[At | None, str]]) -> tuple[At | None, str] | None:
        """Where an assumption is left first, and how; None where none is.

        Args:
            others: the places that the monitor saw.
        """
        found = [*others, *([self._left] if self._left is not None else [])]
        return min(found, key=lambda each: each[0].line if each[0] is not None else 0, default=None)
