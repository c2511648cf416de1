"""Runs of the block pool with claims, in the form in which the prototype recorded its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from models.framework.shims import PLAIN
from models.runtimes.vllm_pool import Prompt, State
from models.runtimes.vllm_pool_exclusion import VllmPoolExclusion
from monitor import check_files
from proofs.product.search import Answer, Outcome, search
from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event

HARD = Mode.HARD_PROTECTED
VICTIM = "victim_exclusion_before_violation"
PROMPTS = (Prompt("r1", "a", 1, 0), Prompt("r2", "b", 0, 2), Prompt("r3", "c", 0, 1))


class Careless(VllmPoolExclusion):
    """Excludes nothing."""

    def _victims(self, state: State, free: tuple[int, ...], need: int) -> tuple[int, ...]:
        return free[:need]


def recorded(events: list[Event], usable: int) -> list[dict[str, Any]]:
    """The events as lines of the allocator dialect, which states no arrival and no end."""
    lines: list[dict[str, Any]] = []
    for event in events:
        ours = {"claim_id": event.claim_id, "prefix_id": event.object_id}
        match event.kind:
            case Kind.CLAIM_ACCEPTED:
                need = {
                    "resident_blocks_required": event.footprint,
                    "useful_threshold_blocks": event.footprint,
                }
                accepted = {"event": "resident_claim_accepted", "protection_mode": "hard_exclude"}
                lines.append({**ours, **need, **accepted})
            case Kind.BLOCK_CACHED if event.object_id == "a":
                ours = {"claim_id": "claim:a", "prefix_id": "a", "request_id": event.request_id}
                lines += [
                    {
                        **ours,
                        "event": "resident_block_materialized",
                        "physical_block_id": block,
                        "logical_block_position": position,
                    }
                    for block, position in zip(event.block_ids, event.positions, strict=True)
                ]
            case Kind.CLAIM_MATERIALIZED:
                lines.append(
                    {**ours, "event": "resident_claim_materialized", "predicate_materialized": True}
                )
            case Kind.BLOCK_EVICTED:
                lines += [
                    {
                        "claim_id": None,
                        "prefix_id": None,
                        "request_id": event.request_id,
                        "event": "allocation_victim_selected",
                        "physical_block_id": block,
                    }
                    for block in event.block_ids
                ]
            case Kind.REQUEST_REFUSED:
                assert event.proof is not None
                lines.append(
                    {
                        "event": "active_request_refused",
                        "request_id": event.request_id,
                        "blocking_claim_ids": list(event.blocking_claim_ids or ()),
                        "active_live_blocks_required": event.proof.active,
                        "protected_resident_blocks": event.proof.resident,
                        "resident_plus_active_blocks": event.proof.total,
                        "capacity_shortfall_blocks": event.proof.shortfall,
                    }
                )
    common = {"run_id": "model", "schema_version": 1, "usable_blocks": usable}
    return [{**common, "timestamp_ns": n * 1_000, **line} for n, line in enumerate(lines)]


def verdict(found: Outcome, usable: int, path: Path) -> tuple[str, set[str]]:
    """What the monitor says of the recorded form, and which obligations are violated."""
    assert found.run is not None
    lines = recorded(found.run.events(PLAIN), usable)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    report = check_files([str(path)], HARD)
    broken = {
        name
        for claim in report.claims
        for name, each in claim.obligations.items()
        if each.verdict == "violated"
    }
    return str(report.verdict), broken


def test_a_victim_is_one_in_both_forms(tmp_path: Path) -> None:
    """A claimed block that is taken breaks the same obligation in the recorded form."""
    found = search(Careless(3, PROMPTS, {"a": 1}), PLAIN, HARD, VICTIM, "a")
    assert found.answer is Answer.BROKEN
    assert ("violated", True) == _has(verdict(found, 3, tmp_path / "victim.jsonl"), VICTIM)


def test_a_refusal_is_kept_in_both_forms(tmp_path: Path) -> None:
    """The refusal of the model with exclusion breaks nothing in the recorded form."""
    found = search(VllmPoolExclusion(), PLAIN, HARD, "blocking_claim_ids", "a")
    assert found.answer is Answer.KEPT
    said, broken = verdict(found, 4, tmp_path / "refusal.jsonl")
    assert set() == broken
    assert "violated" != said


def _has(said: tuple[str, set[str]], obligation: str) -> tuple[str, bool]:
    return said[0], obligation in said[1]
