"""The search finds streams that notice a change, and writes them so that they can be read again."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from spec.events.alphabet import Kind
from spec.events.canonical import Event, Mark
from spec.projection.lines import Line, line_of
from tests.projection_cases import Found, said
from tests.projection_mutants.campaign import judge
from tests.projection_mutants.changes import changes
from tests.projection_mutants.grow import as_items, as_lines, main
from tests.projection_mutants.live import Stream

NAME = "ranks.higher_priority_kept:swap-1"
"""A change that is noticed by some hand-written trace."""


@pytest.mark.slow
def test_finds_one(tmp_path: Path) -> None:
    """What is found for a change kills it when it is read again."""
    names, out = tmp_path / "names", tmp_path / "found.jsonl"
    names.write_text(NAME, encoding="utf-8")
    assert 0 == main([str(names), "--minutes", "1", "--tries", "400", "--out", str(out)])
    [line] = out.read_bytes().splitlines()
    found = msgspec.json.decode(line, type=Found)
    stream = [line_of(said(each), at) for at, each in enumerate(found.lines, 1)]
    [change] = [each for each in changes("ranks") if each.name == NAME]
    fates = judge([change], iter([Stream("found", stream, found.mode)]))
    assert {NAME} == {*fates.verdict, *fates.exception}


@pytest.mark.slow
def test_no_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without time nothing is found, and the exit code and the page say so."""
    names = tmp_path / "names"
    names.write_text(NAME, encoding="utf-8")
    assert 1 == main([str(names), "--minutes", "0", "--out", str(tmp_path / "found.jsonl")])
    assert NAME in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", "ranks.nonesuch:lack-1", None])
def test_no_such_change(tmp_path: Path, text: str | None) -> None:
    """A name that is no change, no name at all, and no file are errors of usage."""
    names = tmp_path / "names"
    if text is not None:
        names.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit, match="2"):
        main([str(names)])


def test_lines() -> None:
    """Marks, and lines that are missing, are the same when a stream was edited by nobody."""
    event = Event(kind=Kind.REQUEST_FINISHED, request_id="r")
    lines = [
        Line(1, mark=Mark.STREAM_OPENED, observes=frozenset({Kind.BLOCK_LOST}), sequence=0),
        Line(2, (event,), sequence=1),
        Line(3, (event,), sequence=4),
    ]
    again = [line_of(each, at) for at, each in enumerate(as_lines(as_items(lines)), 1)]
    assert [0, 1, 3] == [line.sequence for line in again]
    assert [line.observes for line in lines] == [line.observes for line in again]
    assert [line.mark for line in lines] == [line.mark for line in again]
