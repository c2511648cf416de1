"""Tests of the controls, and of the pages made of descriptors."""

import json
import re
from pathlib import Path

import pytest

from models.catalog import NAMES, descriptor
from proofs.__main__ import main
from proofs.labels.controls import CONTROLS, REFUSED, run_control
from proofs.labels.label_pages import pages
from proofs.labels.select import label
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.files.writing import stale
from spec.lowering.relation import Row
from spec.lowering.vocabulary import POSITIVE

DOCS = Path(__file__).parents[3] / "docs"
FOUND = [descriptor(name) for name in NAMES]
POSITIVES = [row for row in label(FOUND, None, None, Bundle.PAPER, None) if row.label in POSITIVE]
EACH = pytest.mark.parametrize("row", POSITIVES, ids=lambda row: row.descriptor.name + row.mode)
MUTANTS = [76, 57, 171, 76, 76, 133, 114, 96, 72, 96, 76, 171, 76, 76, 133]
"""For each positive row: fifteen for each obligation, and one for each of its preconditions."""


class TestControls:
    """The sixteen mutation controls."""

    def test_names(self) -> None:
        """There are sixteen, and fifteen positive rows."""
        assert (16, 15) == (len(CONTROLS), len(POSITIVES))

    @pytest.mark.parametrize("name", CONTROLS)
    @EACH
    def test_rejected(self, name: str, row: Row) -> None:
        """Each control on each positive row leaves nothing positive."""
        control = run_control(name, row)
        assert control.rejected
        assert (name == "anchor_empty") == (set(control.became) == {REFUSED})

    def test_cases(self) -> None:
        """So many mutants are made of each row."""
        assert MUTANTS == [
            sum(run_control(name, row).cases for name in CONTROLS) for row in POSITIVES
        ]

    def test_can_fail(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A control that changes nothing is found out, and so is one that has no case."""
        monkeypatch.setitem(CONTROLS, "nothing", lambda data, row, supply: iter([data]))
        monkeypatch.setitem(CONTROLS, "no case", lambda data, row, supply: iter([]))
        for row in POSITIVES:
            assert not run_control("nothing", row).rejected
            assert not run_control("no case", row).rejected

    def test_accidents(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A mutant that the schema refuses by accident is no success."""
        monkeypatch.setitem(CONTROLS, "broken", lambda data, row, supply: iter([{}]))
        with pytest.raises(ValueError, match="Field required"):
            run_control("broken", POSITIVES[0])


class TestPages:
    """The pages in docs."""

    def test_fresh(self) -> None:
        """The pages in docs are the ones that the descriptors make (else: make docs)."""
        assert [] == stale(DOCS, pages())

    @pytest.mark.slow
    def test_command(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The command writes them, and exits 1 where one is stale."""
        where = ["--dir", str(tmp_path)]
        assert 1 == main(["docs", "--check", *where])
        assert 0 == main(["docs", *where])
        capsys.readouterr()
        assert 0 == main(["docs", "--check", "--format", "json", *where])
        assert {"checked": True, "stale": []} == json.loads(capsys.readouterr().out)

    def test_matrix(self) -> None:
        """Every row of every descriptor has its depth in a line."""
        text = pages()["lowering-matrix.md"]
        assert all(f"\n## {name}\n" in text for name in NAMES)
        lines = [
            line for line in text.splitlines() if line.startswith(tuple(f"| {m} |" for m in Mode))
        ]
        depths = [depth for line in lines for depth in line.split("|")[2].split(",")]
        assert len(label(FOUND, None, None, Bundle.PAPER, None)) == len(depths) == 217

    def test_provenance(self) -> None:
        """The codes of each positive row are those of its bundle, at its anchors."""
        text = pages()["lowering-provenance.md"]
        assert 15 == text.count("\n| `")
        assert "| I A P F V X B H L |" in text
        assert "aggregate.json" in next(
            line for line in text.splitlines() if "vllm_patched" in line and "R RF" in line
        )

    def test_controls(self) -> None:
        """Every positive row has sixteen of sixteen."""
        first, second = pages()["lowering-controls.md"].split("How often")
        assert 15 == first.count("| 16/16 |")
        assert sum(MUTANTS) == sum(int(n) for n in re.findall(r"(\d+)/\1 \|", second))

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["descriptor", "evidence", "lowering"])
    def test_schemas(self, name: str) -> None:
        """Each schema names itself and admits no other fields."""
        schema = json.loads(pages()[f"schema/{name}.json"])
        assert f"resident-claims/{name}/1" == schema["$id"]
        assert name == "lowering" or schema["additionalProperties"] is False
