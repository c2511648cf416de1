"""Requests for which there is no room beside what is claimed, and what is done about it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import CapacityProof, Event
from spec.projection.lines import Line
from tests.spec.projection.stories import arrives, begun, ended, event, finishes, lines, refused

__all__ = ["conflicts", "proofs"]

_BLAMED: Final = ((), ("a",), ("b",), ("a", "b"), ("c",), ("a", "stranger"))


def _claims(mode: Mode) -> dict[str, list[Event]]:
    """Claims of two blocks, of three, and one that nobody committed to."""
    a, b = begun("a", mode, size=2), begun("b", mode, size=3, block=20)
    c = begun("c", mode, size=2, block=40)
    return {
        "one claim": a,
        "two claims": [*a, *b],
        "two claims and one that is asked for": [*a, *b, c[0]],
        "two claims and one that is over": [*a, *b, *c, *ended("c")],
    }


def conflicts(mode: Mode) -> Iterator[tuple[str, list[Line]]]:
    """One request, and one action upon it."""
    actions = (Kind.REQUEST_REFUSED, Kind.REQUEST_DEFERRED, Kind.REQUEST_BOUNDED)
    needs = ((3, 8), (4, 8), (6, 8), (7, 8), (9, 8), (4, 5))
    for (held, claims), (needed, usable) in product(_claims(mode).items(), needs):
        asks = [*claims, arrives("r", needed, usable)]
        yield f"{held}, {needed} of {usable}", lines(*asks, finishes("r"))
        for kind, names in product(actions, _BLAMED):
            act = Event(kind=kind, request_id="r", blocking_claim_ids=names)
            name = f"{held}, {needed} of {usable}, {kind} for {names}"
            yield name, lines(*asks, act, finishes("r"))
    yield from _changes(mode)


def _changes(mode: Mode) -> Iterator[tuple[str, list[Line]]]:
    """What is claimed changes while a request waits."""
    a, b = begun("a", mode, size=2), begun("b", mode, size=3, block=20)
    gone = event(Kind.BLOCK_EVICTED, block_ids=(10,))
    changes = {
        "nothing": [],
        "the first ends": ended("a"),
        "the second ends": ended("b"),
        "both end": [*ended("a"), *ended("b")],
        "the first is evicted": [gone],
        "the second begins": b,
        "a request comes": [arrives("s", 5)],
        "a request of this name comes": [arrives("r", 2)],
        "the restore is what fails": [event(Kind.LOAD_FAILED, "a", request_id="r")],
    }
    for both, (change, meanwhile), names in product((0, 1), changes.items(), _BLAMED[:4]):
        begins = [*a, *b] if both and meanwhile is not b else a
        asks = [*begins, arrives("r", 6 + both)]
        for kind in (Kind.REQUEST_DEFERRED, Kind.REQUEST_REFUSED):
            act = Event(kind=kind, request_id="r", blocking_claim_ids=names)
            last = [finishes("r"), event(Kind.CLAIM_HARMED, "a")]
            name = f"{change}, {kind} for {names}, {6 + both} blocks"
            yield f"{name}, before", lines(*asks, *meanwhile, act, *last)
            yield f"{name}, after", lines(*asks, act, *meanwhile, *last)
            done = refused("r", *names)
            yield f"{name}, and refused", lines(*asks, act, *meanwhile, done, *last)


def proofs(mode: Mode) -> Iterator[tuple[str, list[Line]]]:
    """Refusals with capacity proofs, right and wrong."""
    a, b = begun("a", mode, size=2), begun("b", mode, size=3, block=20)
    for resident, active, usable, shortfall in product((2, 5, 6), (3, 4), (7, 8), (0, 1, 2)):
        total = resident + active
        for more in (total, total + 1):
            proof = CapacityProof(resident, active, more, usable, shortfall)
            act = refused("r", "a", "b", proof=proof)
            name = f"{resident} and {active}, {more}, of {usable}, {shortfall} short"
            yield name, lines(*a, *b, arrives("r", 4), act, finishes("r"))
