"""Random runs of a model show what is broken, and never that anything is kept."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from models.framework.model import Action, Next
from models.runtimes.vllm_pool import VllmPool
from proofs.__main__ import main
from proofs.product.check import check_runtime
from proofs.product.simulation import simulated
from proofs.product.subject import subjects
from spec.claims.states import Mode
from spec.language.errors import SpecError


def test_what_runs_break_a_search_breaks() -> None:
    """Random runs break nothing that the search does not, and no run of theirs is shorter."""
    (subject,) = subjects("vllm_pool", Mode.HARD_PROTECTED)
    found = simulated(subject, 100)
    checked, _ = check_runtime(subject)
    broken = {each.obligation: each for each in checked.obligations if each.answer == "broken"}
    assert set(found.broken) <= set(broken)
    assert "victim_exclusion_before_violation" in found.broken
    assert all(len(run) >= len(broken[name].run) for name, run in found.broken.items())


def test_the_same_seed_finds_the_same() -> None:
    """Runs are made from seeds, and each run more reaches no less."""
    (subject,) = subjects("vllm_pool", Mode.HARD_PROTECTED)
    few, again, more = (simulated(subject, runs) for runs in (10, 10, 40))
    assert few == again
    assert few.states <= more.states
    assert few.rules[0] <= more.rules[0] <= more.rules[1]


def test_a_runtime_that_keeps_all_is_inconclusive(capsys: pytest.CaptureFixture[str]) -> None:
    """Where no run breaks anything the exit code is 3, and the share that was reached is said."""
    arguments = ["check", "hard_protected", "--runtime", "vllm_pool_exclusion"]
    assert 3 == main([*arguments, "--simulate", "20"])
    assert "not shown to be kept" in " ".join(capsys.readouterr().out.split())
    assert 3 == main([*arguments, "--simulate", "20", "--format", "json"])
    (only,) = json.loads(capsys.readouterr().out)["checks"]
    assert (20, {}) == (only["runs"], only["broken"])
    assert 0 < only["rules"][0] < only["rules"][1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["hard_protected", "--simulate", "5"],
        ["hard_protected", "--runtime", "vllm_pool", "--simulate", "0"],
        ["hard_protected", "--runtime", "vllm_pool", "--simulate", "many"],
    ],
)
def test_bad_input(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A number of runs that is none, or without a runtime, exits 2 with one line."""
    assert 2 == main(["check", *arguments])
    assert 1 == capsys.readouterr().err.count("\n")


def test_facts_that_contradict_are_refused() -> None:
    """Nothing is concluded from a model that ends a request twice; the action is named."""

    class Twice(VllmPool):
        def apply(self, state: Any, action: Action) -> Next[Any]:
            after, emits = super().apply(state, action)
            return Next(after, emits * 2 if action.name == "finish" else emits)

    (subject,) = subjects("vllm_pool", Mode.HARD_PROTECTED)
    with pytest.raises(SpecError, match=r"action finish\(r\d\)"):
        simulated(replace(subject, model=Twice()), 5)
