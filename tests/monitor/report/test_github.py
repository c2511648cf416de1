"""Reports as annotations of GitHub Actions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from monitor.__main__ import main
from monitor.report.github import MOST, as_github
from spec.claims.states import Mode
from tests.monitor.traces import judge, write
from tests.monitor.traces_canonical import about, canonical, canonical_claim, canonical_refusal

VICTIM = canonical("block_evicted", block_ids=[100])
BROKEN = [*canonical_claim(), VICTIM]
Capture = pytest.CaptureFixture[str]


class TestLevels:
    """An error for each violation, a warning for what is open, a notice for a pass."""

    def test_kept(self) -> None:
        """One notice, which counts."""
        (line,) = as_github(judge(canonical_refusal(), None)).splitlines()
        assert line.startswith("::notice title=resident-claims::kept: 9 of 10 obligations ")

    def test_violated(self, tmp_path: Path, capsys: Capture) -> None:
        """The verdict, and the violation at its line in its file; exit 1."""
        path = write(tmp_path / "t.jsonl", BROKEN)
        assert 1 == main(["check", path, "--format", "github"])
        verdict, line = capsys.readouterr().out.splitlines()
        assert verdict.startswith("::error title=resident-claims::violated: 1 of 10 obligations")
        where = f"file={path},line=6,title=resident-claims%3A victim_exclusion_before_violation"
        assert line.startswith(f"::error {where}::claim claim:a, hard_protected: violated, ")
        assert line.endswith(
            "; expected instead: another victim, or refusing or deferring the request first"
        )

    def test_stdin(self) -> None:
        """Standard input is no file of the repository."""
        assert "file=" not in as_github(judge(BROKEN, None))

    def test_inconclusive(self) -> None:
        """Each claim that is open is a warning, and each that no mode judges."""
        said = as_github(judge([*canonical_claim("claim:c", mode=None), *BROKEN[:2]], None))
        verdict, *rest = said.splitlines()
        assert verdict.startswith("::warning title=resident-claims::inconclusive: 1 mode, 2 claims")
        assert "::warning title=resident-claims::claim claim:c: it states no mode" in rest
        assert any("explicit_acceptance::claim claim:a, hard_protected: pending" in r for r in rest)
        assert "::error" not in said

    def test_two_modes(self) -> None:
        """Of a claim that goes by two modes nothing is a violation, as the exit code says."""
        mixed = [
            *canonical_claim()[:2],
            about("claim_accepted", mode="demotable", footprint=4),
            VICTIM,
        ]
        report = judge(mixed, Mode.HARD_PROTECTED)
        assert "inconclusive" == report.verdict
        assert "::error" not in as_github(report)

    def test_many(self) -> None:
        """Of very many the worst are written, and the others counted."""
        trace = [{**line, "stream": f"s{n}"} for n in range(MOST + 5) for line in BROKEN]
        lines = as_github(judge(trace, None)).splitlines()
        assert 1 + MOST == sum(line.startswith("::error") for line in lines)
        assert "5 more left out" == lines[-1]


class TestEscaped:
    """What GitHub's rules say, and nothing that ends a line."""

    def test_odd_names(self) -> None:
        """Percent signs, colons and commas are escaped where they mean something."""
        name = "claim:100%,\n::error::x"
        trace = [{**line, "claim_id": name} for line in canonical_claim()]
        said = as_github(judge([*trace, VICTIM], None))
        assert 2 == len(said.splitlines())
        assert "::claim claim:100%25,\\n::error::x, hard_protected: violated" in said

    def test_file(self, tmp_path: Path, capsys: Capture) -> None:
        """In a property a colon and a comma are escaped, too."""
        folder = tmp_path / "a,b:c%d"
        folder.mkdir()
        path = write(folder / "t.jsonl", BROKEN)
        assert 1 == main(["check", path, "--format", "github"])
        (file,) = re.findall(r"file=([^,]*),line=6,", capsys.readouterr().out)
        assert path.replace("%", "%25").replace(":", "%3A").replace(",", "%2C") == file
