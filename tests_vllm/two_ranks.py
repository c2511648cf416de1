"""An engine whose model is split over two processes (tensor parallel): `python -m
tests_vllm.two_ranks FOLDER ROW [SPEC]`.

ROW is one of the table, SPEC the offloading spec of its tier. Prints, as JSON, how each request
ended, what was reported, and the verdict. A CPU needs heads of 64 numbers for it, and a core for
each rank.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

os.environ["VLLM_CPU_OMP_THREADS_BIND"] = "0|1"
os.environ["RESIDENT_CLAIMS"] = "1"  # the processes of both ranks are hooked by the entry point

from runtime_hooks.demo import tiny
from tests_vllm.rows import story
from tests_vllm.stage import end_of, play
from tests_vllm.table import ROWS


def main(folder: str, name: str, spec: str = "") -> None:
    """Play it."""
    tiny._CONFIG.update(hidden_size=128, head_dim=64)
    row = replace(ROWS[name], worker=spec) if spec else ROWS[name]
    played = play(row, Path(folder), tensor_parallel_size=2)
    said = {
        "ends": " ".join(map(end_of, played.answers)),
        "story": story(played.events),
        "verdict": played.report.verdict,
    }
    print(json.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])
