"""The verdicts of the old monitor are those of `spec.stream`, but for a list with a reason each."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Final

import pytest

from monitor.check.files import EXIT_CODES, check
from monitor.input.errors import InputError
from spec.contract.modes import Bundle
from tests.golden.compare import recorded
from tests.golden.traces import Case, cases

CHANGED: Final = Path(__file__).with_name("changed.json")
"""By case: the exit of the old monitor, the exit now, and the code of the first reason, if any.

`python -m tests.golden.test_changed` writes it; docs/decisions/0028 has the rules.
"""


def exit_and_reason(case: Case) -> tuple[int, str]:
    """The exit of a check, and the code of the first reason why something is inconclusive."""
    try:
        report = check(["-"], case.mode, Bundle.CONTRACT, stdin=BytesIO(case.lines))
    except InputError:
        return 2, ""
    codes = [each.code for each in report.breaks]
    codes += [o.code for c in report.claims for o in c.obligations.values() if o.code]
    return EXIT_CODES[report.verdict], next(iter(codes), "")


def changes(every: int = 1) -> dict[str, list[int | str]]:
    """What changed, of every so many cases that are recorded."""
    old, found = recorded(), dict[str, list[int | str]]()
    known = [case for case in cases() if case.key in old]
    for case in known[::every]:
        was, (now, code) = old[case.key][1].exit, exit_and_reason(case)
        if now != was:
            found[case.key] = [was, now, code]
    return found


def _listed(every: int) -> dict[str, list[int | str]]:
    listed = json.loads(CHANGED.read_text(encoding="utf-8"))
    old = recorded()
    keys = [case.key for case in cases() if case.key in old][::every]
    return {key: listed[key] for key in keys if key in listed}


def test_some() -> None:
    """Every twentieth case has the exit that it had, or the one that is listed."""
    assert changes(20) == _listed(20)


@pytest.mark.slow
def test_all() -> None:
    """So has every case."""
    assert changes() == _listed(1)


if __name__ == "__main__":
    CHANGED.write_text(json.dumps(changes(), indent=0, sort_keys=True) + "\n", encoding="utf-8")
