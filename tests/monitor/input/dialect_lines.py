"""Lines of the recorded dialects, and what they are read as."""

import json
from typing import Any

import pytest

from monitor.input.dialects import Reader
from monitor.input.errors import InputError
from monitor.input.records import Record
from spec.events.canonical import Event

Line = dict[str, Any]


def feed(*lines: Line) -> list[Record]:
    """The records of a file of these lines."""
    reader = Reader("f")
    records = [
        record
        for number, line in enumerate(lines, 1)
        for record in reader.feed(json.dumps(line).encode(), number)
    ]
    return [*records, *reader.flush()]


def events(*lines: Line) -> list[tuple[Event, int]]:
    """The events of these lines, each with the line that it stands for."""
    return [(event, at.line) for record in feed(*lines) for event, at in record.events]


def kinds(*lines: Line) -> list[str]:
    return [event.kind.value for event, _ in events(*lines)]


def refusal(line: Line) -> InputError:
    with pytest.raises(InputError) as caught:
        feed(line)
    return caught.value


CLAIM: Line = {
    "claim_id": "c",
    "cache_identity": "k",
    "reusable_object_id": "o",
    "materialization_predicate": "leading_prefix_at_least(4)",
    "predicate_id": "p",
    "request_token_map_id": "t",
}
BOUND: Line = {
    "claim_id": "c",
    "cache_identity": "k",
    "object_id": "o",
    "predicate": "leading_prefix_at_least(4)",
    "predicate_id": "p",
    "token_map": "t",
}
LOAD: Line = {"transfer_type": ["CPU", "GPU"], "job_id": 1}
STORE: Line = {"transfer_type": ["GPU", "CPU"], "job_id": 0}


def conn(event: str, request: str | None = "q", role: str = "reuse", **more: Any) -> Line:
    """A claimed line of the connector dialect; the clock is the call's own business."""
    own = {"event": event, "event_sequence": 0, "request_id": request}
    return {**CLAIM, **own, "resident_claim_role": role, **more}


RESIDENT = conn("request_initialized", "r", "resident", num_prompt_tokens=161, num_block_hashes=10)
REUSE = conn("request_initialized", num_prompt_tokens=161, num_block_hashes=10)
STORED = conn("offload_worker_transfer_finished", "r", "resident", **STORE, success=True)
FOUND = conn("offload_lookup_result", num_computed_tokens=0, num_hit_tokens=160)
DONE = conn("offload_request_finished_no_pending_jobs")
LOADED = conn("offload_worker_transfer_finished", **LOAD, success=True, dst_block_count=10)
FAILED = conn("offload_worker_transfer_finished", **LOAD, success=False)


def required(generation: int | None) -> Line:
    return conn("resident_claim_restore_required", restoration_generation=generation)


def report(generation: int | None = None, event: str = "resident_claim_restoration_failed") -> Line:
    return conn(event, outcome_type="refusal", restoration_generation=generation)


SPOKE = conn(
    "scheduler_resident_claim_restoration_failed",
    claim_scoped_outcome_type="fallback_recompute_without_claim_satisfaction",
    blocking_claim_ids=[],
)


def alloc(event: str, **more: Any) -> Line:
    return {
        "event": event,
        "run_id": "r1",
        "timestamp_ns": 5,
        "usable_blocks": 80,
        "claim_id": "c",
        "prefix_id": "x",
        **more,
    }


NEED: Line = {"resident_blocks_required": 60}
HOLDS = alloc("resident_claim_materialized", predicate_materialized=True)
VICTIM = alloc("allocation_victim_selected", claim_id=None, request_id="q", physical_block_id=7)
REFUSED = alloc(
    "active_request_refused",
    claim_id=None,
    request_id="q",
    active_live_blocks_required=70,
    protected_resident_blocks=60,
    resident_plus_active_blocks=130,
    capacity_shortfall_blocks=50,
    blocking_claim_ids=["c"],
)
DEFERRED = {**REFUSED, "event": "active_request_deferred"}


def cached(block: int, **more: Any) -> Line:
    own = {"physical_block_id": block, "logical_block_position": block - 1}
    return alloc("resident_block_materialized", **own, **more)
