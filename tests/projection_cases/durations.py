"""Durations, and who may end a claim."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, Final

import msgspec

from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.projection.lines import Line
from tests.spec.projection.stories import (
    arrives,
    begun,
    event,
    finishes,
    keyed,
    lines,
    refused,
)

__all__ = ["durations", "guests", "unseen_ends"]


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


def durations() -> Iterator[tuple[str, list[Line]]]:
    """Durations in seconds and in steps, and ends that somebody tells before or after them."""
    elapsed = event(Kind.DURATION_ELAPSED, "a")
    for mode in (None, "expiring", "hard_protected", "lru"):
        for duration in (None, "3 s", "3 steps"):
            asks = [
                msgspec.structs.replace(each, mode=mode) for each in _expiring(duration=duration)
            ]
            for time in (_SECOND, 3 * _SECOND, None):
                at = (*(0,) * len(asks), time)
                name = f"{mode}, {duration}, over at {time}"
                yield name, _timed(*asks, elapsed, _over(), times=at)
                yield f"{name}, not introduced", _timed(*asks[3:], elapsed, times=at[3:])
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
            seen = (*(0,) * len(late), _SECOND, 4 * _SECOND)
            for who in dict.fromkeys((by, "runtime")):
                name = f"retired too soon, {named}, and {who} says so"
                yield name, _timed(*late, retired, _over(by=who, kind=kind), times=seen)
            for asks, stands in product((late, steps), (0, 1, len(late))):
                stream = [*asks[:stands], elapsed, *asks[stands:], retired, end]
                name = f"{asks[0].duration} over before line {stands}, {named}"
                yield name, _timed(*stream, times=(*(0,) * len(asks), 1, 2))
    for untimed, time in product(range(3), (_SECOND, 3 * _SECOND, 4 * _SECOND)):
        asks = _expiring(duration="3 s")
        for first in (0, _SECOND, None):
            at = [first, *(_SECOND,) * (len(asks) - 1), time]
            at[untimed] = None
            name = f"seconds from {first}, line {untimed} untimed, over at {time}"
            yield name, _timed(*asks, elapsed, _over(), times=tuple(at))
            yield f"{name}, no commitment", _timed(asks[0], elapsed, times=(first, time))


def guests() -> Iterator[tuple[str, list[Line]]]:
    """The same beside a claim of the mode that judges, and a request that asks for room."""
    host, asks = begun("h", Mode.HARD_PROTECTED, block=50), arrives("r", 5)
    ends = {
        "silent": [asks, finishes("r")],
        "refused": [asks, refused("r", "a")],
        "refused for both": [asks, refused("r", "a", "h")],
    }
    for (name, stream), (end, said) in product(durations(), ends.items()):
        events = [each for line in stream for each in line.events]
        times = [events[0].time_ns] * len(host) + [each.time_ns for each in events]
        yield f"{name}, {end}", _timed(*host, *events, *said, times=tuple(times))


def unseen_ends() -> Iterator[tuple[str, list[Line]]]:
    """Claims that share something or nothing, the duration of one of which may be over, and a
    request that fits beside them all, or beside none.
    """
    same = {"object_id": "object of a"}
    no_object: dict[str, Any] = {"object_id": None}
    lasts: dict[str, Any] = {"duration": "3 s", "size": 3}
    beside = {
        "apart": [*_expiring(**lasts), *_expiring("b", block=20)],
        "one object": [*_expiring(**lasts), *_expiring("b", **same)],
        "one object in two caches": [
            *_expiring(**lasts),
            *_expiring("b", block=20, **same, cache_identity="another"),
        ],
        "one object, contents": [
            *_expiring(**lasts),
            *keyed(_expiring("b", **same), ("k", "l")),
        ],
        "no object": [
            *_expiring(**lasts, **no_object),
            *_expiring("b", block=20, **no_object),
        ],
    }
    for (name, claims), needed in product(beside.items(), range(10)):
        asked = lines(*claims, arrives("r", needed), finishes("r"))
        yield f"{name}, a request for {needed}", asked
