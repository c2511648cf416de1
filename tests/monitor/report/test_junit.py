"""Reports as JUnit XML."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from monitor.__main__ import main
from monitor.report.junit import as_junit
from monitor.report.verdict import Report
from spec.claims.states import Mode
from spec.contract.modes import MODES
from spec.stream.breaks import Limits
from tests.monitor.traces import CLAIM, OTHER, judge, write
from tests.monitor.traces_allocator import allocator
from tests.monitor.traces_canonical import about, canonical, canonical_claim, canonical_refusal

VICTIM = canonical("block_evicted", block_ids=[100])
DEMOTABLE = canonical_claim(OTHER, first=500, mode="demotable")
Capture = pytest.CaptureFixture[str]
Counts = dict[str, int]


def suites(report: Report) -> dict[str, ET.Element]:
    return {suite.get("name", ""): suite for suite in ET.fromstring(as_junit(report))}


def counts(suite: ET.Element) -> Counts:
    """What the suite says of itself, which its cases agree with."""
    said = {name: int(suite.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")}
    assert said["tests"] == len(suite)
    for name in ("failure", "error", "skipped"):
        there = len(suite.findall(f"testcase/{name}"))
        assert said[name if name == "skipped" else f"{name}s"] == there
    return said


class TestSuites:
    """A suite for each mode, and one for the whole."""

    def test_kept(self) -> None:
        """A case for each obligation of each claim, one for the mode, one for the report."""
        found = suites(judge([*canonical_refusal(), *DEMOTABLE], None))
        assert ["hard_protected", "demotable", "monitor check"] == list(found)
        hard, demotable, whole = map(counts, found.values())
        number = len(MODES[Mode.HARD_PROTECTED].names())
        assert {"tests": number + 1, "failures": 0, "errors": 0, "skipped": 1} == hard
        assert (0, 0) == (demotable["failures"], demotable["errors"])
        assert {"tests": 1, "failures": 0, "errors": 0, "skipped": 0} == whole

    def test_violated(self, tmp_path: Path, capsys: Capture) -> None:
        """A violation is a failure that names file and line, the claim, and what was expected."""
        path = write(tmp_path / "t.jsonl", [*canonical_claim(), VICTIM])
        assert 1 == main(["check", path, "--format", "junit"])
        root = ET.fromstring(capsys.readouterr().out.encode())
        (case,) = (c for c in root.iter("testcase") if "victim" in c.get("name", ""))
        assert f"hard_protected.run-1.{CLAIM}" == case.get("classname")
        (failure,) = case.findall("failure")
        assert failure.get("message", "").startswith(
            f"{path}:6, sequence 5: a block of the claim was chosen"
        )
        assert "expected instead: another victim" in (failure.text or "")

    @pytest.mark.parametrize(
        "trace",
        [
            [allocator("gpu_hiccup")],
            canonical_claim(mode=None),
            canonical_claim()[:2],
            [*canonical_claim(), {"kind": "block_cached", "held": -1}],
            [canonical("stream_opened"), *canonical_claim()],
            [
                *canonical_claim()[:2],
                about("claim_accepted", mode="demotable", footprint=4),
                VICTIM,
            ],
        ],
        ids=["no claim", "no mode", "pending", "rejected", "cut", "two modes"],
    )
    @pytest.mark.parametrize("mode", [None, Mode.HARD_PROTECTED])
    def test_inconclusive(self, trace: list[dict[str, object]], mode: Mode | None) -> None:
        """What is inconclusive has an error somewhere, and no failure."""
        report = judge(trace, mode, lenient=True)
        if "inconclusive" != report.verdict:  # a claim without a mode is judged by any
            assert mode is not None
            return
        found = [counts(suite) for suite in suites(report).values()]
        assert 0 == sum(each["failures"] for each in found)
        assert 0 < sum(each["errors"] for each in found)

    def test_strict(self) -> None:
        """What was not exercised is skipped, and where that is asked for an error of the mode."""
        report = judge(canonical_refusal(), None, strict=True)
        assert 1 == counts(suites(report)["hard_protected"])["errors"]

    def test_forgotten(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Claims that are listed nowhere are counted, an obligation a case."""
        monkeypatch.setattr("monitor.check.files.USUAL", Limits(ended=0))
        ended = [about("claim_retired"), about("claim_released", by="tenant:1")]
        report = judge([*canonical_refusal(), *ended], None)
        assert [] == report.claims
        suite = suites(report)["hard_protected"]
        said = [e.text for e in suite.findall("testcase/system-out")]
        assert "1 satisfied" in said
        assert 0 == counts(suite)["failures"]

    def test_odd_names(self) -> None:
        """What XML has no words for is escaped."""
        name = "claim\x00\x1b\ufffe<&"
        trace = [{**line, "claim_id": name} for line in canonical_claim()]
        root = ET.fromstring(as_junit(judge([*trace, VICTIM], None)))
        named = [case.get("classname", "") for case in root.iter("testcase")]
        assert "hard_protected.run-1.claim\\x00\\x1b\\ufffe<&" in named
