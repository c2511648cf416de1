"""What captures show of the claims of a registry is evidence, and is computed again by `label`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from monitor.__main__ import main
from monitor.evidence.joined import take_joined_evidence
from proofs.__main__ import main as prove
from spec.claims.states import Mode
from spec.language.errors import SpecError
from tests.monitor.watch.engine import Engine, line, prompt
from tests.monitor.watch.watching import write_registry

SAMPLES = Path(__file__).parents[3] / "monitor/samples/watch"
UPSTREAM = Path(__file__).parents[3] / "models/descriptors/vllm_upstream.yaml"
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The sample, and the evidence of it."""
    shutil.copytree(SAMPLES, tmp_path / "watch")
    args = ["evidence", "capture.jsonl", "--registry", "registry.yaml", "-o", "evidence.yaml"]
    places = [str(tmp_path / "watch" / a) if "." in a else a for a in args]
    assert main(places) == 0
    return tmp_path / "watch"


def label(folder: Path) -> int:
    """The exit code of `label` with the evidence."""
    evidence = str(folder / "evidence.yaml")
    row = ["--mode", "best_effort", "--depth", "telemetry_join"]
    return prove(["lower", str(UPSTREAM), *row, "--evidence", evidence])


class TestEvidence:
    def test_shown(self, folder: Path, capsys: Capture) -> None:
        """All obligations of best_effort are shown, under the nine preconditions."""
        capsys.readouterr()
        registry = ["--registry", str(folder / "registry.yaml")]
        assert main(["evidence", str(folder / "capture.jsonl"), *registry]) == 0
        out = capsys.readouterr().out
        assert "4 of the 4 obligations of best_effort shown" in out
        assert "preconditions of a telemetry join: 9 of 9 met" in out

    def test_label(self, folder: Path, capsys: Capture) -> None:
        """A label says so, and that a join is no evidence of enforcement."""
        capsys.readouterr()
        assert label(folder) in (0, 3)
        out = capsys.readouterr().out
        assert "Evidence of best_effort: 1 trace, 4 obligations shown." in out
        assert "9 of 9 met\nA join observes: it is no evidence of enforcement" in out

    def test_depth(self, folder: Path, capsys: Capture) -> None:
        """What a join shows counts at its own depth, and at no deeper one."""
        row = ["lower", str(UPSTREAM), "--mode", "best_effort"]
        evidence = ["--evidence", str(folder / "evidence.yaml")]
        for depth in ([], ["--depth", "backend_patch"]):
            assert prove([*row, *depth, *evidence]) == 2
            assert "add --depth telemetry_join" in capsys.readouterr().err

    def test_changed(self, folder: Path, capsys: Capture) -> None:
        """A registry that was changed afterwards is refused."""
        path = folder / "registry.yaml"
        path.write_text(path.read_text().replace("tool-manual", "tool-manuals"))
        assert label(folder) == 2
        assert "registry.yaml was changed after the evidence was taken" in capsys.readouterr().err

    def test_forged(self, folder: Path, capsys: Capture) -> None:
        """So is evidence that says more of the preconditions than the captures."""
        path = folder / "evidence.yaml"
        path.write_text(path.read_text().replace("met: met", "met: not met", 1))
        assert label(folder) == 2
        assert "its traces do not show what it says" in capsys.readouterr().err

    def test_gap(self, tmp_path: Path) -> None:
        """A capture with a gap shows nothing, and a precondition is not met."""
        engine = Engine(10)
        for _ in range(3):
            engine.serve(prompt("a", 2))
        capture = tmp_path / "capture.jsonl"
        capture.write_bytes(b"\n".join(line(n, engine.batches[n], n) for n in (0, 2)) + b"\n")
        registry = str(write_registry(tmp_path, [{"id": "a", "tokens": prompt("a", 2)}]))
        found = take_joined_evidence(registry, [str(capture)], Mode.BEST_EFFORT, tmp_path)
        assert found.shown == ()
        unmet = [str(each.precondition) for each in found.preconditions if each.met != "met"]
        assert unmet == ["joinable_backend_events"]

    def test_undated(self, tmp_path: Path) -> None:
        """A registry that does not say when it was made is refused."""
        registry = write_registry(tmp_path, [{"id": "a", "tokens": [1] * 4}], registered=None)
        with pytest.raises(SpecError, match="state when the claims were made"):
            take_joined_evidence(str(registry), [str(SAMPLES / "capture.jsonl")], None, tmp_path)
