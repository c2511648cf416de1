"""Events that name a claim wrongly, or nobody's claim, or that say little of whom they mean."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from spec.claims.claim import Mode
from spec.events.alphabet import CONFLICT_ACTIONS, Kind
from spec.events.canonical import Event
from spec.events.fields import required_of
from spec.projection.lines import Line
from tests.spec.projection.stories import arrives, begun, ended, event, finishes, lines, refused

__all__ = ["names"]


def _claims(mode: Mode) -> dict[str, list[Event]]:
    """Whom an event may mean."""
    a = begun("a", mode)
    b = begun("b", mode, object_id="object of a")
    return {
        "one claim": a,
        "a claim and one that is asked for": [*a, b[0]],
        "two claims of one object": [*a, *b],
        "a claim that is over": [*a, *ended("a")],
        "nobody": [],
    }


def _whose() -> dict[str, dict[str, Any]]:
    """Ways to say whom an event is about."""
    right = {"object_id": "object of a", "cache_identity": "cache"}
    return {
        "a": {"claim_id": "a"},
        "a, with its object": {"claim_id": "a", **right},
        "a, of another object": {"claim_id": "a", **right, "object_id": "another"},
        "a, in another cache": {"claim_id": "a", **right, "cache_identity": "another"},
        "a, by another map": {"claim_id": "a", **right, "token_map": "another"},
        "a, by another predicate": {"claim_id": "a", "predicate": "leading_prefix_at_least(1)"},
        "a stranger": {"claim_id": "stranger"},
        "a stranger on the object": {"claim_id": "stranger", **right},
        "the other on the object": {"claim_id": "b", **right},
        "the object": right,
        "the object in no cache": {"object_id": "object of a"},
        "another object": {"object_id": "another", "cache_identity": "cache"},
        "its blocks": {"block_ids": (10, 11)},
        "nobody": {},
    }


def _said(kind: Kind, whose: dict[str, Any]) -> Event | None:
    """The event of this kind, if a reader would take it."""
    fields: dict[str, Any] = {}
    if kind in (Kind.BLOCK_CACHED, Kind.LOAD_FINISHED):
        fields = {"block_ids": (30,), "positions": (0,)}
    if kind in (Kind.BLOCK_EVICTED, Kind.BLOCK_LOST, Kind.CLAIM_BLOCK_LOST):
        fields = {"block_ids": (10,)}
    if kind in (Kind.CLAIM_COMMITTED, Kind.CLAIM_ACCEPTED):
        fields = {"footprint": 2}
    if kind is Kind.CLAIM_REGISTERED:
        fields = {"mode": "hard_protected"}
    if kind in (Kind.REQUEST_ROUTED, Kind.ROUTE_COST_REPORTED, Kind.ROUTE_PLACEMENT_REPORTED):
        fields = {"cost": 3, "worker": "w"}
    if kind in (Kind.REUSE_SERVED, Kind.ROUTE_REUSE_REPORTED):
        fields = {"hit": True}
    said = Event(kind=kind, request_id="r", **(fields | whose))
    whole = all(getattr(said, name) not in (None, ()) for name in required_of(kind))
    return said if whole else None


_AT_REQUEST = CONFLICT_ACTIONS | {Kind.REQUEST_ARRIVED, Kind.REQUEST_FINISHED}
_KINDS = [kind for kind in Kind if kind not in _AT_REQUEST | {Kind.STREAM_DISORDER}]


def names(mode: Mode) -> Iterator[tuple[str, list[Line]]]:
    """An event, and what shows for whom it was."""
    for (held, claims), kind, (who, whose) in product(
        _claims(mode).items(), _KINDS, _whose().items()
    ):
        if (said := _said(kind, whose)) is None:
            continue
        name, first = f"{held}, {kind} of {who}", [*claims, arrives("r", 1)]
        last = [event(Kind.CLAIM_MATERIALIZED, "b"), refused("r", "a"), finishes("r")]
        yield name, lines(*first, said, *last)
        lost = [event(Kind.BLOCK_LOST, "a"), event(Kind.CLAIM_HARMED, "a")]
        yield f"{name}, and a loss", lines(*first, said, *lost)
