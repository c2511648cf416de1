"""TensorRT-LLM: priorities and durations of blocks, the host pool, and what reports none of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from models.__main__ import main as models
from models.framework.explore import reach
from models.framework.model import Model, Next, Signal
from models.runtimes.tensorrt_llm.model import (
    DEFAULT,
    INFERENCES,
    VARIANTS,
    Ask,
    Range,
    Scheduler,
    State,
    TensorrtLlm,
)
from monitor.__main__ import main as monitor
from proofs.product.search import Answer
from spec.events.alphabet import Kind
from tests.models.runtimes.inferred import Found, facts, find, found, made, run
from tests.models.runtimes.symmetric import counts

BY_NAME = {inference.name: inference for inference in INFERENCES}
PRIORITY = BY_NAME["priority_value_in_event -> soft_priority"]
TTL = BY_NAME["TTL on the block -> expiring (TensorRT-LLM)"]
NO_EVICT = BY_NAME["guaranteed no-evict -> hard_protected"]

PR, T = "priority_influence", "claim_scoped_telemetry"
E, H = "claim_expired_boundary", "claim_harm_attribution"
V, X = "victim_exclusion_before_violation", "explicit_conflict_action"
L, M = "ordered_lifecycle_events", "claim_materialized_event"
D, R = "claim_demoted_before_loss", "offload_restorability"


@pytest.mark.parametrize(
    ("variant", "size"),
    [
        ("guaranteed_no_evict", (317, 582)),
        ("max_utilization", (1689, 2982)),
        ("no_host", (317, 582)),
        ("durations", (457, 848)),
        ("reuse_without_config", (138, 241)),
        ("highest", (17, 20)),
        ("host", (82, 117)),
        ("tier_movement", (36, 55)),
        ("no_evict", (17, 20)),
    ],
)
def test_has_as_many_states_and_transitions(variant: str, size: tuple[int, int]) -> None:
    """The reachable states and transitions of each variant are counted, and its properties hold."""
    reached = reach(VARIANTS[variant]())
    assert size == (reached.states, reached.transitions)
    assert not reached.broken
    assert not reached.missed


BROKEN = {
    "priority_value_in_event -> soft_priority": {PR: 16},
    "priority stated -> soft_priority under reuse without config": {PR: 26},
    "retention priority 100 -> hard_protected": {V: 10, X: 11, H: 11, M: 7},
    "priority value -> hard_protected": {V: 10, X: 11, H: 11, M: 7},
    "duration_metadata -> expiring": {E: 8, H: 17},
    "TTL on the block -> expiring (TensorRT-LLM)": {E: 8, H: 17},
    "active_no_evict -> future_resident hard_protected": {V: 10, X: 11, H: 11, M: 7},
    "guaranteed no-evict -> hard_protected": {L: 11, M: 8},
    "cache level in an updated event -> demotable": {D: 12, L: 12, H: 12},
    "host pool -> offloadable": {H: 19},
    "same_prompt_block_tier_movement -> offloadable (TensorRT-LLM)": {R: 21, H: 34},
}


@pytest.mark.parametrize("name", BROKEN)
def test_breaks_what_is_inferred(name: str, tmp_path: Path) -> None:
    """Each inference is refuted by just these obligations, in runs of so many events."""
    assert BROKEN[name] == found(BY_NAME[name], tmp_path)


def test_every_inference_is_judged_here() -> None:
    """No inference of the model is left out of the table."""
    assert set(BY_NAME) == set(BROKEN)


def test_a_priority_falls_when_the_duration_is_over(tmp_path: Path) -> None:
    """The event stated 80, the block is at 35 two steps after its release, and goes before 50."""
    inference = PRIORITY
    actions = find(inference, PR, tmp_path).actions
    assert actions[:5] == ("arrive", "start", "finish", "step", "step")
    assert actions[-1] == "start"


def test_earlier_ranges_win() -> None:
    """A block has the priority of the first range that contains it, and else the default."""
    ranges = (Range(0, 1, 80), Range(0, 2, 50), Range(3, None, 10))
    model = TensorrtLlm(5, (Ask("r1", "a", 4, ranges),), host=0)
    last = run(model, ("arrive", "r1"), ("start", "r1"))[-1].after
    assert [80, 50, DEFAULT, 10, 10] == [block.priority for block in last.blocks]


def test_a_config_of_another_request_changes_the_priority() -> None:
    """A reuse with a config of its own overwrites what the first client stated."""
    asks = (Ask("r1", "a", 0, (Range(0, 1, 80),)), Ask("r2", "a", 0, (Range(0, 1, 10),)))
    steps = run(
        TensorrtLlm(1, asks, host=0),
        *(("arrive", "r1"), ("start", "r1"), ("finish", "r1"), ("arrive", "r2"), ("start", "r2")),
    )
    assert [80, 10] == [steps[at].after.blocks[0].priority for at in (2, 4)]


def test_a_duration_counts_from_the_release() -> None:
    """A deadline begins when the last request that uses the block has ended."""
    model = TensorrtLlm(2, (Ask("r1", "a", 0, (Range(0, 1, 80, 2),)),), host=0)
    *_, used, freed, one, two = run(
        model, ("arrive", "r1"), ("start", "r1"), ("step",), ("finish", "r1"), ("step",), ("step",)
    )
    states = [each.after.blocks[0] for each in (used, freed, one, two)]
    assert [None, 2, 1, None] == [block.left for block in states]
    assert [80, 80, 80, DEFAULT] == [block.priority for block in states]


def test_a_reuse_without_config_keeps_the_priority_and_loses_the_duration() -> None:
    """What was to be at 35 after two steps stays at 80 for good."""
    model = TensorrtLlm(2, (Ask("r1", "a", 0, (Range(0, 1, 80, 2),)), Ask("r2", "a")), host=0)
    last = run(
        model,
        *(("arrive", "r1"), ("start", "r1"), ("finish", "r1")),
        *(("arrive", "r2"), ("start", "r2"), ("finish", "r2"), ("step",), ("step",)),
    )[-1].after
    assert (80, None, None) == (last.blocks[0].priority, last.blocks[0].steps, last.blocks[0].left)
    assert [] == [action.name for action in model.actions(last)]


def test_no_event_tells_of_an_expiry() -> None:
    """As time passes the runtime publishes nothing: the words are the clock's and of a hook."""
    steps = [each for each in made(TensorrtLlm()) if each.action.name == "step"]
    words = {said.name for each in steps for said in each.emits if isinstance(said, Signal)}
    assert words == {"ttl_elapsed", "refresh"}
    assert not [said for each in steps for said in each.emits if not isinstance(said, Signal)]


