"""The naive projection on the streams that were made to fool a monitor, and on real ones."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import msgspec
import pytest

from spec.claims.claim import Mode
from spec.events.canonical import Event
from spec.projection.lines import Line, line_of
from spec.projection.outcome import ModeVerdict, judge

ADVERSARY: Final = Path(__file__).parents[4] / "shared" / "traces" / "adversary"
EXITS: Final = {ModeVerdict.KEPT: 0, ModeVerdict.VIOLATED: 1, ModeVerdict.INCONCLUSIVE: 3}
OF_READING: Final = {"A06", "A07"}
"""About how files are read, which the projection does not do."""

_ROW = re.compile(r"\| (?P<names>[A-Z]\d+(?:, [A-Z]\d+)*) \| (?P<mode>\w+) \| (?P<exit>[^|]+)\|")


def rows() -> list[tuple[str, Mode, set[int]]]:
    """The rows of the table: file, mode, and the exit codes that are right."""
    table = ADVERSARY / "README.md"
    text = table.read_text(encoding="utf-8") if table.exists() else ""
    return [
        (name, Mode(row["mode"]), {int(code) for code in re.findall(r"\d", row["exit"])})
        for row in _ROW.finditer(text)
        for name in row["names"].split(", ")
        if name not in OF_READING
    ]


def lines(path: Path) -> list[Line]:
    """A file of canonical events."""
    text = path.read_text(encoding="utf-8").splitlines()
    return [line_of(msgspec.json.decode(each, type=Event), at) for at, each in enumerate(text, 1)]


ROWS: Final = rows()
needs_files = pytest.mark.skipif(not ROWS, reason="the adversary traces are not beside this tree")


@needs_files
def test_table() -> None:
    """Every file of the table is there, and every file is in the table."""
    named = {name for name, _, _ in ROWS} | OF_READING
    assert named == {path.name.split("_")[0].split(".")[0] for path in ADVERSARY.glob("*.jsonl")}


@needs_files
@pytest.mark.parametrize(("name", "mode", "exits"), ROWS, ids=[row[0] for row in ROWS])
def test_exit(name: str, mode: Mode, exits: set[int]) -> None:
    """Each stream comes to what its row says."""
    (path,) = ADVERSARY.glob(f"{name}[_.]*")
    assert EXITS[judge(lines(path), mode).verdict] in exits
