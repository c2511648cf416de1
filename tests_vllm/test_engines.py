"""Engines that work otherwise: steps that overlap, tokens drafted ahead, adapters."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from vllm import SamplingParams
from vllm.v1.core.sched.async_scheduler import AsyncScheduler

from monitor.check.files import EXIT_CODES
from runtime_hooks.demo.engine import claim
from runtime_hooks.demo.tiny import tokens
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests_vllm.conftest import Make
from tests_vllm.drafts import NGRAMS, uncompiled
from tests_vllm.engine import Engine
from tests_vllm.lora import ADAPTERS, poet
from tests_vllm.rows import story
from tests_vllm.stage import end_of, play
from tests_vllm.table import ROWS

HARD = Mode.HARD_PROTECTED
ROWS_TRIED = (
    "L3 hard claim",
    "L4 demotion",
    "L5 expiry",
    "path A, success",
    "path B, failure",
    "path C, two claims",
    "agent with pins",
)


def generate(engine: Engine, *asked: tuple[list[int], int, Any], lora: Any = None) -> list[Any]:
    """The outputs for prompts, with so many tokens each and the metadata of each."""
    params = [
        SamplingParams(
            max_tokens=most,
            temperature=0.0,
            detokenize=False,
            ignore_eos=True,
            extra_args=None if metadata is None else {"kv_transfer_params": metadata},
        )
        for _, most, metadata in asked
    ]
    prompts = [{"prompt_token_ids": prompt} for prompt, _, _ in asked]
    return engine.llm.generate(prompts, params, use_tqdm=False, lora_request=lora)


def kept(engine: Engine) -> None:
    """No hook failed, and what the trace says is kept."""
    assert {} == engine.armed.attachments[0].faults
    engine.close()
    report = engine.judge(HARD)
    assert ModeVerdict.KEPT is report.verdict, report.why


@pytest.mark.usefixtures("overlapping")
class TestOverlap:
    """Asynchronous scheduling: a step is scheduled before the one before it is computed."""

    @pytest.mark.parametrize("name", ROWS_TRIED)
    def test_row(self, tmp_path: Path, name: str) -> None:
        """A row of the table comes out as ever, but for when copies are made."""
        row, played = ROWS[name], play(ROWS[name], tmp_path)
        assert row.ends == " ".join(map(end_of, played.answers))
        assert row.looks == tuple(played.looks)
        assert sorted(row.told.split()) == sorted(story(played.events).split())
        assert row.code == EXIT_CODES[played.report.verdict], played.report.why

    def test_decoding(self, make: Make) -> None:
        """Four requests at once, each of many tokens, beside claims and with one of their own."""
        engine = make()
        assert isinstance(engine.core.scheduler, AsyncScheduler)
        assert 2 == engine.core.batch_queue_size
        for turn in range(4):
            prompts = [(tokens(f"{turn} {n}", n + 1), 20 * n + 30, None) for n in range(3)]
            claimed = (tokens(f"claimed {turn}", 8), 40, claim(f"claim:{turn}", 8))
            outputs = generate(engine, claimed, *prompts)
            assert [40, 30, 50, 70] == [len(each.outputs[0].token_ids) for each in outputs]
        assert 80 - 4 * 8 == engine.pool.get_num_free_blocks()
        (refused,) = generate(engine, (tokens("active", 49), 1, None))
        assert "abort" == refused.outputs[0].finish_reason
        kept(engine)


class TestDrafts:
    """Speculative decoding by n-grams: vLLM's own, which here is not compiled."""

    @pytest.fixture
    def drafting(self, make: Make) -> Iterator[Engine]:
        """An engine that drafts three tokens."""
        with uncompiled():
            yield make(engine={**NGRAMS, "disable_log_stats": False})

    def counted(self, engine: Engine, name: str) -> float:
        """A counter of vLLM's."""
        return sum(m.value for m in engine.llm.get_metrics() if m.name == f"vllm:{name}")

    def test_room(self, drafting: Engine) -> None:
        """What a request needs has room for its drafts: it is refused where they would not fit,
        and served where they do, without being preempted for want of it."""
        engine = drafting
        engine.serve(("resident", 60, claim()))
        prompt = tokens("repeated", 1) * 19
        (tight,) = generate(engine, (prompt, 33, None))
        assert "abort" == tight.outputs[0].finish_reason
        (fits,) = generate(engine, (prompt, 30, None))
        assert 30 == len(fits.outputs[0].token_ids)
        assert self.counted(engine, "spec_decode_num_accepted_tokens") > 10
        assert 0 == self.counted(engine, "num_preemptions")
        assert 60 == sum(engine.cached("resident", 60))
        assert [1, 21, 20] == [event.needed for event in arrivals(engine)]
        kept(engine)

    def test_rejected(self, drafting: Engine) -> None:
        """Drafts that are rejected are in no claim: what is told to be cached is what was kept."""
        engine = drafting
        for name in ("prompt", "second", "third"):  # which are rejected, the random weights say
            prompt = tokens(name, 16)
            (first,) = generate(engine, (prompt, 200, claim(f"claim:{name}", 16)))
            drafted = self.counted(engine, "spec_decode_num_draft_tokens")
            if rejected := self.counted(engine, "spec_decode_num_accepted_tokens") < drafted:
                break
        assert rejected
        whole = [*prompt, *first.outputs[0].token_ids]
        (again,) = generate(engine, (whole, 1, None))
        assert (len(whole) - 1) // 32 * 32 == again.num_cached_tokens
        kept(engine)


def arrivals(engine: Engine) -> list[SimpleNamespace]:
    """What requests were said to need, once every line is in the file."""
    journal, written = engine.armed.attachments[0].journal, list[str]()
    end = time.monotonic() + 30
    while len(written) < journal.used and time.monotonic() < end:
        time.sleep(0.01)
        written = engine.trace.read_text().splitlines()
    lines = map(json.loads, written)
    return [SimpleNamespace(**line) for line in lines if line["kind"] == "request_arrived"]


class TestAdapter:
    def test_lora(self, make: Make, tmp_path: Path) -> None:
        """A claim with an adapter is on that adapter's blocks: the same prompt without it shares
        none of them, and a claim that states the adapter for a request without it is rejected."""
        engine, lora = make(engine=ADAPTERS), poet(tmp_path)
        prompt = tokens("resident", 60)
        (claimed,) = generate(engine, (prompt, 1, claim()), lora=lora)
        (plain,) = generate(engine, (prompt[: 20 * 32], 1, None))
        (again,) = generate(engine, (prompt, 1, None), lora=lora)
        assert [0, 0, 59 * 32] == [each.num_cached_tokens for each in (claimed, plain, again)]
        assert claimed.outputs[0].token_ids == again.outputs[0].token_ids
        (accepted,) = engine.armed.attachments[0].controller._registry.live.values()
        stated = accepted.claim.cache_identity.model_dump()
        assert "poet" == stated["adapter"]
        (wrong,) = generate(
            engine, (prompt[: 5 * 32], 1, claim("claim:wrong", 5, cache_identity=stated))
        )
        reason = wrong.kv_transfer_params["resident_claims"]["claim"]["reason"]
        assert reason.startswith("it is for another cache")
        kept(engine)
