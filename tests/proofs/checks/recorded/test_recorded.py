"""The recorded runs, and what is pinned of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from proofs.checks.recorded import judge, lines, pairs
from proofs.checks.recorded.judge import Judge, differs
from proofs.checks.recorded.pairs import PAIRS, PairJudge, pairs_differ
from proofs.checks.statement.page import CLAUSES
from proofs.traces.replay import TRACKED, to_events
from spec.claims.states import Mode
from spec.contract.modes import MODES
from tests.mutation import probes, record
from tests.proofs.judging import judged
from tests.proofs.shared import predicted
from tests.streams import chains


class TestRuns:
    def test_pinned(self) -> None:
        """The specification judges every run as recorded, and the file is as it is written."""
        assert record.page(lines.runs()) == lines.RUNS.read_text(encoding="utf-8")

    def test_each_obligation(self) -> None:
        """Something is pinned of each obligation of a mode, and of each clause."""
        known = {key.partition("/")[0] for pins in lines.runs().values() for key in pins}
        named = {f"{mode}.{name}" for mode in Mode for name in CLAUSES[mode]}

        assert all(lines.had()[mode] == Judge(mode).obligations <= known for mode in Mode)
        of_two = {f"{Mode.SOFT_PRIORITY}.{key}" for pins in pairs.pairs().values() for key in pins}
        assert named <= known | of_two

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


class TestPairs:
    """Runs of two ranked claims."""

    def test_pinned(self) -> None:
        """The system judges every run as recorded, and the file is as it is written."""
        assert record.page_of_pairs() == PAIRS.read_text(encoding="utf-8")
        assert not pairs_differ()

    def test_each_clause(self) -> None:
        """Each clause is compared in each of its situations, and fails in some run."""
        found = {name for pins in pairs.pairs().values() for name in pins}
        clauses = CLAUSES[Mode.SOFT_PRIORITY]
        stated = {f"{name}, {where}" for name, of in clauses.items() for where in of.situations}

        assert stated == PairJudge().situations
        assert stated | {*clauses} <= found

    def test_monitor_agrees(self) -> None:
        """A run that a trace can state is judged by the judge of streams as it is here."""
        judge, compared = PairJudge(), 0
        for line, pins in pairs.pairs().items():
            found = judge.run(line)
            if len(pins.get("trace", "").split()) == len(found.events):
                claim = judged(to_events(judge.model, found), Mode.SOFT_PRIORITY).claims[TRACKED]
                verdicts = {name: str(of.verdict) for name, of in claim.findings().items()}
                assert predicted(judge.model, found) == verdicts
                compared += 1
        assert 5 == compared

    def test_differs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Another pin, or a situation that no run compares, makes the mode differ."""
        line, pins = next(iter(pairs.pairs().items()))
        rest = {run: of for run, of in pairs.pairs().items() if "promise, a lower one" not in of}
        for recorded in ({**pairs.pairs(), line: pins | {"Pr": "7v"}}, rest, {}):
            with monkeypatch.context() as patch:
                patch.setattr(pairs, "pairs", lambda r=recorded: r)
                assert differs(Mode.SOFT_PRIORITY)
                assert not differs(Mode.BEST_EFFORT)

    @pytest.mark.parametrize(
        ("line", "why"),
        [
            ("0 1 1 1 claim_registered.A", "no run begins"),
            ("1 1 1 1 claim_registered.C", r"mine\.C"),
            ("1 1 1 1 claim_registered.A:loud=1", "loud"),
            ("1 1 1 1 claim_sung.A", "claim_sung"),
        ],
    )
    def test_refused(self, line: str, why: str) -> None:
        """A line that is no run of two claims is refused."""
        with pytest.raises(ValueError, match=why):
            PairJudge().pins(line)


def test_probes() -> None:
    """Each probe of the lowering tables gets its pinned answer."""
    assert probes.rows_page() == probes.ROWS.read_text(encoding="utf-8")
