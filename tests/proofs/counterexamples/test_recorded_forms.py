"""Counterexamples in the form that their own runtime records, where the monitor reads one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from monitor import check_files
from proofs.counterexamples.suite import Row
from spec.claims.states import Mode
from spec.events.alphabet import REPORTS
from tests.proofs.counterexamples.recorded_forms import FORMS
from tests.proofs.counterexamples.test_recorded import WITH_RUNS, events_of, shown

OWN = [row for row in WITH_RUNS if row.runtime in FORMS]
UNSEEN = {
    "storage_tier -> offloadable": "block_evicted",
    "prefix cached -> best_effort": "request_finished",
}
"""The runs that break an obligation at a fact that no line of the form states, and the fact."""


def test_how_many() -> None:
    """Ten runs are of runtimes with a form of their own."""
    assert 10 == len(OWN)
    assert {row.inference for row in OWN} >= set(UNSEEN)


@pytest.mark.parametrize("row", OWN, ids=lambda row: row.inference)
def test_same_verdict(row: Row, tmp_path: Path) -> None:
    """The verdict is the one predicted, for the same obligation; unless the fact is not stated that
    breaks it, and then that obligation is neither kept nor violated."""
    write, stated = FORMS[row.runtime]
    events = events_of(row)
    file = tmp_path / "recorded.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in write(events)))
    report = check_files([str(file)], Mode(row.mode))
    found = [str(each.obligations[shown(row)].verdict) for each in report.claims]
    breaks = events[-1].kind
    assert (row.inference in UNSEEN) == (breaks not in stated | REPORTS)
    if row.inference in UNSEEN:
        assert UNSEEN[row.inference] == breaks
        assert "violated" != report.verdict
        assert found[0] in ("unexercised", "pending")
    else:
        assert row.verdict == report.verdict
        assert "violated" in found
