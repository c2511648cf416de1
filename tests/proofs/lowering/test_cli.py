"""Tests of `python -m proofs lower` and `python -m proofs docs`."""

import csv
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

from models.catalog import FOLDER, NAMES
from proofs.__main__ import main
from proofs.labels import select
from proofs.labels.view import rows_schema
from spec.claims.states import Mode
from spec.contract.modes import MODES
from spec.contract.supply import Depth
from spec.digest import spec_digest
from spec.lowering.evidence import MOST_FILES
from tests.spec.lowering.described import adapter, document, evidence, signal

Capture = pytest.CaptureFixture[str]
RC14 = "tensorrt_llm_1_3_0rc14"
OFFLOAD = MODES[Mode.OFFLOADABLE].paper


def ran(capsys: Capture, *args: object) -> tuple[int, str, str]:
    code = main(["lower", *map(str, args)])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return code, out, err


def rows(capsys: Capture, *args: object) -> list[dict[str, Any]]:
    _, out, _ = ran(capsys, *args, "--format", "json")
    found: list[dict[str, Any]] = json.loads(out)["rows"]
    return found


class TestText:
    """What people see."""

    def test_all(self, capsys: Capture) -> None:
        """Every descriptor, within 80 columns and without colour where nothing is a terminal."""
        code, out, _ = ran(capsys, "--all")
        assert 0 == code
        assert all(f"\n{name}  " in out for name in NAMES)
        assert max(map(len, out.splitlines())) <= 80
        assert "\x1b" not in out

    def test_every_depth(self, capsys: Capture) -> None:
        """A mode that has the same row at every depth has one line."""
        _, out, _ = ran(capsys, RC14)
        assert 1 == sum(line.startswith("  offloadable") for line in out.splitlines())
        assert 2 == sum(line.startswith("  best_effort") for line in out.splitlines())
        assert "every depth    approximate" in out
        assert "at each depth that the runtime offers" in " ".join(out.split())
        _, out, _ = ran(capsys, "processfork")
        assert "every depth" not in out

    def test_legend(self, capsys: Capture) -> None:
        """The labels and the codes that are used are explained, and no others."""
        _, out, _ = ran(capsys, RC14, "--mode", "best_effort", "--depth", "none")
        *_, legend, missing, _ = out.split("\n\n")
        assert "approximate" in legend
        assert "rejected" not in legend
        rows = [line.split() for line in missing.splitlines()[1:]]
        assert [["I", "P", "M", "T"], ["best_effort"] * 4] == [
            [row[at] for row in rows] for at in (0, 2)
        ]

    def test_best_first(self, capsys: Capture) -> None:
        """The best row of a mode is first; where it lacks nothing, nothing is called missing."""
        _, out, _ = ran(capsys, RC14, "--mode", "best_effort")
        rows = [line.split()[1:3] for line in out.splitlines() if line.startswith("  best_effort")]
        assert [["telemetry_join", "sound_with_adapter"], ["none", "approximate"]] == rows
        assert "missing in" not in out
        assert {"I", "P", "M", "T"} == set(out.split("Codes:")[1].split("Anchors")[0].split()[::2])

    def test_missing(self, capsys: Capture) -> None:
        """Of one descriptor a table says which modes lack an obligation even in their best row."""
        _, out, _ = ran(capsys, RC14)
        rows = [line.split() for line in out.split("missing in the best row of")[1].splitlines()]
        said = {row[0]: row[2:] for row in rows if len(row) > 2}
        assert ["-"] == said["Pr"]
        assert ["hard_protected"] == said["V"] == said["F"]

    def test_other_bundle(self, capsys: Capture) -> None:
        """A row whose label depends on the bundle says so, either way."""
        asked = ("vllm_patched", "--mode", "expiring", "--depth", "backend_patch")
        _, out, _ = ran(capsys, *asked)
        assert "approximate lacks H; paper: sound_with_adapter" in " ".join(out.split())
        _, out, _ = ran(capsys, *asked, "--bundle", "paper")
        assert "contract: approximate (lacks H)" in " ".join(out.split())

    def test_explain(self, capsys: Capture) -> None:
        """One row is explained: the rule, what supplies, what is missing and would supply it."""
        asked = (RC14, "--mode", "hard_protected", "--depth", "none", "--explain")
        _, out, _ = ran(capsys, *asked)
        said = " ".join(out.split())
        assert "Rule 1: active_no_evict -> hard_protected is forbidden up to telemetry_join" in said
        assert "blocking_claim_ids is missing: natively its status is missing" in said
        assert "at scheduler_hook or backend_patch." in said

    @pytest.mark.parametrize(
        ("name", "mode", "depth", "expected"),
        [
            ("vllm_patched", "offloadable", "backend_patch", "Rule 3: Every obligation is"),
            ("dynamo_docs", "expiring", "none", "Rule 4: No signal for expiring is shown"),
            ("mooncake", "hard_protected", "none", "Rule 5: Something looks like hard_protected"),
            ("processfork", "offloadable", "none", "Rule 6: Something looks like offloadable"),
            ("vllm_patched", "expiring", "none", "at backend_patch it is stated, deeper than none"),
            ("tensorrt_llm_06cff70502", "soft_priority", "none", "not shown in a run"),
            ("dynamo_docs", "best_effort", "telemetry_join", "telemetry_join lacks external_acc"),
        ],
    )
    def test_rules(self, name: str, mode: str, depth: str, expected: str, capsys: Capture) -> None:
        """Each rule is told by its number, and each shortfall in words."""
        _, out, _ = ran(capsys, name, "--mode", mode, "--depth", depth, "--explain")
        assert expected in " ".join(out.split())

    def test_once(self, capsys: Capture) -> None:
        """Depths that say the same are reported once, and so are obligations that lack the same."""
        _, out, _ = ran(capsys, RC14, "--mode", "offloadable", "--explain")
        said = " ".join(out.split())
        assert 1 == said.count("Rule 6")
        assert "offloadable at none and telemetry_join, contract bundle: approximate" in said
        assert "Each of claim_identity, materialization_predicate is missing: nothing" in said
        _, out, _ = ran(capsys, RC14, "--mode", "best_effort", "--explain")
        assert 2 == out.count("Rule ")

    def test_native(self, tmp_path: Path, capsys: Capture) -> None:
        """A descriptor of one's own is labelled like any other."""
        made = document(
            native=[
                {
                    "obligation": o,
                    "modes": ["best_effort"],
                    "status": "supported",
                    "scope": "litmus_trace",
                    "anchor": "run",
                }
                for o in MODES[Mode.BEST_EFFORT].paper
            ]
        )
        path = tmp_path / "mine.yaml"
        path.write_text(json.dumps(made))
        code, out, _ = ran(capsys, path, "--mode", "best_effort", "--explain")
        assert 0 == code
        assert "native_sound" in out
        assert "Rule 2" in out


