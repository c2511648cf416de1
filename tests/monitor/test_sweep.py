"""Every sample with one line left out, doubled or exchanged with the next: both judges agree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from monitor.check.files import check
from monitor.check.reference import check_by_reference
from monitor.input.errors import InputError
from monitor.report.verdict import Report
from monitor.samples import FOLDER
from spec.claims.claim import Mode
from spec.contract.modes import Bundle

SAMPLES = sorted(FOLDER.glob("*.jsonl"))


def variants(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The lines with one of them less, one twice, or two neighbours exchanged."""
    for n, line in enumerate(lines):
        before, after = lines[:n], lines[n + 1 :]
        yield f"without line {n + 1}", [*before, *after]
        yield f"line {n + 1} twice", [*before, line, line, *after]
        if after:
            yield f"line {n + 1} after the next", [*before, after[0], line, *after[1:]]


def told(report: Report) -> tuple[Any, ...]:
    """What a report says, but for where and why."""
    claims = [
        (c.claim_id, c.state, c.verdict, {name: o.verdict for name, o in c.obligations.items()})
        for c in report.claims
    ]
    return report.verdict, report.why, report.obligations, claims, report.theorem.applies


@pytest.mark.slow
@pytest.mark.parametrize("sample", SAMPLES, ids=[path.stem for path in SAMPLES])
def test_agree(sample: Path, tmp_path: Path) -> None:
    """Neither judge crashes, and they come to the same; what one cannot read the other cannot."""
    mode = Mode.OFFLOADABLE if sample.name.startswith("offloadable") else Mode.HARD_PROTECTED
    at = tmp_path / "varied.jsonl"
    for what, lines in variants(sample.read_text(encoding="utf-8").splitlines()):
        at.write_text("\n".join(lines) + "\n", encoding="utf-8")
        found: list[object] = []
        for judge in (check, check_by_reference):
            try:
                found.append(told(judge([str(at)], mode, Bundle.CONTRACT)))
            except InputError as error:
                found.append(str(error))
        assert found[0] == found[1], what
