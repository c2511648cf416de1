"""Tracks a request's routes and reuse that are not reported for a claim yet."""

from __future__ import annotations

from typing import Final

from spec.contract.interpret import Value
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.events.fields import ROUTE_REPORTS
from spec.projection.concerns import is_mine
from spec.projection.sight import Sight

__all__ = ["follow", "number", "owed", "reported"]

_MOVES: Final = frozenset({*ROUTE_REPORTS, *(fact for fact, _ in ROUTE_REPORTS.values())})


def owed(sight: Sight) -> list[Value]:
    """The facts that a report could be about before the event, the oldest first."""
    return sight.claim.owed.get((sight.event.request_id, sight.event.kind), [])


def reported(event: Event) -> Value:
    """The value that a report states."""
    return _value(event, ROUTE_REPORTS[event.kind][1])


def follow(sight: Sight) -> None:
    """Append a fact that is to be reported; a report removes the oldest of them.

    Nothing is to be reported once the request has ended.
    """
    event, claim = sight.event, sight.claim
    request = event.request_id
    if event.kind is Kind.REQUEST_FINISHED:
        claim.owed = {key: values for key, values in claim.owed.items() if key[0] != request}
    if event.kind not in _MOVES or not is_mine(sight):
        return
    for report, (fact, field) in ROUTE_REPORTS.items():
        values = claim.owed.get((request, report), [])
        if event.kind is fact and claim.live:
            claim.owed[request, report] = [*values, _value(event, field)]
        elif event.kind is report:
            claim.owed[request, report] = values[1:]


def _value(event: Event, field: str) -> Value:
    value: str | int | bool | None = getattr(event, field)
    return number(value) if isinstance(value, str) else value or 0


def number(text: str | None) -> int:
    """Another number for each text, and 0 for none."""
    return 0 if text is None else int.from_bytes(b"\1" + text.encode())
