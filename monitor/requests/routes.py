"""Tracks the routes of a claim's requests that are not reported yet."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from spec.events.fields import ROUTE_REPORTS

if TYPE_CHECKING:
    from monitor.evaluate.claim import ClaimRun
    from monitor.evaluate.event_view import EventView

__all__ = ["follow_routes"]

_ABOUT: Final = {
    kind: [
        (report, fact, field)
        for report, (fact, field) in ROUTE_REPORTS.items()
        if kind in (report, fact)
    ]
    for kind in {*ROUTE_REPORTS, *(fact for fact, _ in ROUTE_REPORTS.values())}
}
"""By facts and reports: the report, the fact that it is about, and the field that both have."""


def follow_routes(claim: ClaimRun, view: EventView, *, take: bool = True) -> None:
    """Note a fact about a routed request, or find what a report of one could tell.

    Args:
        view: the event, which is about the claim; the fields `several_unreported` and
            `matches_oldest` of a report are set.
        take: the event is taken in; or else nothing is noted yet.
    """
    request = view.request_id or ""
    for report, fact, field in _ABOUT.get(view.kind, ()):
        value = getattr(view, field)
        if view.kind is fact:
            if claim.live and take:
                claim.owed = claim.owed or {}
                owed = claim.owed.setdefault(request, {}).setdefault(report, deque())
                owed.append(value)
        elif values := claim.owed.get(request, {}).get(report):
            view.several_unreported, view.matches_oldest = len(values) > 1, values[0] == value
            if take:
                values.popleft()