class TestFormats:
    """JSON, Markdown, CSV."""

    def test_json(self, capsys: Capture) -> None:
        """The fields that are published, in a row that has all of them."""
        (row,) = rows(capsys, RC14, "--mode", "soft-priority", "--depth", "telemetry-join")
        assert {
            "descriptor": RC14,
            "mode": "soft_priority",
            "bundle": "contract",
            "depth": "telemetry_join",
            "label": "sound_with_adapter",
            "subtype": "adapter-policy under controlled pressure",
            "missing": [],
            "forbidden": [],
            "otherwise": None,
            "lacking": [],
            "declared": [*MODES[Mode.SOFT_PRIORITY].paper],
            "shown": [],
            "nowhere": [],
        } == {k: v for k, v in row.items() if k not in {"evidence", "decided", "conditions"}}
        assert [*MODES[Mode.SOFT_PRIORITY].paper] == [e["obligation"] for e in row["evidence"]]
        assert all("pressure_controls_summary.json" in e["anchor"] for e in row["evidence"])

    def test_schema(self, capsys: Capture) -> None:
        """What is printed has the fields of the published schema."""
        _, out, _ = ran(capsys, "--all", "--format", "json")
        printed = json.loads(out)
        definitions = rows_schema()["$defs"]
        assert "resident-claims/lowering/1" == printed["schema"]
        assert {"changes"} == set(definitions["Rows"]["properties"]) - set(printed)
        for row in printed["rows"]:
            assert set(definitions["RowView"]["properties"]) == set(row)

    def test_tables(self, capsys: Capture) -> None:
        """Markdown and CSV have a line for each row, in the same order."""
        asked = [(r["descriptor"], r["mode"], r["depth"]) for r in rows(capsys, "--all")]
        _, out, _ = ran(capsys, "--all", "--format", "md")
        cells = [tuple(line.split(" | ")[:3]) for line in out.splitlines()[2:]]
        assert asked == [(a.removeprefix("| "), b, c) for a, b, c in cells]
        _, out, _ = ran(capsys, "--all", "--format", "csv")
        table = list(csv.DictReader(io.StringIO(out)))
        assert asked == [(r["descriptor"], r["mode"], r["depth"]) for r in table]
        assert sum("active_no_evict -> hard_protected" in r["forbidden"] for r in table) == 6

    @pytest.mark.parametrize("form", ["text", "json", "csv"])
    def test_obeyed(self, tmp_path: Path, capsys: Capture, form: str) -> None:
        """What a terminal might obey in a path is escaped in every form that names it."""
        odd = (FOLDER / f"{RC14}.yaml").read_text().replace("L3 block-event", "\u2060")
        (tmp_path / "odd.yaml").write_text(odd)
        _, out, _ = ran(capsys, tmp_path / "odd.yaml", "--format", form, "--explain")
        assert r"\u2060" in out
        assert out.replace("\n", "").isprintable()

    def test_output(self, tmp_path: Path, capsys: Capture) -> None:
        """The same goes to a file."""
        _, shown, _ = ran(capsys, RC14)
        assert (0, "") == ran(capsys, RC14, "-o", tmp_path / "rows.txt")[:2]
        written = (tmp_path / "rows.txt").read_text()
        assert shown == written

    def test_over_a_descriptor(self, tmp_path: Path, capsys: Capture) -> None:
        """A descriptor is not written over by its own rows."""
        mine = tmp_path / "mine.yaml"
        mine.write_bytes((FOLDER / f"{RC14}.yaml").read_bytes())
        code, _, err = ran(capsys, mine, "-o", mine)
        assert (2, True) == (code, "it is also an input" in err)
        assert (FOLDER / f"{RC14}.yaml").read_bytes() == mine.read_bytes()