def test_an_evicted_block_is_in_the_host_pool_and_comes_back() -> None:
    """A copy is stored before the eviction, and loaded for the request that has the prefix."""
    model = TensorrtLlm(1, (Ask("r1", "a"), Ask("r2", None, 1), Ask("r3", "a")), host=1)
    kinds = (Kind.STORE_FINISHED, Kind.BLOCK_EVICTED, Kind.LOAD_FINISHED, Kind.HOST_COPY_LOST)
    names = ("r1", "r2", "r3")
    steps = run(model, *(e for n in names for e in (("arrive", n), ("start", n), ("finish", n))))
    assert [Kind.STORE_FINISHED, Kind.BLOCK_EVICTED] == [
        event.kind for event in facts(steps[4].emits, *kinds)
    ]
    assert [Kind.BLOCK_EVICTED, Kind.LOAD_FINISHED, Kind.HOST_COPY_LOST] == [
        event.kind for event in facts(steps[7].emits, *kinds)
    ]


def test_no_block_of_a_running_request_is_a_victim() -> None:
    """With GUARANTEED_NO_EVICT what is evicted is in use by nobody."""
    for each in made(TensorrtLlm()):
        used = {at for _, blocks in each.before.running for at in blocks}
        assert not used & {b for e in facts(each.emits, Kind.BLOCK_EVICTED) for b in e.block_ids}


def test_no_evict_holds_for_as_long_as_a_request_runs(tmp_path: Path) -> None:
    """The blocks of a started request are safe until its end, and with MAX_UTILIZATION not."""
    assert find(NO_EVICT, V, tmp_path).answer is Answer.UNTESTED
    asks = (Ask("r1", "a"), Ask("r2", None, 1))
    other = TensorrtLlm(1, asks, host=0, scheduler=Scheduler.MAX_UTILIZATION)
    actions = ("arrive", "arrive", "start", "pause", "start")
    assert Found(Answer.BROKEN, actions, 9) == find(NO_EVICT, V, tmp_path, other)


class _Lru(TensorrtLlm):
    """The priority is not looked at."""

    def _victim(self, state: State) -> int:
        empty = [at for at in state.free if state.blocks[at].content is None]
        return (empty or self._leaves(state))[0]


