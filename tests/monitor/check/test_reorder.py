"""Files whose lines came out of order, twice, or not at all, are judged within a window."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.__main__ import main
from monitor.check.files import check_files
from monitor.report.remedies import remedy
from monitor.samples import sample
from spec.language.errors import SpecError

LINES = sample("hard_protected_refusal").read_bytes().splitlines(keepends=True)


def written(path: Path, *numbers: int, torn: int | None = None) -> str:
    """A file of these lines of the sample, one of them cut short."""
    text = (LINES[n][: 9 if n == torn else None] + b"\n" * (n == torn) for n in numbers)
    path.write_bytes(b"".join(text))
    return str(path)


def in_order(*numbers: int) -> tuple[int, ...]:
    """The other lines after these."""
    return (*numbers, *(n for n in range(len(LINES)) if n not in numbers))


class TestReorder:
    def test_put_back(self, tmp_path: Path) -> None:
        """Lines out of order and a repeated one come to the verdict of the sample."""
        report = check_files(written(tmp_path / "t", *in_order(2, 0, 1, 1)), reorder="3")
        events = report.events
        assert ("kept", len(LINES)) == (report.verdict, events.read)
        assert (1, 1, 0, 0) == (
            events.duplicates,
            events.reordered,
            events.late,
            events.contradicting,
        )

    def test_as_they_come(self, tmp_path: Path) -> None:
        """Without a window the same lines are out of order."""
        report = check_files(written(tmp_path / "t", *in_order(2, 0, 1)))
        assert "inconclusive" == report.verdict

    def test_too_late(self, tmp_path: Path) -> None:
        """A line that comes later than the window is a gap, and counted."""
        path = written(tmp_path / "t", *(n for n in range(len(LINES)) if n != 3), 3)
        report = check_files(path, reorder="4")
        assert ("inconclusive", 1) == (report.verdict, report.events.late)
        assert ("RC401", "use a larger window of --reorder") == (report.code, remedy(report))
        assert "lines are missing before sequence number 4" in report.theorem.because

    def test_torn(self, tmp_path: Path) -> None:
        """A line that cannot be read may be any of those that are missing: what is held back is
        judged before it is rejected, each file by itself.
        """
        torn = written(tmp_path / "t", 0, 1, 3, 4, 2, *range(5, len(LINES)), torn=2)
        whole = written(tmp_path / "u", *range(len(LINES)))
        report = check_files([torn, whole], reorder="9", lenient=True)
        assert ("inconclusive", 1, 2) == (
            report.verdict,
            report.events.rejected,
            report.events.reordered,
        )
        assert {"inconclusive", "kept"} == {str(claim.verdict) for claim in report.claims}

    def test_command(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The command takes the window, says what it did, and refuses what is none."""
        path = written(tmp_path / "t", *in_order(1, 0, 0))
        assert 0 == main(["check", path, "--reorder", "3,5s"])
        assert "1 line repeated and dropped; 1 line held back" in capsys.readouterr().out
        assert 2 == main(["check", path, "--reorder", "soon"])
        assert "'soon' is no window" in capsys.readouterr().err

    def test_no_window(self, tmp_path: Path) -> None:
        """What is no window is refused before anything is read."""
        with pytest.raises(SpecError, match="no window"):
            check_files(tmp_path / "none", reorder="x")
