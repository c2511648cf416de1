"""The tutorial on capacity: its commands, in their order, print what the page shows."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.installation import ROOT, call
from tests.test_readme import calls

PAGE = (ROOT / "docs" / "capacity.md").read_text()
pytestmark = pytest.mark.slow

STEPS = re.findall(r"```console\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What each command of the page prints."""
    build, found = str(tmp_path_factory.mktemp("capacity")), []
    for block, _ in STEPS:
        ((code, words),) = calls(block)
        if find_spec("matplotlib") is None and "--plot" in words:
            words = words[: words.index("--plot")]
        done = call(*(word.replace("build", build) for word in words), cwd=ROOT)
        assert code == done.returncode, done.stderr
        found.append(done.stdout)
    if find_spec("matplotlib") is not None:
        assert (Path(build) / "hour.svg").read_text().startswith("<?xml")
    return found


def test_commands(printed: list[str]) -> None:
    """Four commands print what stands below them."""
    assert 4 == len(STEPS) == PAGE.count("```console")
    for (_, shown), text in zip(STEPS, printed, strict=True):
        assert shown in text


def test_answer(printed: list[str]) -> None:
    """The answer has the figures that the third command prints."""
    answer = PAGE.partition("## The answer")[2]
    saved, usual = re.findall(r"^(\d+\.\d)% ", printed[2], re.MULTILINE)
    assert f"saves {saved} % of the prompt tokens, where vLLM alone saves {usual} %" in answer
