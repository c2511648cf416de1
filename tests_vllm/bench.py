"""What the plugin costs, against the bare engine in the same run: `python -m tests_vllm.bench`.

Each figure is the least over rounds in which bare and hooked alternate. Times are of the step loop
only where they say so; writing and judging happen on another thread, which shares the interpreter.
"""

from __future__ import annotations

import itertools
import logging
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy
from vllm import SamplingParams
from vllm.distributed.kv_transfer import get_kv_transfer_group

from runtime_hooks.demo.engine import claim, tiny_llm
from runtime_hooks.demo.scenes import offloading
from runtime_hooks.demo.tiny import tokens
from runtime_hooks.entry import register
from tests_vllm.engine import Engine

_ROUNDS = 15
_REQUESTS = 500  # of a round
_MOST = {"off": 1.05, "pair": 1.15, "event": 2.0, "request": 1.05, "claims": 1.10}
_PAIRS = ((1, 20_000), (8, 5_000), (70, 500))  # blocks of a pair, and how often it is made


def pair_us(pool: object, count: int, times: int) -> float:
    """One get_new_blocks and its free_blocks, in microseconds."""
    take, free = pool.get_new_blocks, pool.free_blocks  # type: ignore[attr-defined]
    began = time.perf_counter_ns()
    for _ in range(times):
        free(take(count))
    return (time.perf_counter_ns() - began) / times / 1_000


def compare(
    bare: Callable[[], float], hooked: Callable[[], float], times: int = _ROUNDS
) -> tuple[float, float]:
    """The least of both, taken in turn: what else runs on the machine only ever adds."""
    rounds = [(bare(), hooked()) for _ in range(times)]
    return min(r[0] for r in rounds), min(r[1] for r in rounds)


class Bare:
    """The pool's own methods, whatever is wrapped around them."""

    def __init__(self, pool: object) -> None:
        self.get_new_blocks = type(pool).get_new_blocks.__get__(pool)  # type: ignore[attr-defined]
        self.free_blocks = type(pool).free_blocks.__get__(pool)  # type: ignore[attr-defined]


def written(engine: Engine) -> None:
    """Wait until nothing is left to be written."""
    while engine.armed.attachments[0].journal.waiting:
        time.sleep(0.01)


def show(what: str, bare: float, hooked: float, most: float | None, unit: str = "us") -> bool:
    """Print one comparison; whether it is within its bound."""
    ratio = hooked / bare
    bound = "" if most is None else f"  at most {most:.2f}"
    good = most is None or ratio <= most
    print(
        f"{what:42} {bare:9.2f} {hooked:9.2f} {unit}  x{ratio:.3f}{bound}{'' if good else '  OVER'}"
    )
    return good


def main() -> int:
    """Print the figures; 1 where one is over its bound."""
    logging.getLogger("vllm").setLevel(logging.ERROR)
    print(f"{'':42} {'bare':>9} {'hooked':>9}")
    good = True
    with tempfile.TemporaryDirectory() as folder:
        register()  # as vLLM does in each of its processes, with nothing that turns the plugin on
        llm = tiny_llm(Path(folder), 2_000)
        core = llm.llm_engine.engine_core
        good &= pairs("off", core.engine_core.scheduler.kv_cache_manager.block_pool, 1, 8, 70)
        core.shutdown()
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(Path(folder), 2_000, {"queue": 1 << 20, "monitor": "observe"})
        pool = engine.pool
        good &= pairs("observing", pool, 8)
        good &= events(engine)
        good &= requests(engine)
        few = min(pair_us(pool, 8, 5_000) for _ in range(_ROUNDS))
        for number in range(1_000):
            engine.serve((f"claim {number}", 1, claim(f"claim:{number}", 1)))
        assert 1_000 == engine.armed.attachments[0].controller.claims
        many = min(pair_us(pool, 8, 5_000) for _ in range(_ROUNDS))
        good &= show("enforcing: pair of 8, 0 and 1000 claims", few, many, _MOST["claims"])
        engine.close()
    digests()
    return 0 if ranked() and good else 1


