"""`python -m proofs lower` says what its labels rest on, and which bundle it asks for."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
import typer

from models.catalog import FOLDER
from monitor.__main__ import main as monitor
from proofs.__main__ import app, main
from proofs.labels.view import rows_schema
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from spec.contract.supply import Depth
from tests.monitor.traces import write
from tests.monitor.traces_connector import connector_failure, connector_success
from tests.spec.lowering.described import adapter, document, items, run, signal

Capture = pytest.CaptureFixture[str]
NAMES = MODES[Mode.OFFLOADABLE].names()
FAILURE = ("restoration_failure_outcome", "claim_harm_attribution")
ASKED = ("--mode", "offloadable", "--depth", "backend_patch")


def ran(capsys: Capture, *args: object) -> tuple[int, str, str]:
    code = main(["lower", *map(str, args)])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return code, out, err


def words(capsys: Capture, *args: object) -> str:
    return " ".join(ran(capsys, *args)[1].split())


def printed(capsys: Capture, *args: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ran(capsys, *args, "--format", "json")[1])
    return found


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A patch that declares all of offloadable; its anchor has no file unless it is
    written."""
    path = tmp_path / "mine.yaml"
    offered = adapter(Depth.BACKEND_PATCH, items(NAMES, Mode.OFFLOADABLE))
    parts = {"adapters": [offered], "signals": [signal("storage_tier")]}
    path.write_text(json.dumps(document(anchors={"run": run(path="run.json")}, **parts)))
    return path


@pytest.fixture
def evidence(tmp_path: Path) -> Path:
    """What a run that restores shows of offloadable."""
    path = tmp_path / "evidence.yaml"
    trace = write(tmp_path / "t.jsonl", connector_success())
    assert 0 == monitor(["evidence", trace, "--mode", "offloadable", "-o", str(path)])
    return path


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """What that and a run that fails to restore show: all of it."""
    path = tmp_path / "whole.yaml"
    traces = [
        write(tmp_path / "s.jsonl", connector_success()),
        write(tmp_path / "f.jsonl", connector_failure()),
    ]
    assert 0 == monitor(["evidence", *traces, "--mode", "offloadable", "-o", str(path)])
    return path


class TestBundle:
    """Which bundle is asked for where none is said."""

    def test_same_default(self) -> None:
        """`lower` and `check` have one default, the contract's."""
        commands = typer.main.get_group(app).commands
        said = {
            name: next(p.default for p in commands[name].params if p.name == "bundle")
            for name in ("check", "lower")
        }
        assert {"check": "contract", "lower": "contract"} == said

    def test_named_by_lower(self, capsys: Capture) -> None:
        """Each form of its output names the bundle."""
        asked = ("continuum", "--mode", "expiring")
        assert "Labels for the contract bundle of each mode" in words(capsys, *asked)
        assert "Labels for the paper bundle" in words(capsys, *asked, "--bundle", "paper")
        assert ", contract bundle: approximate" in words(capsys, *asked, "--explain")
        assert {"contract"} == {row["bundle"] for row in printed(capsys, *asked)["rows"]}
        assert "| none | contract | approximate |" in words(capsys, *asked, "--format", "md")
        assert "none,contract,approximate" in words(capsys, *asked, "--format", "csv")

    def test_named_by_check(self, capsys: Capture) -> None:
        """`check` names it in its first line, and in JSON."""
        main(["check", "best_effort"])
        assert "best_effort, contract bundle" in capsys.readouterr().out.splitlines()[0]
        main(["check", "best_effort", "--format", "json"])
        (check,) = json.loads(capsys.readouterr().out)["checks"]
        assert Bundle.CONTRACT == check["bundle"]