class TestExit:
    """Exit codes and bad input."""

    def test_unknown(self, capsys: Capture) -> None:
        """Rows that are all unknown exit 3; one that is not is enough for 0."""
        assert 3 == ran(capsys, "processfork", "--mode", "expiring")[0]
        assert 0 == ran(capsys, "processfork")[0]

    @pytest.mark.parametrize(
        ("args", "reason"),
        [
            ([], "name descriptors, or ask for --all"),
            (["--all", RC14], "name descriptors, or ask for --all"),
            (["vllm_patch"], "there is no descriptor 'vllm_patch'; did you mean vllm_patched"),
            ([RC14, RC14], f"two descriptors are called {RC14}"),
            ([RC14, "--mode", "soft"], "there is no mode 'soft'"),
            ([RC14, "--depth", "telemetry"], "did you mean telemetry_join"),
            ([RC14, "--bundle", "papers"], "did you mean paper"),
            ([RC14, "--format", "xml"], "'xml' is not one of"),
            (["./nowhere.yaml"], "cannot read nowhere.yaml: No such file"),
            (["--all", "--evidence", "e.yaml"], "--evidence is about one runtime"),
            ([RC14, "--evidence", "nowhere.yaml"], "cannot read nowhere.yaml"),
            ([RC14, "--against", "nowhere.json"], "cannot read nowhere.json"),
            ([RC14, "-o", "/"], "cannot write /"),
        ],
        ids=str,
    )
    def test_bad(self, args: list[str], reason: str, capsys: Capture) -> None:
        """What is mistyped exits 2 and says what was meant."""
        code, out, err = ran(capsys, *args)
        assert (2, "") == (code, out)
        assert reason in err


