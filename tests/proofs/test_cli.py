"""The command line of proofs, called in process."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import msgspec
import pytest

from proofs.__main__ import main
from proofs.check import Checks, proof_schema
from proofs.cli import modes as command
from proofs.engines.bounded.assumption_bmc import guards_of
from proofs.traces.scenarios import SCENARIOS
from spec.claims.states import Mode
from spec.cli.common import json_page
from spec.contract.modes import MODES
from tests.proofs.shared import checked
from tests.proofs.statement.test_statement import CHECKS


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a call."""
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


LINES = 16


def timeless(text: str) -> str:
    """The words of a text, without how long something took."""
    return re.sub(r"\d+(\.\d+)? s\b", "", " ".join(text.split()))


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command prints what was found of a mode once for all tests."""
    monkeypatch.setattr(command, "check_mode", checked)


class TestOwn:
    """The command as it is."""

    @pytest.mark.slow
    def test_same(self, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest) -> None:
        """The command says the same where it finds everything itself."""
        own = run(capsys, "check", "best_effort", "-v")
        request.getfixturevalue("shared")
        again = run(capsys, "check", "best_effort", "-v")

        assert own[0] == again[0]
        assert timeless(own[1]) == timeless(again[1])
        assert own[2] == again[2]


@pytest.mark.usefixtures("shared")
class TestCheck:
    @pytest.mark.parametrize(
        ("mode", "more"),
        [
            pytest.param(Mode.HARD_PROTECTED, [], id="hard_protected-short"),
            pytest.param(Mode.ROUTED_REUSE, [], id="routed_reuse-short"),
            pytest.param(
                Mode.ROUTED_REUSE, ["--full"], id="routed_reuse-full", marks=pytest.mark.slow
            ),
            pytest.param(
                Mode.HARD_PROTECTED, ["--full"], id="hard_protected-full", marks=pytest.mark.deep
            ),
        ],
    )
    def test_text(self, mode: Mode, more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        """The first sentence is the verdict and says how far it goes; sixteen lines say all."""
        code, out, _ = run(capsys, "check", mode, *more)
        said = " ".join(out.split())

        assert 0 == code
        assert said.startswith(f"holds: {mode}, contract bundle. Its ")
        assert "of the theorem, for runs of every length and any number of blocks. " in said
        assert "checked again by plain Z3" in said
        assert ("not checked" in said) == (not more)
        assert len(out.splitlines()) <= LINES
        assert all(len(line) <= 80 for line in out.splitlines())

    def test_verbose(self, capsys: pytest.CaptureFixture[str]) -> None:
        """-v prints everything that was found, below the same sentence."""
        short = run(capsys, "check", "expiring")[1]
        code, out, _ = run(capsys, "check", "expiring", "-v")

        assert 0 == code
        assert short.splitlines()[:2] == out.splitlines()[:2]
        assert "Consistent: witnessed, 6 events are the fewest" in out
        assert "holds harm" in out
        assert "Assumed: the instrumentation is faithful" in out
        assert "Guards" not in out
        assert all(len(line) <= 80 for line in out.splitlines())

    @pytest.mark.slow
    def test_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The JSON of a full check has the published form and decodes by its own schema."""
        code, out, _ = run(capsys, "check", "expiring", "--full", "--format", "json")

        document = json.loads(out)
        assert 0 == code
        assert "resident-claims/proof/2" == document["schema"]
        (only,) = document["checks"]
        assert "expiring" == only["mode"]
        assert "witnessed" == only["consistent"]["result"]
        assert "claim_expired" in [event["kind"] for event in only["consistent"]["witness"]]
        assert {"result": "proved", "engine": "recorded", "bound": None, "rechecked": True} == {
            key: only["sound"][key] for key in ("result", "engine", "bound", "rechecked")
        }
        assert 0 < only["sound"]["seconds"] < only["seconds"]
        assert ["claim_harm_attribution"] == [added["obligation"] for added in only["added"]]
        assert {"responsibility": "proved", "harm": "refuted", "promise": "proved"} == {
            clause: found["result"] for clause, found in only["paper"]["clauses"].items()
        }
        assert only["paper"]["clauses"]["harm"]["trace"]
        assert {"necessary"} == {found["result"] for found in only["necessary"].values()}
        assert {"necessary", "redundant"} == {found["result"] for found in only["guards"].values()}
        msgspec.json.decode(out, type=Checks)

    def test_json_of_what_was_not_asked(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Where a check is not full, what it did not ask is null, and the rest is there."""
        code, out, _ = run(capsys, "check", "expiring", "--format", "json")

        (only,) = json.loads(out)["checks"]
        assert 0 == code
        assert {"receptive", "paper", "guards", "core", "in_every_core", "unused"} == {
            name for name, value in only.items() if value is None and name != "certificate"
        }
        assert {"tales", "reached"} == {n for n, v in only["consistent"].items() if v is None}
        assert {"necessary"} == {found["result"] for found in only["necessary"].values()}
        msgspec.json.decode(out, type=Checks)

    @pytest.mark.slow
    def test_refutation(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A refuted bundle exits 1, names the clause and prints the shortest run."""
        code, out, _ = run(capsys, "check", "expiring", "--bundle", "paper")
        said = " ".join(out.split())

        assert 1 == code
        assert said.startswith(
            "refuted: expiring, paper bundle. A run of 3 events keeps all 4 obligations and breaks "
            "harm. 1 fact claim_committed"
        )
        assert "3 report claim_harmed" in said
        assert "breaks harm: the auditor counts 1, the facts 0" in said

        code, out, _ = run(capsys, "check", "expiring", "--bundle", "paper", "-v")
        rows = [line.split()[:2] for line in out.splitlines()]
        assert 1 == code
        assert ["violated", "harm"] in rows
        assert "Sound: refuted" in out

    def test_html(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """--html writes a page beside what is printed, and leaves the exit code as it is."""
        page = tmp_path / "new" / "proof.html"
        asked = ("check", "expiring", "--bundle", "paper", "--html", str(page))
        code, out, err = run(capsys, *asked)
        assert 1 == code
        assert out.startswith("refuted: expiring, paper bundle.")
        assert "made the folder" in err
        assert b"The run that breaks it" in page.read_bytes()

    def test_depth_too_small(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Where no run within the depth is a witness, nothing is decided: it exits 3, says that a
        longer run may be one, and no part has failed."""
        junit = tmp_path / "j.xml"
        code, out, _ = run(capsys, "check", "expiring", "--depth", "2", "--junit", str(junit))

        said = " ".join(out.split())
        assert 3 == code
        assert said.startswith(
            "undecided: expiring, contract bundle. No witness was found: no run of up to 2 events "
            "exercises and satisfies every obligation; increase --depth."
        )
        assert "witness none of up to 2 events; a longer one may exist (--depth)" in said
        assert "vacuous" not in out
        suite = ET.fromstring(junit.read_text())
        assert ("0", "1") == (suite.get("failures"), suite.get("errors"))
        assert "no witness of up to 2 events" in junit.read_text()

    @pytest.mark.slow
    def test_redundant_is_said_and_passes(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A redundant obligation is named as such; it fails nothing."""
        code, out, _ = run(capsys, "check", "routed_reuse")
        said = " ".join(out.split())
        assert 0 == code
        assert "4 of 6 necessary, 2 redundant" in said
        assert "known to be redundant: materialization_predicate, claim_scoped_telemetry" in said

        code, out, _ = run(capsys, "check", "routed_reuse", "--full", "-v")
        rows = [line.split()[:2] for line in out.splitlines()]
        assert 0 == code
        assert ["redundant", "materialization_predicate"] in rows
        assert "Necessary: 4 of 6 obligations" in out
        assert "Paper's bundle: proved, as printed, it equals the contract." in out

    @pytest.mark.slow
    def test_story(self, capsys: pytest.CaptureFixture[str]) -> None:
        """--story prints the runs that the paper's bundle and each left-out obligation allow."""
        code, out, _ = run(capsys, "check", "expiring", "--story")
        said = " ".join(out.split())

        assert 0 == code
        assert "A shortest run that keeps the paper's bundle and breaks harm:" in said
        assert "Without claim_expired_boundary, 3 events can break responsibility:" in said
        assert all(len(line) <= 80 for line in out.splitlines())

    @pytest.mark.slow
    def test_guards(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The rules that no clause needs are named; --story lists each rule that binds."""
        code, out, _ = run(capsys, "check", "best_effort", "--full", "-v")
        said = " ".join(out.split())
        assert 0 == code
        assert "Guards: 6 of 13 guards of the contract" in said
        redundant = "materialization_predicate.predicate_reported_false_while_true"
        assert f"every clause is proved without any single one of: {redundant}" in said

        code, out, _ = run(capsys, "check", "best_effort", "--story")
        rows = [" ".join(line.split()) for line in out.splitlines()]
        assert 0 == code
        needed = "claim_materialized_event.predicate_became_true"
        assert f"redundant {redundant}" in rows
        assert "2 events usefulness" == rows[rows.index(f"necessary {needed}") + 1]

    @pytest.mark.slow
    def test_junit(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """JUnit XML has a case for each part, and a failure where the bundle asked about is
        refuted."""
        file = tmp_path / "proofs.xml"

        asked = ("check", "expiring", "--bundle", "paper", "--full")
        code, _, _ = run(capsys, *asked, "--junit", str(file))

        suite = ET.parse(file).getroot()
        assert 1 == code
        assert ("53", "1", "0") == tuple(suite.get(n) for n in ("tests", "failures", "errors"))
        assert [
            "consistent",
            "sound",
            *(f"scenario.{story.name}" for story in SCENARIOS[Mode.EXPIRING]),
            "reached",
            "compared",
            "receptive",
            *(f"statement.{name}" for name in (*CHECKS, "runs")),
            *(f"paper.{clause}" for clause in ("responsibility", "harm", "promise")),
            "redundancy",
            *(f"necessary.{name}" for name in MODES[Mode.EXPIRING].names()),
            *(f"guard.{name}" for o in MODES[Mode.EXPIRING].bundle() for name in guards_of(o)),
        ] == [case.get("name") for case in suite]
        assert ["sound"] == [case.get("name") for case in suite if case.find("failure") is not None]

    def test_junit_of_what_was_asked(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Where a check is not full, JUnit XML has cases for what it asked, and no others."""
        file = tmp_path / "proofs.xml"

        code, _, _ = run(capsys, "check", "best_effort", "--junit", str(file))

        assert 0 == code
        assert [
            "consistent",
            "sound",
            *(f"statement.{name}" for name in (*CHECKS, "runs")),
            "redundancy",
            *(f"necessary.{name}" for name in MODES[Mode.BEST_EFFORT].names()),
        ] == [case.get("name") for case in ET.parse(file).getroot()]


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["check", "hard_protcted"], "did you mean hard_protected?"),
            (["check"], "use --all"),
            (["check", "expiring", "--all"], "use --all"),
            (["check", "expiring", "demotable"], "only frame takes several modes"),
            (["check", "lowering", "--full"], "it takes only -v, --format and --junit"),
            (["check", "frame", "--full"], "it takes only modes, -v, --format and --junit"),
            (["check", "expiring", "--depth", "0"], "--depth is 0"),
            (["check", "expiring", "--depth", "-3"], "--depth is -3"),
            (["check", "expiring", "--bundle", "papr"], "did you mean paper?"),
            (["check", "expiring", "--junit", "tests"], "tests is a folder"),
            (["check", "expiring", "-o", "a.jsonl", "--junit", "./a.jsonl"], "both write a.jsonl"),
            (["check", "expiring", "--html", "tests"], "tests is a folder"),
            (["check", "expiring", "--html", "a", "--junit", "./a"], "both write a"),
            (["check", "frame", "--html", "a.html"], "it takes only modes, -v, --format"),
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