class TestRests:
    """Declared, or shown."""

    def test_declared(self, mine: Path, capsys: Capture) -> None:
        """A row that nothing but its descriptor supports says so."""
        assert "sound_with_adapter backend-patch; declared" in words(capsys, mine, *ASKED)
        (row,) = printed(capsys, mine, *ASKED)["rows"]
        assert ([*NAMES], []) == (row["declared"], row["shown"])
        assert {"declared"} == {each["rests_on"] for each in row["evidence"]}

    def test_shown(self, mine: Path, whole: Path, capsys: Capture) -> None:
        """A row of which every obligation is shown says so, and cites the traces."""
        asked = (mine, *ASKED, "--evidence", whole)
        assert "sound_with_adapter backend-patch; shown" in words(capsys, *asked)
        (row,) = printed(capsys, *asked)["rows"]
        assert ([], [*NAMES]) == (row["declared"], row["shown"])
        assert {"shown"} == {each["rests_on"] for each in row["evidence"]}
        assert all(".jsonl (sha256 " in each["anchor"] for each in row["evidence"])

    def test_both(self, mine: Path, evidence: Path, capsys: Capture) -> None:
        """A row that rests on both says which obligation rests on what, in every form."""
        asked = (mine, *ASKED, "--evidence", evidence)
        assert "shown I A P R L, declared RF H" in words(capsys, *asked)
        assert "shown I A P R L, declared RF H" in words(capsys, *asked, "--format", "md")
        (row,) = printed(capsys, *asked)["rows"]
        assert [*FAILURE] == row["declared"]
        assert [o for o in NAMES if o not in FAILURE] == row["shown"]
        _, out, _ = ran(capsys, *asked, "--format", "csv")
        (line,) = csv.DictReader(io.StringIO(out))
        assert (" ".join(FAILURE), 5) == (line["declared"], len(line["shown"].split()))

    def test_explained(self, mine: Path, evidence: Path, capsys: Capture) -> None:
        """`--explain` says of each obligation what it rests on, and what is declared besides."""
        said = words(capsys, mine, *ASKED, "--evidence", evidence, "--explain")
        assert "is supplied at backend_patch, shown by t.jsonl (sha256" in said
        assert f"Each of {', '.join(FAILURE)} is supplied at backend_patch, declared by" in said
        assert "Provided that patch_and_source_identified, patched_path_exercised" in said

    def test_conditions(self, mine: Path, whole: Path, capsys: Capture) -> None:
        """The preconditions that it takes are listed: no trace shows them."""
        (row,) = printed(capsys, mine, *ASKED, "--evidence", whole)["rows"]
        assert 4 == len(row["conditions"])
        assert {("backend_patch", "run.json")} == {
            (each["depth"], each["anchor"]) for each in row["conditions"]
        }
        (row,) = printed(
            capsys,
            "tensorrt_llm_1_3_0rc14",
            *("--mode", "soft_priority", "--depth", "telemetry_join"),
        )["rows"]
        atoms = [each["condition"] for each in row["conditions"] if each["depth"] == "none"]
        assert ["pressure_controls_observed", "retention_order_observed"] == atoms

    def test_not_positive(self, capsys: Capture) -> None:
        """A row that is not positive does not say what little is supplied rests on."""
        asked = ("vllm_patched", "--mode", "expiring", "--depth", "backend_patch")
        line = next(row for row in ran(capsys, *asked)[1].splitlines() if "approximate" in row)
        assert "declared" not in line
        (row,) = printed(capsys, *asked)["rows"]
        assert 4 == len(row["declared"])

    def test_schema(self) -> None:
        """The schema knows the words."""
        definitions = rows_schema()["$defs"]
        assert {"declared", "shown", "conditions", "nowhere"} <= set(
            definitions["RowView"]["properties"]
        )
        assert {"rests_on", "nowhere"} <= set(definitions["Cited"]["properties"])

    def test_matrix(self) -> None:
        """The page says of each positive row that it is declared, and what that means."""
        page = (FOLDER.parents[1] / "docs" / "lowering-matrix.md").read_text()
        positive = re.findall(r"\*\*\w+\*\* \| (.*) \|", page)
        assert 12 == len(positive)
        assert all(said.split("; ")[1] == "declared" for said in positive)
        assert "| declared | declared by the descriptor" in page


