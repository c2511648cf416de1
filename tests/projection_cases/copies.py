"""Two claims with one content in different blocks: one holds its own before it states it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from spec.claims.claim import Mode
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
    refused,
)

__all__ = ["brought", "copies"]


def brought(
    mode: Mode, keys: tuple[str, ...] = (), *, size: int = 2, known: bool = True, **terms: Any
) -> list[Event]:
    """A claim that holds blocks 20 and 21 before it is committed to, and states what it holds.

    Args:
        known: it is registered before it holds them.
    """
    entry, committed, *rest = keyed(begun("b", mode, size=size, block=20, **terms), keys)
    accepted, held, there = rest
    return [*([entry, held] if known else [held, entry]), committed, accepted, there]


def _comings(mode: Mode) -> dict[str, list[Event]]:
    """Claim a is there, and b comes with copies of its own, or with other blocks."""
    on: dict[str, Any] = {"object_id": "object of a"}
    alone, with_keys = begun("a", mode), keyed(begun("a", mode), ("k", "l"))
    unnamed = event(Kind.LOAD_FINISHED, "b", request_id="r", held=2)
    kinds = {
        "by keys": [*with_keys, *brought(mode, ("k", "l"))],
        "by one key": [*with_keys, *brought(mode, ("k", "m"))],
        "by other keys": [*with_keys, *brought(mode, ("m", "n"))],
        "by an object": [*alone, *brought(mode, known=False, **on)],
        "by an object, longer": [*alone, *brought(mode, size=3, known=False, **on)],
        "by an object in another cache": [
            *alone,
            *brought(mode, known=False, **on, cache_identity="another"),
        ],
        "by keys, to one that ended": [*with_keys, *ended(), *brought(mode, ("k", "l"))],
        "by keys, in blocks that are not named": [
            *with_keys,
            brought(mode)[0],
            event(Kind.STORE_FINISHED, "b"),
            unnamed,
            *brought(mode, ("k", "l"))[2:],
        ],
    }
    third = keyed(begun("c", mode, block=30), ("k", "l"))
    kinds["by keys, and a third one"] = [*kinds["by keys"], *third[:3], third[4]]
    lost = event(Kind.BLOCK_EVICTED, block_ids=(10, 11))
    lookup = event(Kind.PREFIX_LOOKUP, "a", request_id="w", asked=2, held=0)
    waits = event(Kind.CLAIM_RESTORE_REQUIRED, "a", request_id="w")
    uses = event(Kind.PREFIX_REUSED, "a", request_id="w")
    came = brought(mode, ("k", "l"))
    kinds |= {
        "by keys, to one that lost its own": [*with_keys, lost, *came],
        "by keys, to one that held none": [*with_keys[:3], *came, event(Kind.STORE_FINISHED, "a")],
        "by keys, to one that a request uses": [*with_keys, arrives("w", 1), lost, *came, uses],
        "by keys, to one that a request waits for": [
            *with_keys,
            event(Kind.STORE_FINISHED, "a"),
            arrives("w", 1),
            *(lost, lookup, waits),
            *came,
            uses,
        ],
        "by an object, to one that is not committed to": [
            alone[0],
            *brought(mode, known=False, **on)[:2],
            *alone[1:3],
            event(Kind.CLAIM_MATERIALIZED, "a"),
        ],
    }
    return kinds


def copies(mode: Mode) -> Iterator[tuple[str, list[Line]]]:
    """Each way in which b comes to the content of a, each eviction, and each report after that."""
    first, second = (event(Kind.BLOCK_EVICTED, block_ids=ids) for ids in ((10, 11), (20, 21)))
    goings = {
        "none goes": [],
        "the first go": [first],
        "the second go": [second],
        "both go": [first, second],
        "they go the other way round": [second, first],
        "one of each goes": [event(Kind.BLOCK_EVICTED, block_ids=(10, 21))],
        "what is not named goes": [event(Kind.BLOCK_LOST, "b")],
    }
    asks = [arrives("s", 7), event(Kind.PREFIX_LOOKUP, "a", request_id="s", asked=2, held=2)]
    shows = {
        "harm": [event(Kind.CLAIM_HARMED, "a"), event(Kind.CLAIM_HARMED, "b")],
        "a is there": [event(Kind.CLAIM_MATERIALIZED, "a"), event(Kind.CLAIM_BLOCK_LOST, "a")],
        "a use": [*asks, refused("s", "a", "b"), finishes("s")],
    }
    parts = (_comings(mode), goings, shows)
    for (coming, claims), (going, gone), (then, shown) in product(*(p.items() for p in parts)):
        yield f"{coming}, {going}, {then}", lines(*claims, *gone, *shown)
        again = cached("b", 20, 21)
        yield f"{coming}, {going}, back, {then}", lines(*claims, *gone, again, *shown)