class TestAgainst:
    """Two labellings compared."""

    @pytest.fixture
    def old(self, tmp_path: Path, capsys: Capture) -> Path:
        path = tmp_path / "old.json"
        assert 0 == ran(capsys, "--all", "--format", "json", "-o", path)[0]
        return path

    def edit(self, path: Path, at: tuple[str, str, str], **fields: Any) -> None:
        said = json.loads(path.read_text())
        (row,) = [r for r in said["rows"] if at == (r["descriptor"], r["mode"], r["depth"])]
        row.update(fields)
        path.write_text(json.dumps(said))

    def test_same(self, old: Path, capsys: Capture) -> None:
        """Nothing changed."""
        code, out, _ = ran(capsys, "--all", "--against", old)
        assert 0 == code
        assert "Nothing changed." in out

    def test_other_specification(self, old: Path, capsys: Capture) -> None:
        """Labels by another specification are compared, and said to be."""
        said = json.loads(old.read_text())
        assert "specification" not in ran(capsys, "--all", "--against", old)[1]
        old.write_text(json.dumps({**said, "spec": "0123456789abcdef" * 4}))
        code, out, _ = ran(capsys, "--all", "--against", old)
        assert 0 == code
        assert (
            "The old labels were made by another specification, 0123456789ab.\nNothing changed."
            in out
        )
        found = json.loads(ran(capsys, "--all", "--against", old, "--format", "json")[1])
        assert "0123456789abcdef" * 4 == found["changes"]["other_spec"]

    @pytest.mark.parametrize(
        ("label", "way", "code"),
        [
            ("native_sound", "downgrade", 1),
            ("approximate", "upgrade", 0),
            ("rejected", "upgrade", 0),
            ("unknown", "upgrade", 0),
        ],
    )
    def test_way(self, label: str, way: str, code: int, old: Path, capsys: Capture) -> None:
        """A label that fell exits 1, and one that rose does not."""
        self.edit(old, (RC14, "best_effort", "telemetry_join"), label=label)
        done, out, _ = ran(capsys, "--all", "--against", old, "--format", "json")
        (change,) = json.loads(out)["changes"]["rows"]
        assert (code, way, label) == (done, change["way"], change["before"])

    def test_changed(self, old: Path, capsys: Capture) -> None:
        """Obligations that came or went under the same label are reported."""
        self.edit(old, (RC14, "expiring", "none"), missing=["claim_identity", "routed"])
        code, out, _ = ran(capsys, RC14, "--against", old)
        assert 0 == code
        assert "changed   tensorrt_llm_1_3_0rc14, expiring at none" in out
        assert "lost A E L" in out
        assert "Not compared: 203 rows outside this selection." in out

    def test_gone(self, old: Path, capsys: Capture) -> None:
        """A positive row that was asked for and is gone is a downgrade; a new row is none."""
        said = json.loads(old.read_text())
        said["rows"].append({**said["rows"][0], "descriptor": "gone"})
        said["rows"].append({**said["rows"][0], "descriptor": "sound", "label": "native_sound"})
        del said["rows"][0]
        old.write_text(json.dumps(said))
        code, out, _ = ran(capsys, "--all", "--against", old, "--format", "json")
        changes = json.loads(out)["changes"]["rows"]
        assert (1, ["new", "gone", "downgrade"]) == (code, [c["way"] for c in changes])
        assert 0 == ran(capsys, RC14, "--against", old)[0]

    @pytest.mark.parametrize(
        ("old", "new", "reason"),
        [
            ('"resident-claims/lowering/1"', '"other/1"', "schema: it is 'other/1'"),
            ('"label": "unknown"', '"label": "fine"', "there is no label 'fine'"),
            ('"mode": "best_effort"', '"mode": 3', "Expected `str`"),
            ('"mode": "best_effort"', '"mode": "other"', "there is no mode 'other'"),
            ('"depth": "none"', '"depth": "other"', "there is no depth 'other'"),
            ('"bundle": "contract"', '"bundle": "other"', "there is no bundle 'other'"),
            ('"mode": "soft_priority"', '"mode": "best_effort"', "one row stands twice"),
            ("{", "", "Expected `object`"),
            ("{", "{,", "JSON is malformed"),
            ("{", '{"x": ' + "[" * 100_000, "nested too deep"),
        ],
        ids=str,
    )
    def test_bad(self, old: str, new: str, reason: str, tmp_path: Path, capsys: Capture) -> None:
        """A file that is no labelling is refused."""
        path = tmp_path / "old.json"
        ran(capsys, "processfork", "--format", "json", "-o", path)
        path.write_text(path.read_text().replace(old, new, 1))
        code, _, err = ran(capsys, "processfork", "--against", path)
        assert 2 == code
        assert reason in err


