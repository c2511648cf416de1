"""Streams of which nobody knows everything: lines are missing, out of order, or contradict."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.projection.lines import Line
from tests.spec.projection.stories import arrives, begun, event, finishes, lines, refused

__all__ = ["gaps"]


def _before(mode: Mode) -> dict[str, list[Event]]:
    """What happened before something was missed."""
    a = begun("a", mode)
    away = [event(Kind.STORE_FINISHED, "a"), event(Kind.BLOCK_EVICTED, block_ids=(10, 11))]
    required = event(Kind.CLAIM_RESTORE_REQUIRED, "a", request_id="r")
    failed = event(Kind.LOAD_FAILED, "a", request_id="r")
    return {
        "nothing": [],
        "a request": [arrives("r", 3)],
        "a claim": a,
        "a claim and a request": [*a, arrives("r", 3)],
        "a request that ended": [*a, arrives("r", 3), finishes("r")],
        "a failed restore": [*a, *away, arrives("r", 1), required, failed],
    }


def _missed() -> dict[str, list[Event]]:
    """What makes that it is unknown what else happened; nothing stands for a missing line."""
    return {
        "a line is missing": [],
        "a request comes twice": [arrives("twice", 1), arrives("twice", 1)],
        "a block is at two positions": [
            event(Kind.BLOCK_CACHED, object_id="o", block_ids=(70, 70), positions=(0, 1))
        ],
    }


def _later(mode: Mode) -> dict[str, list[Event]]:
    """A claim that comes after that."""
    shared: dict[str, Any] = {"object_id": "object of a"}
    there = [each for each in begun("c", mode) if each.kind is not Kind.BLOCK_CACHED]
    return {
        "one that was cached before": there,
        "one that is accepted again": [there[0], *there[2:]],
        "a claim": begun("c", mode, block=40),
        "one on the same object": begun("c", mode, block=40, **shared),
        "one on the same blocks": begun("c", mode, block=10, **shared),
    }


def _then() -> dict[str, list[Event]]:
    """What happens to it, to what was there before, and to requests."""
    acts: dict[str, list[Event]] = {}
    for needed in (3, 5, 7, 9):
        acts[f"{needed} blocks are needed"] = [arrives("s", needed), finishes("s")]
        refuses = refused("s", "c")
        acts[f"{needed} blocks are refused"] = [arrives("s", needed), refuses, finishes("s")]
    for names in ((), ("a",), ("c",), ("a", "c")):
        acts[f"refused for {names}"] = [refused("r", *names), finishes("r")]
        acts[f"not restored for {names}"] = [refused("r", *names, restore=True)]
    about = {"request_id": "r", "outcome": "refusal", "outcome_claim_id": "c"}
    lost = event(Kind.CLAIM_BLOCK_LOST, "c", block_ids=(40,))
    return acts | {
        "the request ends": [finishes("r")],
        "the request comes": [arrives("r", 3), finishes("r")],
        "a load fails": [event(Kind.LOAD_FAILED, "c", request_id="r"), finishes("r")],
        "a failure is told": [event(Kind.CLAIM_RESTORATION_FAILED, "c", **about)],
        "an old block goes": [event(Kind.BLOCK_EVICTED, block_ids=(10,)), lost],
        "a new block goes": [event(Kind.BLOCK_EVICTED, block_ids=(40,)), lost],
        "a strange block goes": [event(Kind.BLOCK_LOST, block_ids=(99,)), lost],
        "a block of the object goes": [
            event(Kind.BLOCK_LOST, object_id="object of a", block_ids=(99,)),
            event(Kind.CLAIM_HARMED, "c"),
        ],
        "some block is loaded": [event(Kind.LOAD_FINISHED, "c", request_id="r", held=2)],
        "something is loaded": [event(Kind.LOAD_FINISHED, "c", request_id="r")],
        "a block is cached": [event(Kind.BLOCK_CACHED, "c", block_ids=(10,), positions=(0,))],
        "harm is told": [event(Kind.CLAIM_HARMED, "c")],
        "the old one is spoken of": [event(Kind.CLAIM_HARMED, "a"), refused("r", "a")],
    }


def gaps(mode: Mode) -> Iterator[tuple[str, list[Line]]]:
    """A claim that comes after something was missed."""
    parts = (_before(mode), _missed(), _later(mode), _then())
    for (old, before), (why, missed), (new, later), (act, then) in product(
        *(part.items() for part in parts)
    ):
        stream = lines(*before, *missed, *later, *then)
        if not missed:
            stream = [
                line._replace(sequence=number + (number >= len(before)))
                for number, line in enumerate(stream)
            ]
        yield f"{old}, {why}, {new}, {act}", stream
