"""Streams written by hand for what streams by chance hardly ever show of the projection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from spec.alphabet import Kind
from spec.claims import Mode
from spec.events import Event
from spec.projection.lines import Line
from tests.spec.projection.stories import begun, event, finishes, lines

__all__ = ["CASES"]

_SECOND: Final = 1_000_000_000


def _timed(*events: Event, times: tuple[int | None, ...]) -> list[Line]:
    """The events at these times; the last time is that of all that come after."""
    more = (*times, *(times[-1:] * (len(events) - len(times))))
    pairs = zip(events, more, strict=True)
    return lines(*(msgspec.structs.replace(each, time_ns=time) for each, time in pairs))


def _expiring(name: str = "a", **terms: Any) -> list[Event]:
    return begun(name, Mode.EXPIRING, **terms)


def _over(name: str = "a", by: str | None = "runtime", kind: Kind = Kind.CLAIM_EXPIRED) -> Event:
    return event(kind, name, by=by)


def _durations() -> Iterator[tuple[str, list[Line]]]:
    """Durations in seconds and in steps, and ends that somebody tells before or after them."""
    elapsed = event(Kind.DURATION_ELAPSED, "a")
    other = _expiring("b", block=20, duration="5 steps")
    for by in ("runtime", "owner", None):
        for kind in (Kind.CLAIM_EXPIRED, Kind.CLAIM_RELEASED):
            end = _over(by=by, kind=kind)
            steps, named = _expiring(duration="3 steps"), f"{kind} by {by}"
            yield f"steps, {named}", lines(*steps, end)
            yield f"steps that are over, {named}", lines(*steps, elapsed, end)
            yield f"steps of another, {named}", lines(*steps, *other, _over("b", by, kind))
            both = lines(*steps, *other, elapsed, _over("b", by, kind), end)
            yield f"steps of another that are over, {named}", both
            late = _expiring(duration="3 s")
            for time in (3 * _SECOND - 1, 3 * _SECOND, 4 * _SECOND, None):
                at = (*(0,) * len(late), time)
                yield f"seconds, {named} at {time}", _timed(*late, end, times=at)
            yield f"seconds without a clock, {named}", lines(*late, end)
            stood = (*(0,) * len(late), None, 4 * _SECOND)
            beside = event(Kind.BLOCK_CACHED, object_id="o:x", block_ids=(90,), positions=(0,))
            yield f"seconds, an untimed line, {named}", _timed(*late, beside, end, times=stood)
            gone = (*(0,) * len(late), 4 * _SECOND, None, 5 * _SECOND)
            after = _timed(*late, beside, beside, end, times=gone)
            yield f"seconds over, an untimed line, {named}", after
            mixed = _timed(*steps, *_expiring("b", block=20, duration="3 s"), end, times=(0,))
            yield f"steps beside seconds, {named}", mixed
            plain = _expiring()
            yield f"no duration, {named}", lines(*plain, end)
            unowned = [msgspec.structs.replace(e, owner_scope=None) for e in plain]
            yield f"no owner, {named}", lines(*unowned, end)
            retired = event(Kind.CLAIM_RETIRED, "a", by=by)
            for_ever = (*(0,) * len(late), _SECOND, None, 4 * _SECOND)
            yield f"retired, {named}", _timed(*late, retired, beside, end, times=for_ever)


def _ranks() -> Iterator[tuple[str, list[Line]]]:
    """Evictions of one of three claims of different priority."""
    for ranks in ((0, 3, 5), (1, 3, 5), (5, 5, 5), (5, 3, 0), (0, 1, None)):
        claims = [
            begun(name, Mode.SOFT_PRIORITY, size=2, block=10 * n, priority=rank)
            for n, (name, rank) in enumerate(zip("abc", ranks, strict=True), 1)
        ]
        told = [each for claim in claims for each in claim]
        for lowest in (None, 0, 1, 3, 4, 6):
            for gone in ((10,), (30,), (10, 30), (20, 30)):
                more = {"block_ids": gone, "lowest_priority": lowest}
                taken = event(Kind.BLOCK_EVICTED, **more)
                name = f"priorities {ranks}, {gone} taken, lowest {lowest}"
                yield name, lines(*told, taken)
        first = event(Kind.BLOCK_LOST, block_ids=(10, 11))
        taken = event(Kind.BLOCK_EVICTED, block_ids=(30,), lowest_priority=0)
        yield f"priorities {ranks}, the first is gone", lines(*told, first, taken)


def _losses() -> Iterator[tuple[str, list[Line]]]:
    """Reports of lost blocks: of such as were lost, of such as were not, and some twice."""
    soft: dict[str, Any] = {"mode": Mode.SOFT_PRIORITY, "priority": 1}
    a = begun(**soft)
    claims = [*a, *begun("b", block=20, **soft)]
    shared = [*a, *begun("b", object_id="object of a", **soft)]
    request = [event(Kind.REQUEST_ARRIVED, request_id="r", needed=1, usable=8)]
    looked = event(Kind.PREFIX_LOOKUP, "a", request_id="r", held=2, asked=2)
    reports = {ids: event(Kind.CLAIM_BLOCK_LOST, "a", block_ids=ids) for ids in _REPORTED}
    losses = {"nothing": []}
    for gone in ((10,), (11,), (10, 11), (10, 50), (20,), ()):
        lost = event(Kind.BLOCK_LOST if not gone else Kind.BLOCK_EVICTED, block_ids=gone)
        losses[f"{gone}"] = [lost]
    for name, lost in losses.items():
        for first in _REPORTED:
            yield f"{name} is lost, {first} reported", lines(*claims, *lost, reports[first])
            after = lines(*claims, *lost, *request, looked, reports[first])
            yield f"{name} is lost, {first} reported after a request", after
            for second in _REPORTED:
                both = lines(*claims, *lost, reports[first], reports[second])
                yield f"{name} is lost, {first} and {second} reported", both
    for first in _REPORTED:
        evicted = event(Kind.BLOCK_EVICTED, block_ids=(10, 11))
        others = event(Kind.CLAIM_BLOCK_LOST, "b", block_ids=first)
        for own in _REPORTED:
            stream = lines(*shared, evicted, others, reports[own])
            yield f"{first} reported of one claim, {own} of another", stream


_REPORTED: Final = ((), (10,), (11,), (10, 11), (50,))


def _routes() -> Iterator[tuple[str, list[Line]]]:
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
                both = [*claim, first, other, said]
                yield f"routes {number} and {other.cost}, {said}", lines(*both)
                yield f"routes {number} and {other.cost}, {said} twice", lines(*both, said)
    for fact in served:
        for said in heard:
            yield f"served {fact.hit}, told {said.hit}", lines(*claim, fact, said)
            for second in served:
                both = lines(*claim, fact, second, said, said)
                yield f"served {fact.hit} and {second.hit}, told {said.hit} twice", both


def _cases() -> Iterator[tuple[str, Mode, list[Line]]]:
    for name, stream in _durations():
        yield name, Mode.EXPIRING, stream
        if "seconds," not in name:
            yield f"{name}, as demotable", Mode.DEMOTABLE, stream
    for name, stream in _ranks():
        yield name, Mode.SOFT_PRIORITY, stream
    for name, stream in _losses():
        yield name, Mode.SOFT_PRIORITY, stream
    for name, stream in _routes():
        yield name, Mode.ROUTED_REUSE, stream


CASES: Final = tuple(_cases())
"""The name of each, the mode that judges it, and its lines."""
