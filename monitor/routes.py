"""What the routes of requests came to, for a claim, and nobody told yet."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from spec.alphabet import Kind

if TYPE_CHECKING:
    from monitor.claim import ClaimRun
    from monitor.view import View

__all__ = ["follow_routes"]

_COSTS: Final = (Kind.ROUTE_COST_REPORTED, Kind.REQUEST_ROUTED, "cost")
_PLACES: Final = (Kind.ROUTE_PLACEMENT_REPORTED, Kind.REQUEST_ROUTED, "worker")
_REUSES: Final = (Kind.ROUTE_REUSE_REPORTED, Kind.REUSE_SERVED, "hit")
_TOLD: Final = {
    Kind.REQUEST_ROUTED: (_COSTS, _PLACES),
    Kind.REUSE_SERVED: (_REUSES,),
    **{row[0]: (row,) for row in (_COSTS, _PLACES, _REUSES)},
}
"""By facts and reports: the report, the fact that it tells, and the field that both have."""


def follow_routes(claim: ClaimRun, view: View) -> None:
    """Note a fact about a routed request, or find what a report of one could tell.

    Args:
        view: the event, which is about the claim; the fields `behind` and `oldest` of a report are
            set.
    """
    request = view.request_id or ""
    for report, fact, field in _TOLD.get(view.kind, ()):
        value = getattr(view, field)
        if view.kind is fact:
            if claim.responsible or (claim.known and not claim.committed):  # news of it is owed
                owed = claim.owed.setdefault(request, {}).setdefault(report, deque())
                owed.append(value)
        elif values := claim.owed.get(request, {}).get(report):
            view.behind, view.oldest = len(values) > 1, values[0] == value
            values.popleft()
