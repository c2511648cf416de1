"""Claims in engines that draft tokens with a model of their own."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from runtime_hooks.demo import tiny
from runtime_hooks.demo.engine import claim
from runtime_hooks.settings.config import TAKEN
from spec.claims.claim import Mode
from spec.stream.outcome import ModeVerdict
from tests_vllm.conftest import Make
from tests_vllm.drafts import drafting
from tests_vllm.test_random import check, play

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
    engine = make(90, engine={**drafting(method, tmp_path), **sizes}, defer_s=0.01)
    play(engine, random.Random(1), MODES)
    check(engine, MODES)


def test_shorter_hit(make: Make, tmp_path: Path) -> None:
    """With EAGLE vLLM drops the last block that it finds: a claim is there, and a hit uses one
    block less of it."""
    engine = make(90, engine=drafting("eagle", tmp_path))
    (first,) = engine.serve(("prompt", 10, claim("a", 10)))
    assert {"claim": {"decision": "accepted"}} == first.metadata
    branch = [*tiny.tokens("prompt", 10), *tiny.tokens("another", 2)]
    asked = [{"prompt_token_ids": branch}]
    (found,) = engine.llm.generate(asked, use_tqdm=False)
    assert 9 * 32 == found.num_cached_tokens
    engine.close()
    assert ["a"] == [each.claim_id for each in engine.kinds("claim_materialized")]
    assert ModeVerdict.KEPT is engine.judge(Mode.HARD_PROTECTED).verdict
