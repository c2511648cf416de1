"""Many claims, requests or names: the verdict is that of a few, and no limit decides it.

What they cost in time and memory, at ten times as many, `make bench` says.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from monitor.check.files import check
from monitor.report.verdict import Report
from spec.contract.modes import Bundle
from tests.streams.crowds import CROWDS, write

FEW, MANY = 10, 2_500
VERDICTS = {
    "unknown names": "violated",
    "stores": "kept",
    "open requests": "kept",
    "deferred requests": "kept",
    "losses": "inconclusive",
}


def told(report: Report) -> tuple[Any, ...]:
    """The verdict, and those of the obligations; but for their numbers, the reasons too."""
    whys = {o.why for claim in report.claims for o in claim.obligations.values()}
    return report.verdict, report.obligations, whys


@pytest.mark.slow
@pytest.mark.parametrize("name", CROWDS)
def test_crowd(name: str, tmp_path: Path) -> None:
    """The monitor says the same of a few and of many."""
    mode = CROWDS[name].mode
    few, crowd = ([str(write(tmp_path, name, n))] for n in (FEW, MANY))
    many = check(crowd, mode, Bundle.CONTRACT)
    assert VERDICTS[name] == many.verdict
    assert told(check(few, mode, Bundle.CONTRACT)) == told(many)
