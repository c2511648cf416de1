"""Repetitions in subprocesses, as in table 8 of Fail-Closed Lowering.

Two runs by default, at once; `--runs 9` for one of each, `--runs 131` for all.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from monitor.check.files import EXIT_CODES
from spec.stream.outcome import ModeVerdict
from tests_vllm.conftest import LONG_S
from tests_vllm.table import ROWS

TIMES = {
    "path A, success": 30,
    "path B, failure": 30,
    "path B, policy recompute": 15,
    "control: retry, then restore": 15,
    "control: ordinary offload": 9,
    "control: unclaimed failure": 8,
    "control: wrong claim": 8,
    "control: fallback recompute": 8,
    "control: generic counters": 8,
}
"""How often each is run. The last five are the 41 controls of the table."""

RUNS = [name for turn in range(30) for name, times in TIMES.items() if turn < times]


def once(name: str, folder: Path) -> Any:
    """What one run tells."""
    command = [sys.executable, "-m", "tests_vllm.once", name, "", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG_S)
    assert 0 == done.returncode, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def passed(told: Any, outcome: str) -> bool:
    """Whether a run counts as that outcome of a claim: it was told, and what was told is true."""
    return ModeVerdict.KEPT == told["verdict"] and outcome in told["story"].split()


@pytest.mark.deep
def test_repeated(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """Each run completes with a valid sequence, and tells the same each time; each success is
    observed, each failure of the claim has its outcome, and no control has."""
    runs = RUNS[: pytestconfig.getoption("runs")]
    restored: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    with ThreadPoolExecutor(2) as pool:
        each = [*pool.map(once, runs, (tmp_path / str(number) for number in range(len(runs))))]
    for name, told in zip(runs, each, strict=True):
        row = ROWS[name]
        assert list(range(1, len(told["numbers"]) + 1)) == told["numbers"]
        assert (row.told, row.ends) == (told["story"], told["ends"]), name
        assert row.code == EXIT_CODES[ModeVerdict(told["verdict"])], (name, told["why"])
        restored[name] += passed(told, "restored")
        failed[name] += passed(told, "restoration_failed")
    due = Counter(runs)
    observed = ("path A, success", "control: retry, then restore")
    outcome = ("path B, failure", "path B, policy recompute", "control: retry, then restore")
    assert +restored == +Counter({name: due[name] for name in observed})
    assert +failed == +Counter({name: due[name] for name in outcome})
    print(f"{len(runs)} runs: {dict(due)}; restored {dict(+restored)}; failed {dict(+failed)}")
