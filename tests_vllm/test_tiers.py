"""vLLM's tiering spec: copies in host memory, and behind them on disk."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtime_hooks.demo.engine import claim, sampling
from runtime_hooks.demo.scenes import offloading
from runtime_hooks.demo.tiny import BLOCK, DEVICE, tokens
from runtime_hooks.engines import adapter_of, installed
from runtime_hooks.settings.config import TAKEN, Drill
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests_vllm.actions import look, reset
from tests_vllm.architectures import configured
from tests_vllm.conftest import Make
from tests_vllm.engine import Engine
from tests_vllm.test_group_tiers import serve
from tests_vllm.test_groups import SUMS
from tests_vllm.test_random import busy, check, play

ADAPTER: Any = adapter_of(installed())[0]
OFF = Mode.OFFLOADABLE
RESIDENT, FILLER, ACTIVE = ("resident", 61), ("filler", 1), ("active", 70)
CHUNK = 1 << 15  # bytes of a block in the first tier
CHUNKS = {"gpt-oss": 1 << 14, "lfm2": 1 << 13, "gemma 3": 1 << 13}
CLAIM = "claim:resident"

pytestmark = [
    pytest.mark.skipif(not ADAPTER.tried.tiers, reason="not tried with this version"),
    pytest.mark.skipif(DEVICE != "cpu", reason="the spec copies by the CPU"),
]

Tiered = Callable[..., Engine]


@pytest.fixture
def tiered(make: Make, tmp_path: Path) -> Tiered:
    """Make an engine whose first tier has so many chunks, with a second tier on disk."""

    def made(
        chunks: int = 128,
        usable: int = 80,
        engine: dict[str, Any] | None = None,
        size: int = CHUNK,
        **settings: Any,
    ) -> Engine:
        disk = {"type": "fs", "root_dir": str(tmp_path / "disk")}
        tiers = offloading(
            spec_name="MemcpyTieringSpec", cpu_bytes_to_use=chunks * size, secondary_tiers=[disk]
        )
        found = make(usable, engine={**tiers, **(engine or {})}, **settings)
        assert chunks == manager(found).primary_tier._num_chunks
        return found

    return made


def manager(engine: Engine) -> Any:
    """The manager of all tiers."""
    return engine.core.scheduler.connector.connector_scheduler.manager


def settle(engine: Engine) -> None:
    """Let transfers between the tiers end."""
    while manager(engine).has_pending_work():
        engine.core.step()


def on_disk(engine: Engine, name: str) -> bool:
    """Have a prompt on disk alone: it is computed, and others take its place in the first tier."""
    first = engine.request((name, 60))
    engine.serve((name, 61), FILLER)
    for other in ("x", "y", "z"):
        settle(engine)
        engine.serve((other, 60), FILLER)
    settle(engine)
    reset(engine)
    tier = manager(engine).primary_tier
    return all(tier._policy.get(key + bytes(4)) is None for key in first.block_hashes)


def kept(engine: Engine) -> None:
    """No hook failed, and the claim is kept."""
    assert {} == engine.armed.attachments[0].faults
    engine.close()
    assert ModeVerdict.KEPT is engine.judge(OFF).verdict


def test_restored(tiered: Tiered) -> None:
    """A claim's copies stay in the first tier, whatever else is stored, and come back from it."""
    engine = tiered()
    (first,) = engine.serve((*RESIDENT, claim(mode="offloadable")))
    engine.serve(FILLER)
    for other in ("x", "y", "z"):
        settle(engine)
        assert "length" == engine.serve((other, 70))[0].finish_reason
    assert look(engine)[0] < 60
    (again,) = engine.serve(RESIDENT)
    assert (first.tokens, 61 * BLOCK) == (again.tokens, again.cached)

    kept(engine)
    assert ["store_finished"] == [e.kind for e in engine.kinds("store_finished", "host_copy_lost")]
    assert 1 == len(engine.kinds("claim_restored"))


def test_promoted(tiered: Tiered) -> None:
    """A claim whose copies are on disk alone has none until a request brings them back: then they
    count as found in the first tier, and are kept there."""
    engine = tiered()
    assert on_disk(engine, "resident")
    (first,) = engine.serve((*RESIDENT, claim(mode="offloadable")))
    assert 61 * BLOCK == first.cached
    assert (60, 60) == look(engine)
    engine.serve(FILLER)
    for other in ("x", "y", "z"):
        settle(engine)
        assert "length" == engine.serve((other, 70))[0].finish_reason
    (again,) = engine.serve(RESIDENT)
    assert first.tokens == again.tokens

    kept(engine)
    copies = engine.kinds("host_copy_found", "store_finished", "host_copy_lost")
    assert ["host_copy_found"] == [event.kind for event in copies]
    assert 1 == len(engine.kinds("claim_restored"))


