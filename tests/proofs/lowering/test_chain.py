"""The chain from a trace to a label: each link of it broken, and the label is not to be had.

The trace, what `monitor evidence` takes of it, and `proofs lower --evidence`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from monitor.__main__ import main as monitor
from proofs.__main__ import main as proofs
from spec.digest import spec_digest
from tests.monitor.traces import Trace, write
from tests.monitor.traces_canonical import canonical, canonical_refusal
from tests.monitor.traces_connector import connector_failure, connector_success, plain_connector

Capture = pytest.CaptureFixture[str]
EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "patched.yaml"
STRANGE = plain_connector("gpu_hiccup", "r1")
SOUND = "backend_patch,contract,sound_with_adapter"
LESS = "backend_patch,contract,approximate"


@pytest.fixture
def evidence(tmp_path: Path) -> Path:
    """Evidence of two runs, which together show all of offloadable."""
    taken(tmp_path, connector_success(), connector_failure())
    return tmp_path / "evidence.yaml"


def taken(folder: Path, *traces: Trace) -> int:
    """Evidence of these traces, in `evidence.yaml` beside them."""
    paths = [write(folder / f"t{n}.jsonl", trace) for n, trace in enumerate(traces)]
    target = str(folder / "evidence.yaml")
    return monitor(["evidence", *paths, "--mode", "offloadable", "-o", target])


def labelled(evidence: Path, capsys: Capture, *options: str) -> tuple[int, str, str]:
    """The exit code, the rows and the complaint."""
    capsys.readouterr()
    asked = ("--mode", "offloadable", "--evidence", str(evidence), "--format", "csv", *options)
    code = proofs(["lower", str(EXAMPLE), *asked])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return code, out, err


def edited(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    said = yaml.safe_load(path.read_text())
    change(said)
    path.write_text(yaml.safe_dump(said))


class TestWhole:
    """The chain as it is."""

    @pytest.mark.parametrize("options", [(), ("--require-evidence",)], ids=str)
    def test_sound(self, evidence: Path, capsys: Capture, options: tuple[str, ...]) -> None:
        """Unbroken, it makes the row sound, where only what is shown counts, too."""
        code, out, _ = labelled(evidence, capsys, *options)
        assert (0, True) == (code, SOUND in out)

    def test_moved(self, evidence: Path, tmp_path: Path, capsys: Capture) -> None:
        """Evidence and traces may move together."""
        there = tmp_path / "there"
        there.mkdir()
        for name in ("t0.jsonl", "t1.jsonl", "evidence.yaml"):
            (tmp_path / name).rename(there / name)
        assert SOUND in labelled(there / "evidence.yaml", capsys)[1]


class TestTrace:
    """From the trace to the evidence."""

    @pytest.mark.parametrize("number", [0, 1])
    def test_unknown_kind(self, tmp_path: Path, capsys: Capture, number: int) -> None:
        """A line of an unknown kind in either run takes the row away."""
        traces: list[Trace] = [connector_success(), connector_failure()]
        traces[number] = [{**line, "hook_scope": "run-2"} for line in (*traces[number], STRANGE)]
        assert 0 == taken(tmp_path, *traces)  # the other run shows what it showed
        code, out, _ = labelled(tmp_path / "evidence.yaml", capsys)
        assert (0, True, False) == (code, LESS in out, SOUND in out)

    def test_unknown_alone(self, tmp_path: Path, capsys: Capture) -> None:
        """Such a run alone gives no evidence, and its row nothing that is shown."""
        assert 3 == taken(tmp_path, [*connector_success(), STRANGE])
        assert [] == yaml.safe_load((tmp_path / "evidence.yaml").read_text()).get("shown", [])
        _, out, _ = labelled(tmp_path / "evidence.yaml", capsys)
        assert (True, True) == (LESS in out, "sha256" not in out)

    def test_canonical(self, tmp_path: Path) -> None:
        """Nor does a stream in the canonical form of which one kind is misspelt."""
        at = next(n for n, line in enumerate(canonical_refusal()) if "kind" in line)
        trace = canonical_refusal()
        trace[at] = {**trace[at], "kind": "claim_registred"}
        path, target = write(tmp_path / "t.jsonl", trace), tmp_path / "evidence.yaml"
        call = ["evidence", path, "--mode", "hard_protected", "-o", str(target)]
        assert 0 != monitor(call)
        assert not target.exists() or not yaml.safe_load(target.read_text()).get("shown")

    def test_contradictory(self, tmp_path: Path) -> None:
        """Nor does one in which facts contradict each other: no link comes after the first."""
        twice = canonical("request_arrived", request_id="r", needed=1, usable=10)
        path = write(tmp_path / "t.jsonl", [*canonical_refusal(), twice, twice])
        target = tmp_path / "evidence.yaml"
        assert 3 == monitor(["evidence", path, "--mode", "hard_protected", "-o", str(target)])
        assert not yaml.safe_load(target.read_text()).get("shown")

    def test_unreadable(self, tmp_path: Path) -> None:
        """A line that cannot be read is no line that is skipped: nothing is written."""
        path = write(tmp_path / "t.jsonl", connector_success())
        with Path(path).open("ab") as file:
            file.write(b"{\n")
        target = tmp_path / "evidence.yaml"
        assert 2 == monitor(["evidence", path, "--mode", "offloadable", "-o", str(target)])
        assert not target.exists()


class TestEvidence:
    """From the evidence to the label."""

    def test_trace_changed(self, evidence: Path, tmp_path: Path, capsys: Capture) -> None:
        """A trace that was changed afterwards, by one blank, is refused by its digest."""
        with (tmp_path / "t1.jsonl").open("ab") as file:
            file.write(b"\n")
        code, out, err = labelled(evidence, capsys)
        assert (2, "") == (code, out)
        assert "t1.jsonl was changed after the evidence was taken" in err

    def test_trace_gone(self, evidence: Path, tmp_path: Path, capsys: Capture) -> None:
        """So is one that is gone."""
        (tmp_path / "t1.jsonl").unlink()
        code, _, err = labelled(evidence, capsys)
        assert (2, True) == (code, "files[1].path: cannot read" in err)

    def test_digest_mended(self, evidence: Path, tmp_path: Path, capsys: Capture) -> None:
        """A digest that was put right by hand does not help: the trace is judged again."""
        path = write(tmp_path / "t1.jsonl", [*connector_failure(), STRANGE])
        digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        edited(evidence, lambda said: said["files"][1].update(sha256=digest))
        code, _, err = labelled(evidence, capsys)
        assert (2, True) == (code, "its traces do not show what it says" in err)

    def test_unknown_kind_hidden(self, tmp_path: Path, capsys: Capture) -> None:
        """Evidence that says of such a run what it would show without that line is refused."""
        taken(tmp_path, connector_success())
        would = yaml.safe_load((tmp_path / "evidence.yaml").read_text())
        path = write(tmp_path / "t0.jsonl", [*connector_success(), STRANGE])
        would["files"][0]["sha256"] = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        (tmp_path / "evidence.yaml").write_text(yaml.safe_dump(would))
        code, _, err = labelled(tmp_path / "evidence.yaml", capsys)
        assert (2, True) == (code, "its traces do not show what it says" in err)

    def test_other_specification(self, evidence: Path, capsys: Capture) -> None:
        """Evidence that was taken under another specification is refused by its digest."""
        other = "0" + spec_digest()[1:] if spec_digest()[0] != "0" else "1" + spec_digest()[1:]
        edited(evidence, lambda said: said.update(spec=other))
        code, out, err = labelled(evidence, capsys)
        assert (2, "") == (code, out)
        assert f"it was taken under another specification ({other[:12]})" in err

    def test_other_mode(self, evidence: Path, capsys: Capture) -> None:
        """Evidence that is said to be of another mode is not what the traces show of that one."""
        edited(evidence, lambda said: said.update(mode="expiring"))
        capsys.readouterr()
        call = ["lower", str(EXAMPLE), "--mode", "expiring", "--evidence", str(evidence)]
        assert 2 == proofs(call)
        assert "its traces do not show what it says" in capsys.readouterr().err

    def test_reason_dropped(self, evidence: Path, capsys: Capture) -> None:
        """So is one from which what is not shown was dropped."""
        edited(evidence, lambda said: said.pop("unshown"))
        code, _, err = labelled(evidence, capsys)
        assert (2, True) == (code, "its traces do not show what it says" in err)
