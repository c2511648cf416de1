"""Lines of promises that are kept, in the canonical form, with all that a stream should state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spec.claims.states import Mode
from tests.monitor.traces import CLAIM, Line, Trace, judge
from tests.monitor.traces_canonical import about, canonical

HARD, OFFLOADABLE = Mode.HARD_PROTECTED, Mode.OFFLOADABLE
BLOCKS = [100, 101, 102, 103]
GONE = canonical("block_evicted", block_ids=BLOCKS)


def accepted(
    claim: str = CLAIM,
    footprint: int = 4,
    threshold: int = 3,
    mode: Mode = HARD,
    of: str | None = None,
    keys: Sequence[str] | None = None,
    **fields: Any,
) -> Trace:
    """A claim is registered, committed with the contents of its positions, and accepted."""
    terms = {"predicate": f"leading_prefix_at_least({threshold})", "mode": str(mode)}
    held = [f"{of or claim}/{n}" for n in range(footprint)] if keys is None else list(keys)
    lines = [
        about("claim_registered", claim, **terms, owner_scope="tenant:1", **fields),
        about("claim_committed", claim, footprint=footprint, content_keys=held),
        about("claim_accepted", claim, footprint=footprint),
    ]
    return [{**line, "object_id": f"object:{of or claim}"} for line in lines]


def cached(claim: str, first: int, *positions: int, **fields: Any) -> Line:
    """Blocks of a claim are there."""
    ids = [first + n for n in positions]
    line = canonical("block_cached", claim_id=claim, block_ids=ids, positions=list(positions))
    return {**line, **fields}


def named(kind: str, claim: str = CLAIM, request: str | None = None, **fields: Any) -> Line:
    """A line that names a claim, and a request."""
    return canonical(kind, claim_id=claim, **({"request_id": request} if request else {}), **fields)


def arrives(request: str, needed: int = 1, usable: int = 20) -> Line:
    return canonical("request_arrived", request_id=request, needed=needed, usable=usable)


def of(kind: str, request: str, **fields: Any) -> Line:
    """A line about a request."""
    return canonical(f"request_{kind}", request_id=request, **fields)


def there(claim: str = CLAIM, first: int = 100, mode: Mode = HARD, **fields: Any) -> Trace:
    """A claim of four blocks that are there, and that is reported."""
    blocks = cached(claim, first, 0, 1, 2, 3)
    return [*accepted(claim, mode=mode, **fields), blocks, named("claim_materialized", claim)]


def copied(claim: str = CLAIM, first: int = 100) -> Trace:
    """The same claim, copied to the tier and gone from the GPU."""
    gone = canonical("block_evicted", block_ids=[first + n for n in range(4)])
    told = [named("store_finished", claim), named("claim_offloaded", claim)]
    return [*there(claim, first, OFFLOADABLE), *told, gone]


def back(request: str, claim: str = CLAIM, first: int = 200) -> Trace:
    """The claim is brought back for a request."""
    blocks = {"block_ids": [first + n for n in range(4)], "positions": [0, 1, 2, 3]}
    return [
        named("claim_restore_required", claim, request),
        named("load_finished", claim, request, **blocks),
        named("claim_restored", claim, request, from_tier=True),
    ]


def released(claim: str = CLAIM) -> Trace:
    """Its owner takes it back."""
    ends = ("claim_retired", "claim_released")
    return [named(kind, claim, by="tenant:1") for kind in ends]


def looked_up(request: str, found: int, asked: int = 4, claim: str = CLAIM) -> Line:
    return named("prefix_lookup", claim, request, held=found, asked=asked)


def reused(request: str, claim: str = CLAIM) -> Line:
    return named("prefix_reused", claim, request)


def proof(resident: int, active: int, usable: int) -> dict[str, int]:
    """A capacity proof that adds up."""
    total = resident + active
    short = max(0, total - usable)
    said = {"resident": resident, "active": active, "total": total, "usable": usable}
    return {**said, "shortfall": short}


def verdict(mode: Mode, *lines: Line) -> str:
    """What is said of the whole stream."""
    return str(judge(list(lines), mode).verdict)


def broken(mode: Mode, *lines: Line) -> set[str]:
    """The obligations that the stream breaks."""
    found = judge(list(lines), mode).obligations
    return {name for name, said in found.items() if said == "violated"}
