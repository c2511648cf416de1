"""The command line of proofs, called in process."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import msgspec
import pytest

from proofs.__main__ import main
from proofs.check import Checks, proof_schema
from proofs.engines.assumption_bmc import guards_of
from proofs.traces.scenarios import STORIES
from spec.claims.claim import Mode
from spec.cli.common import json_page
from spec.contract.modes import MODES


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a call."""
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


class TestCheck:
    def test_text(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The text says what was shown, how far, and by what, within 80 columns."""
        code, out, _ = run(capsys, "check", "hard_protected")

        assert 0 == code
        assert "Consistent: witnessed" in out
        assert "runs of every length and any number of blocks" in " ".join(out.split())
        assert "checked again by plain Z3" in " ".join(out.split())
        assert all(len(line) <= 80 for line in out.splitlines())

    def test_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The JSON has the published form and decodes by its own schema."""
        code, out, _ = run(capsys, "check", "expiring", "--format", "json")

        document = json.loads(out)
        assert 0 == code
        assert "resident-claims/proof/1" == document["schema"]
        (only,) = document["checks"]
        assert "expiring" == only["mode"]
        assert "witnessed" == only["consistent"]["result"]
        assert "claim_expired" in [event["kind"] for event in only["consistent"]["witness"]]
        assert {"result": "proved", "engine": "recorded", "bound": None, "rechecked": True} == {
            key: only["sound"][key] for key in ("result", "engine", "bound", "rechecked")
        }
        assert 0 < only["sound"]["seconds"]
        assert ["claim_harm_attribution"] == [added["obligation"] for added in only["added"]]
        assert {"responsibility": "proved", "harm": "refuted", "promise": "proved"} == {
            clause: found["result"] for clause, found in only["paper"]["clauses"].items()
        }
        assert only["paper"]["clauses"]["harm"]["trace"]
        assert {"necessary"} == {found["result"] for found in only["necessary"].values()}
        assert {"necessary", "redundant"} == {found["result"] for found in only["guards"].values()}
        msgspec.json.decode(out, type=Checks)

    def test_refutation_is_told(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A refuted bundle exits 1, names the clause and tells the shortest run."""
        code, out, _ = run(capsys, "check", "expiring", "--bundle", "paper")

        assert 1 == code
        assert "Sound: refuted" in out
        assert "FAILS  harm" in out
        assert "claim_harmed" in out

    def test_redundant_is_said_and_passes(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A redundant obligation is named as such; it fails nothing."""
        code, out, _ = run(capsys, "check", "routed_reuse")

        rows = [line.split()[:2] for line in out.splitlines()]
        assert 0 == code
        assert ["redundant", "materialization_predicate"] in rows
        assert "Necessary: 4 of 6 obligations" in out
        assert "Paper's bundle: proved, as printed it is the contract." in out

    def test_story(self, capsys: pytest.CaptureFixture[str]) -> None:
        """--story tells the runs that the paper's bundle and each left-out obligation allow."""
        code, out, _ = run(capsys, "check", "expiring", "--story")
        said = " ".join(out.split())

        assert 0 == code
        assert "A shortest run that keeps the paper's bundle, not harm:" in said
        assert "Without claim_expired_boundary, 3 events can break responsibility:" in said
        assert all(len(line) <= 80 for line in out.splitlines())

    def test_guards(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The rules that no clause needs are named; --story lists each rule that binds."""
        code, out, _ = run(capsys, "check", "best_effort")
        said = " ".join(out.split())
        assert 0 == code
        assert "Guards: 6 of 13 guards of the contract" in said
        redundant = "materialization_predicate.predicate_reported_false_while_true"
        assert f"proved without any one of: {redundant}" in said

        code, out, _ = run(capsys, "check", "best_effort", "--story")
        rows = [" ".join(line.split()) for line in out.splitlines()]
        assert 0 == code
        needed = "claim_materialized_event.predicate_became_true"
        assert f"redundant {redundant}" in rows
        assert "2 events usefulness" == rows[rows.index(f"necessary {needed}") + 1]

    def test_junit(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """JUnit XML has a case for each part, and a failure where the bundle asked about is
        refuted."""
        file = tmp_path / "proofs.xml"

        code, _, _ = run(capsys, "check", "expiring", "--bundle", "paper", "--junit", str(file))

        suite = ET.parse(file).getroot()
        assert 1 == code
        assert ("41", "1", "0") == tuple(suite.get(n) for n in ("tests", "failures", "errors"))
        assert [
            "consistent",
            "sound",
            *(f"story.{story.name}" for story in STORIES[Mode.EXPIRING]),
            "reached",
            "compared",
            "receptive",
            *(f"paper.{clause}" for clause in ("responsibility", "harm", "promise")),
            "redundancy",
            *(f"necessary.{name}" for name in MODES[Mode.EXPIRING].names()),
            *(f"guard.{name}" for o in MODES[Mode.EXPIRING].bundle() for name in guards_of(o)),
        ] == [case.get("name") for case in suite]
        assert ["sound"] == [case.get("name") for case in suite if case.find("failure") is not None]


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["check", "hard_protcted"], "did you mean hard_protected?"),
            (["check"], "ask for --all"),
            (["check", "expiring", "--all"], "ask for --all"),
            (["check", "expiring", "--depth", "0"], "--depth is 0"),
            (["check", "expiring", "--depth", "-3"], "--depth is -3"),
            (["check", "expiring", "--bundle", "papr"], "did you mean paper?"),
            (["check", "expiring", "--junit", "tests"], "tests is a folder"),
            (["check", "expiring", "--junit", "README.md/a"], "README.md is not a folder"),
            (["check", "expiring", "--certificate", "README.md"], "README.md is not a folder"),
            (["explain", "-", "--mode", "expiring", "-o", "tests"], "tests is a folder"),
            (["check", "expiring", "-o", "run.txt"], "name it run.jsonl or run.itf.json"),
            (["check", "expiring", "-o", "README.md/run.jsonl"], "README.md is not a folder"),
            (["chek"], "chek"),
        ],
    )
    def test_one_line_and_exit_2(
        self, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """What a person can mistype exits 2, says what to do, and shows no traceback."""
        code, out, err = run(capsys, *arguments)

        assert 2 == code
        assert said in err
        assert "" == out
        assert "Traceback" not in err

    def test_schema_is_fresh(self) -> None:
        """The published schema is the one that the code makes."""
        page = Path(__file__).parents[2] / "docs" / "schema" / "proof.json"
        assert json_page(proof_schema()) == page.read_bytes()

    def test_version(self, capsys: pytest.CaptureFixture[str]) -> None:
        """--version names the package and the specification."""
        code, out, _ = run(capsys, "--version")

        assert 0 == code
        assert out.startswith("resident-claims 0.1.0 (spec ")
