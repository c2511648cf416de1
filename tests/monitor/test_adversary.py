"""Streams that fooled the monitor once: each gets the exit code that its collection states."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from monitor.__main__ import main

TRACES = Path(__file__).parents[3] / "shared" / "traces"
ADVERSARY = TRACES / "adversary"
REFERENCE = TRACES / "reference"
ABSENT = "the streams are beside the repository, in shared/traces, and not there"
ROW = re.compile(r"\| (?P<files>[A-Z]\d+(?:, [A-Z]\d+)*) \| (?P<mode>\w+) \| (?P<exits>[^|]+) \|")
"""A row of the table: which files, which mode, and the exit codes that each may get."""


def table() -> list[tuple[str, str, tuple[str, ...], frozenset[int]]]:
    """File, mode, options and exit codes of each row of the table; nothing where it is absent."""
    if not ADVERSARY.is_dir():
        return []
    found = []
    for row in ROW.finditer((ADVERSARY / "README.md").read_text(encoding="utf-8")):
        exits, _, lenient = row["exits"].partition("(")
        for name in row["files"].split(", "):
            codes = frozenset(map(int, re.findall(r"\d", exits)))
            found.append((name, row["mode"], (), codes))
            if lenient:
                codes = frozenset(map(int, re.findall(r"\d", lenient)))
                found.append((name, row["mode"], ("--lenient",), codes))
    return found


def file_of(name: str) -> Path:
    """The one file whose name begins with this."""
    (found,) = [p for p in ADVERSARY.glob("*.jsonl") if re.match(rf"{name}[_.]", p.name)]
    return found


ROWS = table()


@pytest.mark.skipif(not ROWS, reason=ABSENT)
class TestAdversary:
    """The collection of streams that a monitor took for kept, or for violated, and they are not."""

    @pytest.mark.parametrize(
        ("name", "mode", "options", "codes"), ROWS, ids=["".join((r[0], *r[2])) for r in ROWS]
    )
    def test_exit(
        self, name: str, mode: str, options: tuple[str, ...], codes: frozenset[int]
    ) -> None:
        """The stream gets one of the exit codes that the table allows."""
        assert main(["check", str(file_of(name)), "--mode", mode, *options]) in codes

    def test_whole(self) -> None:
        """Every file of the collection has a row, and every row a file."""
        assert {p.name for p in ADVERSARY.glob("*.jsonl")} == {file_of(row[0]).name for row in ROWS}


@pytest.mark.skipif(not REFERENCE.is_dir(), reason=ABSENT)
class TestReference:
    """The recordings of the papers' reference suite."""

    def test_alone(self) -> None:
        """Each recording by itself is kept."""
        files = sorted(REFERENCE.glob("*.jsonl"))
        codes = [main(["check", str(file), "--mode", "offloadable"]) for file in files]
        assert (bool(files), [0] * len(files)) == (True, codes)

    def test_together(self) -> None:
        """Both together exercise every obligation."""
        files = map(str, sorted(REFERENCE.glob("*.jsonl")))
        assert main(["check", *files, "--mode", "offloadable", "--strict"]) == 0
