"""Writes the sample traces: `python -m monitor.samples.generate`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from monitor.samples import sample
from spec.events.alphabet import Kind
from spec.events.canonical import EVENT_ENCODER, CapacityProof, Event

__all__ = ["SAMPLES", "main"]

_START_NS: Final = 1_000_000_000
_TICK_NS: Final = 250_000
_RESIDENT, _USABLE, _ACTIVE = 60, 80, 70
_OWNER = "tenant-a"
_CLAIM: Final[dict[str, Any]] = {
    "claim_id": "claim:system-prompt",
    "cache_identity": "kv:sample-model:v1",
    "object_id": "prefix:system-prompt",
    "predicate": f"leading_prefix_at_least({_RESIDENT})",
}
_SHORTFALL = _RESIDENT + _ACTIVE - _USABLE


def _text(lines: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(line, sort_keys=True).encode() + b"\n" for line in lines)


def _canonical(stream: str, events: list[tuple[Kind, dict[str, Any]]]) -> bytes:
    lines = []
    for number, (kind, fields) in enumerate(events):
        time_ns = _START_NS + number * _TICK_NS
        event = Event(kind=kind, stream=stream, sequence=number, time_ns=time_ns, **fields)
        lines.append(EVENT_ENCODER.encode(event) + b"\n")
    return b"".join(lines)


def _protected() -> list[tuple[Kind, dict[str, Any]]]:
    """A claim is accepted and materialized, and a request comes that does not fit beside it."""
    terms = {**_CLAIM, "mode": "hard_protected", "owner_scope": _OWNER, "footprint": _RESIDENT}
    blocks = tuple(range(_RESIDENT))
    return [
        (Kind.CLAIM_REGISTERED, terms),
        (Kind.CLAIM_COMMITTED, {**_CLAIM, "footprint": _RESIDENT}),
        (Kind.CLAIM_ACCEPTED, {**_CLAIM, "mode": "hard_protected", "footprint": _RESIDENT}),
        (Kind.BLOCK_CACHED, {**_CLAIM, "block_ids": blocks, "positions": blocks}),
        (Kind.CLAIM_MATERIALIZED, _CLAIM),
        (Kind.REQUEST_ARRIVED, {"request_id": "active-1", "needed": _ACTIVE, "usable": _USABLE}),
    ]


def _hard_protected_refusal() -> bytes:
    lost = tuple(range(10, 20))
    refusal = {
        "request_id": "active-1",
        "blocking_claim_ids": (_CLAIM["claim_id"],),
        "proof": CapacityProof(_RESIDENT, _ACTIVE, _RESIDENT + _ACTIVE, _USABLE, _SHORTFALL),
    }
    return _canonical(
        "sample:refusal",
        [
            *_protected(),
            (Kind.REQUEST_REFUSED, refusal),
            (Kind.REQUEST_FINISHED, {"request_id": "active-1"}),
            (Kind.BLOCK_LOST, {"block_ids": lost}),
            (Kind.CLAIM_HARMED, _CLAIM),
            (Kind.BLOCK_CACHED, {**_CLAIM, "block_ids": tuple(range(60, 70)), "positions": lost}),
            (Kind.CLAIM_MATERIALIZED, _CLAIM),
            (Kind.CLAIM_RETIRED, {**_CLAIM, "by": _OWNER}),
            (Kind.CLAIM_RELEASED, {**_CLAIM, "by": _OWNER}),
        ],
    )


def _hard_protected_victim() -> bytes:
    return _canonical(
        "sample:victim",
        [
            *_protected(),
            (Kind.BLOCK_EVICTED, {"request_id": "active-1", "block_ids": (59,)}),
            (Kind.CLAIM_HARMED, _CLAIM),
            (Kind.REQUEST_FINISHED, {"request_id": "active-1"}),
        ],
    )


def _connector(scope: str, events: list[tuple[str, str, dict[str, Any]]]) -> bytes:
    """Events as (name, request, fields); a request named first is resident, the others reuse."""
    claim = {
        "resident_claim": True,
        "claim_id": _CLAIM["claim_id"],
        "cache_identity": _CLAIM["cache_identity"],
        "reusable_object_id": _CLAIM["object_id"],
        "materialization_predicate": "leading_prefix_at_least(8)",
        "predicate_id": "predicate:sample",
        "request_token_map_id": "token-map:sample",
    }
    return _text(
        [
            {
                **claim,
                "event": name,
                "event_sequence": number,
                "hook_scope": f"sample:{scope}",
                "monotonic_ns": _START_NS + number * _TICK_NS,
                "request_id": request,
                "resident_claim_role": "resident" if request == events[0][1] else "reuse",
                **fields,
            }
            for number, (name, request, fields) in enumerate(events)
        ]
    )


_OUT: Final = {"transfer_type": ["GPU", "CPU"], "job_id": 0}
_BACK: Final = {"transfer_type": ["CPU", "GPU"], "job_id": 1, "dst_block_count": 10}
_ATTEMPT: Final = {**_BACK, "num_external_tokens": 160, "restoration_generation": 1}


def _until_load() -> list[tuple[str, str, dict[str, Any]]]:
    """A prefix of ten blocks of 16 tokens is stored, and a second request needs it back."""
    prompt = {"num_block_hashes": 10, "num_prompt_tokens": 161}
    return [
        ("request_initialized", "first", prompt),
        ("offload_lookup_result", "first", {"num_computed_tokens": 0, "num_hit_tokens": 0}),
        ("offload_store_job_created", "first", {**_OUT, "src_block_count": 10}),
        ("offload_worker_transfer_submitted", "first", {**_OUT, "submitted": True}),
        ("offload_worker_transfer_finished", "first", {**_OUT, "success": True}),
        ("resident_claim_offloaded", "first", _OUT),
        ("offload_job_completed", "first", {"is_store": True, "job_id": 0}),
        ("offload_request_finished_no_pending_jobs", "first", {}),
        ("request_initialized", "second", prompt),
        ("offload_lookup_result", "second", {"num_computed_tokens": 0, "num_hit_tokens": 160}),
        ("resident_claim_restore_required", "second", _ATTEMPT),
        ("offload_load_job_created", "second", _ATTEMPT),
        ("offload_worker_transfer_submitted", "second", {**_ATTEMPT, "submitted": True}),
    ]


def _offloadable_restore() -> bytes:
    restored = {"restored_from_offload_tier": True, "restoration_source": "offload_tier"}
    return _connector(
        "restore",
        [
            *_until_load(),
            ("offload_worker_transfer_finished", "second", {**_ATTEMPT, "success": True}),
            ("resident_claim_restored", "second", {**_ATTEMPT, **restored}),
            ("offload_job_completed", "second", {"is_store": False, "job_id": 1}),
            ("offload_request_finished_no_pending_jobs", "second", {}),
        ],
    )


def _offloadable_failed_restore() -> bytes:
    named = {"blocking_claim_ids": [_CLAIM["claim_id"]], "outcome_claim_id": _CLAIM["claim_id"]}
    refusal = {**named, "outcome_type": "refusal", "claim_scoped_outcome_type": "refusal"}
    why = {"failure_reason": "sample_load_failure"}
    infeasible = {"feasibility": "infeasible_restore_claimed_kv"}
    failed = {**_ATTEMPT, **why}
    return _connector(
        "failed-restore",
        [
            *_until_load(),
            ("offload_worker_transfer_finished", "second", {**failed, "success": False}),
            ("offload_worker_load_failed", "second", {**failed, "invalid_block_ids": [1, 2, 3]}),
            ("scheduler_resident_claim_restoration_failed", "second", refusal),
            ("scheduler_active_request_refused", "second", {**refusal, **infeasible}),
            ("offload_request_finished_pending_jobs", "second", {"pending_job_ids": [1]}),
            ("offload_load_job_failed", "second", {**failed, "is_store": False}),
            ("resident_claim_restoration_failed", "second", {**failed, **refusal}),
            ("active_request_refused", "second", {**failed, **refusal, **infeasible}),
        ],
    )


def _allocator_refusal() -> bytes:
    claim, prefix = _CLAIM["claim_id"], _CLAIM["object_id"]
    ours = {"claim_id": claim, "prefix_id": prefix, "request_id": "resident-1"}
    no_claim = {"claim_id": None, "prefix_id": None, "request_id": "active-1"}
    need = {"resident_blocks_required": _RESIDENT, "useful_threshold_blocks": _RESIDENT}
    blocks = [
        {
            **ours,
            "event": "resident_block_materialized",
            "logical_block_position": position,
            "physical_block_id": position + 1,
            "protection_mode": "hard_exclude",
        }
        for position in range(_RESIDENT)
    ]
    accepted = {"protection_mode": "hard_exclude", "predicted_value": 0.9, "confidence": 0.9}
    holds = {"predicate": "leading_prefix_at_least", "predicate_materialized": True}
    refused = {
        "active_live_blocks_current": 0,
        "active_live_blocks_required": _ACTIVE,
        "blocking_claim_ids": [claim],
        "blocking_prefix_ids": [prefix],
        "capacity_shortfall_blocks": _SHORTFALL,
        "feasibility": "infeasible_preserve_resident_and_active",
        "protected_resident_blocks": _RESIDENT,
        "resident_plus_active_blocks": _RESIDENT + _ACTIVE,
    }
    lost = {**ours, "claim_status": "expired", "physical_block_id": _RESIDENT}
    victim = {"physical_block_id": _RESIDENT, "victim_reason": "cached_prefix_reuse"}
    events: list[dict[str, Any]] = [
        {**ours, **need, **accepted, "event": "resident_claim_accepted"},
        *blocks[:-1],
        {**ours, **need, **holds, "event": "resident_claim_materialized"},
        blocks[-1],
        {**no_claim, **refused, "event": "active_request_refused"},
        {**ours, "arbiter_action": "claim_expired", "event": "resident_claim_expired"},
        {**lost, "event": "resident_claim_block_lost_after_release"},
        {**no_claim, **victim, "request_id": "active-2", "event": "allocation_victim_selected"},
    ]
    common = {"run_id": "sample:allocator", "schema_version": 1, "usable_blocks": _USABLE}
    return _text(
        [
            {**common, "timestamp_ns": _START_NS + number * _TICK_NS, **event}
            for number, event in enumerate(events)
        ]
    )


SAMPLES: Final[dict[str, Callable[[], bytes]]] = {
    "hard_protected_refusal": _hard_protected_refusal,
    "hard_protected_victim": _hard_protected_victim,
    "offloadable_restore": _offloadable_restore,
    "offloadable_failed_restore": _offloadable_failed_restore,
    "allocator_refusal": _allocator_refusal,
}


def main() -> None:
    """Writes every sample beside this module."""
    for name, content in SAMPLES.items():
        sample(name).write_bytes(content())
        print(sample(name).name)


if __name__ == "__main__":
    main()
