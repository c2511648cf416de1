"""Claims in engines with several groups of KV caches: windows, chunks and states."""

from __future__ import annotations

import random
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from vllm.platforms.cpu import CpuPlatform

from monitor.check.files import EXIT_CODES
from runtime_hooks.demo.engine import claim, sampling
from runtime_hooks.demo.tiny import tokens
from runtime_hooks.engines import adapter_of, installed, package_of, v0_31
from runtime_hooks.settings.config import TAKEN
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.language.verdicts import Verdict
from spec.stream.outcome import ModeVerdict
from tests_vllm.actions import reset
from tests_vllm.architectures import configured
from tests_vllm.conftest import Make
from tests_vllm.rows import Row, story
from tests_vllm.stage import Played, end_of, play
from tests_vllm.test_random import busy, check
from tests_vllm.test_random import play as play_random

HARD, OFFLOADABLE = Mode.HARD_PROTECTED, Mode.OFFLOADABLE


class Sums(NamedTuple):
    """Blocks of the pool, of a claim on 12 blocks of a prompt, and that a prompt of 18 needs."""

    usable: int
    claim: int
    needs: int


SUMS = {
    "gpt-oss": Sums(44, 12 + 4, 18 + 18),  # a full group, and one with a window of four
    "lfm2": Sums(40, 12 + 3 * 1, 18 + 3 * 3),  # a full group, and three of states
    "granite 4": Sums(40, 12 + 3 * 1, 18 + 3 * 3),
    "gemma 3": Sums(130, 12 + 5 * 4, 6 * 18),
    "gemma 4": Sums(130, 12 + 5 * 4, 6 * 18),
    "gemma 4, two sizes": Sums(80, 12 + 5 * 2, 18 + 5 * 9),  # windows in blocks of twice the size
    "llama 4": Sums(80, 4 * 12, 4 * 18),  # chunks, all of which are needed
    "mistral": Sums(21, 4, 18),  # one cache, with a window of four
}

STATES = ("lfm2, states alone", "mamba 2")
LATER = ("granite 4", "mistral", *STATES)
"""Models that were tried with vLLM 0.32 alone."""

NOT_RUN = ("lfm2",) if package_of(installed()) == v0_31.__name__ else ()
"""vLLM 0.31 has no kernel of short convolutions for the numbers of a CPU."""


def each(*models: str, in_ci: Collection[str] = SUMS) -> pytest.MarkDecorator:
    """A test of each of these models that was tried with this version."""
    adapter: Any = adapter_of(installed())[0]
    run = [model for model in models if model not in NOT_RUN]
    tried = [model for model in run if adapter.tried.sparse or model not in LATER]
    marks = {model: () if model in in_ci else pytest.mark.deep for model in tried}
    return pytest.mark.parametrize("model", [pytest.param(m, marks=marks[m]) for m in tried])


IN_CI = ("gpt-oss", "lfm2", "mistral")


def played(model: str, folder: Path, *, enforce: bool = True) -> Played:
    """A claimed prefix, a request that does not fit beside it, a longer prompt, and a reset."""
    row = Row(
        HARD,
        (
            ("prefix", 12, claim("claim:p", 12)),
            ("active", 18),
            ("prefix", 13),
            reset,
            ("prefix", 12),
        ),
        code=0,
        ends="0 refused 12 0",
        victims=0,
        told="accepted materialized end refused end reused end lost harmed materialized end",
        usable=SUMS[model].usable,
        model=model,
    )
    return play(row, folder, {} if enforce else {"enforce": ()})


@each(*SUMS, in_ci=IN_CI)
class TestHard:
    def test_kept(self, model: str, tmp_path: Path) -> None:
        """A claim holds what a hit needs in each group: a request beside which it does not fit is
        refused with the sum of all groups, and the prefix is found again."""
        sums, found = SUMS[model], played(model, tmp_path)
        assert "0 refused 12 0" == " ".join(map(end_of, found.answers))
        told = "accepted materialized end refused end reused end lost harmed materialized end"
        assert told == story(found.events)
        total = sums.claim + sums.needs
        proof = (sums.claim, sums.needs, total, sums.usable, total - sums.usable)
        refusal = found.answers[1].metadata["refusal"]
        assert proof == tuple(refusal["proof"].values())
        assert ["claim:p"] == refusal["blocking_claim_ids"]
        assert ModeVerdict.KEPT is found.report.verdict, found.report.why

    def test_not_enforced(self, model: str, tmp_path: Path) -> None:
        """Where nothing is enforced the same requests evict its blocks, and the check finds it."""
        found = played(model, tmp_path, enforce=False)
        assert "refused" not in map(end_of, found.answers)
        assert any(event.kind is Kind.BLOCK_EVICTED for event in found.events)
        assert 1 == EXIT_CODES[found.report.verdict]
        broken = found.report.obligations["victim_exclusion_before_violation"]
        assert Verdict.VIOLATED is broken


