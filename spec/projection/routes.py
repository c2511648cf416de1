"""What a request's routes and reuse came to, for a claim, and nobody told yet."""

from __future__ import annotations

from typing import Final

from spec.alphabet import Kind
from spec.events import Event
from spec.projection.concerns import is_mine
from spec.projection.interpret import Value
from spec.projection.pool import Claim
from spec.projection.sight import Sight

__all__ = ["SAYS", "follow", "number", "owed", "told"]

SAYS: Final = {
    Kind.ROUTE_COST_REPORTED: (Kind.REQUEST_ROUTED, "cost"),
    Kind.ROUTE_PLACEMENT_REPORTED: (Kind.REQUEST_ROUTED, "worker"),
    Kind.ROUTE_REUSE_REPORTED: (Kind.REUSE_SERVED, "hit"),
}
"""Of each report, the fact that it tells, and the field of both that says what it came to."""

_MOVES: Final = frozenset({*SAYS, *(fact for fact, _ in SAYS.values())})


def owed(sight: Sight) -> list[Value]:
    """What a report could tell before the event, the oldest first."""
    return sight.claim.owed.get((sight.event.request_id or "", sight.event.kind), [])


def told(event: Event) -> Value:
    """What a report tells."""
    return _value(event, SAYS[event.kind][1])


def follow(sight: Sight) -> None:
    """A fact of a claim of which news is owed is to be told; a report tells the oldest of them.

    Nothing is to be told any more once the request has ended.
    """
    event, claim = sight.event, sight.claim
    request = event.request_id or ""
    if event.kind is Kind.REQUEST_FINISHED:
        claim.owed = {key: values for key, values in claim.owed.items() if key[0] != request}
    if event.kind not in _MOVES or not is_mine(sight):
        return
    for report, (fact, field) in SAYS.items():
        values = claim.owed.get((request, report), [])
        if event.kind is fact and _is_live(claim):
            claim.owed[request, report] = [*values, _value(event, field)]
        elif event.kind is report:
            claim.owed[request, report] = values[1:]


def _is_live(claim: Claim) -> bool:
    """News of it is owed, in a mode that watches what is registered."""
    facts = claim.facts
    return bool(facts["responsible"] or (facts["registered"] and not facts["committed"]))


def _value(event: Event, field: str) -> Value:
    value: str | int | bool | None = getattr(event, field)
    return number(value) if isinstance(value, str) else value or 0


def number(text: str | None) -> int:
    """Another number for each text, and 0 for none."""
    return 0 if text is None else int.from_bytes(b"\1" + text.encode())
