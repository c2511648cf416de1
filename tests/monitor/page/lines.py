"""Writes small traces for pages: claims on two blocks, and what happens to them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

__all__ = ["claim", "event", "trace"]

Event = dict[str, Any]


def event(kind: str, **fields: Any) -> Event:
    """An event of the stream `s`, or of another that the fields name."""
    return {"kind": kind, "stream": "s", **fields}


def claim(name: str, first: int, mode: str = "hard_protected", **fields: Any) -> list[Event]:
    """A claim that is materialized by two blocks, of which the first has this number."""
    terms = {"cache_identity": "kv", "object_id": name, "owner_scope": "t", "mode": mode}
    terms["predicate"] = "leading_prefix_at_least(2)"
    fields |= {"claim_id": name}
    return [
        event("claim_registered", **fields, **terms),
        event("claim_committed", **fields, footprint=2),
        event("claim_accepted", **fields, footprint=2),
        event("block_cached", **fields, block_ids=[first, first + 1], positions=[0, 1]),
        event("claim_materialized", **fields),
    ]


def trace(
    path: Path, *events: Event, step: int = 1000, clocks: dict[str, int] | None = None
) -> Path:
    """Write events, each `step` ns after the one before; clocks of streams begin at 0 or so."""
    numbers, lines = Counter[str](), []
    for place, each in enumerate(events):
        name = each["stream"]
        time_ns = (clocks or {}).get(name, 0) + place * step
        lines.append(json.dumps({**each, "sequence": numbers[name], "time_ns": time_ns}))
        numbers[name] += 1
    path.write_text("\n".join(lines) + "\n")
    return path
