"""`samples`: the sample traces are what the command says of them, and bad input is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from monitor.__main__ import main
from monitor.native import CHOICE, library
from monitor.samples.pairs import FOLDER, Ending, Sample, chosen, papers
from spec.contract.modes import MODES

Capture = pytest.CaptureFixture[str]
SAMPLES = chosen()
NATIVE = pytest.mark.skipif(library() is None, reason="no native core is built")


def listed(capsys: Capture, *words: str) -> dict[str, Any]:
    """What `samples` prints as JSON."""
    assert 0 == main(["samples", *words, "--format", "json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


class TestVerdicts:
    """What `check` makes of each sample, without an option."""

    @pytest.mark.parametrize("judge", ["python", pytest.param("native", marks=NATIVE)])
    @pytest.mark.parametrize("sample", SAMPLES, ids=lambda each: each.name)
    def test_check(
        self, sample: Sample, judge: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A kept sample exits with 0, its obligation exercised; a broken one with 1, by exactly
        that obligation."""
        monkeypatch.setenv(CHOICE, judge)
        code = main(["check", str(sample.path), "--format", "json"])
        report = json.loads(capsys.readouterr().out)
        found = report["obligations"]
        violated = [name for name, verdict in found.items() if verdict == "violated"]
        assert [sample.mode] == [each["mode"] for each in report["modes"]]
        if sample.ending is Ending.KEPT:
            assert (0, [], "satisfied") == (code, violated, found[sample.obligation])
        else:
            assert (1, [sample.obligation]) == (code, violated)


class TestListing:
    """What is listed."""

    def test_all(self, capsys: Capture) -> None:
        """A kept and a broken trace for each obligation of each mode's bundle, and no other."""
        expected = [
            (mode.value, name, ending)
            for mode, spec in MODES.items()
            for name in (*spec.paper, *spec.added)
            for ending in ("kept", "broken")
        ]
        found = listed(capsys)["samples"]
        assert expected == [(each["mode"], each["obligation"], each["ending"]) for each in found]

    def test_sentences(self) -> None:
        """Each sample has a sentence of at most 25 words, and each obligation one of the papers."""
        says = [each.says for each in SAMPLES] + [papers(each.obligation) for each in SAMPLES]
        assert [] == [each for each in says if not each.endswith(".") or len(each.split()) > 25]

    @pytest.mark.parametrize("name", ["victim_exclusion_before_violation", "V"])
    def test_text(
        self, name: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """The text names what was asked for, by its name or its code, and paths to copy."""
        monkeypatch.chdir(FOLDER.parent)
        assert 0 == main(["samples", "hard-protected", name])
        lines = capsys.readouterr().out.splitlines()
        assert "hard_protected: victim_exclusion_before_violation" == lines[0]
        paths = [line.strip() for line in lines if line.endswith(".jsonl")]
        start = "modes/hard_protected/victim_exclusion_before_violation"
        assert [f"{start}.kept.jsonl", f"{start}.broken.jsonl"] == paths
        monkeypatch.chdir(tmp_path)
        assert 0 == main(["samples", "hard-protected", name])
        assert str(FOLDER) in capsys.readouterr().out


class TestWrite:
    """--write FOLDER"""

    def test_write(self, capsys: Capture, tmp_path: Path) -> None:
        """The files of a mode are written, byte for byte, to the paths that are listed."""
        folder = tmp_path / "new" / "samples"
        found = listed(capsys, "expiring", "--write", str(folder))
        assert str(folder) == found["folder"]
        expected = {str(folder / each.name): each.path.read_bytes() for each in chosen("expiring")}
        assert 10 == len(expected)
        assert expected == {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        assert [*expected] == [each["path"] for each in found["samples"]]

    def test_any_bytes(self, capsys: Capture, tmp_path: Path) -> None:
        """A folder whose name is no UTF-8 is written to, and listed."""
        folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/x\xff"))
        found = listed(capsys, "expiring", "--write", str(folder))
        assert str(tmp_path / "x?") == found["folder"]
        assert 10 == len([*folder.rglob("*.jsonl")])
        assert all(each["path"].startswith(found["folder"]) for each in found["samples"])

    @pytest.mark.parametrize("there", ["folder", "file", "link"])
    def test_exists(self, there: str, capsys: Capture, tmp_path: Path) -> None:
        """What exists is not written to, be it empty."""
        target = tmp_path / "there"
        if there == "link":
            target.symlink_to(tmp_path / "nowhere")
        elif there == "file":
            target.write_text("mine")
        else:
            target.mkdir()
        assert 2 == main(["samples", "expiring", "--write", str(target)])
        assert f"error: cannot write {target}: it exists" in capsys.readouterr().err
        assert not target.is_dir() or [] == list(target.iterdir())
        assert there != "file" or "mine" == target.read_text()


class TestBadInput:
    """Names that are mistyped."""

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            (("hrad_protected",), "there is no mode 'hrad_protected'; did you mean hard_protected"),
            (("",), "there is no mode ''"),
            (
                ("demotable", "claim_harm"),
                "there is no obligation of demotable 'claim_harm'; did you mean claim_harm_attrib",
            ),
            (("soft_priority", "V"), "there is no obligation of soft_priority 'V'; use one of"),
        ],
    )
    def test_names(self, words: tuple[str, ...], says: str, capsys: Capture) -> None:
        """An unknown mode, or an obligation that the mode has not, exits with 2 and a remedy."""
        assert 2 == main(["samples", *words])
        captured = capsys.readouterr()
        assert ("", True) == (captured.out, captured.err.startswith(f"error: {says}"))


def test_schema(capsys: Capture) -> None:
    """The JSON form has the fields of its published schema."""
    schema = json.loads((Path(__file__).parents[2] / "docs/schema/samples.json").read_text())
    found = listed(capsys, "expiring")
    assert set(found) == set(schema["$defs"]["Listing"]["properties"])
    assert set(found["samples"][0]) == set(schema["$defs"]["Listed"]["properties"])
    assert found["schema"] == schema["$id"]
    assert msgspec.json.encode(found)
