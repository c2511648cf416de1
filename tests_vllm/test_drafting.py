"""Claims in engines that draft tokens with a model of their own."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from vllm.platforms.cpu import CpuPlatform

from runtime_hooks.demo import tiny
from runtime_hooks.demo.engine import claim, sampling
from runtime_hooks.engines import installed, package_of, v0_33
from runtime_hooks.engines.shared import engine
from runtime_hooks.settings.config import TAKEN
from spec.claims.claim import Mode
from spec.stream.outcome import ModeVerdict
from tests_vllm.architectures import ARCHITECTURES
from tests_vllm.conftest import Make
from tests_vllm.drafts import drafting
from tests_vllm.stage import end_of
from tests_vllm.steps import StepsExecutor
from tests_vllm.test_random import busy, check, play

pytestmark = pytest.mark.skipif(
    package_of(installed()) == v0_33.__name__, reason="only n-grams are armed with vLLM 0.33"
)
MODES = tuple(mode for mode in TAKEN if mode is not Mode.OFFLOADABLE)


@pytest.mark.parametrize(
    "method",
    [
        "eagle",
        pytest.param("eagle3", marks=pytest.mark.deep),
        pytest.param("draft_model", marks=pytest.mark.deep),
    ],
)
def test_random(make: Make, tmp_path: Path, method: str) -> None:
    """Whatever comes, each claim is kept by its mode, and the plugin knows the engine's pool."""
    sizes = {"max_num_batched_tokens": 512, "enable_chunked_prefill": True}
    made = make(90, engine={**drafting(method, tmp_path), **sizes}, defer_s=0.01)
    play(made, random.Random(1), MODES)
    check(made, MODES)


def test_shorter_hit(make: Make, tmp_path: Path) -> None:
    """With EAGLE vLLM drops the last block that it finds: a claim is there, and a hit uses one
    block less of it."""
    made = make(90, engine=drafting("eagle", tmp_path))
    (first,) = made.serve(("prompt", 10, claim("a", 10)))
    assert {"claim": {"decision": "accepted"}} == first.metadata
    branch = [*tiny.tokens("prompt", 10), *tiny.tokens("another", 2)]
    asked = [{"prompt_token_ids": branch}]
    (found,) = made.llm.generate(asked, use_tqdm=False)
    assert 9 * 32 == found.num_cached_tokens
    made.close()
    assert ["a"] == [each.claim_id for each in made.kinds("claim_materialized")]
    assert ModeVerdict.KEPT is made.judge(Mode.HARD_PROTECTED).verdict


@pytest.fixture
def mtp(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The configuration of an engine that drafts by MTP, which is armed as if it had been tried.

    A CPU fails at its first step, and caches no prefixes of latent attention: its steps are not
    computed, and its prefixes are cached all the same.
    """
    usual = CpuPlatform.check_and_update_config.__func__

    def forced(cls: type, config: Any) -> None:
        usual(cls, config)
        config.cache_config.enable_prefix_caching = True
        config.scheduler_config.enable_chunked_prefill = True

    monkeypatch.setattr(CpuPlatform, "check_and_update_config", classmethod(forced))
    monkeypatch.setattr(engine, "_DRAFTING", (*engine._DRAFTING, "mtp"))
    config = {**ARCHITECTURES["deepseek-v3"], "num_nextn_predict_layers": 1}
    return {
        "config": config,
        "dtype": config["torch_dtype"],
        "block_size": 16,
        "distributed_executor_backend": StepsExecutor,
        "speculative_config": {"method": "mtp", "num_speculative_tokens": 1},
    }


@pytest.mark.deep
def test_mtp(make: Make, mtp: dict[str, Any]) -> None:
    """In vLLM's own scheduler and pool a claim is kept with MTP as with EAGLE: its group drops the
    last block that it finds, and a request that does not fit is refused."""
    made = make(160, engine=mtp)
    assert {0} == made.core.scheduler.kv_cache_manager.coordinator.eagle_group_ids
    (first,) = made.serve(("prompt", 40, claim("a", 80)))
    assert {"claim": {"decision": "accepted"}} == first.metadata
    (refused,) = made.serve(("active", 60))
    assert "refused" == end_of(refused)
    asked = [{"prompt_token_ids": [*tiny.tokens("prompt", 40), *tiny.tokens("another", 2)]}]
    (found,) = made.llm.generate(asked, sampling(), use_tqdm=False)
    assert 79 * 16 == found.num_cached_tokens
    made.close()
    assert ModeVerdict.KEPT is made.judge(Mode.HARD_PROTECTED).verdict


@pytest.mark.deep
def test_mtp_random(make: Make, mtp: dict[str, Any]) -> None:
    """Whatever comes, each claim is kept with it; some drafted tokens are rejected."""
    sizes = {"max_num_batched_tokens": 512, "max_model_len": 1280}
    made = make(90, engine={**mtp, **sizes}, defer_s=0.01)
    busy(made, random.Random(3), MODES, tier=False)
    check(made, MODES)