def test_computed_meanwhile(tiered: Tiered) -> None:
    """Copies that come from disk while a request computes the claim count once it is there: the
    request skipped the look-up, and could not have loaded them."""
    chunked = {"max_num_batched_tokens": 1024, "long_prefill_token_threshold": 256}
    engine = tiered(usable=140, engine=chunked)
    assert on_disk(engine, "resident")
    params = [sampling(claim(mode="offloadable")), sampling()]
    params[0].skip_reading_prefix_cache = True
    prompts = [{"prompt_token_ids": tokens(*RESIDENT)} for _ in params]
    engine.llm.generate(prompts, params, use_tqdm=False)
    settle(engine)
    kept(engine)
    assert 1 == len(engine.kinds("claim_offloaded"))


def test_store_fails(tiered: Tiered) -> None:
    """A copy that was not made is not written to the second tier either; the next one is."""
    engine = tiered(drill=Drill(fail_stores={CLAIM: 1}))
    engine.serve((*RESIDENT, claim(mode="offloadable")), FILLER)
    (refused,) = engine.serve(ACTIVE)
    engine.serve(RESIDENT)
    engine.serve(FILLER)
    (served,) = engine.serve(ACTIVE)
    assert ("abort", "length") == (refused.finish_reason, served.finish_reason)
    kept(engine)
    assert 1 == len(engine.kinds("store_finished"))


def test_disarmed(tiered: Tiered) -> None:
    """Disarmed, the tiers are the engine's own again."""
    engine = tiered()
    tier = manager(engine).primary_tier
    engine.serve((*RESIDENT, claim(mode="offloadable")), FILLER)
    engine.close()
    assert tier.complete_write == tier.complete_store
    assert tier.prepare_write == tier.prepare_store


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.deep) for n in (1, 2))])
def test_random(tiered: Tiered, seed: int) -> None:
    """Whatever comes, every claim is kept."""
    engine = tiered(chunks=160, defer_s=0.01 * seed)
    play(engine, random.Random(seed), TAKEN)
    check(engine, TAKEN)


@pytest.fixture(
    params=[pytest.param(m, marks=() if m == "gpt-oss" else pytest.mark.deep) for m in CHUNKS]
)
def model(request: pytest.FixtureRequest) -> str:
    """A model with several caches."""
    return str(request.param)


class TestSeveral:
    """Several caches: the tiers have blocks of each."""

    def test_restored(self, tiered: Tiered, model: str) -> None:
        """The copies of each cache stay in the first tier, and come back from it."""
        blocks = SUMS[model].claim
        engine = tiered(6 * blocks, SUMS[model].usable, configured(model), CHUNKS[model])
        first = serve(engine, "prefix", 12, claim("claim:p", 12, OFF))
        engine.serve(FILLER)
        for other in ("x", "y", "z"):
            settle(engine)
            assert "length" == engine.serve((other, 18))[0].finish_reason
        again = serve(engine, "prefix", 12)
        assert 12 * BLOCK == again.num_cached_tokens
        assert first.outputs[0].token_ids == again.outputs[0].token_ids
        kept(engine)
        assert ["store_finished"] == [
            e.kind for e in engine.kinds("store_finished", "host_copy_lost")
        ]
        assert 1 == len(engine.kinds("claim_restored"))

    @pytest.mark.parametrize("seed", [0])
    def test_random(self, tiered: Tiered, model: str, seed: int) -> None:
        """Whatever comes, every claim is kept."""
        sizes = {"max_num_batched_tokens": 512, "enable_chunked_prefill": True}
        engine = tiered(
            20 * SUMS[model].claim,
            15 * SUMS[model].claim,
            configured(model, max_model_len=2560, **sizes),
            CHUNKS[model],
            defer_s=0.01,
        )
        play(engine, random.Random(seed), TAKEN)
        check(engine, TAKEN)


@pytest.mark.deep
@pytest.mark.parametrize("overlap", [False, True], ids=["in turn", "overlapping"])
def test_busy(tiered: Tiered, request: pytest.FixtureRequest, overlap: bool) -> None:
    """So is every claim where requests are preempted, with steps that overlap or not."""
    if overlap:
        request.getfixturevalue("overlapping")
    sizes = {"max_num_batched_tokens": 512, "enable_chunked_prefill": True}
    sizes |= {"max_model_len": 40 * BLOCK, "disable_log_stats": False}
    engine = tiered(chunks=100, usable=40, engine=sizes, defer_s=0.01)
    busy(engine, random.Random(overlap), TAKEN, tier=True)
    check(engine, TAKEN)
