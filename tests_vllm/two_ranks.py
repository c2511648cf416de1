"""An engine whose model is split over two processes (tensor parallel): `python -m
tests_vllm.two_ranks FOLDER`.

Prints, as JSON, how each request ended, and the verdict. A CPU needs heads of 64 numbers for it,
and a core for each rank.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ["VLLM_CPU_OMP_THREADS_BIND"] = "0|1"

from runtime_hooks.demo import tiny
from runtime_hooks.demo.engine import Engine, claim
from spec.claims.claim import Mode
from tests_vllm.stage import end_of


def main(folder: str) -> None:
    """Play it."""
    tiny._CONFIG.update(hidden_size=128, head_dim=64)
    engine = Engine(Path(folder), 80, tensor_parallel_size=2)
    ranks = engine.core.vllm_config.parallel_config.tensor_parallel_size
    asked = (("resident", 60, claim()), ("active", 70), ("resident", 60))
    ends = " ".join(end_of(each) for one in asked for each in engine.serve(one))
    engine.close()
    verdict = engine.judge(Mode.HARD_PROTECTED).verdict
    print(json.dumps({"ranks": ranks, "ends": ends, "verdict": verdict}))


if __name__ == "__main__":
    main(*sys.argv[1:])
