"""Traces in the canonical form."""

from __future__ import annotations

from typing import Any

import msgspec

from spec.events.canonical import Event
from spec.stream.breaks import Line as Taken
from tests.monitor.traces import CLAIM, RUN, Line, Trace


def canonical(kind: str, **fields: Any) -> Line:
    """A canonical event of the run."""
    return {"kind": kind, "stream": RUN, **fields}


def lines_of(trace: Trace, missing: int = 0) -> list[Taken]:
    """The trace as both judges take it, where so many lines are missing before the first."""
    return [
        Taken(at, (msgspec.convert(event, Event),), at - 1 + missing, event.get("time_ns"))
        for at, event in enumerate(trace, start=1)
    ]


def about(kind: str, claim: str = CLAIM, **fields: Any) -> Line:
    """A canonical event about a claim and its object."""
    return canonical(
        kind,
        claim_id=claim,
        cache_identity="cache:v1",
        object_id=f"object:{claim}",
        **fields,
    )


def canonical_claim(
    claim: str = CLAIM,
    footprint: int = 4,
    threshold: int = 3,
    first: int = 100,
    mode: str = "hard_protected",
    **fields: Any,
) -> Trace:
    """A claim is registered, committed, accepted, cached and said to be materialized."""
    predicate = f"leading_prefix_at_least({threshold})"
    asks = {
        "predicate": predicate,
        "footprint": footprint,
        "mode": mode,
        "owner_scope": "tenant:1",
        **fields,
    }
    blocks = list(range(footprint))
    return [
        about("claim_registered", claim, **asks),
        about("claim_committed", claim, predicate=predicate, footprint=footprint),
        about("claim_accepted", claim, predicate=predicate, footprint=footprint),
        about("block_cached", claim, block_ids=[first + i for i in blocks], positions=blocks),
        about("claim_materialized", claim),
    ]


def canonical_refusal(needed: int = 7, usable: int = 10) -> Trace:
    """A claim of 4 blocks; a request for 7 of 10 is refused because of it."""
    total = 4 + needed
    proof = {
        "resident": 4,
        "active": needed,
        "total": total,
        "usable": usable,
        "shortfall": max(0, total - usable),
    }
    return [
        *canonical_claim(),
        canonical("request_arrived", request_id="q", needed=needed, usable=usable),
        canonical("request_refused", request_id="q", blocking_claim_ids=[CLAIM], proof=proof),
        canonical("request_finished", request_id="q"),
    ]
