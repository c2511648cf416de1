"""What the plugin costs, against the bare engine in the same run: `python -m tests_vllm.bench`.

Each figure is the least over rounds in which bare and hooked alternate; a request's is the median
over pairs of rounds (`tests_vllm.bench_request`). Times are of the step loop only where they say
so; writing and judging happen on another thread, which shares the interpreter.
"""

from __future__ import annotations

import argparse
import itertools
import json
import logging
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TextIO

import numpy
from vllm.distributed.kv_transfer import get_kv_transfer_group

from runtime_hooks.demo.engine import claim, tiny_llm
from runtime_hooks.demo.scenes import offloading
from runtime_hooks.entry import register
from tests.bench_pairs import LEAST
from tests_vllm.bench_request import PAIRS, Compared, cold_requests
from tests_vllm.engine import Engine

_ROUNDS = 15
_MOST = {"off": 1.05, "pair": 1.15, "event": 2.0, "monitor": 1.03, "request": 1.05, "claims": 1.10}
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


class Sheet:
    """The figures, each printed as it is measured, and whether all are within their bounds.

    Args:
        to: where lines of text go.
    """

    def __init__(self, to: TextIO) -> None:
        self.rows: list[dict[str, object]] = []
        self.good, self._to = True, to
        self._print(f"{'':42} {'bare':>9} {'hooked':>9}")

    def show(
        self, what: str, bare: float, hooked: float, most: float | None, unit: str = "us"
    ) -> None:
        """One comparison of the least of both."""
        self._row(what, bare, hooked, unit, hooked / bare, most, f"x{hooked / bare:.3f}")

    def show_pairs(self, found: Compared, most: float | None) -> None:
        """One comparison in pairs of rounds."""
        figures = found.without, found.with_it, "ms"
        self._row(found.what, *figures, found.clock.median, most, str(found.clock))
        self.rows[-1] |= {each: getattr(found, each)._asdict() for each in ("clock", "processor")}
        self._print(f"{'  of the time of the processor':42} {'':23} {found.processor}")

    def show_cost(self, what: str, cost: float, most: float, unit: str = "us") -> None:
        """A figure that is compared with nothing."""
        self._row(what, None, cost, unit, cost, most, "")

    def _row(
        self,
        what: str,
        bare: float | None,
        hooked: float,
        unit: str,
        bounded: float,
        most: float | None,
        text: str,
    ) -> None:
        within = most is None or bounded <= most
        self.good &= within
        ratio = None if bare is None else bounded
        row = (what, bare, hooked, unit, ratio, most)
        names = ("what", "bare", "hooked", "unit", "ratio", "most")
        self.rows.append(dict(zip(names, row, strict=True)))
        beside = f"{'':9}" if bare is None else f"{bare:9.2f}"
        bound = "" if most is None else f"  at most {most:.2f}{'' if within else '  OVER'}"
        self._print(f"{what:42} {beside} {hooked:9.2f} {unit}  {text}{bound}")

    def _print(self, text: str) -> None:
        print(text, file=self._to, flush=True)


def main() -> int:
    """Print the figures; 1 where one is over its bound."""
    parser = argparse.ArgumentParser(description="What the plugin costs in a real engine.")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="of rounds of cold requests")
    parser.add_argument("--requests", action="store_true", help="measure the cold requests alone")
    asked = parser.parse_args()
    if asked.pairs < LEAST:
        parser.error(f"--pairs: take {LEAST} or more")
    logging.getLogger("vllm").setLevel(logging.ERROR)
    sheet = Sheet(sys.stderr if asked.format == "json" else sys.stdout)
    if not asked.requests:
        off(sheet)
        observing(sheet)
        digests(sheet)
        ranked(sheet)
    requests(sheet, asked.pairs)
    if asked.format == "json":
        print(json.dumps(sheet.rows, indent=2))
    return 0 if sheet.good else 1


def off(sheet: Sheet) -> None:
    """Installed, and nothing turns the plugin on."""
    with tempfile.TemporaryDirectory() as folder:
        register()  # as vLLM does in each of its processes
        llm = tiny_llm(Path(folder), 2_000)
        core = llm.llm_engine.engine_core
        pairs(sheet, "off", core.engine_core.scheduler.kv_cache_manager.block_pool, 1, 8, 70)
        core.shutdown()


