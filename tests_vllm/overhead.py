"""Measures throughput and time to the first token: `python -m tests_vllm.overhead [--model DIR]`.

Requests of random prompts are served some at a time, in engines in processes of their own: without
the plugin, with its hooks, and with the monitor as well, while claims of `hard_protected` hold 0,
25 and 50 % of the pool. The engines take turns, and the least times count.

The model is tiny by default, so that this runs on a CPU, where it shows what the hooks cost beside
almost no computation. `--model` takes the folder of any other one.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Any, Final

from vllm import LLM, SamplingParams

from runtime_hooks.demo.engine import claim, tiny_llm
from runtime_hooks.plugin.arming import Armed, arm
from runtime_hooks.settings.config import Settings

__all__ = ["KINDS", "main", "measured"]

KINDS: Final = ("bare", "hooks", "hooks, monitor")
_SHARES: Final = (0, 25, 50)
_CLAIM: Final = 4  # blocks of a claim
_WORDS: Final = 250  # ids of tokens that any vocabulary has


class Load:
    """Requests that one engine serves, `at_once` of them at a time.

    Args:
        size: tokens of a prompt.
        answer: tokens of an answer.
    """

    def __init__(self, llm: LLM, size: int, answer: int, at_once: int) -> None:
        self._engine, self._size, self._at_once = llm.llm_engine, size, at_once
        self._sampling = SamplingParams(
            max_tokens=answer, ignore_eos=True, temperature=0.0, detokenize=False
        )
        self._names, self._random = count(), random.Random(0)

    def claim(self, blocks: int, block_size: int) -> None:
        """Have claims hold so many blocks."""
        for number in range(blocks // _CLAIM):
            sampling = SamplingParams(
                max_tokens=1, extra_args={"kv_transfer_params": claim(f"claim:{number}", _CLAIM)}
            )
            prompt = self._prompt(_CLAIM * block_size)
            self._engine.add_request(f"claim{number}", prompt, sampling)
            while self._engine.has_unfinished_requests():
                self._engine.step()

    def _prompt(self, size: int) -> dict[str, Any]:
        return {"prompt_token_ids": self._random.choices(range(1, _WORDS), k=size)}

    def serve(self, requests: int) -> tuple[float, list[float]]:
        """The seconds that these requests took, and those to the first token of each."""
        began, left, waiting, first = time.perf_counter(), requests, dict[str, float](), []
        while left or self._engine.has_unfinished_requests():
            while left and self._engine.get_num_unfinished_requests() < self._at_once:
                name, left = f"request{next(self._names)}", left - 1
                waiting[name] = time.perf_counter()
                self._engine.add_request(name, self._prompt(self._size), self._sampling)
            for output in self._engine.step():
                if (since := waiting.pop(output.request_id, None)) is not None:
                    first.append(time.perf_counter() - since)
        return time.perf_counter() - began, first


def measured(kind: str, share: int, asked: argparse.Namespace, folder: Path) -> dict[str, float]:
    """The figures of one engine, times in ms."""
    armed: Armed | None = None
    if kind != KINDS[0]:
        monitor = "observe" if kind == KINDS[2] else "off"
        paths = {"trace": str(folder / "trace.jsonl"), "control": str(folder / "control")}
        armed = arm(Settings(**paths, monitor=monitor))
    if asked.model is None:
        llm = tiny_llm(folder, 256, max_num_seqs=asked.at_once)
    else:
        llm = LLM(asked.model, enable_prefix_caching=True, max_num_seqs=asked.at_once)
    config = llm.llm_engine.vllm_config.cache_config
    load = Load(llm, asked.input, asked.output, asked.at_once)
    held = 0
    if armed is not None:
        load.claim(config.num_gpu_blocks * share // 100, config.block_size)
        controller = armed.attachments[0].controller
        held = sum(each.held for each in controller.operator.claims().claims)
    load.serve(asked.at_once)  # else the first round pays for what is made once
    rounds = [load.serve(asked.requests) for _ in range(asked.rounds)]
    took = min(seconds for seconds, _ in rounds)
    return {
        "held": 100 * held / config.num_gpu_blocks,
        "tokens_s": asked.requests * asked.output / took,
        "first": 1e3 * min(statistics.median(first) for _, first in rounds),
        "first_95": 1e3 * min(statistics.quantiles(first, n=20)[-1] for _, first in rounds),
        "faults": 0 if armed is None else len(dict(armed.attachments[0].faults)),
    }


def _table(argv: list[str]) -> str:
    head = f"{'':16}{'held':>6}{'tokens/s':>10}{'':8}{'TTFT ms':>9}{'':8}{'95 %':>9}"
    lines, bare = [head], None
    for kind in KINDS:
        for share in _SHARES[: 1 if kind == KINDS[0] else None]:
            command = [sys.executable, "-m", "tests_vllm.overhead", *argv]
            command += ["--only", kind, "--share", str(share)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            bare = bare or found
            ratios = [f"x{found[name] / bare[name]:.3f}" for name in ("tokens_s", "first")]
            lines.append(
                f"{kind:16}{found['held']:5.0f}%{found['tokens_s']:10.1f}{ratios[0]:>8}"
                f"{found['first']:9.2f}{ratios[1]:>8}{found['first_95']:9.2f}"
                + (f"  {found['faults']} faults" if found["faults"] else "")
            )
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="the folder of a model; a tiny one by default")
    parser.add_argument("--requests", type=int, default=200, help="of a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--input", type=int, default=256, help="tokens of a prompt")
    parser.add_argument("--output", type=int, default=32, help="tokens of an answer")
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--only", choices=KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--share", type=int, default=0, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.only is None:
        print(_table(sys.argv[1:]))
        return
    logging.getLogger("vllm").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measured(asked.only, asked.share, asked, Path(folder))))


if __name__ == "__main__":
    main()
