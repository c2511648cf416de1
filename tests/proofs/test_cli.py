"""The command line of proofs, called in process."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import msgspec
import pytest

from proofs.__main__ import main
from proofs.check import Checks, proof_schema
from spec.cli import json_page


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
        assert {"result": "proved", "engine": "spacer", "bound": None, "rechecked": True} == {
            key: only["sound"][key] for key in ("result", "engine", "bound", "rechecked")
        }
        assert 0 < only["sound"]["seconds"]
        msgspec.json.decode(out, type=Checks)

    def test_refutation_is_told(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A refuted bundle exits 1, names the clause and tells the shortest run."""
        code, out, _ = run(capsys, "check", "expiring", "--bundle", "paper")

        assert 1 == code
        assert "Sound: refuted" in out
        assert "FAILS harm" in out
        assert "claim_harmed" in out

    def test_junit(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """JUnit XML has a case for each part, and a failure where a part is refuted."""
        file = tmp_path / "proofs.xml"

        code, _, _ = run(capsys, "check", "expiring", "--bundle", "paper", "--junit", str(file))

        suite = ET.parse(file).getroot()
        assert 1 == code
        assert ("2", "1", "0") == tuple(suite.get(n) for n in ("tests", "failures", "errors"))
        assert ["consistent", "sound"] == [case.get("name") for case in suite]


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
            (["check", "expiring", "--junit", "tests"], "cannot write tests"),
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
        assert "--junit" in arguments or "" == out
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
