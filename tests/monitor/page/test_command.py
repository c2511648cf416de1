"""The command exits as check does, and says what it wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from monitor.__main__ import main
from monitor.cli.pages import schema as schema_of
from monitor.samples import sample
from tests.schemas import faults

VICTIM, REFUSAL = sample("hard_protected_victim"), sample("hard_protected_refusal")
Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("name", "code"),
    [("hard_protected_refusal", 0), ("hard_protected_victim", 1), ("offloadable_restore", 3)],
)
def test_exits_as_check_does(name: str, code: int, tmp_path: Path) -> None:
    """Kept, violated and inconclusive, and the page is written in each case."""
    page = tmp_path / "page.html"
    assert code == main(["report", str(sample(name)), "-o", str(page)])
    assert code == main(["check", str(sample(name))])
    assert page.read_bytes().startswith(b"<!doctype html>")


def test_says_what_it_wrote(tmp_path: Path, capsys: Capture) -> None:
    """JSON has the file, its size, the verdict, and what the page lacks."""
    page = tmp_path / "page.html"
    main(["report", str(VICTIM), "-o", str(page), "--format", "json"])
    said = json.loads(capsys.readouterr().out)
    assert [] == faults(said, schema_of("page/1"), schema_of("page/1"))
    assert str(page) == said["file"]
    assert page.stat().st_size == said["bytes"]
    assert ("violated", []) == (said["verdict"], said["left_out"])


def test_refuses_what_it_cannot_read_or_write(tmp_path: Path, capsys: Capture) -> None:
    """A trace that is missing, one that is damaged, and an output that is no file: exit 2."""
    page, damaged = tmp_path / "page.html", tmp_path / "damaged.jsonl"
    damaged.write_text("{\n")
    assert 2 == main(["report", str(tmp_path / "none.jsonl"), "-o", str(page)])
    assert 2 == main(["report", str(damaged), "-o", str(page)])
    assert 2 == main(["report", str(VICTIM), "-o", str(tmp_path)])
    assert 2 == main(["report", str(VICTIM), "--against", str(tmp_path / "none.jsonl")])
    assert not page.exists()
    assert "Traceback" not in capsys.readouterr().err


def test_reads_a_file_whose_name_is_no_text(tmp_path: Path) -> None:
    """Bytes of the name that are no UTF-8 are replaced in the page."""
    trace, page = tmp_path / "\udcff.jsonl", tmp_path / "page.html"
    trace.write_bytes(VICTIM.read_bytes())
    assert 1 == main(["report", str(trace), "-o", str(page)])


def test_writes_a_file_whose_name_is_no_text(tmp_path: Path, capsys: Capture) -> None:
    """JSON has its name with those bytes replaced."""
    page = str(tmp_path / "\udcff.html")
    assert 1 == main(["report", str(VICTIM), "-o", page, "--format", "json"])
    assert page.replace("\udcff", "?") == json.loads(capsys.readouterr().out)["file"]


def test_never_writes_over_a_trace(tmp_path: Path) -> None:
    """The output is not one of the inputs."""
    trace = tmp_path / "trace.jsonl"
    trace.write_bytes(VICTIM.read_bytes())
    assert 2 == main(["report", str(trace), "-o", str(trace)])
    assert 2 == main(["report", str(REFUSAL), "--against", str(trace), "-o", str(trace)])
    assert VICTIM.read_bytes() == trace.read_bytes()