def pairs(state: str, pool: object, *bound: int) -> bool:
    """Pairs of 1, 8 and 70 blocks, of which those in `bound` have one."""
    good, bare = True, Bare(pool)
    for count, times in _PAIRS:
        figures = compare(
            partial(pair_us, bare, count, times), partial(pair_us, pool, count, times)
        )
        most = _MOST["off" if state == "off" else "pair"] if count in bound else None
        good &= show(f"{state}: pair of {count} blocks", *figures, most)
    return good


def digests() -> None:
    """What it costs to compare what comes back from the tier with what was stored, against the same
    load without: copies of 60 blocks of 32 KiB there and back, and a request that has to load them.
    """
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(Path(folder), 80, **offloading())
        engine.serve(("first", 1))
        worker, number = get_kv_transfer_group().connector_worker.worker, itertools.count()
        ids = SimpleNamespace(block_ids=numpy.arange(1, 61))

        def copy(submit: Callable[..., object], check: bool) -> float:
            worker._check = check
            began = time.perf_counter_ns()
            for _ in range(10):
                submit(next(number), ids, ids)
                worker.get_finished()
            return (time.perf_counter_ns() - began) / 10 / 1_000

        def load(check: bool) -> float:
            worker._check, turn = check, next(number)
            for name, blocks in (("prompt", 60), ("filler", 1), ("pressing", 75)):
                engine.serve((f"{name} {turn}", blocks))
            began = time.perf_counter()
            engine.serve((f"prompt {turn}", 60))
            return (time.perf_counter() - began) * 1_000

        show("digests: a request", *compare(partial(load, False), partial(load, True)), None, "ms")
        for what, submit in (("store", worker.submit_store), ("load", worker.submit_load)):
            figures = compare(partial(copy, submit, False), partial(copy, submit, True))
            show(f"digests: a {what} of 60 blocks", *figures, None)
        engine.close()


def ranked() -> bool:
    """Pairs of 8 blocks beside 10 and 1,000 soft_priority claims, whose blocks are free too."""
    costs = []
    for claims in (10, 1_000):
        with tempfile.TemporaryDirectory() as folder:
            engine = Engine(Path(folder), 2_000, {"queue": 1 << 20})
            for number in range(claims):
                metadata = claim(f"claim:{number}", 1, "soft_priority", priority=number % 10)
                engine.serve((f"claim {number}", 1, metadata))
            written(engine)
            costs.append(min(pair_us(engine.pool, 8, 5_000) for _ in range(_ROUNDS)))
            engine.close()
    return show("ranking: pair of 8, 10 and 1000 claims", *costs, _MOST["claims"])


def events(engine: Engine) -> bool:
    """What the step loop pays for one event, without the engine's own work."""
    controller = engine.armed.attachments[0].controller
    blocks, times, costs = tuple(range(100, 108)), 2_000, []
    for _ in range(_ROUNDS):
        began = time.perf_counter_ns()
        for _ in range(times):
            controller.tracker.evicted(blocks, "request")
        costs.append((time.perf_counter_ns() - began) / times / 1_000)
        written(engine)
    cost = min(costs)
    good = cost <= _MOST["event"]
    print(
        f"{'one event of 8 blocks':42} {'':9} {cost:9.2f} us  {'' if good else 'OVER '}at most 2.00"
    )
    return good


def requests(engine: Engine) -> bool:
    """A cold request of 33 tokens, from end to end, in rounds that are so long that most of what is
    written and judged falls into them.
    """
    number, one = itertools.count(), SamplingParams(max_tokens=1, detokenize=False)
    wraps = engine.armed.attachments[0]._wraps

    def serve() -> float:
        turns = [next(number) for _ in range(_REQUESTS)]
        prompts = [{"prompt_token_ids": tokens(f"cold {turn}", 2)[:33]} for turn in turns]
        began = time.perf_counter()
        for prompt in prompts:
            engine.llm.generate([prompt], one, use_tqdm=False)
        ended = time.perf_counter()
        written(engine)
        return (ended - began) / _REQUESTS * 1_000

    def bare() -> float:
        kept = [(owner, name, vars(owner)[name]) for owner, name in wraps._wrapped]
        for owner, name, _ in kept:
            delattr(owner, name)
        try:
            return serve()
        finally:
            for owner, name, method in kept:
                setattr(owner, name, method)

    figures = compare(bare, serve, times=9)
    return show("observing: a cold request", *figures, _MOST["request"], "ms")


if __name__ == "__main__":
    sys.exit(main())
