"""An engine whose model is split over two processes (tensor parallel): `python -m
tests_vllm.two_ranks FOLDER NAME`.

NAME is one of `tests_vllm.others.TWO_RANKS`. Prints, as JSON, how each request ended, what was
reported, what the check exits with, and the obligations that are violated. A CPU needs heads of 64
numbers for it, and a core for each rank.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

os.environ["VLLM_CPU_OMP_THREADS_BIND"] = "0|1"
os.environ["RESIDENT_CLAIMS"] = "1"  # the processes of both ranks are hooked by the entry point

from monitor.check.files import EXIT_CODES
from runtime_hooks.demo import tiny
from spec.language.verdicts import Verdict
from tests_vllm.architectures import ARCHITECTURES
from tests_vllm.later import TRIED_LATER
from tests_vllm.others import OTHERS, TWO_RANKS
from tests_vllm.rows import story
from tests_vllm.stage import end_of, play
from tests_vllm.table import ROWS

SPLIT = {"hidden_size": 128, "head_dim": 64, "num_key_value_heads": 2}


def main(folder: str, name: str) -> None:
    """Play it."""
    for config in (tiny._CONFIG, ARCHITECTURES["gpt-oss"]):
        config.update(SPLIT)
    due = TWO_RANKS[name]
    row = {**ROWS, **OTHERS, **TRIED_LATER}[due.row]
    settings = row.twins[due.twin].settings if due.twin else {}
    row = replace(row, worker=due.spec or row.worker)
    played = play(row, Path(folder), settings, tensor_parallel_size=2)
    found = played.report.obligations.items()
    said = {
        "ends": " ".join(map(end_of, played.answers)),
        "story": story(played.events),
        "code": EXIT_CODES[played.report.verdict],
        "violated": [obligation for obligation, verdict in found if verdict is Verdict.VIOLATED],
    }
    print(json.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])
