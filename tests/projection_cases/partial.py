"""Streams that do not state each fact, and lines that say too little."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from spec.claims.claim import Mode
from spec.events.alphabet import FACTS, Kind
from spec.events.canonical import Event, Mark
from spec.projection.lines import Line
from tests.spec.projection.stories import (
    arrives,
    begun,
    ended,
    event,
    finishes,
    keyed,
    lines,
    refused,
)

__all__ = ["doubts", "unobserved"]


def _contradictions(mode: Mode) -> dict[str, list[Event]]:
    """What contradicts the facts before it, if all of them are stated."""
    a = begun("a", mode)
    asked = {"request_id": "r", "asked": 2}
    copies = [event(Kind.STORE_FINISHED, "a"), event(Kind.HOST_COPY_LOST, "a")]
    return {
        "nothing": a,
        "less is found": [*a, arrives("r", 1), event(Kind.PREFIX_LOOKUP, "a", **asked, held=1)],
        "something is found": [*a, arrives("r", 1), event(Kind.PREFIX_LOOKUP, "a", **asked)],
        "a request ends": [*a, finishes("r")],
        "a request comes twice": [*a, arrives("r", 1), arrives("r", 1)],
        "a block is moved": [
            *a,
            event(Kind.BLOCK_CACHED, "a", block_ids=(10,), positions=(1,)),
        ],
        "a block is moved by a load": [
            *a,
            event(Kind.STORE_FINISHED, "a"),
            event(Kind.LOAD_FINISHED, "a", request_id="r", block_ids=(10,), positions=(1,)),
        ],
        "one content is at two positions": keyed(a, ("k", "k")),
        "one content is at two positions of another object": [
            *a,
            event(Kind.CLAIM_COMMITTED, "a", object_id="another", content_keys=("k", "k")),
        ],
        "it is committed to twice": [*a, a[1]],
        "it is ended twice": [*a, *[event(Kind.CLAIM_RETIRED, "a", by="owner")] * 2],
        "it is stored and was never there": [*a[:3], event(Kind.STORE_FINISHED, "a")],
        "a copy is lost that never was": [*a, event(Kind.HOST_COPY_LOST, "a")],
        "a copy is lost twice": [*a, *copies, copies[-1]],
        "a load finishes without a copy": [
            *a,
            event(Kind.LOAD_FINISHED, "a", request_id="r", held=2),
        ],
        "a load fails without a copy": [*a, event(Kind.LOAD_FAILED, "a", request_id="r")],
        "a duration is over": [*a, event(Kind.DURATION_ELAPSED, "a")],
        "a claim without blocks is cached": [
            event(Kind.CLAIM_COMMITTED, "a"),
            event(Kind.BLOCK_CACHED, "a", block_ids=(10,), positions=(0,)),
        ],
    }


_UNSEEN = (
    *(Kind.BLOCK_EVICTED, Kind.BLOCK_LOST, Kind.BLOCK_CACHED, Kind.STORE_FINISHED),
    *(Kind.HOST_COPY_FOUND, Kind.HOST_COPY_LOST, Kind.REQUEST_ARRIVED, Kind.REQUEST_FINISHED),
    *(Kind.CLAIM_RETIRED, Kind.CLAIM_COMMITTED, Kind.LOAD_FINISHED, Kind.DURATION_ELAPSED),
)


def _after() -> list[Event]:
    """What shows whether something is still concluded."""
    return [arrives("s", 7), refused("s", "a"), finishes("s"), event(Kind.CLAIM_HARMED, "a")]


def unobserved(mode: Mode) -> Iterator[tuple[str, list[Line]]]:
    """Facts that would contradict each other, where the hooks leave one kind of facts unstated."""
    for (what, some), unseen in product(_contradictions(mode).items(), (None, *_UNSEEN)):
        events = [*some, *_after()]
        for form in ("marked", "marked later", "recorded"):
            yield f"{what}, {unseen} unseen, {form}", _stated(events, FACTS - {unseen}, form)


def _stated(events: Sequence[Event], observes: frozenset[Kind], form: str) -> list[Line]:
    """The events as a stream that states these kinds: it says so itself, at its beginning or before
    its last events, or its form does.
    """
    if form == "recorded":
        derived = frozenset({Kind.DURATION_ELAPSED})
        return lines(*events, observes=observes, derived=derived)
    said = [Line(0, (each,)) for each in events]
    where = 0 if form == "marked" else len(events) - len(_after())
    said.insert(where, Line(0, mark=Mark.STREAM_OPENED, observes=observes))
    said.append(Line(0, mark=Mark.STREAM_CLOSED))
    return [line._replace(at=at, sequence=at - 1) for at, line in enumerate(said, 1)]


def doubts(mode: Mode) -> Iterator[tuple[str, list[Line]]]:
    """A line that says too little, of all claims or of one, in all that it could say or in some."""
    first, second = begun("a", mode), [*begun("b", mode, block=20), *ended("b")]
    away = [event(Kind.STORE_FINISHED, "a"), event(Kind.BLOCK_EVICTED, block_ids=(10, 11))]
    last = [*begun("c", mode, block=30), *away, arrives("s", 7), refused("s", "a", "c")]
    stream = [*first, *second, *last, finishes("s"), event(Kind.CLAIM_HARMED, "b")]
    parts = ((), ("claim_identity",), ("claim_harm_attribution", "explicit_conflict_action"))
    for at, name, only in product(range(len(stream)), (None, "a", "b", "c", "z"), parts):
        said = ((name, frozenset(only)),)
        yield (
            f"{name or 'all'}, {only} in doubt at {at}",
            [
                line._replace(doubts=said if number == at else ())
                for number, line in enumerate(lines(*stream))
            ],
        )
