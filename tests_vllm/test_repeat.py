"""The connector boundary, repeated in the real engine and judged by `monitor repeat`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from monitor.repeat.judge import Repeated, Repetition, judge
from monitor.repeat.run import read_run
from monitor.repeat.runs import RowKind, load_runs
from runtime_hooks.demo.tiny import DEVICE
from tests_vllm.repeat import TIMES, differs, made

THREE = {name: (kind, 3) for name, (kind, _) in TIMES.items()}
BLOCK = 32768
"""Bytes of a block: keys and values of 32 tokens in 2 layers, 2 heads of 32 float32 each."""


@pytest.fixture(scope="module")
def repeated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs of each row, none of which differs from its row."""
    folder = tmp_path_factory.mktemp("repeat")
    found = [differs(name, played) for name, played in made(THREE, folder)]
    assert [""] * 27 == found
    return folder


def judged(folder: Path, **kinds: RowKind) -> Repetition:
    """The runs, with rows listed as other kinds."""
    listed: dict[str, Any] = json.loads((folder / "runs.json").read_bytes())
    for row in listed["rows"]:
        row["kind"] = kinds.get(row["row"].replace(" ", "_"), row["kind"])
    path = folder / "changed.json"
    path.write_text(json.dumps(listed))
    return judge([(row, [read_run(row.kind, r) for r in row.runs]) for row in load_runs(path)])


def test_holds(repeated: Path) -> None:
    """Each success restores the claim, each failure of a claim has its outcome, and no control has
    one; each row counts as many of its runs for what it shows."""
    found = judged(repeated)
    assert Repeated.HOLDS is found.verdict, found.why
    restored = {"path A, success", "retry, then restore", "wrong claim"}
    outcome = {"path B, failure", "path B, policy recompute", "retry, then restore"}
    assert restored == {row.row for row in found.rows if row.restored}
    assert outcome == {row.row for row in found.rows if row.outcomes}
    for row in found.rows:
        assert (3, 3, 3) == (row.runs, row.valid, row.met)
        assert {row.restored, row.failed, row.outcomes, row.kept} <= {0, 3}


def test_latency(repeated: Path) -> None:
    """Each failure with an outcome states the time to it, and no other run states one."""
    for row in judged(repeated).rows:
        if row.latency is None:
            assert 0 == row.outcomes
        else:
            assert row.outcomes == row.latency.failures
            assert 0 < row.latency.p50_ns <= row.latency.p95_ns


@pytest.mark.skipif(DEVICE != "cpu", reason="the tier of a GPU may hold other blocks by then")
def test_bytes(repeated: Path) -> None:
    """In a success three prompts are stored, and what is missing of the first one is loaded."""
    row, *others = judged(repeated).rows
    prompts, held = 61 + 1 + 75, 4
    assert (3 * prompts * BLOCK, 3 * (61 - held) * BLOCK) == (row.stored_bytes, row.loaded_bytes)
    for other in others:
        assert None not in (other.stored_bytes, other.loaded_bytes)


@pytest.mark.parametrize(
    ("kinds", "verdict"),
    [
        ({"retry,_then_restore": RowKind.CONTROL}, Repeated.VIOLATED),
        ({"retry,_then_restore": RowKind.SUCCESS}, Repeated.VIOLATED),
        ({"wrong_claim": RowKind.FAILURE}, Repeated.VIOLATED),
        ({"fallback_recompute": RowKind.FAILURE}, Repeated.VIOLATED),
        ({"path_A,_success": RowKind.FAILURE}, Repeated.INCONCLUSIVE),
        ({"unclaimed_failure": RowKind.FAILURE}, Repeated.INCONCLUSIVE),
        ({"generic_counters": RowKind.FAILURE}, Repeated.INCONCLUSIVE),
        ({"ordinary_offload": RowKind.SUCCESS}, Repeated.INCONCLUSIVE),
    ],
)
def test_other_kinds(repeated: Path, kinds: dict[str, RowKind], verdict: Repeated) -> None:
    """Runs that are listed as what they are not do not pass."""
    assert verdict is judged(repeated, **kinds).verdict
