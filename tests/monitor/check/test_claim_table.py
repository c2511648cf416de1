"""A table has what a report lists of each claim, and claims that stand alike are of one kind."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

from monitor.check.claim_table import tabulated
from monitor.engine import Monitor
from monitor.input.sources import read
from monitor.report.verdict import ObligationReport, Place
from spec.claims.claim import Mode
from tests.streams.traffic import Traffic, write

if TYPE_CHECKING:
    from pathlib import Path

    from monitor.engine import ClaimVerdict
    from monitor.evaluate.observer_state import Finding


def concluded(path: Path) -> tuple[ClaimVerdict, ...]:
    """The claims of a stream that one mode judges."""
    monitor = Monitor(Mode.OFFLOADABLE)
    for record in read([str(path)]):
        monitor.take(record)
    return monitor.conclude().claims


def test_reports(tmp_path: Path) -> None:
    """Each claim has its own findings at its own places, in the order in which it came."""
    claims = concluded(write(tmp_path / "stream.jsonl", Traffic(1_000, 4)))
    reports = [*tabulated(claims).reports(Mode.OFFLOADABLE)]
    assert len(claims) > 30
    for judged, report in zip(claims, reports, strict=True):
        claim = judged.claim
        due = claim.claim_id, claim.state, judged.verdict, judged.why, claim.declared_mode
        shown = (report.claim_id, report.state, report.verdict, report.why, report.declared_mode)
        assert due == shown
        assert {name: due_of(found) for name, found in judged.findings.items()} == (
            report.obligations
        )


def due_of(found: Finding) -> ObligationReport:
    """What a report says of a finding."""
    at = found.at
    place = None if at is None else Place(at.file, at.line, at.sequence)
    return ObligationReport(found.verdict, place, found.why, found.allowed)


def test_kinds(tmp_path: Path) -> None:
    """There are few kinds of many claims that were treated alike."""
    table = tabulated(concluded(write(tmp_path / "stream.jsonl", Traffic(2_000, 10))))
    assert len(table.rows) > 80
    assert len(table.kinds) < 10


def test_handed_over(tmp_path: Path) -> None:
    """Another process makes the same of a table, also where the places are of several files."""
    claims = [
        *concluded(write(tmp_path / "one.jsonl", Traffic(300, 3))),
        *concluded(write(tmp_path / "two\udcff.jsonl", Traffic(200, 2))),
    ]
    table = tabulated(claims)
    again = pickle.loads(pickle.dumps(table))
    assert table == again
    reports = list(table.reports(Mode.OFFLOADABLE))
    assert reports == list(again.reports(Mode.OFFLOADABLE))
    files = {o.at.file for each in reports for o in each.obligations.values() if o.at is not None}
    assert {str(tmp_path / "one.jsonl"), str(tmp_path / "two?.jsonl")} == files
