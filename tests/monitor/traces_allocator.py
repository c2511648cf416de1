"""Traces as a patched block pool writes them."""

from __future__ import annotations

from typing import Any

from tests.monitor.traces import CLAIM, RUN, Line, Trace


def allocator(event: str, claim: str | None = CLAIM, **fields: Any) -> Line:
    """A line as a patched block pool writes it."""
    return {
        "event": event,
        "schema_version": 1,
        "run_id": RUN,
        "policy": "hard_claim_infeasibility",
        "request_id": None,
        "usable_blocks": 80,
        "claim_id": claim,
        "prefix_id": claim and f"prefix:{claim}",
        **fields,
    }


def allocator_accepted(
    claim: str = CLAIM, footprint: int = 60, threshold: int = 40, **fields: Any
) -> Line:
    """A claim is accepted."""
    return allocator(
        "resident_claim_accepted",
        claim,
        **{
            "protection_mode": "hard_exclude",
            "resident_blocks_required": footprint,
            "useful_threshold_blocks": threshold,
            **fields,
        },
    )


def allocator_block(position: int, block: int, claim: str | None = CLAIM, **fields: Any) -> Line:
    """A block of the claim is cached."""
    return allocator(
        "resident_block_materialized",
        claim,
        **{
            "logical_block_position": position,
            "physical_block_id": block,
            "block_hash": f"hash:{claim}:{position}",
            "is_protected_resident": True,
            **fields,
        },
    )


def allocator_victim(block: int, claim: str | None = None, **fields: Any) -> Line:
    """A block is taken for someone else."""
    return allocator(
        "allocation_victim_selected",
        claim,
        **{
            "physical_block_id": block,
            "free_queue_rank": 0,
            "ref_count": 0,
            "is_protected_resident": False,
            "victim_reason": "cached_prefix_reuse",
            "request_id": "active",
            **fields,
        },
    )


def allocator_resident(
    claim: str = CLAIM, footprint: int = 60, threshold: int = 40, first: int = 100, **fields: Any
) -> Trace:
    """A claim is accepted and its blocks cached at `first`, `first + 1`, and so on."""
    return [
        allocator_accepted(claim, footprint, threshold, **fields),
        *(allocator_block(i, first + i, claim) for i in range(footprint)),
        allocator(
            "resident_claim_materialized",
            claim,
            predicate="leading_prefix_at_least",
            predicate_materialized=True,
            resident_blocks_materialized=footprint,
            resident_blocks_required=footprint,
        ),
    ]


def allocator_conflict(
    resident: int = 60,
    needed: int = 70,
    usable: int = 80,
    *,
    blocking: list[str] | None = None,
    event: str = "active_request_refused",
    **fields: Any,
) -> Line:
    """A request that does not fit beside `resident` blocks is refused, with its capacity proof."""
    total = resident + needed
    return allocator(
        event,
        None,
        **{
            "request_id": "active",
            "active_live_blocks_required": needed,
            "active_live_blocks_current": 0,
            "blocking_claim_ids": [CLAIM] if blocking is None else blocking,
            "protected_resident_blocks": resident,
            "resident_plus_active_blocks": total,
            "usable_blocks": usable,
            "capacity_shortfall_blocks": max(0, total - usable),
            "free_blocks_before_allocate": 20,
            "feasibility": "infeasible_preserve_resident_and_active",
            "arbiter_action": "capacity_required",
            **fields,
        },
    )


def allocator_refusal() -> Trace:
    """A resident claim of 60 blocks; a request for 70 of 80 is refused because of it."""
    return [*allocator_resident(), allocator_conflict()]


def allocator_end(event: str, claim: str = CLAIM) -> Line:
    """The claim is demoted or expired."""
    return allocator(event, claim, arbiter_action="demote_on_conflict")


def allocator_losses(positions: list[int], claim: str = CLAIM, first: int = 100) -> Trace:
    """Blocks lost after release, each told before the choice of the victim."""
    lines = []
    for position in positions:
        block = first + position
        lost = allocator(
            "resident_claim_block_lost_after_release",
            claim,
            claim_status="demoted",
            physical_block_id=block,
        )
        lines += [lost, allocator_victim(block)]
    return lines


def allocator_release(event: str = "resident_claim_demoted") -> Trace:
    """A claim is given up explicitly and then loses its blocks, tail first."""
    return [
        *allocator_resident(),
        allocator_end(event),
        *allocator_losses(list(reversed(range(60)))),
    ]
