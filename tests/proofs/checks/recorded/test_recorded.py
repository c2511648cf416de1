"""The recorded runs, and what is pinned of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from proofs.checks.recorded import judge, lines
from proofs.checks.recorded.judge import Judge, differs
from proofs.checks.statement.page import CLAUSES
from spec.claims.states import Mode
from spec.contract.modes import MODES
from tests.mutation import probes, record
from tests.streams import chains


class TestRuns:
    def test_pinned(self) -> None:
        """The specification judges every run as recorded, and the file is as it is written."""
        assert record.page(lines.runs()) == lines.RUNS.read_text(encoding="utf-8")

    def test_each_obligation(self) -> None:
        """Something is pinned of each obligation of a mode, and of each clause of one claim."""
        known = {key.partition("/")[0] for pins in lines.runs().values() for key in pins}
        named = {f"{mode}.{name}" for mode in Mode for name in CLAUSES[mode]}

        assert all(lines.had()[mode] == Judge(mode).obligations <= known for mode in Mode)
        assert {"soft_priority.first loss", "soft_priority.promise"} == named - known

    def test_fresh(self, tmp_path: Path) -> None:
        """The scenarios are among the runs as the judge delivers them."""
        scenarios = tmp_path / "chains.jsonl"
        scenarios.write_bytes(chains.trace())
        found = record.scenarios(scenarios)

        assert len(found) > 80
        assert set(found) <= set(lines.runs())

    def test_faithful(self) -> None:
        """In some mode a faithful stream may tell each run, or all of it but the last event."""
        judges = [Judge(mode) for mode in Mode]
        for line in lines.runs():
            last = str(len(lines.read_run(line).events))
            assert any(j.pins(line).get("world", last) == last for j in judges), line

    def test_pins(self) -> None:
        """An obligation is pinned by how its verdict changes, a clause by where it fails."""
        line = "2 claim_registered claim_committed:footprint=3 block_cached:lead=3:restorable=1"

        pins = Judge(Mode.DEMOTABLE).pins(line)
        assert {"A": "2p 3v", "demotable.responsibility": "3"} == pins

    def test_differs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A mode that lacks an obligation differs, and so does any where no run is recorded."""
        names = MODES[Mode.HARD_PROTECTED].bundle()
        assert not differs(Mode.HARD_PROTECTED)

        for gone in names:
            rest = tuple(each for each in names if each is not gone)
            with monkeypatch.context() as patch:
                patch.setattr(type(MODES[Mode.HARD_PROTECTED]), "bundle", lambda *_, r=rest: r)
                assert differs(Mode.HARD_PROTECTED)
        monkeypatch.setattr(judge, "runs", dict)
        assert differs(Mode.BEST_EFFORT)
        monkeypatch.setattr(judge, "runs", lambda: {"2 claim_sung": {}})
        assert differs(Mode.BEST_EFFORT)

    def test_words(self) -> None:
        """A line is read and written back the same; a word that means nothing is refused."""
        for line in lines.runs():
            run = lines.read_run(line)
            events = [(e["kind"], {n: e[n] for n in lines.EVENT_FIELDS}) for e in run.events]
            assert line == lines.write_run(run.threshold, events)
        for word in ("claim_sung", "claim_harmed:loud=1"):
            with pytest.raises(ValueError, match=word.rpartition(":")[2].partition("=")[0]):
                lines.read_run(f"2 {word}")


def test_probes() -> None:
    """Each probe of the lowering tables gets its pinned answer."""
    assert probes.rows_page() == probes.ROWS.read_text(encoding="utf-8")
