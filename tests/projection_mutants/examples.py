"""Whether the examples of `tests/spec/projection` notice a change of the projection."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

import tests.spec.projection
from tests.projection_mutants.changes import Change
from tests.projection_mutants.live import in_time, made

__all__ = ["EXAMPLES", "noticed"]

EXAMPLES: Final = Path(tests.spec.projection.__file__).parent
"""The tests of the definitions, by examples."""
_OPTIONS: Final = ("-x", "-q", "-p", "no:randomly", "-p", "no:cacheprovider")
_ELSEWHERE: Final = f"--ignore={EXAMPLES / 'test_interpret.py'}"  # nothing there is changed
_PATIENCE: Final = 60.0  # seconds of one core for what takes three
_LONGEST: Final = 500  # bytes of what is said of a test that fails


class _First:
    """The first test that fails."""

    name = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.name:
            self.name = report.nodeid


def noticed(change: Change, examples: Path = EXAMPLES) -> str:
    """The first of these tests that fails with a change, empty where none does. They run in a
    process of their own.
    """
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reads)
            os.write(writes, _failing(change, examples).encode()[:_LONGEST])
        finally:
            os._exit(0)
    os.close(writes)
    with os.fdopen(reads, encoding="utf-8", errors="replace") as said:
        found = said.read()
    os.waitpid(child, 0)
    return found


def _failing(change: Change, examples: Path) -> str:
    """The same, in this process, which is of no use for anything else any more."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    first = _First()
    try:
        with made(change), in_time(seconds=_PATIENCE):
            code = pytest.main([*_OPTIONS, _ELSEWHERE, str(examples)], plugins=[first])
    except Exception as error:  # whatever a wrong definition leads to
        return f"{type(error).__name__}: {error}"
    return first.name if code == pytest.ExitCode.TESTS_FAILED else "" if code == 0 else f"{code!r}"
