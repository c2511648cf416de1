"""Holds the state of each observer of one claim, and its findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from spec.language.verdicts import Verdict, pool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.input.records import At, Trail
    from spec.events.alphabet import Kind

__all__ = ["Finding", "ObserverState", "Registers", "heaviest"]

Registers: TypeAlias = tuple[Any, ...]


class Finding(msgspec.Struct, frozen=True, gc=False):
    """The verdict of one obligation, the event that decided it, and why, for people.

    `trail` are the events of the occasion that was decided, from what was owed on, in their order.
    """

    verdict: Verdict
    at: At | None
    why: str
    allowed: str = ""
    trail: Trail = ()


class ObserverState(msgspec.Struct, frozen=True, gc=False):
    """One observer in one scope (the claim itself or one request), as its last step left it.

    `events` is the kind of that event, or the trail where it was not the first of its occasion.
    """

    state: int
    own: Registers
    at: At | None = None
    rule: int = -1
    events: Kind | Trail = ()

    @property
    def trail(self) -> Trail:
        """The events of the occasion, up to the last step."""
        events = self.events
        return ((events, self.at),) if isinstance(events, str) else events


def heaviest(findings: Sequence[Finding]) -> Finding:
    """The finding that decides: the first in the sequence, or of several breaches in the stream."""
    verdict = pool(each.verdict for each in findings)
    equals = [each for each in findings if each.verdict is verdict]
    return min(equals, key=_line) if verdict is Verdict.VIOLATED else equals[0]


def _line(finding: Finding) -> int:
    """Where it was found."""
    return 0 if finding.at is None else finding.at.line
