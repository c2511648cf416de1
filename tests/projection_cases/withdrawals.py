"""Reports about claims that their owner withdrew before anybody committed to them, or after."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, Final

from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.projection.lines import Line
from tests.spec.projection.stories import begun, cached, ended, event, lines

__all__ = ["withdrawals"]

_HELD: Final[tuple[tuple[int, ...], ...]] = ((), (10,), (10, 11), (10, 11, 12))
_SINCE: Final[dict[str, tuple[Event, ...]]] = {
    "nothing": (),
    "a loss": (event(Kind.BLOCK_EVICTED, block_ids=(10,)),),
    "the caching of all": (cached("a", 10, 11),),
    "a loss of others": (event(Kind.BLOCK_EVICTED, block_ids=(50,)),),
}
_REPORTS: Final = (
    *(Kind.CLAIM_MATERIALIZED, Kind.CLAIM_UNMATERIALIZED, Kind.CLAIM_RESTORED),
    *(Kind.CLAIM_RESTORATION_FAILED, Kind.CLAIM_OFFLOADED, Kind.CLAIM_HARMED),
    *(Kind.CLAIM_BLOCK_LOST, Kind.CLAIM_RELEASED),
)
_REQUIRED: Final[dict[Kind, dict[str, Any]]] = {
    Kind.CLAIM_RESTORED: {"request_id": "r"},
    Kind.CLAIM_RESTORATION_FAILED: {"request_id": "r"},
    Kind.CLAIM_RELEASED: {"by": "owner"},
}


def withdrawals(mode: Mode) -> Iterator[tuple[str, list[Line]]]:
    """A claim of two blocks holds some, its entry ends, something happens, and it is reported,
    whether or not lines are missing before.
    """
    entry, [gone, _] = begun("a", mode, priority=1), ended()
    entered = {"registered": entry[:1], "committed to": entry[:2]}
    for way, held, since, kind in product(entered, _HELD, _SINCE, _REPORTS):
        holds = [cached("a", *held)] if held else []
        report = event(kind, "a", **_REQUIRED.get(kind, {}))
        told = lines(*entered[way], *holds, gone, *_SINCE[since], report)
        name = f"{way}, {len(held)} held, {since}, {kind}"
        yield name, told
        yield f"{name}, lines missing", [each._replace(sequence=each.at + 2) for each in told]
