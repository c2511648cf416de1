"""vLLM's ExampleConnector: prompts come back from disk, and claims on the pool are kept."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtime_hooks.demo import tiny
from runtime_hooks.demo.engine import claim
from runtime_hooks.demo.scenes import offloading
from runtime_hooks.demo.tiny import BLOCK, DEVICE
from runtime_hooks.engines import adapter_of, installed
from runtime_hooks.engines.shared import hooking
from runtime_hooks.settings.config import TAKEN
from runtime_hooks.trace.names import name_of
from spec.claims.states import Mode
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


class Shared:
    """An engine of three layers, and what its cache has of a prompt.

    Its norms are large, so that what a block holds depends on the blocks before it. It has three
    layers, so that this is so at two removes.
    """

    LENGTH = 66

    def __init__(self, engine: Engine, *, armed: bool) -> None:
        if not armed:
            engine.armed.attachments[0].detach()
        self.engine = engine
        self._runner = engine.core.model_executor.driver_worker.worker.model_runner
        for name, parameter in self._runner.model.named_parameters():
            if "norm" in name:
                parameter.data.fill_(300.0)
        engine.serve(("shared", self.LENGTH + 1))  # the connector has no shorter prompt of these
        self._right = self.contents()

    def blocks(self) -> list[int | None]:
        """The cached blocks of the prompt."""
        hashes = self.engine.request(("shared", self.LENGTH)).block_hashes
        found = [self.engine.pool.get_cached_block(each, [0]) for each in hashes]
        return [each and each[0].block_id for each in found]

    def contents(self) -> list[Any]:
        """What these hold."""
        layers = self._runner.kv_caches
        blocks = self.blocks()
        return [None if b is None else [layer[b].clone() for layer in layers] for b in blocks]

    def wrong(self) -> list[int]:
        """The blocks that hold something else than they did at first."""
        both = enumerate(zip(self.contents(), self._right, strict=True))
        return [i for i, (now, right) in both if now is not None and _differ(now, right)]


def _differ(one: list[Any], other: list[Any]) -> bool:
    return any((a - b).abs().max() > 1e-4 * b.abs().max() for a, b in zip(one, other, strict=True))


@pytest.mark.skipif(DEVICE != "cpu", reason="needs numbers of 32 bits")
@pytest.mark.parametrize("armed", [False, True], ids=["vLLM", "plugin"])
class TestShared:
    """Blocks that several requests share are not loaded. vLLM alone makes mistakes there."""

    @pytest.fixture
    def shared(self, failing: Failing, armed: bool) -> Callable[..., Shared]:
        """Make an engine."""
        config = {"config": {**tiny._CONFIG, "num_hidden_layers": 3}}

        def made(policy: str = "recompute", **more: Any) -> Shared:
            return Shared(failing(policy, usable=200, engine={**config, **more}), armed=armed)

        return made

    def test_twice(self, shared: Callable[..., Shared]) -> None:
        """Of two requests that share blocks, each has blocks to compute again that both have: they
        are cached once."""
        at = shared()
        at.engine.serve(("shared", 51))
        at.engine.core.scheduler.reset_prefix_cache()
        at.engine.serve(("shared", 27))
        FailingConnector.fails.append(11.5 / 50)
        # The first finds 27 blocks, and is to begin with block 11. The second loads, and is to
        # begin with block 27, as vLLM has the first compute what that had found.
        both = at.engine.serve(("shared", 41), ("shared", 51))
        assert ["length"] * 2 == [answer.finish_reason for answer in both]
        assert None not in at.blocks()[:50]
        assert [] == at.wrong()

    @pytest.mark.parametrize("how", ["in parts", "aborted"])
    def test_later(self, shared: Callable[..., Shared], armed: bool, how: str) -> None:
        """A request uses no blocks that another one is to compute again, and has not yet."""
        size = {"long_prefill_token_threshold": 16 * BLOCK} if how == "in parts" else {}
        at = shared(**size)
        at.engine.serve(("shared", 51))
        at.engine.core.scheduler.reset_prefix_cache()
        FailingConnector.fails.append(11.5 / 50)
        requests = [at.engine.request(("shared", blocks)) for blocks in (51, at.LENGTH)]
        for number, request in enumerate(requests):
            request.request_id = f"{number}"
            at.engine.core.scheduler.add_request(request)
        at.engine.core.step()
        assert [] == FailingConnector.fails
        if how == "aborted":
            at.engine.core.abort_requests(["0"])
        while at.engine.core.scheduler.has_unfinished_requests():
            at.engine.core.step()
        assert ([] if armed else list(range(51, at.LENGTH))) == at.wrong()[-15:]

    @pytest.mark.parametrize("policy", ["recompute", "fail"])
    def test_behind(self, shared: Callable[..., Shared], armed: bool, policy: str) -> None:
        """So it is with blocks computed from those, where a request does not share those."""
        at = shared(policy)
        at.engine.serve(("shared", 28))
        at.engine.core.scheduler.reset_prefix_cache()
        at.engine.serve(("shared", 41))
        blocks = at.blocks()
        at.engine.pool.evict_blocks({blocks[10], *blocks[27:41]})
        FailingConnector.fails.append(12.5 / 27)
        # The first loads blocks 10 to 26, and computes block 27. The second has blocks 10 and 27
        # of these, and blocks 11 to 26 as they were before.
        _, second = at.engine.serve(("shared", 28), ("shared", 42))
        assert ("error" if armed and policy == "fail" else "length") == second.finish_reason
        assert armed == ([] == at.wrong())


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


def test_computes_again(failing: Failing) -> None:
    """A running request that is to compute all its blocks again looks nothing up, so it misses no
    block that another request has computed meanwhile."""
    engine = failing("recompute")
    engine.serve(("resident", 6))
    reset(engine)
    engine.serve(("resident", 3, claim(blocks=2)))
    FailingConnector.fails.append(0.0)
    answers = engine.serve(("resident", 1), ("resident", 6))
    assert ["length"] * 2 == [answer.finish_reason for answer in answers]

    engine.close()
    assert [2] == [event.held for event in engine.kinds("prefix_lookup")][1:]
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


@pytest.mark.parametrize("several", [False, True], ids=["one", "several"])
@pytest.mark.parametrize("policy", POLICIES)
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
