"""The model of LMCache: pins, and retrieves that fail."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from models.framework.explore import reach
from models.framework.model import Action, Next, Signal
from models.framework.shims import Shim
from models.runtimes.lmcache import (
    INFERENCES,
    VARIANTS,
    Adapter,
    LMCachePins,
    LMCacheRetrieve,
    State,
)
from proofs.product.search import Answer
from spec.claims.states import Mode
from tests.models.runtimes.judged import Found, found, kinds, transitions
from tests.models.runtimes.symmetric import counts

V, L, D = (
    "victim_exclusion_before_violation",
    "ordered_lifecycle_events",
    "claim_demoted_before_loss",
)
R, RF = "offload_restorability", "restoration_failure_outcome"
PIN = frozenset({"pin"})


@pytest.mark.parametrize(
    ("variant", "states", "moves"),
    [
        ("pins", 133, 304),
        ("two_objects", 221, 536),
        ("retrieve", 336, 596),
        ("retrieve_in_process", 340, 596),
    ],
)
def test_size(variant: str, states: int, moves: int) -> None:
    """Each variant has so many states and transitions, and its properties hold."""
    found = reach(VARIANTS[variant]())
    assert (found.states, found.transitions) == (states, moves)
    assert found.broken == found.missed == ()


def _protected(model: LMCachePins, folder: Path) -> Found:
    return found(model, Mode.HARD_PROTECTED, V, "x", folder, Shim(Mode.HARD_PROTECTED, PIN))


def test_pin_ends(tmp_path: Path) -> None:
    """A pin is ended by its timeout, and then its chunk is a victim like any other."""
    run = _protected(LMCachePins(), tmp_path)
    assert run.answer is Answer.BROKEN
    assert run.actions[1:] == ["pin(x)", "tick", "tick", "force_unpin(a)", "put(r2)"]


def test_all_pinned(tmp_path: Path) -> None:
    """Where all is pinned a store is skipped, and nothing says for whose sake."""
    mode, shim = Mode.HARD_PROTECTED, Shim(Mode.HARD_PROTECTED, PIN)
    run = found(LMCachePins(), mode, "explicit_conflict_action", "x", tmp_path, shim)
    assert run.answer is Answer.BROKEN
    assert run.actions[-3:] == ["pin(x)", "put(r2)", "finish(r2)"]


def test_forced_for_all_holders() -> None:
    """The monitor ends the pins of every holder of a chunk, and its counter names none of them."""
    both = False
    for before, action, after, emits in transitions(LMCachePins()):
        if action.name == "force_unpin":
            dropped = {e.holder for e in emits if isinstance(e, Signal) and e.name == "pin_dropped"}
            assert dropped == set(before.pins)
            assert after.pins == ()
            both |= len(dropped) == 2
    assert both


def test_forced_unpin_is_no_demotion(tmp_path: Path) -> None:
    """The counter rises for one object, and the reader takes the pin of another for ended."""
    (inference,) = [each for each in INFERENCES if each.name == "forced unpin -> demotable"]
    run = found(inference.model(), Mode.DEMOTABLE, L, "x", tmp_path, inference.shim)
    assert (run.answer, run.rule) == (Answer.BROKEN, "end_reported_while_responsible")
    assert run.actions[-1] == "force_unpin(b)"


def test_untold(tmp_path: Path) -> None:
    """Who does not read the counter learns nothing: the chunk goes, and no demotion was told."""
    model = LMCachePins()
    run = found(model, Mode.DEMOTABLE, D, "x", tmp_path, Shim(Mode.DEMOTABLE, PIN))
    assert (run.answer, run.rule) == (Answer.BROKEN, "evicted_before_demotion")


@pytest.mark.parametrize(("from_first", "shortest"), [(True, 0), (False, 2)])
def test_base_of_the_timeout(from_first: bool, shortest: int) -> None:
    """Planted: if the timeout counts from the first pin, a later one may last no time at all."""
    model = LMCachePins(from_first=from_first)
    todo: list[tuple[State, int]] = [(state, 0) for state in model.initial()]
    seen, lasted = set(todo), set()
    for state, age in todo:
        for action in model.actions(state):
            if action.name == "force_unpin" and "y" in state.pins:
                lasted.add(age)
            after = model.apply(state, action).state
            step = after, min(9, age + (action.name == "tick")) if "y" in state.pins else 0
            if step not in seen:
                seen.add(step)
                todo.append(step)
    assert min(lasted) == shortest


class _NoMonitor(LMCachePins):
    """Planted: pins last for ever."""

    def actions(self, state: State) -> Iterator[Action]:
        return (each for each in super().actions(state) if each.name != "force_unpin")


class _Blind(LMCachePins):
    """Planted: eviction does not look at pins."""

    def _put(self, state: State, name: str) -> Next[State]:
        after, emits = super()._put(state._replace(ages=()), name)
        return Next(after._replace(ages=state.ages), emits)


def test_monitor_and_eviction(tmp_path: Path) -> None:
    """Planted: without the monitor pins protect; where eviction ignores them they never do."""
    assert _protected(_NoMonitor(), tmp_path).answer is Answer.KEPT
    run = _protected(_Blind(), tmp_path)
    assert (run.answer, run.actions) == (Answer.BROKEN, ["put(r1)", "pin(x)", "put(r2)"])


def _retrieve(adapter: Adapter, obligation: str, folder: Path) -> Found:
    shim = next(each.shim for each in INFERENCES if each.name.startswith("silent"))
    return found(LMCacheRetrieve(adapter), Mode.OFFLOADABLE, obligation, "a", folder, shim)


def test_silent_retrieve(tmp_path: Path) -> None:
    """The multi-process adapter tells a failed retrieve as success, and the request goes on."""
    run = _retrieve(Adapter.MULTI_PROCESS, R, tmp_path)
    assert (run.answer, run.rule) == (Answer.BROKEN, "restore_reported_while_incomplete")
    assert kinds(run.events)[-3:] == ["load_failed", "claim_restored", "prefix_reused"]


def test_in_process(tmp_path: Path) -> None:
    """The in-process adapter reports what is missing: no false restore, and no outcome either."""
    assert _retrieve(Adapter.IN_PROCESS, R, tmp_path).answer is Answer.KEPT
    run = _retrieve(Adapter.IN_PROCESS, RF, tmp_path)
    assert (run.answer, run.rule) == (Answer.BROKEN, "outcome_not_reported")


@pytest.mark.parametrize(
    ("name", "obligation", "line"),
    [
        ("pin -> hard_protected", V, 7),
        ("forced unpin -> demotable", L, 12),
        ("pin timeout -> expiring", L, 12),
        ("silent retrieve success -> restored", R, 21),
    ],
)
def test_inferences(name: str, obligation: str, line: int, tmp_path: Path) -> None:
    """Each inference is refuted by a run, in this line."""
    (it,) = [each for each in INFERENCES if each.name == name]
    model: Any = it.model()
    assert found(model, it.mode, obligation, it.tracked, tmp_path, it.shim).line == line


def test_symmetry() -> None:
    """In the retrieve, requests for one object are alike."""
    assert ((336, 596), (188, 332)) == counts(VARIANTS["retrieve"](), "a")
