"""NVIDIA Dynamo's own replay reads the workloads that are written in its form and in Mooncake's."""

from __future__ import annotations

import json
import os
import subprocess
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from models.simulation.workload import WRITERS, Form, read_workload

_PYTHON = os.environ.get("RESIDENT_CLAIMS_DYNAMO_PYTHON", "build/dynamo/bin/python")
_BLOCK = 64
_REPLAY = f"""
import json, sys
from dynamo._core import run_mocker_trace_replay
path, form = sys.argv[1:]
how = {{"trace_block_size": {_BLOCK}}} if form == "mooncake" else {{"execution_model": "tiny"}}
found = run_mocker_trace_replay([path], trace_format=form, capture_per_request=True, **how)
print(json.dumps([found.summary, found.per_request]))
"""


def replayed(path: Path, form: Form) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The summary of a replay, and what became of each request."""
    command = [_PYTHON, "-c", _REPLAY, str(path), form]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert 0 == ran.returncode, ran.stderr
    summary, requests = json.loads(ran.stdout.splitlines()[-1])
    return summary, requests


@pytest.mark.parametrize("form", [Form.MOONCAKE, Form.DYNAMO])
def test_a_replay(form: Form, tmp_path: Path) -> None:
    """It finds the turns of each session, their tokens, and the blocks that they share."""
    made = read_workload(f"agents:sessions=12,turns=4,jps=0.5,system=1024,block={_BLOCK}")
    path = tmp_path / "w.jsonl"
    path.write_bytes(b"".join(WRITERS[form](made)))
    summary, found = replayed(path, form)
    assert (48, 48) == (summary["num_requests"], summary["completed_requests"])
    of: dict[str, list[dict[str, Any]]] = {}
    for each in sorted(found, key=lambda each: each["arrival_time_ms"]):
        of.setdefault(each["session_id"], []).append(each)
    for session, group in groupby(made, key=lambda each: each.session):
        turns = list(group)
        assert session is not None
        took = of.pop(session)
        assert [each.prompt for each in turns] == [each["input_length"] for each in took]
        assert [each.output for each in turns] == [each["output_length"] for each in took]
        shared = [each.prompt // _BLOCK * _BLOCK for each in turns[:-1]]
        first = 0 if session == "s1" else 1024
        assert [first, *shared] == [each["reused_input_tokens"] for each in took]
        for one, other, turn in zip(took, took[1:], turns[1:], strict=False):
            pause = other["arrival_time_ms"] - one["terminal_time_ms"]
            assert turn.arrives * 1000 == pytest.approx(pause, abs=1)
    assert {} == of


def test_both_forms(tmp_path: Path) -> None:
    """The replay of both forms comes to the same time and the same reuse."""
    made = read_workload(f"agents:sessions=30,turns=3,jps=4,prompts=3,block={_BLOCK}", seed=2)
    found = []
    for form in (Form.MOONCAKE, Form.DYNAMO):
        path = tmp_path / f"{form}.jsonl"
        path.write_bytes(b"".join(WRITERS[form](made)))
        found.append(replayed(path, form)[0])
    for name in ("duration_ms", "prefix_cache_reused_ratio"):
        assert found[0][name] == pytest.approx(found[1][name])