@each(*IN_CI)
class TestEnds:
    """Where a claim may end."""

    def test_within_a_prompt(self, make: Make, model: str) -> None:
        """vLLM caches the end of a window, and a state, at the end of a prompt; at the end of a
        claim the plugin has them cached, too. Then a prompt that goes on otherwise finds them."""
        engine = make(100, engine=configured(model))
        accepted = {"claim": {"decision": "accepted"}}
        for asked in (
            ("prompt", 10, claim("claim:part", 6)),
            ("other", 10, claim("claim:all", 10)),
        ):
            assert accepted == engine.serve(asked)[0].metadata
        branch = [*tokens("prompt", 6), *tokens("another", 1)]
        found = engine.llm.generate([{"prompt_token_ids": branch}], sampling(), use_tqdm=False)
        assert 6 * 32 == found[0].num_cached_tokens
        assert 10 == engine.serve(("other", 12))[0].cached // 32
        engine.close()
        held = [e.claim_id for e in engine.events() if e.kind is Kind.CLAIM_MATERIALIZED]
        assert ["claim:part", "claim:all"] == held
        assert ModeVerdict.KEPT is engine.judge(HARD).verdict

    def test_too_late(self, make: Make, model: str) -> None:
        """A prompt that is cached further than a claim would end is not computed again, so the end
        of the window or the state would never be there: such a claim is rejected."""
        engine = make(100, engine=configured(model))
        engine.serve(("prompt", 10))
        (part,) = engine.serve(("prompt", 10, claim("a", 6)))
        (whole,) = engine.serve(("prompt", 10, claim("b", 9)))
        assert part.metadata["claim"]["reason"].startswith("a hit uses 9 blocks of its prompt")
        assert {"claim": {"decision": "accepted"}} == whole.metadata

    def test_footprint(self, make: Make, model: str) -> None:
        """A claim declares no blocks behind what its predicate needs."""
        engine = make(100, engine=configured(model))
        (found,) = engine.serve(("prompt", 10, claim("a", 6, footprint_blocks=8)))
        assert found.metadata["claim"]["reason"].startswith("its predicate ends at block 6")

    def test_start(self, make: Make, model: str) -> None:
        """A claim is on a prompt from its begin: a hit uses no part within it."""
        engine = make(100, engine=configured(model))
        within = {"materialization_predicate": "contiguous_range(2, 8)"}
        (found,) = engine.serve(("prompt", 10, claim("a", 10, **within)))
        assert found.metadata["claim"]["reason"].startswith("its predicate begins within")


@each(*SUMS, *STATES, in_ci=IN_CI)
@pytest.mark.parametrize("seed", [3, 4])
def test_random(make: Make, model: str, seed: int) -> None:
    """Whatever comes, each claim is kept by its mode, and the plugin knows the engine's pool."""
    source, modes = random.Random(seed), tuple(mode for mode in TAKEN if mode is not OFFLOADABLE)
    sizes = {"max_num_batched_tokens": 512, "enable_chunked_prefill": True}
    usable = 9 if model in STATES else 80 * SUMS[model].claim // 12 + 10
    engine = make(usable, engine=configured(model, max_model_len=2560, **sizes), defer_s=0.01)
    play_random(engine, source, modes)
    check(engine, modes)


@each(*IN_CI)
def test_busy(make: Make, overlapping: None, model: str) -> None:
    """So it is with requests of many tokens, several at once, with steps that overlap."""
    modes = tuple(mode for mode in TAKEN if mode is not OFFLOADABLE)
    sizes = {"max_num_batched_tokens": 512, "enable_chunked_prefill": True}
    engine = make(90, engine=configured(model, max_model_len=1280, **sizes), defer_s=0.01)
    busy(engine, random.Random(5), modes, tier=False)
    check(engine, modes)


@pytest.mark.deep
def test_linear_attention(make: Make) -> None:
    """Linear attention on a CPU needs blocks of 96 tokens: a claim counts in these."""
    engine = make(40, engine=configured("qwen3-next"))
    (first,) = engine.serve(("prompt", 12, claim("a", 2)))
    assert {"claim": {"decision": "accepted"}} == first.metadata
    branch = [*tokens("prompt", 6), *tokens("another", 3)]
    (found,) = engine.llm.generate([{"prompt_token_ids": branch}], sampling(), use_tqdm=False)
    assert 2 * 96 == found.num_cached_tokens
    engine.close()
    assert ModeVerdict.KEPT is engine.judge(HARD).verdict


@pytest.mark.deep
def test_latent_attention(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Latent attention (MLA) is one cache, as full attention is. Most CPUs cache no prefixes of it,
    so this is about the pool and the events alone."""
    usual = CpuPlatform.check_and_update_config.__func__

    def forced(cls: type, config: Any) -> None:
        usual(cls, config)
        config.cache_config.enable_prefix_caching = True

    monkeypatch.setattr(CpuPlatform, "check_and_update_config", classmethod(forced))
    engine = make(40, engine=configured("deepseek-v3", block_size=16))
    (first,) = engine.serve(("prompt", 5, claim("a", 10)))
    assert {"claim": {"decision": "accepted"}} == first.metadata
    (refused,) = engine.serve(("active", 18))
    assert "refused" == end_of(refused)
    (again,) = engine.serve(("prompt", 6))
    assert 10 * 16 == again.cached
    engine.close()
    assert ModeVerdict.KEPT is engine.judge(HARD).verdict