class TestEvidence:
    """What is made of evidence; that it is what the traces show is tested with traces."""

    @pytest.fixture(autouse=True)
    def believed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The monitor would say the same."""
        monkeypatch.setattr(select, "_taken_again", lambda _, evidence: evidence)

    @pytest.fixture
    def bare(self, tmp_path: Path) -> Path:
        """A patched runtime that says nothing of offloadable but that it has a tier."""
        path = tmp_path / "bare.yaml"
        parts = {"adapters": [adapter(Depth.BACKEND_PATCH, [])]}
        path.write_text(json.dumps(document(signals=[signal("storage_tier")], **parts)))
        return path

    def write(self, folder: Path, *obligations: str, **fields: Any) -> Path:
        (folder / "trace.jsonl").write_text("{}\n")
        digest = hashlib.sha256(b"{}\n").hexdigest()
        files = [{"path": "trace.jsonl", "sha256": digest}]
        made = evidence(
            Mode.OFFLOADABLE, obligations, **{"files": files, "spec": spec_digest(), **fields}
        )
        path = folder / "evidence.yaml"
        path.write_text(json.dumps(made.model_dump(mode="json", by_alias=True)))
        return path

    def labelled(self, bare: Path, shown: Path, capsys: Capture) -> dict[str, Any]:
        asked = ("--mode", "offloadable", "--depth", "backend_patch", "--evidence", shown)
        (row,) = rows(capsys, bare, *asked)
        return row

    def test_counts(self, bare: Path, tmp_path: Path, capsys: Capture) -> None:
        """All of a bundle makes a patch row, and each obligation cites file and events."""
        row = self.labelled(bare, self.write(tmp_path, *OFFLOAD), capsys)
        assert ("sound_with_adapter", "backend-patch") == (row["label"], row["subtype"])
        assert all(e["anchor"].startswith("trace.jsonl (sha256 ca3d") for e in row["evidence"])
        assert all(e["anchor"].endswith("), events 1, 2") for e in row["evidence"])

    @pytest.mark.parametrize("shown", [OFFLOAD[:-1], OFFLOAD[:3], ()], ids=len)
    def test_not_enough(
        self, shown: tuple[str, ...], bare: Path, tmp_path: Path, capsys: Capture
    ) -> None:
        """Less leaves it approximate."""
        row = self.labelled(bare, self.write(tmp_path, *shown), capsys)
        assert ("approximate", [*OFFLOAD[len(shown) :]]) == (row["label"], row["missing"])

    def test_other_mode(self, bare: Path, tmp_path: Path, capsys: Capture) -> None:
        """Evidence of one mode is refused where another alone is asked for."""
        shown = self.write(tmp_path, *OFFLOAD)
        code, _, err = ran(capsys, bare, "--mode", "expiring", "--evidence", shown)
        assert 2 == code
        assert "is about offloadable, and counts for no other mode" in err

    def test_too_shallow(self, bare: Path, tmp_path: Path, capsys: Capture) -> None:
        """What one trace shows and another does not is shown, where no adapter may supply it."""
        unshown = {"obligation": OFFLOAD[0], "file": 0, "verdict": "unexercised", "why": "none"}
        shown = self.write(tmp_path, *OFFLOAD, unshown=[unshown])
        asked = ("--mode", "offloadable", "--depth", "none", "--evidence", shown, "--explain")
        _, out, _ = ran(capsys, bare, *asked)
        said = " ".join(out.split())
        assert "the traces show it, and no adapter offered at this depth may supply it" in said
        assert "unexercised" not in said

    def test_many_files(self, bare: Path, tmp_path: Path, capsys: Capture) -> None:
        """More traces than evidence is taken of are refused before any is read."""
        files = [{"path": "nowhere.jsonl", "sha256": "0" * 64}]
        shown = self.write(tmp_path, *OFFLOAD, files=files)
        said = json.loads(shown.read_text())
        shown.write_text(json.dumps({**said, "files": files * (MOST_FILES + 1)}))
        code, _, err = ran(capsys, bare, "--evidence", shown)
        assert (2, True) == (code, f"at most {MOST_FILES} items" in err)

    def test_told(self, bare: Path, tmp_path: Path, capsys: Capture) -> None:
        """The text says of how many traces evidence was counted, and what they show."""
        _, out, _ = ran(capsys, bare, "--evidence", self.write(tmp_path, *OFFLOAD[:3]))
        assert "Evidence of offloadable: 1 trace, 3 obligations shown." in out

    def test_violated(self, bare: Path, tmp_path: Path, capsys: Capture) -> None:
        """What one trace violates no other trace shows; why is reported."""
        shown = self.write(tmp_path, *OFFLOAD)
        said = json.loads(shown.read_text())
        said["files"].append({**said["files"][0], "path": "./trace.jsonl"})
        verdict = {"obligation": "claim_identity", "file": 1, "why": "Another's name."}
        for found, missing in ("unexercised", []), ("violated", ["claim_identity"]):
            said["unshown"] = [{**verdict, "verdict": found}]
            shown.write_text(json.dumps(said))
            row = self.labelled(bare, shown, capsys)
            assert missing == row["missing"]
        assert "in the traces it is violated: Another's name." == row["lacking"][0]["why"]

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            ("edited", "trace.jsonl was changed after the evidence was taken"),
            ("removed", "files[0].path: cannot read"),
            ("folder", "is not a file"),
            ("other specification", "it was taken under another specification (000000000000)"),
        ],
    )
    def test_refused(
        self, change: str, reason: str, bare: Path, tmp_path: Path, capsys: Capture
    ) -> None:
        """Evidence of a trace that is not there as it was, or judged by other rules, is refused."""
        other = {"spec": "0" * 64} if change == "other specification" else {}
        shown = self.write(tmp_path, *OFFLOAD, **other)
        if change == "edited":
            (tmp_path / "trace.jsonl").write_text("{ }\n")
        if change in {"removed", "folder"}:
            (tmp_path / "trace.jsonl").unlink()
        if change == "folder":
            (tmp_path / "trace.jsonl").mkdir()
        code, _, err = ran(capsys, bare, "--evidence", shown)
        assert 2 == code
        assert reason in err
