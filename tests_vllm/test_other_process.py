"""The engine in one process, its worker in another, and the plugin armed by the environment."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from monitor.check.files import EXIT_CODES, check
from spec.contract.modes import Bundle
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from tests_vllm.conftest import LONG_S
from tests_vllm.rows import story
from tests_vllm.table import ROWS
from tests_vllm.tier import BACK, FAILED


@pytest.mark.parametrize(
    ("name", "twin", "end", "told", "code"),
    [
        ("path A, success", "", "61", BACK, 0),
        pytest.param("path B, other bytes", "", "not_restored", FAILED, 0, marks=pytest.mark.deep),
        pytest.param("a store that fails", "", "61", BACK, 0, marks=pytest.mark.deep),
        pytest.param(
            "L3 hard claim", "not enforced", "0", "evicted harmed end", 1, marks=pytest.mark.deep
        ),
        pytest.param(
            "L3 hard claim",
            "not told",
            "refused",
            "materialized end end",
            1,
            marks=pytest.mark.deep,
        ),
        pytest.param(
            "L3 hard claim", "misattributed", "refused", "refused end", 1, marks=pytest.mark.deep
        ),
    ],
    ids=lambda value: str(value) or "kept",
)
def test_one_stream(tmp_path: Path, name: str, twin: str, end: str, told: str, code: int) -> None:
    """What all processes do is one stream, in order, of the engine's process; the last request ends
    so, this is reported last, and the check exits as in one process."""
    command = [sys.executable, "-m", "tests_vllm.other_process", name, twin, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG_S)
    assert 0 == done.returncode, done.stderr[-2000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert end == said["ends"].split()[-1]

    (trace,) = tmp_path.glob("*.jsonl")
    assert f"{said['process']}.jsonl" != trace.name
    opened, *lines, closed = map(msgspec.json.decode, trace.open("rb"))
    assert ("stream_opened", "stream_closed") == (opened["kind"], closed["kind"])
    events = [msgspec.convert(line, Event) for line in lines]
    (stream,) = {event.stream for event in events}
    assert re.fullmatch("vllm:[0-9a-f]{16}", stream)
    assert list(range(1, len(events) + 1)) == [event.sequence for event in events]
    times = [event.time_ns for event in events]
    assert sorted(times) == times
    lost = max(i for i, event in enumerate(events) if event.kind is Kind.BLOCK_LOST)
    assert story(events[:lost]).endswith(told)  # and then the engine ended
    report = check([str(trace)], ROWS[name].mode, Bundle.CONTRACT)
    assert code == EXIT_CODES[report.verdict], report.why
    assert not twin or ROWS[name].twins[twin].broken in report.why
