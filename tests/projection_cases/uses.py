"""Requests of which something is said before they arrive, and ids that are used again."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product
from typing import Final

from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.projection.lines import Line
from tests.projection_cases.restores import away
from tests.spec.projection.stories import arrives, begun, event, finishes, lines, refused

__all__ = ["uses_of_a_route", "uses_of_a_tier"]

_BEFORE: Final[dict[str, list[Event]]] = {
    "new": [],
    "used before": [arrives("r", 1), finishes("r")],
    "ended before": [finishes("r")],
}


def uses_of_a_tier() -> Iterator[tuple[str, list[Line]]]:
    """A claim that is away: what is done for a request, in all orders with its arrival."""
    claim = away("a", 10, Mode.OFFLOADABLE)
    about = {"name": "a", "request_id": "r"}
    lookup = event(Kind.PREFIX_LOOKUP, **about, held=0, asked=2)
    need = event(Kind.CLAIM_RESTORE_REQUIRED, **about)
    fail = event(Kind.LOAD_FAILED, **about)
    load = event(Kind.LOAD_FINISHED, **about, block_ids=(30, 31), positions=(0, 1))
    compute = event(Kind.BLOCK_CACHED, **about, block_ids=(30, 31), positions=(0, 1))
    stated = event(Kind.CLAIM_RESTORATION_FAILED, **about, outcome="harm", outcome_claim_id="a")
    restored = event(Kind.CLAIM_RESTORED, **about, from_tier=True)
    ends = {
        "nothing": [],
        "a refusal": [refused("r", "a", restore=True)],
        "a refusal for another": [refused("r", "b", restore=True)],
        "harm": [stated, event(Kind.CLAIM_HARMED, "a")],
        "a restore": [restored, event(Kind.PREFIX_REUSED, **about)],
        "a reuse": [event(Kind.PREFIX_REUSED, **about)],
        "a computation": [compute],
    }
    arrival = arrives("r", 1)
    for done in ((arrival, need, fail), (arrival, lookup, fail), (arrival, need, load)):
        every = product(_BEFORE.items(), permutations(done), ends.items())
        for (before, first), order, (after, then) in every:
            name = f"{before}, {[str(each.kind) for each in order]}, then {after}"
            yield name, lines(*claim, *first, *order, *then, finishes("r"))
    for (before, first), (after, then) in product(_BEFORE.items(), ends.items()):
        late = [*claim, arrival, need, fail, finishes("r"), *first, *then]
        yield f"{before}, then {after} after the end", lines(*late, arrival, *then, finishes("r"))


def uses_of_a_route() -> Iterator[tuple[str, list[Line]]]:
    """A request that is routed and served, in all orders with its arrival."""
    claim = begun(mode=Mode.ROUTED_REUSE)
    about = {"name": "a", "request_id": "r"}
    cost = event(Kind.ROUTE_COST_REPORTED, **about, cost=3)
    place = event(Kind.ROUTE_PLACEMENT_REPORTED, **about, worker="w")
    heard = event(Kind.ROUTE_REUSE_REPORTED, **about, hit=True)
    routed = event(Kind.REQUEST_ROUTED, **about, cost=3, worker="w")
    other = event(Kind.REQUEST_ROUTED, **about, cost=5, worker="v")
    served = event(Kind.REUSE_SERVED, **about, hit=True)
    told = {"nothing": [], "all": [cost, place, heard], "the cost": [cost], "the reuse": [heard]}
    before = _BEFORE | {
        "routed before": [arrives("r", 1), other, finishes("r")],
        "routed before, and told late": [arrives("r", 1), other, finishes("r"), cost],
        "routed and told before": [arrives("r", 1), routed, cost, place, finishes("r")],
    }
    every = product(before.items(), permutations((arrives("r", 1), routed, served)), told.items())
    for (name, first), order, (what, reports) in every:
        kinds = [str(each.kind) for each in order]
        for end in ([finishes("r")], []):
            case = f"{name}, {kinds}, {what} told, {len(end)} ends"
            yield case, lines(*claim, *first, *order, *reports, *end)
