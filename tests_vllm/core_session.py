"""One session of vLLM's own tests, of `python -m tests_vllm.core`: run by its path.

`python -P core_session.py REPORT PYTEST-ARGUMENTS...` runs in the folder of the tests. It loads
vLLM's plugins as an engine does, and imports nothing of this project by itself. REPORT gets what
became of each test, and how many schedulers the plugin hooked; None where it was not imported.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from vllm.plugins import load_general_plugins

LONGEST = 200  # characters of a reason


class Outcomes:
    """Notes what became of each test: the worst of its three phases."""

    def __init__(self) -> None:
        self.hooked = 0
        self.found: dict[str, str] = {}
        self.why: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A phase of a test has ended."""
        if report.when == "call" or report.outcome != "passed":
            self.found[report.nodeid] = report.outcome
        if report.failed:
            self.why[report.nodeid] = reason(report)

    def pytest_runtest_logfinish(self) -> None:
        """A test has ended, and with it the engines that it made."""
        attachments = attached()
        self.hooked += len(attachments)
        while attachments:
            attachments.pop().end()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A module could not be read."""
        if report.failed:
            self.found[report.nodeid] = "failed"
            self.why[report.nodeid] = reason(report)


def reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """What the exception says that failed a test, in one line."""
    crash = getattr(report.longrepr, "reprcrash", None)
    errors = [line[1:] for line in str(report.longrepr).splitlines() if line.startswith("E ")]
    said = crash.message if crash else "".join(errors[:1])
    return " ".join(said.rpartition("Value error, ")[2].split())[:LONGEST]


def attached() -> list[Any]:
    """The hooks of the plugin on schedulers, where it is armed."""
    arming = sys.modules.get("runtime_hooks.plugin.arming")
    found = arming.armed() if arming else None
    return found.attachments if found else []


if __name__ == "__main__":
    load_general_plugins()
    outcomes = Outcomes()
    code = pytest.main(sys.argv[2:], plugins=[outcomes])
    hooked = outcomes.hooked if "runtime_hooks" in sys.modules else None
    made = {"code": code, "hooked": hooked, "outcomes": outcomes.found, "why": outcomes.why}
    Path(sys.argv[1]).write_text(json.dumps(made))
    sys.stdout.flush()
    os._exit(0)  # threads of engines that no test has ended
