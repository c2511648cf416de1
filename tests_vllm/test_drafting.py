"""Claims in engines that draft tokens with a model of their own."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from vllm.platforms.cpu import CpuPlatform

from runtime_hooks.demo import tiny
from runtime_hooks.demo.engine import claim, sampling
from runtime_hooks.engines import adapter_of, installed, package_of, v0_33
from runtime_hooks.settings.config import TAKEN
from spec.claims.states import Mode
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
SIZES = {"max_num_batched_tokens": 512, "enable_chunked_prefill": True}
MODES = tuple(mode for mode in TAKEN if mode is not Mode.OFFLOADABLE)


class Case(NamedTuple):
    """A method of drafting, a model of `tests_vllm.architectures`, and blocks of the pool."""

    method: str
    model: str = ""
    usable: int = 90


ADAPTER: Any = adapter_of(installed())[0]
LATER = [Case("mtp")] * ("mtp" in ADAPTER.tried.drafting)
LATER += [Case("eagle3", "gpt-oss", 120), Case("eagle", "gpt-oss", 200)] * ADAPTER.tried.dropping
CASES = [Case("eagle"), Case("eagle3"), Case("draft_model"), Case("draft_model", "gpt-oss", 200)]
IN_CI = (Case("eagle"), Case("mtp"), Case("eagle3", "gpt-oss", 120))


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=() if case in IN_CI else pytest.mark.deep, id=" ".join(case[:2]))
        for case in (*CASES, *LATER)
    ],
)
def test_random(make: Make, tmp_path: Path, case: Case) -> None:
    """Whatever comes, each claim is kept by its mode, and the plugin knows the engine's pool."""
    engine = {**drafting(case.method, tmp_path, case.model), **SIZES}
    made = make(case.usable, engine=engine, defer_s=0.01)
    play(made, random.Random(1), MODES)
    check(made, MODES)


@pytest.mark.parametrize("case", [Case("eagle"), *LATER], ids=lambda case: " ".join(case[:2]))
def test_shorter_hit(make: Make, tmp_path: Path, case: Case) -> None:
    """With EAGLE and MTP vLLM drops the last block that it finds: a claim is there, after others
    took the rest of the pool, and a hit uses one block less of it."""
    made = make(case.usable, engine={**drafting(case.method, tmp_path, case.model), **SIZES})
    (first,) = made.serve(("prompt", 12, claim("a", 10)))
    assert {"claim": {"decision": "accepted"}} == first.metadata
    made.serve(*((name, 40) for name in ("b", "c", "d", "e")))
    branch = [*tiny.tokens("prompt", 10), *tiny.tokens("another", 2)]
    asked = [{"prompt_token_ids": branch}]
    (found,) = made.llm.generate(asked, use_tqdm=False)
    assert 9 * 32 == found.num_cached_tokens
    made.close()
    assert ["a"] == [each.claim_id for each in made.kinds("claim_materialized")]
    assert ModeVerdict.KEPT is made.judge(Mode.HARD_PROTECTED).verdict


def test_dropped_block(make: Make, tmp_path: Path) -> None:
    """With EAGLE a request computes the last block again that it finds of a claim, so one that fits
    only without it is refused as it arrives, and one with a block less is served."""
    sizes = {**SIZES, "max_model_len": 30 * 32}
    made = make(30, engine={**drafting("eagle", tmp_path), **sizes})
    made.serve(("prompt", 10, claim("a", 10)))
    served, refused = (made.serve(("prompt", blocks))[0] for blocks in (28, 29))
    assert ["length", "refused"] == [served.finish_reason, end_of(refused)]
    assert {"resident": 10, "active": 21, "total": 31, "usable": 30, "shortfall": 1} == (
        refused.metadata["refusal"]["proof"]
    )
    assert 0 == made.armed.attachments[0].journal.gaps
    made.close()
    assert ModeVerdict.KEPT is made.judge(Mode.HARD_PROTECTED).verdict


def latent(test: Any) -> Any:
    """A test of MTP with latent attention, where MTP was tried."""
    untried = "mtp" not in ADAPTER.tried.drafting
    return pytest.mark.deep(pytest.mark.skipif(untried, reason="MTP was not tried")(test))


@pytest.fixture
def mtp(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The configuration of an engine of DeepSeek-V3 that drafts by MTP.

    A CPU fails at its first step, and caches no prefixes of latent attention: its steps are not
    computed, and its prefixes are cached all the same.
    """
    usual = CpuPlatform.check_and_update_config.__func__

    def forced(cls: type, config: Any) -> None:
        usual(cls, config)
        config.cache_config.enable_prefix_caching = True
        config.scheduler_config.enable_chunked_prefill = True

    monkeypatch.setattr(CpuPlatform, "check_and_update_config", classmethod(forced))
    config = {**ARCHITECTURES["deepseek-v3"], "num_nextn_predict_layers": 1}
    return {
        "config": config,
        "dtype": config["torch_dtype"],
        "block_size": 16,
        "distributed_executor_backend": StepsExecutor,
        "speculative_config": {"method": "mtp", "num_speculative_tokens": 1},
    }


@latent
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


@latent
@pytest.mark.parametrize("modules", [1, 2])
def test_mtp_random(make: Make, mtp: dict[str, Any], modules: int) -> None:
    """Whatever comes, each claim is kept with it, by one module or several, each of which reads one
    token further ahead; some drafted tokens are rejected."""
    sizes = {"max_num_batched_tokens": 512, "max_model_len": 1280}
    mtp["config"]["num_nextn_predict_layers"] = modules
    mtp["speculative_config"]["num_speculative_tokens"] = modules
    made = make(90, engine={**mtp, **sizes}, defer_s=0.01)
    assert modules == made.core.scheduler.num_prefill_lookahead
    busy(made, random.Random(3), MODES, tier=False)
    check(made, MODES)
