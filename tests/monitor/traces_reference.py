"""Traces as the papers' reference suite writes the lifecycle of an offloaded claim."""

from __future__ import annotations

from typing import Any, Final

from tests.monitor.traces import CLAIM, RUN, Line, Trace

BLOCKS: Final = list(range(40, 44))
GPU, HOST = "gpu_kv_cache", "host_offload_tier"


def reference(event: str, request: str = "reuse", **fields: Any) -> Line:
    """A line about `CLAIM`, as the reference runtime writes it; fields may override any other."""
    return {
        "event": event,
        "run_id": RUN,
        "policy": "reference_offload_hook",
        "lifecycle_generation": 1,
        "offload_generation": 1,
        "request_id": request,
        "claim_id": CLAIM,
        "cache_identity": "cache:v1",
        "predicate_id": "predicate:leading",
        "materialization_predicate": "leading_prefix_at_least(4)",
        "prefix_id": "prefix:1",
        "reusable_object_id": "object:1",
        "request_token_map_id": "tokens:1",
        "usable_blocks": 16,
        **fields,
    }


def reference_accepted(**fields: Any) -> Line:
    """A claim on 4 blocks is accepted."""
    said = {
        "protection_mode": "offloadable_reference",
        "resident_blocks_required": 4,
        "resident_blocks_materialized": 0,
        **fields,
    }
    return reference("resident_claim_accepted", "resident", **said)


def reference_materialized(**fields: Any) -> Line:
    """Its blocks are on the GPU."""
    said = {
        "block_ids": BLOCKS,
        "cache_tier": GPU,
        "leading_blocks_survived": 4,
        "predicate_materialized": True,
        "resident_blocks_materialized": 4,
        **fields,
    }
    return reference("resident_claim_materialized", "resident", **said)


def reference_offloaded(**fields: Any) -> Line:
    """Its blocks are copied to the host, and gone from the GPU."""
    return reference("resident_claim_offloaded", "resident", **{**_moved(GPU, HOST), **fields})


def reference_required(request: str = "reuse", **fields: Any) -> Line:
    """A request needs them back."""
    return reference("resident_claim_restore_required", request, **fields)


def reference_restored(request: str = "reuse", **fields: Any) -> Line:
    """They are back."""
    said = {
        **_moved(HOST, GPU),
        "restoration_completed": True,
        "restoration_source": "offload_tier",
        "restored_from_offload_tier": True,
        **fields,
    }
    return reference("resident_claim_restored", request, **said)


def reference_reused(request: str = "reuse", **fields: Any) -> Line:
    """The request used them."""
    said = {"predicate_satisfied": True, **fields}
    return reference("resident_claim_reuse_after_restore", request, **said)


def reference_failed(request: str = "reuse", **fields: Any) -> Line:
    """They do not come back, and the request is to be refused for it."""
    said = {
        "claim_scoped_outcome": True,
        "claim_scoped_outcome_type": "refusal",
        "outcome_type": "refusal",
        "outcome_claim_id": CLAIM,
        **fields,
    }
    return reference("resident_claim_restoration_failed", request, **said)


def reference_refused(request: str = "reuse", **fields: Any) -> Line:
    """The request is refused."""
    said = {
        "blocking_claim_ids": [CLAIM],
        "feasibility": "infeasible_restore_claimed_kv",
        "outcome_claim_id": CLAIM,
        "outcome_type": "refusal",
        "restoration_failure_event_sequence": 5,
        **fields,
    }
    return reference("active_request_refused", request, **said)


def reference_away() -> Trace:
    """A claim is accepted, materialized and offloaded, and a request needs it back."""
    return [
        reference_accepted(),
        reference_materialized(),
        reference_offloaded(),
        reference_required(),
    ]


def reference_success() -> Trace:
    """Offloaded, loaded back, reused."""
    return [*reference_away(), reference_restored(), reference_reused()]


def reference_failure() -> Trace:
    """Offloaded, not loaded back, and the request refused in the claim's name."""
    return [*reference_away(), reference_failed(), reference_refused()]


def _moved(source: str, target: str) -> dict[str, Any]:
    return {
        "block_ids": BLOCKS,
        "cache_tier": target,
        "cache_tier_from": source,
        "cache_tier_to": target,
        "source_tier": source,
        "destination_tier": target,
    }
