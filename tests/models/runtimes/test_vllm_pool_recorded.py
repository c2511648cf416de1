"""Runs of the block pool with claims, in the form in which the prototype recorded its own."""

from __future__ import annotations

import json
from pathlib import Path

from models.framework.shims import PLAIN
from models.runtimes.vllm_pool import Prompt, State
from models.runtimes.vllm_pool_exclusion import VllmPoolExclusion
from monitor import check_files
from proofs.product.search import Answer, Outcome, search
from spec.claims.states import Mode
from tests.proofs.counterexamples.recorded_forms import allocator

HARD = Mode.HARD_PROTECTED
VICTIM = "victim_exclusion_before_violation"
PROMPTS = (Prompt("r1", "a", 1, 0), Prompt("r2", "b", 0, 2), Prompt("r3", "c", 0, 1))


class Careless(VllmPoolExclusion):
    """Excludes nothing."""

    def _victims(self, state: State, free: tuple[int, ...], need: int) -> tuple[int, ...]:
        return free[:need]


def verdict(found: Outcome, path: Path) -> tuple[str, set[str]]:
    """What the monitor says of the recorded form, and which obligations are violated."""
    assert found.run is not None
    lines = allocator(found.run.events(PLAIN))
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
    assert ("violated", True) == _has(verdict(found, tmp_path / "victim.jsonl"), VICTIM)


def test_a_refusal_is_kept_in_both_forms(tmp_path: Path) -> None:
    """The refusal of the model with exclusion breaks nothing in the recorded form."""
    found = search(VllmPoolExclusion(), PLAIN, HARD, "blocking_claim_ids", "a")
    assert found.answer is Answer.KEPT
    said, broken = verdict(found, tmp_path / "refusal.jsonl")
    assert set() == broken
    assert "violated" != said


def _has(said: tuple[str, set[str]], obligation: str) -> tuple[str, bool]:
    return said[0], obligation in said[1]
