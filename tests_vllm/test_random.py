"""Random requests, claims, releases, resets and aborts: whatever comes, every claim is kept."""

from __future__ import annotations

import random
from collections.abc import Collection
from typing import Any

import pytest
from vllm import SamplingParams

from runtime_hooks.demo.engine import claim
from runtime_hooks.demo.scenes import offloading
from runtime_hooks.demo.tiny import BLOCK, tokens
from runtime_hooks.settings.config import TAKEN
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests_vllm.conftest import Make
from tests_vllm.engine import Engine

PROMPTS = ("a", "b", "c", "d", "e", "f")
STEPS = 150


def metadata(source: random.Random, number: int, modes: tuple[Mode, ...]) -> dict[str, Any] | None:
    """What comes with a request: often nothing."""
    kind = source.random()
    if kind < 0.35:
        mode = source.choice(modes)
        more: dict[str, Any] = {}
        if mode is Mode.EXPIRING or source.random() < 0.2:
            more["duration"] = "0.02 s"
        if mode is Mode.SOFT_PRIORITY:
            more["priority"] = source.randrange(4)
        return claim(f"claim:{number}", source.randrange(1, 40), mode, **more)
    if kind < 0.5 and number:
        name = f"claim:{source.randrange(number)}"
        return {"release_claim": {"claim_id": name, "owner_scope": "tenant"}}
    if kind < 0.6:
        job = {"job_id": source.choice("xy"), "last_step": source.random() < 0.3, "ttl": "0.05 s"}
        return {"pin": job}
    return {"no_admit": True} if kind < 0.65 else None


def compare(engine: Engine) -> None:
    """Of each content of a live claim all computed blocks are known that hold it in the engine's
    own pool, and no other; if the claim is kept one of them is no possible victim. Free blocks of
    soft_priority claims stand apart, by the highest priority.
    """
    pool = engine.pool
    free = {block.block_id for block in pool.free_block_queue.get_all_free_blocks()}
    ranks: dict[int, int] = {}
    controller = engine.armed.attachments[0].controller
    for entry in controller._registry.live.values():
        for key, content in zip(entry.blocks, entry.contents, strict=True):
            assert {b for _, b in controller.tracker._pool.find([key])} == content.blocks.keys()
            wanted = not (entry.copied or entry.watched)
            assert (content.pin in content.blocks and content.pin not in free) or not (
                wanted and content.blocks
            )
            if (priority := entry.claim.priority) is not None:
                assert free.isdisjoint(content.blocks)
                ranks.update((b, max(priority, ranks.get(b, 0))) for b in content.blocks)
    unused = {block: rank for block, rank in ranks.items() if not pool.blocks[block].ref_cnt}
    queues = engine.armed.attachments[0].controller.tracker._pool.queue._queues
    apart = {b.block_id: r for r, queue in queues.items() for b in queue.get_all_free_blocks()}
    assert unused == apart
    assert len(free) + len(apart) == pool.get_num_free_blocks()


def reset(scheduler: Any, *, running: bool) -> None:
    """Reset the cache, which vLLM cannot do while blocks of an aborted request are being loaded."""
    try:
        scheduler.reset_prefix_cache(reset_running_requests=running)
    except RuntimeError as error:
        if "waiting for remote KV transfer" not in str(error):
            raise


def play(
    engine: Engine,
    source: random.Random,
    modes: tuple[Mode, ...],
    ends: Collection[str] = ("length", "abort"),
) -> None:
    """Some steps of anything; requests end in one of these ways."""
    scheduler = engine.core.scheduler
    for number in range(STEPS):
        asked: list[Any] = []
        for extra in range(source.choice((1, 1, 2, 3))):
            what = metadata(source, number * 10 + extra, modes)
            prompt, blocks = source.choice(PROMPTS), source.randrange(1, 60)
            asked.append((prompt, blocks) if what is None else (prompt, blocks, what))
        if source.random() < 0.1:
            request = engine.request(asked[0])
            request.request_id = f"aborted {number}"
            scheduler.add_request(request)
            if source.random() < 0.5:
                engine.core.step()
            engine.core.abort_requests([request.request_id])
        if source.random() < 0.05:
            reset(scheduler, running=source.random() < 0.5)
        answers = engine.serve(*asked)
        assert {answer.finish_reason for answer in answers} <= {*ends}
        compare(engine)


