"""vLLM's ExampleConnector: prompts come back from disk, and claims on the pool are kept."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtime_hooks.demo.engine import claim
from runtime_hooks.demo.scenes import offloading
from runtime_hooks.demo.tiny import BLOCK
from runtime_hooks.engines import adapter_of, installed
from runtime_hooks.engines.shared import hooking
from runtime_hooks.settings.config import TAKEN
from runtime_hooks.trace.names import name_of
from spec.claims.claim import Mode
from spec.stream.outcome import ModeVerdict
from tests_vllm.actions import look, reset
from tests_vllm.conftest import Make
from tests_vllm.connectors import FailingConnector, saving
from tests_vllm.engine import Engine
from tests_vllm.test_random import busy, check, play

ADAPTER: Any = adapter_of(installed())[0]
KEPT = ModeVerdict.KEPT
MODES = tuple(mode for mode in TAKEN if mode is not Mode.OFFLOADABLE)
RESIDENT, ACTIVE = ("resident", 61), ("active", 70)

pytestmark = pytest.mark.skipif(not ADAPTER.tried.connectors, reason="not tried with this version")

Failing = Callable[..., Engine]


@pytest.fixture
def failing(make: Make, tmp_path: Path, failing_loads: None) -> Failing:
    """Make an engine whose connector fails."""
    name = FailingConnector.__name__

    def made(
        policy: str,
        *,
        several: bool = False,
        engine: dict[str, Any] | None = None,
        **settings: Any,
    ) -> Engine:
        saves = saving(tmp_path / "saved", policy, name, several=several)
        return make(engine={**saves, **(engine or {})}, **settings)

    return made


@pytest.mark.parametrize("several", [False, True], ids=["one", "several"])
def test_back(make: Make, tmp_path: Path, several: bool) -> None:
    """Blocks of a claim that a reset took come back by a load: they count as found, not as computed
    or looked up, and are held again."""
    engine = make(engine=saving(tmp_path / "saved", several=several))
    (first,) = engine.serve((*RESIDENT, claim()))
    reset(engine)
    (again,) = engine.serve(RESIDENT)
    (refused,) = engine.serve(ACTIVE)
    (third,) = engine.serve(RESIDENT)
    assert first.tokens == again.tokens == third.tokens
    assert [1920, 1920] == [again.cached, third.cached]
    assert "abort" == refused.finish_reason
    assert (60, 60) == look(engine)
    assert {} == engine.armed.attachments[0].faults

    engine.close()
    held = [event.held for event in engine.kinds("prefix_lookup")]
    assert [0, 0, 60] == held
    mine = [e for e in engine.kinds("block_cached") if e.claim_id]
    assert [(name_of("0"), False), (None, True)] == [
        (e.request_id and e.request_id[0], e.found) for e in mine
    ]
    assert 2 == len(engine.kinds("claim_materialized"))
    of_copies = ("store_finished", "host_copy_found", "host_copy_lost", "load_finished")
    assert [] == engine.kinds(*of_copies)  # nobody concludes anything from what it saved
    assert KEPT is engine.judge(Mode.HARD_PROTECTED).verdict


def blocks_of(engine: Engine, kind: str) -> list[tuple[bool, int]]:
    """Of each such event of a claim, or of no claim and no request, what was found, and blocks."""
    events = [e for e in engine.kinds(kind) if e.claim_id or not e.request_id]
    return [(bool(event.found), len(event.block_ids or ())) for event in events]


@pytest.mark.parametrize("several", [False, True], ids=["one", "several"])
@pytest.mark.parametrize("policy", ["fail", "recompute"])
def test_fails(failing: Failing, policy: str, several: bool) -> None:
    """Of a load that fails at a block, only the blocks before it count. Those behind it, and what
    a request beside it computed from them, leave the cache until they hold their contents."""
    engine = failing(policy, several=several)
    (first,) = engine.serve(RESIDENT)
    reset(engine)
    FailingConnector.fails.append(0.67)
    pair = engine.serve((*RESIDENT, claim()), RESIDENT)
    failed = policy == "fail"
    assert [("error", ()) if failed else ("length", first.tokens)] * 2 == [
        (answer.finish_reason, answer.tokens) for answer in pair
    ]
    assert ((40, 40) if failed else (60, 60)) == look(engine)
    assert [first.tokens] * 2 == [answer.tokens for answer in engine.serve(RESIDENT, RESIDENT)]
    assert {} == engine.armed.attachments[0].faults

    engine.close()
    assert [(False, 0), (False, 21), (False, 1)] == blocks_of(engine, "block_lost")
    assert [(True, 40), (failed, 20)] == blocks_of(engine, "block_cached")
    assert 1 == len(engine.kinds("claim_materialized"))
    assert KEPT is engine.judge(Mode.HARD_PROTECTED).verdict


@pytest.mark.parametrize("policy", ["fail", "recompute"])
def test_overwritten(failing: Failing, policy: str) -> None:
    """Where a load empties a block of a claim that was there, the claim is harmed, and names it."""
    engine = failing(policy)
    engine.serve(RESIDENT)
    reset(engine)
    engine.serve(("resident", 41, claim(blocks=40)))
    FailingConnector.fails.append(0.1)
    (answer,) = engine.serve(RESIDENT)
    assert {"fail": "error", "recompute": "length"}[policy] == answer.finish_reason
    assert {} == engine.armed.attachments[0].faults

    engine.close()
    assert ["claim:resident"] == [event.claim_id for event in engine.kinds("claim_harmed")]
    assert 1 + (policy == "recompute") == len(engine.kinds("claim_materialized"))
    assert KEPT is engine.judge(Mode.HARD_PROTECTED).verdict


def test_offloadable(make: Make, tmp_path: Path) -> None:
    """It is no offload tier for claims."""
    engine = make(engine=saving(tmp_path / "saved"))
    (answer,) = engine.serve((*RESIDENT, claim(mode="offloadable")))
    assert "rejected" == answer.metadata["claim"]["decision"]
    assert "no offload tier" in answer.metadata["claim"]["reason"]


@pytest.fixture
def waiting(make: Make, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Make an engine with vLLM's offloading, whose requests wait for their loads; what it is but a
    connector the plugin does not know."""
    monkeypatch.setattr(hooking, "manager_of", lambda scheduler: None)
    return lambda **settings: make(engine=offloading(), **settings)


