"""What is decided line by line is what a check of the file finds."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from monitor.check.files import check
from monitor.engine import ModeVerdict
from monitor.follow.counts import Counts
from monitor.follow.judge import Judge
from monitor.follow.verdict_line import ClaimLine, VerdictLine, ViolationLine
from monitor.report.verdict import Report
from spec.contract.modes import Bundle
from spec.language.verdicts import Verdict
from tests.monitor.test_hostile import FOLDER

SAMPLES = Path(__file__).parents[3] / "monitor" / "samples"
TRACES = sorted([*FOLDER.glob("*.jsonl"), *SAMPLES.glob("*.jsonl")])
CANONICAL = [path for path in TRACES if b'"kind"' in path.read_bytes().split(b"\n", 1)[0]]


def judged(path: Path) -> tuple[list[VerdictLine], Report]:
    """What a judge decides line by line, and its report."""
    judge = Judge(str(path), None, Counts())
    lines = [found for line in path.read_bytes().splitlines() for found in judge.take(line)]
    last, report = judge.finish()
    return [*lines, *last], report


@pytest.mark.parametrize("path", CANONICAL, ids=lambda path: path.stem)
class TestAgreesWithACheck:
    def test_report(self, path: Path) -> None:
        """The report is that of a check, but for the digest of the file."""
        whole = check([str(path)], None, Bundle.CONTRACT)
        _, report = judged(path)
        assert whole.verdict == report.verdict
        assert whole.claims == report.claims
        assert whole.obligations == report.obligations

    def test_violations(self, path: Path) -> None:
        """Each violation is stated once, at the event that decided it."""
        lines, report = judged(path)
        found = [
            (line.stream, line.claim_id, line.obligation, line.at, line.why)
            for line in lines
            if isinstance(line, ViolationLine)
        ]
        due = [
            (claim.stream, claim.claim_id, name, each.at, each.why)
            for claim in report.claims
            if claim.verdict is ModeVerdict.VIOLATED
            for name, each in claim.obligations.items()
            if each.verdict is Verdict.VIOLATED
        ]
        assert sorted(due, key=repr) == sorted(found, key=repr)

    def test_claims(self, path: Path) -> None:
        """The last line of each claim has its verdict in the report."""
        lines, report = judged(path)
        last = {(n.stream, n.claim_id): n for n in lines if isinstance(n, ClaimLine)}
        due = {(claim.stream, claim.claim_id): claim for claim in report.claims}
        away = {(each.stream, each.claim_id) for each in report.unjudged.claims}
        away |= {(each.stream, each.claim_id) for each in report.unjudged.turned_away}
        assert {*due, *away} == {*last}
        for key, claim in due.items():
            assert (claim.verdict, claim.state) == (last[key].verdict, last[key].state)

    def test_ids(self, path: Path) -> None:
        """No two lines have one id, and whoever judges again writes the same lines."""
        lines, _ = judged(path)
        assert len(lines) == len({line.id for line in lines})
        assert lines == judged(path)[0]


def test_some_end_before_the_stream() -> None:
    """Verdicts on claims that are over do not wait for the end of the stream."""
    path = SAMPLES / "hard_protected_refusal.jsonl"
    (line,) = judged(path)[0]
    assert isinstance(line, ClaimLine)
    assert (ModeVerdict.KEPT, False, 14) == (line.verdict, line.final, line.at.line)
    assert b"resident-claims/followed-claim/1" in msgspec.json.encode(line)
