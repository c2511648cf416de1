"""Dynamo: the cheapest worker by the overlap that the index knows; sessions are passive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from models.framework.explore import reach
from models.framework.model import Model, Next, Signal
from models.runtimes.dynamo import INFERENCES, VARIANTS, Dynamo, Prompt, State
from proofs.product.search import Answer
from spec.events.alphabet import Kind
from tests.models.runtimes.inferred import Found, facts, find, found, made, run
from tests.models.runtimes.symmetric import counts

BY_NAME = {inference.name: inference for inference in INFERENCES}
ROUTED = BY_NAME["prefix routed -> routed_reuse"]
INDEX = BY_NAME["router index -> materialized"]

RC, PL = "route_cost_attribution", "placement_attribution"
RR, T = "reuse_routing_attribution", "claim_scoped_telemetry"
P, M = "materialization_predicate", "claim_materialized_event"


@pytest.mark.parametrize(
    ("variant", "size"),
    [("two_workers", (1683, 4582)), ("one_worker", (131, 278)), ("sessions", (154, 324))],
)
def test_has_as_many_states_and_transitions(variant: str, size: tuple[int, int]) -> None:
    """The reachable states and transitions of each variant are counted, and its properties hold."""
    reached = reach(VARIANTS[variant]())
    assert size == (reached.states, reached.transitions)
    assert not reached.broken
    assert not reached.missed


BROKEN = {
    "kv_aware_routing -> routed_reuse": {RC: 7, PL: 7, RR: 7, T: 11},
    "prefix routed -> routed_reuse": {RR: 17, T: 14},
    "session_id -> routed_reuse": {RC: 7, PL: 7, RR: 7},
    "router index -> materialized": {P: 13, M: 7, T: 13},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_breaks_what_is_inferred(name: str, tmp_path: Path) -> None:
    """Each inference is refuted by just these obligations, in runs of so many events."""
    assert BROKEN[name] == found(BY_NAME[name], tmp_path)


def test_every_inference_is_judged_here() -> None:
    """No inference of the model is left out of the table."""
    assert set(BY_NAME) == set(BROKEN)


def _routes(model: Model[State], state: State) -> list[int]:
    return [int(a.what[1]) for a in model.actions(state) if a.name == "route"]


def test_the_cheapest_worker_is_chosen_by_what_the_index_knows() -> None:
    """The worker with the prefix is chosen once its event is read; before, any idle one."""
    prompts = (Prompt("r1", "a"), Prompt("r2", "a"))
    model = Dynamo(2, 1, prompts)
    serves = (("arrive", "r1"), ("route", "r1", 1), ("serve", "r1"), ("finish", "r1"))
    unread = run(model, *serves, ("arrive", "r2"))[-1].after
    read = run(model, *serves, ("read_events", 1), ("arrive", "r2"))[-1].after
    assert [0, 1] == _routes(model, unread)
    assert [1] == _routes(model, read)


def test_work_in_progress_costs_more_than_an_overlap_saves() -> None:
    """A worker that serves two blocks is dearer, overlap or not, than one that is idle."""
    prompts = (Prompt("r1", "a", 1), Prompt("r2", "a"))
    model = Dynamo(2, 2, prompts)
    last = run(
        model,
        *(("arrive", "r1"), ("route", "r1", 0), ("serve", "r1")),
        *(("read_events", 0), ("arrive", "r2")),
    )[-1].after
    assert [1] == _routes(model, last)
    (routed,) = facts(
        model.apply(last, next(a for a in model.actions(last) if a.name == "route")).emits,
        Kind.REQUEST_ROUTED,
    )
    assert (1, "w1") == (routed.cost, routed.worker)


def test_a_session_changes_nothing() -> None:
    """With and without sessions the states, the transitions and the facts are the same."""
    with_sessions = VARIANTS["sessions"]()
    without = Dynamo(prompts=(Prompt("r1", "a"), Prompt("r2", "a")))
    kinds = tuple(Kind)
    one, other = (
        [(e.before, e.action, e.after, facts(e.emits, *kinds)) for e in made(model)]
        for model in (with_sessions, without)
    )
    assert one == other


def test_the_overlap_may_be_gone() -> None:
    """A request is sent where its prefix was, and misses it."""
    prompts = (Prompt("r1", "a"), Prompt("r3", None, 1), Prompt("r2", "a"))
    model = Dynamo(1, 1, prompts)
    steps = run(
        model,
        *(("arrive", "r1"), ("route", "r1", 0), ("serve", "r1"), ("finish", "r1")),
        *(("read_events", 0), ("arrive", "r3"), ("route", "r3", 0), ("serve", "r3")),
        *(("finish", "r3"), ("arrive", "r2"), ("route", "r2", 0), ("serve", "r2")),
    )
    assert 1 == steps[-1].before.routed[-1].overlap
    (served,) = facts(steps[-1].emits, Kind.REUSE_SERVED)
    assert not served.hit


class _Fresh(Dynamo):
    """The router reads every event as it is published."""

    def apply(self, state: State, action: Any) -> Next[State]:
        after, emits = super().apply(state, action)
        while after.news:
            after, more = self._read(after, after.news[0].worker)
            emits = (*emits, *more)
        return Next(after, emits)


class _Nowhere(Dynamo):
    """The worker is not stated."""

    def apply(self, state: State, action: Any) -> Next[State]:
        after, emits = super().apply(state, action)
        kept = [e for e in emits if not (isinstance(e, Signal) and e.name == "worker_id")]
        return Next(after, tuple(kept))


def test_an_index_without_delay_is_true(tmp_path: Path) -> None:
    """Only because events are read late is what the index says false."""
    fresh = _Fresh(1, in_order=True)
    assert find(INDEX, P, tmp_path).answer is Answer.BROKEN
    assert find(INDEX, P, tmp_path, fresh).answer is Answer.KEPT
    assert find(INDEX, M, tmp_path, fresh).answer is Answer.KEPT


def test_a_fresh_index_is_still_no_report_of_reuse(tmp_path: Path) -> None:
    """What the index says when a request is routed may be over when it is served."""
    fresh = find(ROUTED, RR, tmp_path, _Fresh(1, in_order=True))
    assert fresh.answer is Answer.BROKEN


def test_a_missing_report_is_found(tmp_path: Path) -> None:
    """A worker that is not stated breaks the attribution, which is kept otherwise."""
    assert find(ROUTED, PL, tmp_path).answer is Answer.KEPT
    actions = ("arrive", "route", "serve", "finish")
    silent = find(ROUTED, PL, tmp_path, _Nowhere(1, in_order=True))
    assert Found(Answer.BROKEN, actions, 9) == silent


@pytest.mark.parametrize(
    ("variant", "tracked", "without", "with_it"),
    [
        ("two_workers", "a", (1683, 4582), (894, 2389)),
        ("sessions", "s", (154, 324), (82, 167)),
    ],
)
def test_symmetry(
    variant: str, tracked: str, without: tuple[int, int], with_it: tuple[int, int]
) -> None:
    """Requests for one prefix in one session are alike."""
    assert (without, with_it) == counts(VARIANTS[variant](), tracked)
