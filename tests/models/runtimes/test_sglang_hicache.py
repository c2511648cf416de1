"""SGLang with HiCache: locks, strategies, write policies, loads back, and pages that are gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from models.framework.explore import reach
from models.framework.model import Model, Next, Signal
from models.runtimes.sglang_hicache.model import (
    INFERENCES,
    VARIANTS,
    Gone,
    Node,
    Prompt,
    SglangHicache,
    State,
    Strategy,
    Write,
)
from proofs.product.search import Answer
from spec.events.alphabet import Kind
from tests.models.runtimes.inferred import Found, facts, find, found, made, run

BY_NAME = {inference.name: inference for inference in INFERENCES}
LOCK = BY_NAME["lock reference -> hard_protected"]
RANKED = BY_NAME["request priority -> soft_priority"]
LOAD_BACK = BY_NAME["load back -> offloadable"]
COUNT = BY_NAME["cached-token count -> materialized"]

PR, P, M = "priority_influence", "materialization_predicate", "claim_materialized_event"
R, RF, H = "offload_restorability", "restoration_failure_outcome", "claim_harm_attribution"
V, X, L = (
    "victim_exclusion_before_violation",
    "explicit_conflict_action",
    "ordered_lifecycle_events",
)
TURNS = (Prompt("r1", "a"), Prompt("r3", None, 1), Prompt("r2", "a"))


@pytest.mark.parametrize(
    ("variant", "size"),
    [
        ("write_through", (92, 144)),
        ("write_through_selective", (92, 144)),
        ("write_back", (92, 144)),
        ("priority", (142, 231)),
        ("priority_ignored", (142, 231)),
        ("no_host", (17, 20)),
        ("short_span", (10, 9)),
        ("one_hit", (82, 134)),
        ("l3", (38, 62)),
        ("l3_counted", (38, 62)),
        ("l3_garbled", (42, 66)),
    ],
    ids=str,
)
def test_has_as_many_states_and_transitions(variant: str, size: tuple[int, int]) -> None:
    """The reachable states and transitions of each variant are counted, and its properties hold."""
    reached = reach(VARIANTS[variant]())
    assert size == (reached.states, reached.transitions)
    assert not reached.broken
    assert not reached.missed


BROKEN = {
    "lock reference -> hard_protected": {L: 11, M: 8},
    "request priority -> soft_priority": {PR: 16},
    "load back -> offloadable": {R: 19},
    "write_through_selective -> offloadable": {R: 10, H: 11},
    "hit in L3 -> offloadable": {RF: 23, L: 23, H: 15},
    "cached tokens of a storage hit -> restored": {R: 22, RF: 22, H: 15},
    "cached-token count -> materialized": {P: 21, M: 7},
}


@pytest.mark.parametrize("name", BROKEN)
def test_breaks_what_is_inferred(name: str, tmp_path: Path) -> None:
    """Each inference is refuted by just these obligations, in runs of so many events."""
    assert BROKEN[name] == found(BY_NAME[name], tmp_path)


def test_every_inference_is_judged_here() -> None:
    """No inference of the model is left out of the table."""
    assert set(BY_NAME) == set(BROKEN)


def test_no_locked_node_is_a_victim() -> None:
    """What a running request uses, up to the root, is evicted for nobody."""
    for each in made(SglangHicache()):
        locked = {block for node in each.before.gpu if node.locks for block in node.blocks}
        gone = {b for event in facts(each.emits, Kind.BLOCK_EVICTED) for b in event.block_ids}
        assert not locked & gone


def test_a_lock_ends_with_the_request(tmp_path: Path) -> None:
    """The lock goes with the last request that uses it, unreported, and the prefix is a victim."""
    actions = ("arrive", "arrive", "start", "finish", "start")
    assert Found(Answer.BROKEN, actions, 11) == find(LOCK, L, tmp_path)


@pytest.mark.parametrize(
    ("strategy", "victim"),
    [
        (Strategy.LRU, "b"),
        (Strategy.FIFO, "a"),
        (Strategy.LFU, "c"),
        (Strategy.PRIORITY, "d"),
    ],
)
def test_victims_are_in_the_order_of_the_strategy(strategy: Strategy, victim: str) -> None:
    """a came first, b was matched least recently, c but once, and d has the lowest priority."""
    names = ("a1", "b1", "d1", "b2", "a2", "d2", "c1")
    model = SglangHicache(
        4,
        (*(Prompt(name, name[0]) for name in names), Prompt("t", None, 1)),
        priorities={"a": 2, "b": 2, "c": 2, "d": 1},
        host=0,
        strategy=strategy,
    )
    steps = run(model, *(e for name in (*names, "t") for e in _whole(name)))
    assert victim == _victim(steps)


def _whole(name: str) -> tuple[tuple[str, str], ...]:
    return (("arrive", name), ("start", name), ("finish", name))


def _victim(steps: list[Any]) -> str:
    """The node that the last request evicted."""
    start = steps[-2]
    (event,) = facts(start.emits, Kind.BLOCK_EVICTED)
    return str(next(n.name for n in start.before.gpu if n.blocks == event.block_ids))


@pytest.mark.parametrize(
    ("write", "stored"),
    [
        (Write.THROUGH, [("start", "r1"), ("start", "r3")]),
        (Write.SELECTIVE, [("start", "r2")]),
        (Write.BACK, [("start", "r3")]),
    ],
)
def test_copies_are_made_as_the_write_policy_says(
    write: Write, stored: list[tuple[str, str]]
) -> None:
    """At once, at the second hit, or as the node is evicted."""
    prompts = (Prompt("r1", "a"), Prompt("r2", "a"), Prompt("r3", None, 1))
    steps = run(
        SglangHicache(1, prompts, host=2, write=write),
        *(e for n in ("r1", "r2", "r3") for e in _whole(n)),
    )
    copies = [(e.action.name, *e.action.what) for e in steps if facts(e.emits, Kind.STORE_FINISHED)]
    assert stored == copies


def test_a_node_without_a_second_hit_is_evicted_without_a_copy() -> None:
    """What write_through_selective does not copy is gone for good."""
    model = SglangHicache(1, TURNS, host=2, write=Write.SELECTIVE)
    last = run(model, *_whole("r1"), ("arrive", "r3"), ("start", "r3"))[-1]
    assert facts(last.emits, Kind.BLOCK_EVICTED)
    assert not facts(last.emits, Kind.STORE_FINISHED)


@pytest.mark.parametrize(("threshold", "quota"), [(3, None), (1, 1)])
def test_a_span_is_loaded_back_whole_or_computed_without_a_word(
    threshold: int, quota: int | None
) -> None:
    """Below the threshold or over the quota nothing is loaded, and no report says so."""
    prompts = (Prompt("r1", "a"), Prompt("r3", None, 2), Prompt("r2", "a"))
    whole = SglangHicache(2, prompts, {"a": 2}, host=4)
    bound = SglangHicache(2, prompts, {"a": 2}, host=4, threshold=threshold, quota=quota)
    actions = [e for n in ("r1", "r3", "r2") for e in _whole(n)]
    (event,) = facts(run(whole, *actions)[-2].emits, Kind.LOAD_FINISHED)
    assert (0, 1) == event.positions
    last = run(bound, *actions)[-2]
    assert not facts(last.emits, Kind.LOAD_FINISHED, Kind.LOAD_FAILED)
    assert facts(last.emits, Kind.BLOCK_CACHED)
    assert "load_back" not in {said.name for said in last.emits if isinstance(said, Signal)}


@pytest.mark.parametrize(
    ("gone", "counted", "computed"),
    [(Gone.COMPUTED, False, True), (Gone.COUNTED, True, True), (Gone.GARBLED, True, False)],
)
def test_a_page_may_be_gone_between_exists_and_get(
    gone: Gone, *, counted: bool, computed: bool
) -> None:
    """It is computed, or computed and counted as a hit, or used without a check."""
    model = SglangHicache(1, TURNS, host=1, l3=True, gone=gone)
    steps = run(
        model,
        *(*_whole("r1"), *_whole("r3")),
        *(("arrive", "r2"), ("drop_from_l3", "a"), ("start", "r2")),
    )
    emits = steps[-1].emits
    assert facts(emits, Kind.LOAD_FAILED)
    assert counted == ("cached_tokens" in {e.name for e in emits if isinstance(e, Signal)})
    assert computed == bool(facts(emits, Kind.BLOCK_CACHED))
    assert computed != bool(facts(emits, Kind.PREFIX_REUSED))


class _Unlocked(SglangHicache):
    """Locks protect nothing."""

    def _evictable(self, state: State) -> list[Node]:
        return list(state.gpu)

    def _fits(self, state: State, prompt: Prompt) -> bool:
        return True


class _Silent(SglangHicache):
    """The removal of a node is not published."""

    def apply(self, state: State, action: Any) -> Next[State]:
        after, emits = super().apply(state, action)
        kept = [e for e in emits if not (isinstance(e, Signal) and e.name == "BlockRemoved")]
        return Next(after, tuple(kept))


def _no_host(of: type[SglangHicache]) -> Model[State]:
    return of(1, (Prompt("r1", "a"), Prompt("r2", None, 1)), host=0)


def _ranked(of: type[SglangHicache], strategy: Strategy = Strategy.LRU) -> Model[State]:
    prompts = (Prompt("r1", "a"), Prompt("r2", "b"), Prompt("r3", None, 1))
    return of(2, prompts, priorities={"a": 9, "b": 1}, host=0, strategy=strategy)


def test_missing_locks_are_found(tmp_path: Path) -> None:
    """Without locks the prefix goes while its request runs."""
    actions = ("arrive", "arrive", "start", "start")
    assert Found(Answer.BROKEN, actions, 9) == find(LOCK, V, tmp_path, _no_host(_Unlocked))


def test_a_changed_eviction_order_is_found(tmp_path: Path) -> None:
    """The strategy by priority keeps what the default strategy breaks."""
    assert find(RANKED, PR, tmp_path).answer is Answer.BROKEN
    by_priority = find(RANKED, PR, tmp_path, _ranked(SglangHicache, Strategy.PRIORITY))
    assert by_priority.answer is not Answer.BROKEN


def test_a_missing_report_is_found(tmp_path: Path) -> None:
    """Losses that are not published break the telemetry, which is kept otherwise."""
    telemetry = "claim_scoped_telemetry"
    assert find(RANKED, telemetry, tmp_path).answer is Answer.KEPT
    assert find(RANKED, telemetry, tmp_path, _ranked(_Silent)).answer is Answer.BROKEN


def test_a_repaired_load_back_keeps_the_restore(tmp_path: Path) -> None:
    """Where every span is loaded back, the claim is restored before it is reused."""
    repaired = SglangHicache(1, TURNS, host=2, one_by_one=True)
    assert find(LOAD_BACK, R, tmp_path, repaired).answer is Answer.KEPT


def test_a_repaired_count_keeps_the_predicate(tmp_path: Path) -> None:
    """A count of what came back, not of what was promised, is true."""
    assert find(COUNT, P, tmp_path, VARIANTS["l3"]()).answer is Answer.KEPT