class TestRequireEvidence:
    """`--require-evidence`."""

    def test_declared(self, mine: Path, capsys: Capture) -> None:
        """What is only declared makes no row sound."""
        found = printed(capsys, mine, *ASKED, "--require-evidence")
        (row,) = found["rows"]
        assert found["require_evidence"]
        assert ("approximate", [*NAMES]) == (row["label"], row["missing"])

    def test_partly(self, mine: Path, evidence: Path, capsys: Capture) -> None:
        """What is declared for what is not shown counts for nothing; why is reported."""
        (mine.parent / "run.json").write_text("{}\n")
        asked = (mine, *ASKED, "--evidence", evidence, "--require-evidence")
        (row,) = printed(capsys, *asked)["rows"]
        assert ("approximate", [*FAILURE]) == (row["label"], row["missing"])
        said = words(capsys, *asked, "--explain")
        assert "at backend_patch it is declared, and no trace shows it; in the traces" in said

    def test_shown(self, mine: Path, whole: Path, capsys: Capture) -> None:
        """What is shown is sound."""
        (mine.parent / "run.json").write_text("{}\n")
        asked = (mine, *ASKED, "--evidence", whole, "--require-evidence")
        (row,) = printed(capsys, *asked)["rows"]
        assert ("sound_with_adapter", [], [*NAMES]) == (row["label"], row["declared"], row["shown"])
        for more in ((), ("--explain",)):
            assert "Only what traces show counts." in words(capsys, *asked, *more)

    def test_nowhere(self, mine: Path, whole: Path, capsys: Capture) -> None:
        """Unless the preconditions are anchored in what is not there; each is named."""
        asked = (mine, *ASKED, "--evidence", whole, "--require-evidence")
        (row,) = printed(capsys, *asked)["rows"]
        assert ("approximate", [*NAMES]) == (row["label"], row["missing"])
        said = words(capsys, *asked, "--explain")
        assert "lacks patch_and_source_identified (its anchor cannot be resolved), patched_" in said
        assert "at backend_patch its anchor cannot be resolved; the traces show it" in said

    def test_shipped(self, capsys: Capture) -> None:
        """No shipped descriptor has a positive row then: nobody judged its traces here."""
        for bundle in Bundle:
            asked = ("--all", "--require-evidence", "--bundle", bundle)
            labels = {row["label"] for row in printed(capsys, *asked)["rows"]}
            assert {"approximate", "rejected", "unknown"} == labels

    def test_other_bundle(self, capsys: Capture) -> None:
        """The label under the other bundle is counted alike."""
        asked = ("vllm_patched", "--mode", "expiring", "--depth", "backend_patch")
        (row,) = printed(capsys, *asked, "--require-evidence")["rows"]
        assert (None, "approximate") == (row["otherwise"], row["label"])


