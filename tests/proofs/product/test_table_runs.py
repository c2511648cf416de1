"""`make test-vllm` fails where a trace of its table is no run of the model that it has to be of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proofs.__main__ import main as proofs
from tests.recordings import OBSERVED, RECORDED
from tests_vllm.runs import not_runs
from tests_vllm.witness import quiet

DUE = {"model": "vllm_pool", "enforced": True, "honest": True}


def found(folder: Path, name: str, trace: bytes, **changed: Any) -> tuple[list[str], int]:
    """What is said of a table of one trace."""
    row = folder / name
    row.mkdir()
    (row / "trace.jsonl").write_bytes(trace)
    (row / "expected.json").write_text(json.dumps({**DUE, **changed}))
    return not_runs(folder, lambda *asked: quiet(proofs, "accepts", *asked))


def test_runs(tmp_path: Path) -> None:
    """A trace without a claim is a run of both models; one that enforces, of the plugin's."""
    assert ([], 2) == found(tmp_path, "native", OBSERVED[0].path.read_bytes())
    assert ([], 3) == found(tmp_path, "hard", RECORDED[0].path.read_bytes())


@pytest.mark.parametrize(
    ("name", "changed", "says"),
    [
        ("native", {"model": "vllm_offload_patched"}, "native: of vllm_offload_patched it exits 1"),
        ("native", {"honest": False}, "native: of plugin:enforcing it exits 0"),
        ("agent-with-pins", {}, "agent-with-pins: of plugin:enforcing it exits 0"),
    ],
    ids=["another model", "a lie that does not show", "an exception without need"],
)
def test_wrong(name: str, changed: dict[str, Any], says: str, tmp_path: Path) -> None:
    """A trace that is no run is named, and so is one that is a run and should not be."""
    wrong, _ = found(tmp_path, name, OBSERVED[0].path.read_bytes(), **changed)
    assert [says] == [each.splitlines()[0] for each in wrong]


def test_another_victim(tmp_path: Path) -> None:
    """Where the engine evicts another block the line is named."""
    trace = OBSERVED[0].path.read_bytes().replace(b'"block_ids":[60,59,', b'"block_ids":[59,60,')
    wrong, runs = found(tmp_path, "native", trace)
    assert (2, 0) == (len(wrong), runs)
    assert all("trace.jsonl:6, sequence 5" in each for each in wrong)
