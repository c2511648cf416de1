"""Traces as a patched offloading connector and scheduler write them."""

from __future__ import annotations

from typing import Any

from tests.monitor.traces import CLAIM, RUN, Line, Trace


def connector(event: str, request: str, role: str, **fields: Any) -> Line:
    """A line about `CLAIM`, as a patched connector writes it; fields may override any other."""
    return {
        "event": event,
        "hook_scope": RUN,
        "request_id": request,
        "resident_claim": True,
        "claim_id": CLAIM,
        "resident_claim_role": role,
        "cache_identity": "cache:v1",
        "predicate_id": "predicate:leading",
        "materialization_predicate": "leading_prefix_at_least(1)",
        "prefix_id": "prefix:1",
        "reusable_object_id": "object:1",
        "request_token_map_id": "tokens:1",
        **fields,
    }


def plain_connector(event: str, request: str, **fields: Any) -> Line:
    """A line without a claim."""
    return {"event": event, "hook_scope": RUN, "request_id": request, **fields}


def connector_store(**fields: Any) -> Trace:
    """A claimed prefix of 30 blocks of 16 tokens is prefilled and 28 of them stored."""
    store = {"job_id": 0, "src_block_count": 28, "transfer_type": ["GPU", "CPU"], **fields}

    def line(event: str, **more: Any) -> Line:
        return connector(event, "r0", "resident", **{**fields, **more})

    return [
        line("request_initialized", num_prompt_tokens=480, num_block_hashes=30),
        line("offload_lookup_result", num_computed_tokens=0, num_hit_tokens=0),
        line("offload_store_job_created", **store),
        line("offload_worker_transfer_submitted", **store, submitted=True),
        line("offload_worker_transfer_finished", **store, success=True),
        line("resident_claim_offloaded", **store, block_count_footprint=7),
        line("offload_job_completed", job_id=0, is_store=True),
        line("offload_request_finished_no_pending_jobs"),
    ]


def connector_lookup(request: str = "r1", **fields: Any) -> Trace:
    """A request finds 28 blocks of the claim in the tier."""
    prompt = {"num_prompt_tokens": 481, "num_block_hashes": 30}
    found = {"num_computed_tokens": 0, "num_hit_tokens": 448, "will_load_async": True}
    return [
        connector("request_initialized", request, "reuse", **{**prompt, **fields}),
        connector("offload_lookup_result", request, "reuse", **{**found, **fields}),
    ]


def connector_load(request: str = "r1", job: int = 1, generation: int = 1, **fields: Any) -> Trace:
    """The blocks are asked for and come back, or, with `success=False`, do not."""
    load = {
        "job_id": job,
        "dst_block_count": 28,
        "num_external_tokens": 448,
        "restoration_generation": generation,
        "transfer_type": ["CPU", "GPU"],
        **fields,
    }
    done = {"success": True, **load}
    load.pop("success", None)
    return [
        connector("resident_claim_restore_required", request, "reuse", **load),
        connector("offload_load_job_created", request, "reuse", **load),
        connector("offload_worker_transfer_submitted", request, "reuse", **load),
        connector("offload_worker_transfer_finished", request, "reuse", **done),
    ]


def connector_restored(
    request: str = "r1", job: int = 1, generation: int = 1, **fields: Any
) -> Trace:
    """The restore is reported, and the job of it done."""
    return [
        connector(
            "resident_claim_restored",
            request,
            "reuse",
            **{
                "job_id": job,
                "restoration_generation": generation,
                "restoration_source": "offload_tier",
                "restored_from_offload_tier": True,
                **fields,
            },
        ),
        connector("offload_job_completed", request, "reuse", job_id=job, is_store=False),
    ]


def connector_end(request: str = "r1", *, pending: bool = False) -> Trace:
    """The termination boundary of a request."""
    name = "pending_jobs" if pending else "no_pending_jobs"
    return [connector(f"offload_request_finished_{name}", request, "reuse")]


def connector_success() -> Trace:
    """Stored, reused, loaded back, restored, served."""
    return [
        *connector_store(),
        *connector_lookup(),
        *connector_load(),
        *connector_restored(),
        *connector_end(),
    ]


def scheduler_outcome(outcome: str = "refusal", request: str = "r1", **fields: Any) -> Trace:
    """What the scheduler says of a failed load, before the request ends."""
    said = {
        "claim_scoped_outcome_type": outcome,
        "outcome_type": outcome,
        "outcome_claim_id": CLAIM,
        "blocking_claim_ids": [CLAIM],
        "finish_status": "FINISHED_ERROR",
        **fields,
    }
    refused = {**said, "feasibility": "infeasible_restore_claimed_kv"}
    lines = [connector("scheduler_resident_claim_restoration_failed", request, "reuse", **said)]
    if outcome == "refusal":
        lines.append(connector("scheduler_active_request_refused", request, "reuse", **refused))
    return lines


def connector_outcome(request: str = "r1", **fields: Any) -> Trace:
    """What the connector says of it afterwards."""
    said = {
        "job_id": 1,
        "restoration_generation": 1,
        "failure_reason": "load_failure",
        "outcome_type": "refusal",
        "outcome_claim_id": CLAIM,
        "blocking_claim_ids": [CLAIM],
        **fields,
    }
    refused = {**said, "feasibility": "infeasible_restore_claimed_kv"}
    return [
        connector("offload_load_job_failed", request, "reuse", job_id=1),
        connector("resident_claim_restoration_failed", request, "reuse", **said),
        connector("active_request_refused", request, "reuse", **refused),
    ]


def connector_failed_load(request: str = "r1", **fields: Any) -> Trace:
    """A claimed load fails, by the transfer and by the worker."""
    failed = {"success": False, "failure_reason": "load_failure", **fields}
    return [
        *connector_load(request, **failed),
        connector(
            "offload_worker_load_failed",
            request,
            "reuse",
            job_id=1,
            restoration_generation=1,
            **fields,
        ),
    ]


def connector_failure() -> Trace:
    """The load back fails and the scheduler refuses the request, naming the claim."""
    return [
        *connector_store(),
        *connector_lookup(),
        *connector_failed_load(),
        *scheduler_outcome(),
        *connector_end(pending=True),
        *connector_outcome(),
    ]


def connector_fallback(*, connector_says: str = "after") -> Trace:
    """The load fails, the scheduler recomputes instead, and a second attempt restores.

    Args:
        connector_says: whether the connector's report that names the claim stands "before" the
            second attempt, "after" the request, or "never".
    """
    fallback = "fallback_recompute_without_claim_satisfaction"
    said = connector_outcome()[:2]
    return [
        *connector_store(),
        *connector_lookup(),
        *connector_failed_load(),
        *scheduler_outcome(fallback, outcome_type=fallback, blocking_claim_ids=[]),
        *(said if connector_says == "before" else []),
        *connector_lookup()[1:],
        *connector_load(job=2, generation=2),
        *connector_restored(job=2, generation=2),
        *connector_end(),
        *(said if connector_says == "after" else []),
    ]
