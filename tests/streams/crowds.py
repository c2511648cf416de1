"""Streams of many claims, requests or names, as small as a file can ask for much with."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from spec.claims.states import Mode

__all__ = ["CROWDS", "Crowd", "write"]

Event = dict[str, Any]


class Crowd(NamedTuple):
    """Streams of a mode, each by a number on which its length depends."""

    mode: Mode
    events: Callable[[int], Iterator[Event]]


def _claim(number: int, mode: Mode, **terms: Any) -> Iterator[Event]:
    name = {"claim_id": f"claim:{number}"}
    terms = {
        "object_id": f"object:{number}",
        "cache_identity": "cache:v1",
        "predicate": "leading_prefix_at_least(1)",
        "mode": mode,
        "owner_scope": "tenant:1",
        **terms,
    }
    yield {"kind": "claim_registered", **name, **terms}
    yield {"kind": "claim_committed", **name, "footprint": 1}
    yield {"kind": "claim_accepted", **name, "footprint": 1}


def _materialized(number: int, mode: Mode) -> Iterator[Event]:
    name = {"claim_id": f"claim:{number}"}
    yield from _claim(number, mode)
    yield {"kind": "block_cached", **name, "block_ids": [number], "positions": [0]}
    yield {"kind": "claim_materialized", **name}


def _arrival(number: int, needed: int, usable: int) -> Event:
    sizes = {"needed": needed, "usable": usable}
    return {"kind": "request_arrived", "request_id": f"request:{number}", **sizes}


def unknown_names(n: int) -> Iterator[Event]:
    """Each of n requests is refused in the name of a claim that nobody knows."""
    yield from _materialized(0, Mode.HARD_PROTECTED)
    for number in range(1, n + 1):
        yield _arrival(number, 5, 5)
        names = {"blocking_claim_ids": [f"claim:{number}"]}
        yield {"kind": "request_refused", "request_id": f"request:{number}", **names}


def stores(n: int) -> Iterator[Event]:
    """Of n claims on one object n stores finish."""
    for number in range(n):
        yield from _claim(number, Mode.OFFLOADABLE, object_id="object")
    of = {"object_id": "object", "cache_identity": "cache:v1"}
    yield {"kind": "block_cached", **of, "block_ids": [7], "positions": [0]}
    for _ in range(n):
        yield {"kind": "store_finished", **of}


def open_requests(n: int) -> Iterator[Event]:
    """While n requests are in hand, which fit, a claim is told of 2n times."""
    yield from _materialized(0, Mode.HARD_PROTECTED)
    yield from (_arrival(number, 1, 5) for number in range(n))
    for _ in range(2 * n):
        yield {"kind": "claim_materialized", "claim_id": "claim:0"}


def deferred_requests(n: int) -> Iterator[Event]:
    """While n requests wait for a claim to end, a block behind it comes and goes n times."""
    yield from _materialized(0, Mode.HARD_PROTECTED)
    for number in range(n):
        yield _arrival(number, 5, 5)
        names = {"blocking_claim_ids": ["claim:0"]}
        yield {"kind": "request_deferred", "request_id": f"request:{number}", **names}
    for _ in range(n):
        behind = {"block_ids": [7], "positions": [1]}
        yield {"kind": "block_cached", "claim_id": "claim:0", **behind}
        yield {"kind": "block_lost", "block_ids": [7]}
    for number in range(n):
        yield {"kind": "request_finished", "request_id": f"request:{number}"}


def losses(n: int) -> Iterator[Event]:
    """Blocks that nobody names are lost 4n times beside n claims."""
    for number in range(n):
        yield from _materialized(number, Mode.HARD_PROTECTED)
    for _ in range(4 * n):
        yield {"kind": "block_lost"}


def write(folder: Path, name: str, n: int) -> Path:
    """A crowd of so many, as a file in this folder."""
    path = folder / f"{n}.jsonl"
    events = enumerate(CROWDS[name].events(n))
    lines = (json.dumps({**event, "sequence": number}) for number, event in events)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


CROWDS: Final = MappingProxyType(
    {
        "unknown names": Crowd(Mode.HARD_PROTECTED, unknown_names),
        "stores": Crowd(Mode.OFFLOADABLE, stores),
        "open requests": Crowd(Mode.HARD_PROTECTED, open_requests),
        "deferred requests": Crowd(Mode.HARD_PROTECTED, deferred_requests),
        "losses": Crowd(Mode.HARD_PROTECTED, losses),
    }
)
"""By what there are many of."""
