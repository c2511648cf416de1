"""Repetitions in subprocesses: everything completes, in the same order each time.

Eight runs by default; `--runs 131` for as many as in table 8 of Fail-Closed Lowering.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests_vllm.conftest import LONG_S
from tests_vllm.once import SCENES

DUE = {
    "success": ("length", "kept", "claim_restored"),
    "failure": ("claim_restoration_failed", "kept", "claim_restoration_failed"),
    "failure, recompute": ("claim_restoration_failed", "kept", "claim_restoration_failed"),
    "retry": ("length", "kept", "claim_restored"),
    "ordinary offload": ("length", "inconclusive", ""),
    "unclaimed failure": ("error", "kept", ""),
    "wrong claim": ("claim_restoration_failed", "violated", "claim_restoration_failed"),
    "fallback recompute": ("length", "violated", ""),
}


def once(name: str, folder: Path) -> Any:
    """What one run tells."""
    folder.mkdir()
    command = [sys.executable, "-m", "tests_vllm.once", name, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG_S)
    assert 0 == done.returncode, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_repeated(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """Each run completes with a valid sequence, the end and the verdict that are due; no control
    gives a false outcome; and runs of one scene tell the same in the same order."""
    first: dict[str, list[str]] = {}
    runs = pytestconfig.getoption("runs")
    for number, name in enumerate(itertools.islice(itertools.cycle(SCENES), runs)):
        told = once(name, tmp_path / str(number))
        kinds = [kind for _, kind in told["events"]]
        assert list(range(1, len(kinds) + 1)) == [sequence for sequence, _ in told["events"]]
        end, verdict, outcome = DUE[name]
        assert (end, verdict) == (told["end"], told["verdict"]), (name, told["why"])
        outcomes = {"claim_restored", "claim_restoration_failed", "request_refused"} & set(kinds)
        assert (outcome in outcomes) if outcome else not outcomes, name
        assert kinds == first.setdefault(name, kinds), name