def observing(sheet: Sheet) -> None:
    """Armed, with the monitor in the process: pairs of the pool, and an event."""
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(Path(folder), 2_000, {"queue": 1 << 20, "monitor": "observe"})
        pool = engine.pool
        pairs(sheet, "observing", pool, 8)
        events(sheet, engine)
        few = min(pair_us(pool, 8, 5_000) for _ in range(_ROUNDS))
        for number in range(1_000):
            engine.serve((f"claim {number}", 1, claim(f"claim:{number}", 1)))
        assert 1_000 == engine.armed.attachments[0].controller.claims
        many = min(pair_us(pool, 8, 5_000) for _ in range(_ROUNDS))
        sheet.show("enforcing: pair of 8, 0 and 1000 claims", few, many, _MOST["claims"])
        engine.close()


def requests(sheet: Sheet, pairs: int) -> None:
    """A cold request of 33 tokens, from end to end."""
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(Path(folder), 2_000, {"queue": 1 << 20, "monitor": "observe"})
        monitor, hooks = cold_requests(engine, pairs)
        sheet.show_pairs(monitor, _MOST["monitor"])
        sheet.show_pairs(hooks, None)
        both = monitor.clock.median * hooks.clock.median
        sheet.show_cost("hooks and monitor: the product of both", both, _MOST["request"], "x")
        engine.close()


def pairs(sheet: Sheet, state: str, pool: object, *bound: int) -> None:
    """Pairs of 1, 8 and 70 blocks, of which those in `bound` have one."""
    bare = Bare(pool)
    for count, times in _PAIRS:
        figures = compare(
            partial(pair_us, bare, count, times), partial(pair_us, pool, count, times)
        )
        most = _MOST["off" if state == "off" else "pair"] if count in bound else None
        sheet.show(f"{state}: pair of {count} blocks", *figures, most)


def digests(sheet: Sheet) -> None:
    """What it costs to compare what comes back from the tier with what was stored, against the same
    load without: copies of 60 blocks of 32 KiB there and back, and a request that has to load them.
    """
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(Path(folder), 80, **offloading())
        engine.serve(("first", 1))
        worker, number = get_kv_transfer_group().connector_worker.worker, itertools.count()
        ids = SimpleNamespace(block_ids=numpy.arange(1, 61), group_sizes=(60,))

        def copy(submit: Callable[..., object], check: bool) -> float:
            worker._compares = check
            began = time.perf_counter_ns()
            for _ in range(10):
                submit(next(number), ids, ids)
                worker.get_finished()
            return (time.perf_counter_ns() - began) / 10 / 1_000

        def load(check: bool) -> float:
            worker._compares, turn = check, next(number)
            for name, blocks in (("prompt", 60), ("filler", 1), ("pressing", 75)):
                engine.serve((f"{name} {turn}", blocks))
            began = time.perf_counter()
            engine.serve((f"prompt {turn}", 60))
            return (time.perf_counter() - began) * 1_000

        figures = compare(partial(load, False), partial(load, True))
        sheet.show("digests: a request", *figures, None, "ms")
        for what, submit in (("store", worker.submit_store), ("load", worker.submit_load)):
            figures = compare(partial(copy, submit, False), partial(copy, submit, True))
            sheet.show(f"digests: a {what} of 60 blocks", *figures, None)
        assert not worker.faults, "what is measured failed"
        engine.close()


def ranked(sheet: Sheet) -> None:
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
    sheet.show("ranking: pair of 8, 10 and 1000 claims", *costs, _MOST["claims"])


def events(sheet: Sheet, engine: Engine) -> None:
    """What the step loop pays for one event, without the engine's own work."""
    controller = engine.armed.attachments[0].controller
    blocks, times, costs = tuple(range(100, 108)), 2_000, []
    for _ in range(_ROUNDS):
        began = time.perf_counter_ns()
        for _ in range(times):
            controller.tracker.evicted(blocks, "request")
        costs.append((time.perf_counter_ns() - began) / times / 1_000)
        written(engine)
    sheet.show_cost("one event of 8 blocks", min(costs), _MOST["event"])


if __name__ == "__main__":
    sys.exit(main())