class TestNowhere:
    """Anchors that point nowhere."""

    def test_told(self, mine: Path, capsys: Capture) -> None:
        """Each form tells of it; the label stays the descriptor's word."""
        code, out, _ = ran(capsys, mine, *ASKED)
        assert (0, True) == (code, "sound_with_adapter" in out)
        said = " ".join(out.split())
        assert "backend-patch; declared; points nowhere: run" in said
        assert "points nowhere made_up: the anchor run, run.json: no such file" in said
        assert "points nowhere: run" in words(capsys, mine, *ASKED, "--format", "md")
        _, out, _ = ran(capsys, mine, *ASKED, "--format", "csv")
        assert ["run"] == [line["points_nowhere"] for line in csv.DictReader(io.StringIO(out))]

    def test_json(self, mine: Path, capsys: Capture) -> None:
        """JSON has it at the row, at what rests on it, and once for all."""
        found = printed(capsys, mine, *ASKED)
        (row,), (lost,) = found["rows"], found["nowhere"]
        assert ["run"] == row["nowhere"]
        assert all(each["nowhere"] for each in (*row["evidence"], *row["conditions"]))
        assert ("made_up", "run", "run.json") == (
            lost["descriptor"],
            lost["anchor"],
            lost["path"],
        )
        (mine.parent / "run.json").write_text("{}\n")
        found = printed(capsys, mine, *ASKED)
        assert ([], []) == (found["nowhere"], found["rows"][0]["nowhere"])

    def test_explained(self, mine: Path, capsys: Capture) -> None:
        """So does `--explain`, beside what rests on it."""
        said = words(capsys, mine, *ASKED, "--explain")
        assert "declared by run.json (which points nowhere)." in said

    def test_whoever_rests_on_it(self, mine: Path, capsys: Capture) -> None:
        """It is reported though no row that was asked for rests on it."""
        said = words(capsys, mine, "--mode", "expiring")
        assert "points nowhere made_up: the anchor run, run.json" in said

    def test_obeyed(self, mine: Path, capsys: Capture) -> None:
        """What a terminal might obey in its path is escaped."""
        mine.write_text(mine.read_text().replace("run.json", "r\u202en.json"))
        for form in ("text", "md", "csv", "json"):
            out = ran(capsys, mine, *ASKED, "--format", form)[1]
            assert out.replace("\n", "").isprintable()


class TestAnchors:
    """Which anchors were opened."""

    def test_text(self, mine: Path, capsys: Capture) -> None:
        """Those in the tree are opened and counted, those elsewhere are not opened."""
        said = "Anchors: {} opened in the tree of the descriptor, {} elsewhere and not opened."
        assert said.format(0, 1) in words(capsys, mine)
        (mine.parent / "run.json").write_text("{}\n")
        assert said.format(1, 1) in words(capsys, mine, "--explain")
        assert said.format(0, 3) in words(capsys, "dynamo_docs")

    def test_json(self, mine: Path, capsys: Capture) -> None:
        """JSON names both kinds, for each descriptor; one that is not there is of neither."""
        made = {"descriptor": "made_up", "elsewhere": ["docs"]}
        assert [{**made, "opened": []}] == printed(capsys, mine)["anchors"]
        (mine.parent / "run.json").write_text("{}\n")
        dynamo = {
            "descriptor": "dynamo_docs",
            "opened": [],
            "elsewhere": ["router_guide", "router_event", "ttl_removed"],
        }
        found = printed(capsys, mine, "dynamo_docs")["anchors"]
        assert [{**made, "opened": ["run"]}, dynamo] == found


class TestAgainst:
    """Labellings that cannot be compared."""

    @pytest.mark.parametrize(
        ("before", "now", "reason"),
        [
            (["--bundle", "paper"], [], "rows: none is of the contract bundle; ask for --bundle p"),
            ([], ["--require-evidence"], "it was made without --require-evidence"),
            (["--require-evidence"], [], "it was made with --require-evidence"),
        ],
    )
    def test_refused(
        self, before: list[str], now: list[str], reason: str, tmp_path: Path, capsys: Capture
    ) -> None:
        """One of another bundle, or that counts otherwise, is refused: it would show no fall."""
        old = tmp_path / "old.json"
        ran(capsys, "vllm_patched", *before, "--format", "json", "-o", old)
        code, _, err = ran(capsys, "vllm_patched", *now, "--against", old)
        assert (2, True) == (code, reason in err)

    def test_before(self, tmp_path: Path, capsys: Capture) -> None:
        """One from before labels said what they rest on is read, and compared."""
        old = tmp_path / "old.json"
        ran(capsys, "vllm_patched", "--format", "json", "-o", old)
        said = json.loads(old.read_text())
        for field in ("require_evidence", "nowhere", "anchors"):
            del said[field]
        for row in said["rows"]:
            for field in ("declared", "shown", "conditions", "nowhere"):
                del row[field]
            for cited in row["evidence"]:
                del cited["rests_on"], cited["nowhere"]
        old.write_text(json.dumps(said))
        assert "Nothing changed." in words(capsys, "vllm_patched", "--against", old)
