"""Routes, and what is served by them."""

from __future__ import annotations

from collections.abc import Iterator

from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.projection.lines import Line
from tests.spec.projection.stories import begun, event, finishes, lines

__all__ = ["routes"]


def routes() -> Iterator[tuple[str, list[Line]]]:
    """Routes, what a router serves, and what is reported of both, in all orders."""
    routed = [
        event(Kind.REQUEST_ROUTED, "a", request_id=name, cost=cost, worker=worker)
        for name, cost, worker in (("r", 0, "w"), ("r", 3, "v"), ("s", 5, "w"), ("r", None, None))
    ]
    costs = [
        event(Kind.ROUTE_COST_REPORTED, "a", request_id=name, cost=cost)
        for name in "rs"
        for cost in (None, 0, 1, 3, 5)
    ]
    places = [
        event(Kind.ROUTE_PLACEMENT_REPORTED, "a", request_id="r", worker=worker)
        for worker in (None, "v", "w")
    ]
    served = [event(Kind.REUSE_SERVED, "a", request_id="r", hit=hit) for hit in (None, False, True)]
    heard = [
        event(Kind.ROUTE_REUSE_REPORTED, "a", request_id="r", hit=hit)
        for hit in (None, False, True)
    ]
    claim = begun(mode=Mode.ROUTED_REUSE)
    ends = finishes("r")
    again = [event(Kind.REQUEST_ARRIVED, request_id="r", needed=1, usable=8)]
    for number, first in enumerate(routed):
        for said in (*costs, *places):
            yield f"route {number}, {said}", lines(*claim, first, said)
            yield f"route {number}, an end, {said}", lines(*claim, *again, first, ends, said)
            another = [*claim, *again, first, said, ends, *again, said, finishes("r")]
            yield f"route {number}, another, {said}", lines(*another)
            for other in (routed[1], routed[2]):
                two = [*claim, first, other, said]
                yield f"routes {number} and {other.cost}, {said}", lines(*two)
                yield f"routes {number} and {other.cost}, {said} twice", lines(*two, said)
    for fact in served:
        for said in heard:
            yield f"served {fact.hit}, told {said.hit}", lines(*claim, fact, said)
            for second in served:
                both = lines(*claim, fact, second, said, said)
                yield f"served {fact.hit} and {second.hit}, told {said.hit} twice", both