class TestWaits:
    """A connector whose requests wait for their loads."""

    def test_back(self, waiting: Make) -> None:
        """Blocks that come back before their request runs count as found, too."""
        engine = waiting()
        (first,) = engine.serve((*RESIDENT, claim()))
        engine.serve(("filler", 1))
        reset(engine)
        (again,) = engine.serve(RESIDENT)
        assert (first.tokens, 61 * BLOCK) == (again.tokens, again.cached)
        assert {} == engine.armed.attachments[0].faults

        engine.close()
        assert [(False, 60), (True, 60), (True, 1)] == blocks_of(engine, "block_cached")
        assert 2 == len(engine.kinds("claim_materialized"))
        assert KEPT is engine.judge(Mode.HARD_PROTECTED).verdict

    @pytest.mark.parametrize("seed", [0, 1])
    def test_random(self, waiting: Make, seed: int) -> None:
        """Whatever comes, every claim is kept."""
        engine = waiting(defer_s=0.01 * seed)
        play(engine, random.Random(seed), MODES)
        check(engine, MODES)


POLICIES = ("no failure", "recompute", "fail")


class Loads:
    """What becomes of 1000 loads at random."""

    def __init__(self, policy: str, source: random.Random) -> None:
        self.planned = 0 if policy == "no failure" else 1000
        FailingConnector.fails += [source.random() for _ in range(self.planned)]
        self.ends = {"length", "abort", *["error"] * (policy == "fail")}

    def failed(self) -> int:
        """How many loads failed."""
        return self.planned - len(FailingConnector.fails)


@pytest.mark.parametrize(
    ("policy", "several"),
    [
        *(pytest.param(policy, False, id=f"{policy}-one") for policy in POLICIES),
        pytest.param("no failure", True, id="no failure-several"),
        # On a busy machine one in ten ended vLLM: a block that it caches had a hash already.
        pytest.param("recompute", True, id="recompute-several", marks=pytest.mark.deep),
        pytest.param("fail", True, id="fail-several"),
    ],
)
def test_random(failing: Failing, policy: str, several: bool) -> None:
    """Whatever comes, every claim is kept, also where loads fail."""
    source = random.Random(several)
    loads = Loads(policy, source)
    how = "recompute" if policy == "recompute" else "fail"
    engine = failing(how, several=several, defer_s=0.01 * several)
    play(engine, source, MODES, loads.ends)
    assert bool(loads.planned) == bool(loads.failed())
    check(engine, MODES)


@pytest.mark.parametrize(
    ("policy", "overlap"),
    [
        pytest.param("no failure", True, id="overlapping"),
        pytest.param("recompute", False, id="recompute"),  # overlapping steps end vLLM itself
        pytest.param("fail", True, id="fail-overlapping"),
        pytest.param("fail", False, id="fail", marks=pytest.mark.deep),
    ],
)
def test_busy(failing: Failing, request: pytest.FixtureRequest, policy: str, overlap: bool) -> None:
    """So is every claim where requests are preempted, with steps that overlap or not."""
    if overlap:
        request.getfixturevalue("overlapping")
    source = random.Random(overlap)
    loads = Loads(policy, source)
    sizes = {"max_num_batched_tokens": 8192, "max_model_len": 40 * BLOCK}
    sizes["disable_log_stats"] = False
    how = "recompute" if policy == "recompute" else "fail"
    engine = failing(how, usable=40, engine=sizes, defer_s=0.01)
    busy(engine, source, MODES, tier=False, ends=loads.ends)
    assert bool(loads.planned) == bool(loads.failed())
    counted = {m.name: m.value for m in engine.llm.get_metrics() if hasattr(m, "value")}
    assert counted["vllm:num_preemptions"] > 0
    check(engine, MODES)