class _FromClaim(TensorrtLlm):
    """A deadline counts from when the request starts."""

    def apply(self, state: State, action: Any) -> Next[State]:
        after, emits = super().apply(state, action)
        if action.name == "start":
            mine = dict(after.running)[action.what[0]]
            blocks = tuple(
                new._replace(left=new.steps) if at in mine else new
                for at, new in enumerate(after.blocks)
            )
            after = after._replace(blocks=blocks)
        return Next(after, emits)

    def _release(self, state: State, name: str) -> State:
        kept = super()._release(state, name)
        return kept._replace(blocks=state.blocks)


class _Silent(TensorrtLlm):
    """The removal of a block is not published."""

    def apply(self, state: State, action: Any) -> Next[State]:
        after, emits = super().apply(state, action)
        kept = [e for e in emits if not (isinstance(e, Signal) and e.name == "removed")]
        return Next(after, tuple(kept))


class _RootFirst(TensorrtLlm):
    """Parents are evicted before their children."""

    def _leaves(self, state: State) -> list[int]:
        return list(state.free)


def _durations(of: type[TensorrtLlm]) -> Model[State]:
    asks = (
        Ask("r1", "a", 0, (Range(0, 1, 80, 2),)),
        Ask("r2", "b", 0, (Range(0, 1, 50),)),
        Ask("r3", None, 1),
    )
    return of(2, asks, host=0)


def test_a_changed_eviction_order_is_found(tmp_path: Path) -> None:
    """Without priorities the higher one goes first without any time passing."""
    changed = find(PRIORITY, PR, tmp_path, _durations(_Lru))
    assert changed.answer is Answer.BROKEN
    assert "step" in find(PRIORITY, PR, tmp_path).actions
    assert "step" not in changed.actions


def test_a_changed_base_of_the_duration_is_found(tmp_path: Path) -> None:
    """Counted from the start, the expiry is late only where the start has to wait."""
    was = find(TTL, E, tmp_path)
    assert Found(Answer.BROKEN, ("arrive", "start", "step", "step", "finish"), 8) == was
    changed = find(TTL, E, tmp_path, _durations(_FromClaim))
    waits = ("arrive", "arrive", "start", "start", "arrive", "step", "step", "finish")
    assert Found(Answer.BROKEN, waits, 14) == changed


def test_a_missing_report_is_found(tmp_path: Path) -> None:
    """Losses that are not published break the telemetry, which is kept otherwise."""
    assert find(PRIORITY, T, tmp_path).answer is Answer.KEPT
    assert find(PRIORITY, T, tmp_path, _durations(_Silent)).answer is Answer.BROKEN


def test_a_changed_order_in_the_tree_is_found() -> None:
    """If parents may go first, the tree is torn."""
    asks = (Ask("r1", "a", 1), Ask("r2", None, 1))
    broken = reach(_RootFirst(2, asks, host=0)).broken
    assert not broken  # the last block of a request is released first
    asks = (Ask("r1", "a", 1, (Range(1, None, 50),)), Ask("r2", None, 1))
    assert ("the parent of a block of the primary pool is there, too",) == (
        reach(_RootFirst(2, asks, host=0)).broken
    )
    assert not reach(TensorrtLlm(2, asks, host=0)).broken


def test_symmetry() -> None:
    """Requests with one prefix and config are alike, with what is their own."""
    assert ((82, 117), (43, 64)) == counts(VARIANTS["host"](), "r1")


@pytest.mark.parametrize(
    ("rule", "code", "said"),
    [
        (TensorrtLlm, 0, "shown from a model, not an engine"),
        (_Lru, 1, "absent from a model, not an engine"),
    ],
)
def test_pressure(
    rule: type[TensorrtLlm],
    code: int,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The published counts of the experiment follow from the rule of eviction, and not from age."""
    monkeypatch.setattr("models.runtimes.tensorrt_llm.pressure.TensorrtLlm", rule)
    assert models(["pressure", "-o", str(tmp_path)]) == 0
    runs = sorted(map(str, tmp_path.glob("*.jsonl")))
    capsys.readouterr()
    assert monitor(["pressure", *runs, "--format", "json"]) == code
    found = json.loads(capsys.readouterr().out)
    arms = {name: (arm["runs"], arm["lower"], arm["a"]) for name, arm in found["arms"].items()}
    as_given = 5 if rule is TensorrtLlm else 0  # the older prefix has the higher priority
    assert arms == {"original": (5, as_given, 0), "swapped": (5, 5, 0), "equal": (3, 0, 3)}
    assert found["of_model"] is True
    assert monitor(["pressure", *runs]) == code
    assert said in capsys.readouterr().out