def check(engine: Engine, modes: tuple[Mode, ...]) -> None:
    """No hook failed, also not as the engine ended, and each claim of which an obligation was
    exercised is kept by its own mode."""
    (attachment,) = engine.armed.attachments
    engine.close()
    assert {} == attachment.faults
    wrong = [
        (c.claim_id, mode, c.verdict, c.why)
        for mode in modes
        for c in engine.judge(mode).claims
        if c.declared_mode == mode and c.state != "refused" and c.verdict is not ModeVerdict.KEPT
        if any(found.verdict != "unexercised" for found in c.obligations.values())
    ]
    assert [] == wrong


@pytest.mark.parametrize("seed", [0, 1, 2, 13])
@pytest.mark.parametrize("tier", [False, True], ids=["pool", "tier"])
def test_kept(make: Make, seed: int, tier: bool) -> None:
    """Each claim is kept by its own mode, no hook failed, and in the end nothing is held."""
    source = random.Random(seed)
    modes = tuple(mode for mode in TAKEN if tier or mode is not Mode.OFFLOADABLE)
    sizes = {"max_num_batched_tokens": 512, "enable_chunked_prefill": True}
    engine = make(80, engine={**sizes, **(offloading() if tier else {})}, defer_s=0.01 * seed)
    play(engine, source, modes)
    controller = engine.armed.attachments[0].controller
    for name, entry in list(controller._registry.live.items()):
        controller._admission.release(name, entry.claim.owner_scope)  # or it has expired meanwhile
    assert 0 == controller.claims
    engine.serve(("last", 1))
    assert 80 == engine.pool.get_num_free_blocks()

    check(engine, modes)
    arrived = [event.request_id for event in engine.kinds("request_arrived")]
    assert len(arrived) == len(set(arrived))


def busy(
    engine: Engine,
    source: random.Random,
    modes: tuple[Mode, ...],
    tier: bool,
    ends: Collection[str] = ("length", "abort"),
) -> None:
    """Requests of many tokens, several at once, of which some are preempted; they end in one of
    these ways.
    """
    for turn in range(40):
        prompts, params = [], []
        for extra in range(source.choice((2, 3, 4, 6, 8))):
            what = metadata(source, turn * 10 + extra, modes) or {}
            if tier and source.random() < 0.1:
                what = {**what, "max_load_tokens": source.choice((0, 64, 320))}
            length = source.randrange(1, 25) * BLOCK - source.choice((0, 0, 5, 20))
            prompts.append({"prompt_token_ids": tokens(source.choice(PROMPTS), 25)[:length]})
            params.append(
                SamplingParams(
                    max_tokens=source.choice((1, 1, 5, 40, 120, 300)),
                    temperature=0.0,
                    detokenize=False,
                    ignore_eos=True,
                    prompt_logprobs=1 if source.random() < 0.1 else None,  # it does not look
                    extra_args={"kv_transfer_params": what} if what else None,
                )
            )
        if source.random() < 0.1:
            engine.core.scheduler.reset_prefix_cache(reset_connector=source.random() < 0.5)
        outputs = engine.llm.generate(prompts, params, use_tqdm=False)
        assert {output.outputs[0].finish_reason for output in outputs} <= {*ends}
        compare(engine)


@pytest.mark.parametrize(
    ("tier", "overlap"),
    [
        pytest.param(False, False, id="pool-in turn", marks=pytest.mark.deep),
        pytest.param(False, True, id="pool-overlapping"),
        pytest.param(True, False, id="tier-in turn"),
        pytest.param(True, True, id="tier-overlapping", marks=pytest.mark.deep),
    ],
)
def test_busy(make: Make, request: pytest.FixtureRequest, tier: bool, overlap: bool) -> None:
    """In a pool that is too small for all that is in hand requests are preempted and come back,
    with steps that overlap or not, and each claim is kept by its own mode."""
    if overlap:
        request.getfixturevalue("overlapping")
    modes = tuple(mode for mode in TAKEN if tier or mode is not Mode.OFFLOADABLE)
    sizes: dict[str, Any] = {"max_num_batched_tokens": 512, "enable_chunked_prefill": True}
    sizes |= {"max_model_len": 40 * BLOCK, "disable_log_stats": False}
    engine = make(40, engine={**sizes, **(offloading() if tier else {})}, defer_s=0.01)
    busy(engine, random.Random(2 * tier + overlap), modes, tier)
    counted = {m.name: m.value for m in engine.llm.get_metrics() if hasattr(m, "value")}
    assert counted["vllm:num_preemptions"] > 0
    check(engine, modes)
