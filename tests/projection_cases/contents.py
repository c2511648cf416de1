"""Claims that share an object, content keys or blocks, and blocks that come and go."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.projection.lines import Line
from tests.spec.projection.stories import arrives, begun, event, finishes, keyed, lines, refused

__all__ = ["contents"]


def _sharing(mode: Mode) -> dict[str, list[Event]]:
    """Two claims that share something, or nothing."""
    same: dict[str, Any] = {"object_id": "object of a"}
    longer: dict[str, Any] = {"predicate": "contiguous_range(1, 2)"}
    kinds: dict[str, list[Event]] = {
        "two claims": [*begun("a", mode), *begun("b", mode, block=20)],
        "one object": [*begun("a", mode), *begun("b", mode, **same)],
        "one object, one of them longer": [*begun("a", mode), *begun("b", mode, size=3, **same)],
        "one object, one of them behind": [*begun("a", mode), *begun("b", mode, **same, **longer)],
        "one object in two caches": [
            *begun("a", mode),
            *begun("b", mode, block=20, **same, cache_identity="another"),
        ],
        "one object by two maps": [
            *begun("a", mode, token_map="one"),
            *begun("b", mode, block=20, **same, token_map="two"),
        ],
        "an object in no cache": [
            *begun("a", mode),
            *begun("b", mode, **same, cache_identity=None),
        ],
        "blocks of an object": [
            event(Kind.BLOCK_CACHED, **same, block_ids=(10, 11, 12), positions=(0, 1, 2)),
            *begun("a", mode),
        ],
    }
    behind: dict[str, Any] = {**same, "block_ids": (12, 13), "positions": (2, 3)}
    for cache in ("cache", "another", None):
        more = event(Kind.BLOCK_CACHED, **behind, cache_identity=cache)
        kinds[f"more of an object in {cache or 'no cache'}"] = [*begun("a", mode), more]
    away = [event(Kind.STORE_FINISHED, "a"), event(Kind.BLOCK_LOST, block_ids=(10, 11))]
    unnamed = event(Kind.LOAD_FINISHED, "a", request_id="r", held=2)
    kinds["blocks that a load did not name"] = [*begun("a", mode), *away, unnamed]
    first = {"block_ids": (30,), "positions": (0,)}
    some = event(Kind.LOAD_FINISHED, "a", request_id="r", **first)
    kinds["one block that a load did not name"] = [*kinds["two claims"], *away, unnamed, some]
    for keys in (("k", "l"), ("k", "m"), ("l", "k"), ("k",)):
        kinds[f"keys k, l and {', '.join(keys)}"] = [
            *keyed(begun("a", mode), ("k", "l")),
            *keyed(begun("b", mode, block=20), keys),
        ]
    return kinds


def _changes() -> dict[str, list[Event]]:
    """What happens to blocks."""
    cached, lost, evicted = Kind.BLOCK_CACHED, Kind.BLOCK_LOST, Kind.BLOCK_EVICTED
    loaded = Kind.LOAD_FINISHED
    whose: dict[str, dict[str, Any]] = {
        "": {},
        " of a": {"claim_id": "a"},
        " of the object": {"object_id": "object of a"},
        " of the object in a cache": {"object_id": "object of a", "cache_identity": "cache"},
    }
    found: dict[str, list[Event]] = {"nothing": []}
    for who, fields in whose.items():
        for kind in (lost, evicted):
            for ids in ((), (10,), (10, 11), (21,), (99,), (12,), (11, 12)):
                found[f"{kind}{who}, {ids}"] = [Event(kind=kind, **fields, block_ids=ids)]
        for ids, places in (((99,), (0,)), ((99,), (2,)), ((12,), (2,)), ((12, 11), (2, 1))):
            placed: dict[str, Any] = {"block_ids": ids, "positions": places}
            found[f"{lost}{who}, {ids} at {places}"] = [Event(kind=lost, **fields, **placed)]
        if fields:
            for kind, ids, at in product((cached, loaded), ((10,), (30,)), ((0,), (1,), (5,))):
                name = f"{kind}{who}, {ids} at {at}"
                found[name] = [Event(kind=kind, **fields, block_ids=ids, positions=at)]
            for held in (None, 1, 2):
                found[f"{loaded}{who}, {held}"] = [Event(kind=loaded, **fields, held=held)]
            found[f"{cached}{who} by a request"] = [
                Event(kind=cached, **fields, request_id="r", block_ids=(30,), positions=(1,))
            ]
            found[f"{cached}{who}, found"] = [
                Event(kind=cached, **fields, found=True, block_ids=(30,), positions=(1,))
            ]
    for at, block in ((0, 10), (1, 10), (1, 11)):
        over: dict[str, Any] = {"block_ids": (block,), "positions": (at,)}
        found[f"b is placed at {at} in {block}"] = [event(cached, "b", **over)]
    return found


def contents(mode: Mode) -> Iterator[tuple[str, list[Line]]]:
    """Two claims, a change, and what shows it."""
    asks = [arrives("r", 5), event(Kind.PREFIX_LOOKUP, "b", request_id="r", asked=2, held=2)]
    shows = {
        "a request is refused for both": [*asks, refused("r", "a", "b"), finishes("r")],
        "all go": [
            event(Kind.BLOCK_LOST, "a"),
            event(Kind.CLAIM_HARMED, "a"),
            event(Kind.CLAIM_HARMED, "b"),
        ],
        "the last ones go": [
            event(Kind.BLOCK_EVICTED, block_ids=(10, 20, 30)),
            event(Kind.CLAIM_HARMED, "b"),
            event(Kind.CLAIM_MATERIALIZED, "b"),
        ],
    }
    parts = (_sharing(mode), _changes(), shows)
    for (held, claims), (change, changes), (then, shown) in product(*(p.items() for p in parts)):
        yield f"{held}, {change}, {then}", lines(*claims, *changes, *shown)
