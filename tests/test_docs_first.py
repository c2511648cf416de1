"""The commands of pages that need no engine do what the pages say."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from tests.installation import ROOT, call
from tests.test_readme import calls

DOCS = ROOT / "docs"
FIVE_MINUTES = ("observe", "vllm", "check")
"""The pages that the README promises to take five minutes each."""


def blocks(name: str) -> list[str]:
    """The blocks of commands of a page that are run in a checkout."""
    found = re.findall(r"^( *)```console\n(.*?)^ *```", (DOCS / name).read_text(), re.M | re.S)
    dedented = [textwrap.dedent(text) for _, text in found]
    return [text for text in dedented if text.startswith("$ .venv/bin/resident-claims")]


@pytest.mark.parametrize(
    ("name", "number"),
    [("check.md", 9), ("observe.md", 1), ("budget.md", 5), ("simulate.md", 2)],
)
def test_calls(name: str, number: int, tmp_path: Path) -> None:
    """Each call exits as the page says and prints something, no traceback."""
    listed = [each for block in blocks(name) for each in calls(block)]
    assert number == len(listed)
    for code, words in listed:
        done = call(*(word.replace("build", str(tmp_path)) for word in words), cwd=ROOT)
        assert code == done.returncode, done.stderr
        assert done.stdout
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("name", "shown"), [("observe.md", 1), ("budget.md", 1), ("simulate.md", 2)]
)
def test_table(name: str, shown: int) -> None:
    """What a page shows of an output is what the command before it prints."""
    fenced = re.findall(r"^```(\w+)\n(.*?)^```", (DOCS / name).read_text(), re.M | re.S)
    pairs = [(fenced[at - 1][1], text) for at, (kind, text) in enumerate(fenced) if kind == "text"]
    assert shown == len(pairs)
    for commands, text in pairs:
        (_, words), *_ = calls(commands)
        assert text in call(*words, cwd=ROOT).stdout


@pytest.mark.parametrize("name", FIVE_MINUTES)
def test_five_minutes(name: str) -> None:
    """The README links to the page, which is read at 200 words a minute in five."""
    assert f"(docs/{name}.md)" in (ROOT / "README.md").read_text()
    prose = re.sub(r"```.*?```", "", (DOCS / f"{name}.md").read_text(), flags=re.DOTALL)
    assert len(prose.split()) <= 1000
