"""The model of vLLM's OffloadingConnector, without claims and with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from models.framework.explore import reach
from models.framework.model import Action, Emitted, Fact
from models.framework.shims import Shim, claim_of
from models.runtimes import vllm_offload, vllm_offload_patched
from models.runtimes.vllm_offload.inferences import INFERENCES
from models.runtimes.vllm_offload.model import Policy, State, VllmOffload
from models.runtimes.vllm_offload_patched import Blames, PatchedVllmOffload
from proofs.product.search import Answer
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from spec.events.alphabet import Kind
from tests.models.runtimes.judged import found, kinds, transitions
from tests.models.runtimes.symmetric import counts

MODE = Mode.OFFLOADABLE
CALL = Shim(MODE, frozenset({"max_offload_tokens"}))
R, RF = "offload_restorability", "restoration_failure_outcome"
SINGLE = {"r1": "a", "r2": "b", "r3": "c"}
AWAY = ["schedule(r1)", "finish(r1)", "schedule(r2)", "finish(r2)"]


@pytest.mark.parametrize(
    ("variant", "states", "moves"),
    [
        ("fail", 760, 1686),
        ("upstream", 768, 1682),
        ("recompute", 768, 1698),
        ("two_blocks", 368, 652),
        ("settled", 340, 596),
        ("small_tier", 328, 580),
    ],
)
def test_size(variant: str, states: int, moves: int) -> None:
    """Each variant has so many states and transitions, and its properties hold."""
    found = reach(vllm_offload.VARIANTS[variant]())
    assert (found.states, found.transitions) == (states, moves)
    assert found.broken == found.missed == ()


def test_sizes_with_claims() -> None:
    """Claims add reports, and no state."""
    states = {each: reach(make()).states for each, make in vllm_offload_patched.VARIANTS.items()}
    assert states == {
        "offloadable": 340,
        "lag": 760,
        "small_tier": 328,
        "another": 340,
        "nobody": 340,
    }


@pytest.mark.parametrize("name", MODES[MODE].names(Bundle.CONTRACT))
def test_keeps(name: str, tmp_path: Path) -> None:
    """With claims, and stores that are complete in time, each obligation of the mode is kept."""
    assert found(PatchedVllmOffload(lag=False), MODE, name, "a", tmp_path).answer is Answer.KEPT


def test_path_a(tmp_path: Path) -> None:
    """The load comes back, and the claim is restored before it is reused."""
    run = found(PatchedVllmOffload(lag=False), MODE, R, "a", tmp_path)
    reports = [k for k in kinds(run.events) if k.startswith(("claim", "load", "prefix_r", "store"))]
    assert run.answer is Answer.KEPT
    assert reports[3:] == [
        "claim_materialized",
        "store_finished",
        "claim_offloaded",
        "store_finished",
        "claim_restore_required",
        "load_finished",
        "claim_restored",
        "prefix_reused",
    ]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_path_c(count: int) -> None:
    """Of any number of claims, only that whose load failed is named, and the others come back."""
    names = "abc"[:count]
    prompts = {f"r{at}": each for at, each in enumerate(names)} | {"again": "a", "back": names[-1]}
    model = PatchedVllmOffload(1, 3, dict.fromkeys(names, 1), prompts, lag=False)
    failed, restored = set(), set()
    for _, action, _, emits in transitions(model):
        named = {e.event.claim_id for e in emits if isinstance(e, Fact) and e.event.claim_id}
        told = [e.event for e in emits if isinstance(e, Fact)]
        accused = {claim for event in told for claim in event.blocking_claim_ids or ()}
        if action.name == "fail":
            target = claim_of(prompts[str(action.what[0])])
            assert named == accused
            assert named <= {target}
            failed |= named
        if action.name == "load":
            restored |= named
    every = {claim_of("a"), claim_of(names[-1])} if count > 1 else set()
    assert failed == restored == every  # one that stays is never loaded


@pytest.mark.parametrize(
    ("blames", "tracked"),
    [(Blames.ANOTHER, "a"), (Blames.ANOTHER, "b"), (Blames.NOBODY, "a")],
)
def test_controls(blames: Blames, tracked: str, tmp_path: Path) -> None:
    """An outcome of another claim is none of the target, and a false one of the other."""
    run = found(PatchedVllmOffload(lag=False, blames=blames), MODE, RF, tracked, tmp_path)
    assert run.answer is Answer.BROKEN
    assert run.actions[-6:] == [*AWAY, "schedule(r3)", "fail(r3, 0)"]


def test_control_without_claim() -> None:
    """Of an object that nobody asked for nothing is reported, whatever becomes of its load."""
    for state, _, _, emits in transitions(PatchedVllmOffload()):
        if not state.asked:
            named = [e.event.claim_id for e in emits if isinstance(e, Fact)]
            assert not any(named) or named == [named[0]] * 3  # the claim itself


def test_upstream(tmp_path: Path) -> None:
    """Upstream a load that fails ends the engine: an outcome is owed, and nothing follows."""
    model = VllmOffload(policy=Policy.UPSTREAM, lag=False)
    run = found(model, MODE, RF, "a", tmp_path, CALL)
    assert run.answer is Answer.OWED
    assert run.actions[-1] == "fail(r3, 0)"
    over = [after for _, action, after, _ in transitions(model) if action.name == "fail"]
    assert over
    assert not any(list(model.actions(state)) for state in over)


def test_fail(tmp_path: Path) -> None:
    """Under the policy `fail` the request ends, and no report names the claim."""
    run = found(VllmOffload(lag=False), MODE, RF, "a", tmp_path, CALL)
    assert (run.answer, run.actions[-1]) == (Answer.BROKEN, "fail(r3, 0)")
    assert kinds(run.events)[-2:] == ["load_failed", "request_finished"]


def test_recompute_asks_again(tmp_path: Path) -> None:
    """Under `recompute` a request of which nothing was loaded asks the tier again."""
    run = found(VllmOffload(policy=Policy.RECOMPUTE, lag=False), MODE, RF, "a", tmp_path, CALL)
    assert run.answer is Answer.BROKEN
    assert run.actions[-4:] == ["schedule(r3)", "fail(r3, 0)", "schedule(r3)", "load(r3)"]


def test_recompute_fills_the_rest(tmp_path: Path) -> None:
    """Under `recompute` a request of which some was loaded computes the rest, and asks no more."""
    run = found(vllm_offload.VARIANTS["two_blocks"](), MODE, RF, "a", tmp_path, CALL)
    assert (run.answer, run.actions[-1]) == (Answer.BROKEN, "fail(r3, 1)")
    assert kinds(run.events)[-3:] == ["load_failed", "load_finished", "block_cached"]


def test_livelock() -> None:
    """A load that fails for ever makes a cycle in which nothing is done but asking and failing."""
    model = VllmOffload(policy=Policy.RECOMPUTE)
    loops = [s for s, *_ in transitions(model) if model.livelocks(s)]
    assert loops
    state, done = loops[0], list[str]()
    while not done or state != loops[0]:
        step = Action("schedule", ("r3",)) if not state.loading else Action("fail", ("r3", 0))
        assert step in list(model.actions(state))
        state, emits = model.apply(state, step)
        done.append(step.name)
        assert not any(isinstance(e, Fact) and e.event.kind is Kind.REQUEST_FINISHED for e in emits)
    assert set(done) == {"schedule", "fail"}
    assert not any(VllmOffload().livelocks(s) for s, *_ in transitions(VllmOffload()))


def test_store_under_way(tmp_path: Path) -> None:
    """Planted: a store that is complete only after the eviction breaks what is kept otherwise."""
    run = found(PatchedVllmOffload(), MODE, R, "a", tmp_path)
    assert run.answer is Answer.BROKEN
    assert run.actions[-3:] == ["schedule(r1)", "finish(r1)", "schedule(r2)"]
    told = kinds(run.events)
    assert "block_evicted" in told
    assert "store_finished" not in told


def test_fence_as_recorded() -> None:
    """The order that a real engine showed: the store of what was evicted is complete at last."""
    model = VllmOffload(1, 2, {"a": 1, "b": 1}, {"r1": "a", "r2": "b"})
    (state,), told = model.initial(), list[str]()
    for name, what in (
        ("arrive", "r1"),
        ("schedule", "r1"),
        ("finish", "r1"),
        ("arrive", "r2"),
        ("schedule", "r2"),
        ("finish", "r2"),
        ("store", "a"),
    ):
        assert Action(name, (what,)) in list(model.actions(state))
        state, emits = model.apply(state, Action(name, (what,)))
        told += [str(each.event.kind) for each in emits if isinstance(each, Fact)]
    assert [kind for kind in told if kind != "prefix_lookup"] == [
        "request_arrived",
        "block_cached",
        "request_finished",
        "request_arrived",
        "block_evicted",
        "block_cached",
        "request_finished",
        "store_finished",
    ]


def test_tier_without_room(tmp_path: Path) -> None:
    """A copy that gives room to another is lost, and the mechanism reports no harm."""
    model = vllm_offload_patched.VARIANTS["small_tier"]()
    run = found(model, MODE, "claim_harm_attribution", "a", tmp_path)
    assert (run.answer, run.rule) == (Answer.BROKEN, "harm_not_reported")
    assert "host_copy_lost" in kinds(run.events)


class _LatestVictim(VllmOffload):
    """Planted: the pool takes the block that was freed last."""

    def _take(
        self, state: State, name: str, need: int, hits: tuple[int, ...]
    ) -> tuple[State, tuple[int, ...], tuple[Emitted, ...]]:
        return super()._take(state._replace(free=state.free[::-1]), name, need, hits)


def test_eviction_order(tmp_path: Path) -> None:
    """Planted: with another eviction order, a prefix that would have stayed is evicted."""
    sizes: dict[str, Any] = {"objects": {"a": 1, "b": 1}}
    assert found(VllmOffload(**sizes), MODE, R, "a", tmp_path, CALL).answer is Answer.UNTESTED
    run = found(_LatestVictim(**sizes), MODE, R, "a", tmp_path, CALL)
    assert (run.answer, run.actions[-1]) == (Answer.BROKEN, "schedule(r2)")


class _Silent(PatchedVllmOffload):
    """Planted: that a restore is required is not reported."""

    def _says(self, what: str, *about: Any) -> tuple[Emitted, ...]:
        return () if what == "required" else super()._says(what, *about)


def test_missing_report(tmp_path: Path) -> None:
    """Planted: without the report that a restore is required, the restore is a false one."""
    assert found(_Silent(lag=False), MODE, R, "a", tmp_path).answer is Answer.BROKEN


def _rows() -> Iterator[tuple[str, str, str, int]]:
    """The obligation that each run shows to be broken, by which rule, in which line."""
    yield "storage_tier -> offloadable", R, "evicted_without_copy", 10
    counters = "claim_joined_offload + generic_onboard_counters -> offloadable"
    yield counters, R, "restore_reported_while_incomplete", 20
    yield "same_prompt_block_tier_movement -> offloadable", RF, "outcome_not_reported", 21
    fallback = "fallback recompute after failed load -> restored offloadable claim"
    yield fallback, R, "restore_reported_while_not_required", 23
    wrong = "wrong-claim or unclaimed load failure -> restoration failure outcome"
    yield wrong, RF, "failure_reported_without_failed_load", 20
    generic = "generic failure counters -> restoration failure outcome"
    yield generic, RF, "failure_reported_without_failed_load", 20
    yield "refill by recompute -> restored", R, "restore_reported_while_not_required", 21


@pytest.mark.parametrize(("name", "shown", "rule", "line"), list(_rows()))
def test_inferences(name: str, shown: str, rule: str, line: int, tmp_path: Path) -> None:
    """Each inference is refuted by a run, of which `monitor check` says the same."""
    (inference,) = [each for each in INFERENCES if each.name == name]
    run = found(inference.model(), MODE, shown, inference.tracked, tmp_path, inference.shim)
    assert (run.answer, run.rule, run.line) == (Answer.BROKEN, rule, line)


@pytest.mark.parametrize(
    ("model", "without", "with_it"),
    [
        (vllm_offload.VARIANTS["fail"](), (760, 1686), (428, 930)),
        (VllmOffload(2, 2, dict.fromkeys("abc", 1), SINGLE, lag=False), (1760, 2724), (888, 1393)),
        (vllm_offload_patched.VARIANTS["offloadable"](), (340, 596), (192, 332)),
    ],
    ids=["requests", "objects", "claims"],
)
def test_symmetry(model: VllmOffload, without: tuple[int, int], with_it: tuple[int, int]) -> None:
    """Requests for one object are alike, and objects of one size with their requests; not the one
    that is judged."""
    assert (without, with_it) == counts(model, "a")
