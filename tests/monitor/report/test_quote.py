"""Lines of a trace that are quoted beside a violation."""

from __future__ import annotations

import gzip
import io
import json
import os
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from monitor.check.files import check
from monitor.input.logs import Extraction
from monitor.report.quote import shortened
from monitor.report.report_text import as_text
from monitor.report.verdict import Report
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from tests.monitor.traces import judge, text, write
from tests.monitor.traces_canonical import canonical, canonical_claim

BROKEN = [*canonical_claim(), canonical("block_evicted", block_ids=[100])]


def report_of(path: str) -> Report:
    return check([path], Mode.HARD_PROTECTED, Bundle.CONTRACT)


def shown(report: Report) -> list[str]:
    out = Console(file=io.StringIO(), width=80, markup=False)
    return [line for line in as_text(report, out).splitlines() if " | " in line]


class TestQuoted:
    """What is quoted."""

    def test_two_before(self, tmp_path: Path) -> None:
        """The line and the two before it, with their numbers in the file, the line marked."""
        path = write(tmp_path / "t.jsonl", BROKEN)
        quoted = shown(report_of(path))
        assert ["  4 |", "  5 |", "> 6 |"] == [line[:5] for line in quoted]
        assert all(line[6:].startswith('{"time_ns": ') for line in quoted)
        assert '"block_ids": [100]}' in quoted[-1]
        assert max(map(len, quoted)) <= 80

    def test_blank_lines(self, tmp_path: Path) -> None:
        """Blank lines are counted and not quoted."""
        lines = text(BROKEN).splitlines(keepends=True)
        path = tmp_path / "t.jsonl"
        path.write_bytes(b"".join([*lines[:4], b"\n\n", lines[4], b"\n", lines[5]]))
        assert ["  4 |", "  7 |", "> 9 |"] == [line[:5] for line in shown(report_of(str(path)))]

    @pytest.mark.parametrize(
        "line",
        [
            b'{"endpoint":"e","seq":0,"decoded":[1.0,[{"type":"BlockStored","block_hashes":[1],'
            b'"token_ids":[31337]}],0]}',
            b"INFO secret 31337",
        ],
        ids=["tokens", "other program"],
    )
    def test_private(self, tmp_path: Path, line: bytes) -> None:
        """Of the lines before it those with tokens, and those of other programs, are not shown."""
        numbered = [{**event, "sequence": n} for n, event in enumerate(BROKEN)]
        lines = text(numbered).splitlines(keepends=True)
        path = tmp_path / "t.jsonl"
        path.write_bytes(b"".join([*lines[:5], line + b"\n", lines[5]]))
        how = Extraction(skip=not line.startswith(b"{"))
        report = check([str(path)], Mode.HARD_PROTECTED, Bundle.CONTRACT, how=how)
        quoted = shown(report)
        assert quoted[1].endswith("(not shown)")
        assert "31337" not in "".join(quoted)

    def test_first(self, tmp_path: Path) -> None:
        """A line that is the first is quoted alone."""
        path = write(tmp_path / "t.jsonl", [canonical("claim_harmed", claim_id="c")])
        report = report_of(path)
        assert "violated" == report.verdict
        assert {"> 1 |"} == {line[:5] for line in shown(report)}

    def test_gzip(self, tmp_path: Path) -> None:
        """Of a compressed file the text is quoted."""
        path = tmp_path / "t.jsonl.gz"
        path.write_bytes(gzip.compress(text(BROKEN)))
        assert 3 == len(shown(report_of(str(path))))

    def test_control_characters(self, tmp_path: Path) -> None:
        """Nothing in a quoted line is obeyed by a terminal."""
        lines = [json.dumps(line, ensure_ascii=False) for line in BROKEN]
        lines[-1] = lines[-1][:-1] + ', "object_id": "\u202e\x7f"}'
        path = tmp_path / "t.jsonl"
        path.write_text("\n".join(lines))
        (line,) = (line for line in shown(report_of(str(path))) if line.startswith(">"))
        assert "\\u202e\\x7f" in line
        assert line.isprintable()

    def test_long(self, tmp_path: Path) -> None:
        """Of a line of many bytes beginning and end are shown, within the width."""
        long = canonical("block_evicted", block_ids=[*range(1000, 90_000), 100])
        path = write(tmp_path / "t.jsonl", [*canonical_claim(), long])
        line = shown(report_of(path))[-1]
        assert len(line) == 80
        assert " ... " in line
        assert line.endswith(", 100]}")


class TestNotQuoted:
    """Where nothing is."""

    def test_stdin(self) -> None:
        """Standard input is over."""
        assert [] == shown(judge(BROKEN, Mode.HARD_PROTECTED))

    @pytest.mark.parametrize("how", ["changed", "gone", "pipe", "directory", "damaged"])
    def test_changed(self, how: str, tmp_path: Path) -> None:
        """A file that is not what was judged: the report stands, and nothing is quoted."""
        path = tmp_path / "t.jsonl"
        write(path, BROKEN)
        report = report_of(str(path))
        before = path.read_bytes()
        path.unlink()
        match how:
            case "changed":
                path.write_bytes(before.replace(b"tenant:1", b"tenant:2"))
            case "pipe":
                os.mkfifo(path)
            case "directory":
                path.mkdir()
            case "damaged":
                path.write_bytes(gzip.compress(before)[:-9])
        assert [] == shown(report)

    def test_kept(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file without a violation is not read again."""
        path = write(tmp_path / "t.jsonl", canonical_claim())
        report = report_of(path)
        monkeypatch.setattr("monitor.report.quote.Lines", None)
        assert [] == shown(report)


class TestShortened:
    """A text on one line."""

    @pytest.mark.parametrize(
        ("said", "expected"),
        [
            ("short", "short"),
            ("a" * 20, "a" * 20),
            ("0123456789abcdefghijk", "01234567 ... efghijk"),
            ("\x1b[31m", "\\x1b[31m"),
            ("漢" * 20, None),
        ],
    )
    def test_width(self, said: str, expected: str | None) -> None:
        """At most so many columns, where a wide character takes two."""
        found = shortened(said, 20)
        assert cell_len(found) <= 20
        assert expected in (None, found)
