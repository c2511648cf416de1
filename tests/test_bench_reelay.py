"""Part (b) of the bench of the monitor: the property that reelay is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.check.files import check
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.stream.outcome import ModeVerdict
from tests import bench_monitor, bench_reelay
from tests.streams.traffic import Traffic, write

STREAM = Traffic(lines=400, live=4)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An honest stream of offloadable claims that are restored."""
    return write(tmp_path / "stream.jsonl", STREAM)


def spoiled(path: Path) -> Path:
    """The stream in which the first restore was not required."""
    lines = path.read_bytes().splitlines(keepends=True)
    lines.remove(next(line for line in lines if b"claim_restore_required" in line))
    numbered = [line.split(b'"sequence":') for line in lines]
    whole = (
        b'%s"sequence":%d,%s' % (head, number, tail.split(b",", 1)[1])
        for number, (head, tail) in enumerate(numbered)
    )
    other = path.with_suffix(".spoiled.jsonl")
    other.write_bytes(b"".join(whole))
    return other


def test_it_is_no_dependency(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where reelay is not installed the part is skipped, and says so in one line."""
    monkeypatch.setattr(bench_reelay, "find_spec", lambda name: None)
    assert [] == list(bench_monitor.beside_reelay(bench_monitor.QUICK, tmp_path))
    out, err = capsys.readouterr()
    assert ("", 1) == (out, err.count("\n"))
    assert "pip install '.[bench]'" in err


def test_the_fields(path: Path) -> None:
    """It gets the fields that the property reads, of each event."""
    events = bench_reelay.decoded(path)
    assert len(path.read_bytes().splitlines()) == len(events)
    assert {"kind", "claim_id"} == set().union(*events)
    assert {"claim_restored", "claim_restore_required"} <= {event["kind"] for event in events}


def test_the_same_question(path: Path) -> None:
    """A restore that was not required is a violation for both, and an honest stream is none."""
    verdicts = []
    for each in (path, spoiled(path)):
        report = check([str(each)], Mode.OFFLOADABLE, Bundle.CONTRACT)
        verdicts.append(report.verdict)
    assert [ModeVerdict.KEPT, ModeVerdict.VIOLATED] == verdicts
    pytest.importorskip("reelay", reason="the extra bench is not installed")
    found = [bench_reelay.keep(bench_reelay.decoded(each)) for each in (path, spoiled(path))]
    assert [True, False] == found
