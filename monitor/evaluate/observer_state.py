"""Holds the state of each observer of one claim, and its findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from spec.language.verdicts import Verdict, pool

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from monitor.input.records import At, Trail
    from spec.events.alphabet import Kind

__all__ = ["Finding", "InHand", "ObserverState", "Registers", "heaviest"]

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


class InHand:
    """One request as one claim sees it; `touched` says that it had to do with the claim itself.

    `among` are the requests that stood alike when they were last compared, by their ids.
    """

    __slots__ = ("among", "ended", "facts", "touched", "watches")

    def __init__(
        self,
        facts: Registers,
        watches: list[ObserverState],
        touched: bool = False,
        ended: bool = False,
    ) -> None:
        self.facts, self.watches, self.touched, self.ended = facts, watches, touched, ended
        self.among: dict[str, InHand] | None = None

    @property
    def stands(self) -> Hashable:
        """What an event meets here, equal for all requests that it moves alike."""
        return (self.facts, *((watch.state, watch.own) for watch in self.watches))


def heaviest(findings: Sequence[Finding]) -> Finding:
    """The finding that decides: the first in the sequence, or of several breaches in the stream."""
    verdict = pool(each.verdict for each in findings)
    equals = [each for each in findings if each.verdict is verdict]
    return min(equals, key=_line) if verdict is Verdict.VIOLATED else equals[0]


def _line(finding: Finding) -> int:
    """Where it was found."""
    return 0 if finding.at is None else finding.at.line
