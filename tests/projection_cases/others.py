"""Claims of other modes beside those that are judged: of each the constants are its own mode's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from spec.claims.claim import Mode
from spec.contract.modes import MODES
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.projection.lines import Line
from tests.spec.projection.stories import (
    arrives,
    begun,
    cached,
    ended,
    event,
    finishes,
    keyed,
    lines,
)

__all__ = ["beside_others", "honest_beside_others"]

_SAME: dict[str, Any] = {"object_id": "object of g"}


def _enters(name: str, mode: Mode, **terms: Any) -> list[Event]:
    """A claim is taken on: in modes without acceptance it is registered."""
    asked = begun(name, mode, priority=3, **terms)
    return asked[:1] if MODES[mode].constants["watched"] else asked[:3]


def _begins(name: str, mode: Mode, block: int = 10, **terms: Any) -> list[Event]:
    """A claim is taken on and filled."""
    return [*_enters(name, mode, **terms), *begun(name, mode, block=block)[3:]]


def _ends(name: str, mode: Mode) -> list[Event]:
    """Its owner gives a claim up, and that is reported where it is owed."""
    return ended(name)[: 1 if MODES[mode].constants["watched"] else 2]


def _lost(name: str, mode: Mode, *blocks: int) -> list[Event]:
    """Blocks are lost by nobody's choice, and what became of the claim is reported."""
    watched = MODES[mode].constants["watched"]
    said = Kind.CLAIM_UNMATERIALIZED if watched else Kind.CLAIM_HARMED
    return [event(Kind.BLOCK_LOST, block_ids=blocks), event(said, name)]


def _honest(mode: Mode, other: Mode) -> dict[str, list[Event]]:
    """What is told of the claim `j`, which is judged, is true and all of it, and so of `g`."""
    g, j, over = _begins("g", other), _begins("j", mode, 20), _ends("g", other)
    asked = _enters("g", other)
    beside = _begins("j", mode, **_SAME)
    empty = [*_enters("j", mode, **_SAME), cached("j", 30, 31), event(Kind.CLAIM_MATERIALIZED, "j")]
    wiped = event(Kind.BLOCK_LOST, block_ids=(10, 11))
    return {
        "none": [*g, *j],
        "it ends": [*g, *j, *over],
        "it ended, blocks taken at another position": [*g, *over, *_begins("j", mode, 11)],
        "it ended, blocks taken": [*g, *over, *_begins("j", mode)],
        "it ended and lost its blocks, and its object is filled": [*g, *over, wiped, *empty],
        "it ended, and nothing is said of its object": [*g, *over, *_enters("j", mode, **_SAME)],
        "it is turned away": [asked[0], event(Kind.CLAIM_REJECTED, "g"), *beside],
        "one object": [*g, *beside],
        "one object, and it ends": [*g, *beside, *over],
        "one object, and it ends, and what is left is lost": [
            *(*g, *beside, *over),
            *_lost("j", mode, 10),
        ],
        "one object, and it began after": [*beside, *g, *over],
        "contents": [*keyed(g, ("k", "l")), *over, *keyed(j, ("k", "l"))],
    }


def _told(mode: Mode, other: Mode) -> dict[str, list[Event]]:
    """The same, and what is not as it must be."""
    g, over = _begins("g", other), _ends("g", other)
    empty = [*_enters("j", mode, **_SAME)]
    asked, beside = _enters("g", other)[:1], _begins("j", mode, **_SAME)
    evicted = event(Kind.BLOCK_EVICTED, block_ids=(10,), lowest_priority=2)
    lowest = event(Kind.BLOCK_EVICTED, block_ids=(20,), lowest_priority=3)
    by_runtime = [
        event(kind, "g", by="runtime") for kind in (Kind.CLAIM_RETIRED, Kind.CLAIM_DEMOTED)
    ]
    return _honest(mode, other) | {
        "it asked, and nothing is said of its object": [*asked, cached("g", 10, 11), *empty],
        "it ends in silence": [*g, over[0], *_begins("j", mode, 11)],
        "it is named before it asks": [event(Kind.CLAIM_MATERIALIZED, "g"), *g, *beside],
        "it begins again": [*g, *over, *g, *beside, evicted],
        "the runtime ends it": [*g, *beside, *by_runtime, evicted],
        "one object, a block goes": [*g, *beside, evicted],
        "one object, it ends, a block goes": [*g, *beside, *over, evicted],
        "a block of another goes": [*g, *_begins("j", mode, 20, size=2), lowest],
        "it ended, a block of another goes": [*g, *over, *_begins("j", mode, 20), lowest],
        "it has no priority": [
            *(*begun("g", other, block=10), *_begins("j", mode, 20)),
            *(lowest, event(Kind.CLAIM_BLOCK_LOST, "j", block_ids=(20,))),
        ],
        "its duration is over": [
            *(*_begins("g", other, duration="3 steps"), *beside),
            *(event(Kind.DURATION_ELAPSED, "g"), evicted),
        ],
        "it is accepted in the other mode": [
            *g,
            event(Kind.CLAIM_ACCEPTED, "g", mode=str(mode), footprint=2),
            *beside,
            evicted,
        ],
    }


def _used() -> list[list[Event]]:
    """Requests that come after all that."""
    looks = event(Kind.PREFIX_LOOKUP, "j", request_id="r", held=2, asked=2)
    return [[arrives("r", 1), looks, finishes("r")], [arrives("r", 5), finishes("r")]]


def honest_beside_others(mode: Mode) -> Iterator[tuple[str, list[Line]]]:
    """Streams in which all that is owed to the claim of this mode is done."""
    for other in Mode:
        for name, events in _honest(mode, other).items():
            yield f"{other}: {name}", lines(*events, arrives("r", 1), finishes("r"))


def beside_others(mode: Mode) -> Iterator[tuple[str, list[Line]]]:
    """These and others, some with a line missing."""
    for other in Mode:
        for name, events in _told(mode, other).items():
            for used in _used():
                told = lines(*events, *used)
                yield f"{other}: {name}, {len(used)} lines more", told
            gap = [line._replace(sequence=line.at - (line.at <= len(events) // 2)) for line in told]
            yield f"{other}: {name}, a line is missing", gap
