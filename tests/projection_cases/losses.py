"""Reports of lost blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.projection.lines import Line
from tests.spec.projection.stories import begun, event, lines

__all__ = ["losses"]


def losses() -> Iterator[tuple[str, list[Line]]]:
    """Reports of lost blocks: of such as were lost, of such as were not, and some twice."""
    soft: dict[str, Any] = {"mode": Mode.SOFT_PRIORITY, "priority": 1}
    a = begun(**soft)
    claims = [*a, *begun("b", block=20, **soft)]
    shared = [*a, *begun("b", object_id="object of a", **soft)]
    request = [event(Kind.REQUEST_ARRIVED, request_id="r", needed=1, usable=8)]
    looked = event(Kind.PREFIX_LOOKUP, "a", request_id="r", held=2, asked=2)
    reports = {ids: event(Kind.CLAIM_BLOCK_LOST, "a", block_ids=ids) for ids in _REPORTED}
    gone_by: dict[str, list[Event]] = {"nothing": []}
    for gone in ((10,), (11,), (10, 11), (10, 50), (20,), ()):
        kind = Kind.BLOCK_EVICTED if gone else Kind.BLOCK_LOST
        gone_by[f"{gone}"] = [event(kind, block_ids=gone)]
    for name, lost in gone_by.items():
        for first in _REPORTED:
            yield f"{name} is lost, {first} reported", lines(*claims, *lost, reports[first])
            after = lines(*claims, *lost, *request, looked, reports[first])
            yield f"{name} is lost, {first} reported after a request", after
            for second in _REPORTED:
                both = lines(*claims, *lost, reports[first], reports[second])
                yield f"{name} is lost, {first} and {second} reported", both
    stored = event(Kind.STORE_FINISHED, "a")
    for name, lost in gone_by.items():
        for ids in ((30, 31), (30,)):
            at = tuple(range(len(ids)))
            back = event(Kind.LOAD_FINISHED, "a", block_ids=ids, positions=at)
            for first in _REPORTED:
                told = f"{name} is lost and {ids} loaded, {first} reported"
                yield told, lines(*claims, stored, *lost, back, reports[first])
                told = f"{name} is lost and {first} reported, {ids} loaded"
                yield told, lines(*claims, stored, *lost, reports[first], back, reports[first])
    for first in _REPORTED:
        evicted = event(Kind.BLOCK_EVICTED, block_ids=(10, 11))
        others = event(Kind.CLAIM_BLOCK_LOST, "b", block_ids=first)
        for own in _REPORTED:
            stream = lines(*shared, evicted, others, reports[own])
            yield f"{first} reported of one claim, {own} of another", stream


_REPORTED: Final = ((), (10,), (11,), (10, 11), (50,))
