"""The recorded runs, and what is pinned of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from proofs.mutation import pins, record
from proofs.mutation.detection.checks import CHECKS
from proofs.mutation.detection.outcomes import unchanged
from proofs.mutation.runs import lines
from proofs.mutation.runs.judge import alike, is_faithful, judged, trail
from spec.claims.states import Mode
from spec.contract.modes import MODES
from tests.obligations.test_handwritten import TRACES
from tests.proofs.mutation.shared import (
    mutant,
)
from tests.streams import chains


class TestRuns:
    """The runs, and what is pinned of them."""

    def test_fresh(self, tmp_path: Path) -> None:
        """The scenarios are among the runs as the monitor delivers them; so are the hand-written
        traces in their file."""
        scenarios = tmp_path / "chains.jsonl"
        scenarios.write_bytes(chains.trace())
        found = record.scenarios(scenarios)

        assert len(found) > 80
        assert set(found) <= set(lines.runs())
        assert record.handwritten(TRACES / "README.md") == lines.HAND.read_text(encoding="utf-8")

    @pytest.mark.slow
    def test_pinned(self) -> None:
        """The specification judges every run as pinned, and the file is as it would be written."""
        assert [] == pins.unlike()
        assert pins.page(lines.runs()) == lines.RUNS.read_text(encoding="utf-8")

    def test_faithful(self) -> None:
        """In some mode a faithful stream may tell each run, or all of it but the last event."""
        for line in lines.runs():
            last = len(lines.read_run(line).events)
            ends = {unchanged().ends(mode, line) for mode in Mode}
            assert ends & {0, last} or any(is_faithful(alike(mode), line) for mode in Mode), line

    def test_traces(self) -> None:
        """Of each hand-written trace the mode's obligations make what is written beside it."""
        for trace in lines.traces():
            for name in MODES[Mode(trace.mode)].names():
                found = mutant(Mode(trace.mode), f"{name}:omit-contract")
                same = replace(found, rules=found.original.rules)
                assert CHECKS["traces"](same) is None, (trace.name, name)

    def test_trail(self) -> None:
        """Verdicts are written as their changes."""
        line = "2 claim_registered claim_committed:footprint=3 block_cached:lead=3"

        assert "2p 3v" == trail(judged("plain", "explicit_acceptance", line))

    def test_words(self) -> None:
        """A line is read and written back the same; a word that means nothing is refused."""
        for line in lines.runs():
            run = lines.read_run(line)
            events = [(e["kind"], {n: e[n] for n in lines.EVENT_FIELDS}) for e in run.events]
            assert line == lines.write_run(run.threshold, events)
        for word in ("claim_sung", "claim_harmed:loud=1"):
            with pytest.raises(ValueError, match=word.rpartition(":")[2].partition("=")[0]):
                lines.read_run(f"2 {word}")
