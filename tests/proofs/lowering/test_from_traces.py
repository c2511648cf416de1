"""From traces to a label: `monitor evidence`, then `proofs lower --evidence`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from models.catalog import FOLDER
from monitor.__main__ import main as monitor
from proofs.__main__ import main as proofs
from tests.monitor.traces import Trace, changed, write
from tests.monitor.traces_connector import (
    connector_failure,
    connector_fallback,
    connector_success,
    plain_connector,
)

Capture = pytest.CaptureFixture[str]
RECORDED = Path(__file__).parents[4] / "shared" / "traces"
COUNTERS = [plain_connector("generic_kv_transfer_failed_counter", "r1")]
OTHER_RUN = [{**line, "hook_scope": "run-2"} for line in connector_fallback()]
needs_recordings = pytest.mark.skipif(
    not RECORDED.is_dir(), reason="the recorded traces are not beside this checkout"
)


@pytest.fixture
def stripped(tmp_path: Path) -> Path:
    """The patched vLLM without its own evidence of offloadable; the adapter stays offered."""
    document = yaml.safe_load((FOLDER / "vllm_patched.yaml").read_text())
    (patch,) = document["adapters"]
    kept = [item for item in patch["evidence"] if "offloadable" not in item["modes"]]
    assert len(patch["evidence"]) - 7 == len(kept)
    patch["evidence"] = kept
    path = tmp_path / "stripped.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


def paths(folder: Path, *traces: Trace) -> list[str]:
    """The traces in files."""
    folder.mkdir(exist_ok=True)
    return [write(folder / f"t{n}.jsonl", trace) for n, trace in enumerate(traces)]


def labelled(
    descriptor: Path, traces: list[str], capsys: Capture, depth: str = "backend_patch"
) -> tuple[str, list[str]]:
    """The label of offloadable with the evidence of these traces, and what it lacks."""
    evidence = descriptor.parent / "evidence.yaml"
    assert monitor(["evidence", *traces, "--mode", "offloadable", "-o", str(evidence)]) in (0, 1, 3)
    return label(descriptor, evidence, capsys, depth)


def label(
    descriptor: Path, evidence: Path, capsys: Capture, depth: str = "backend_patch"
) -> tuple[str, list[str]]:
    """The same with evidence that was taken before."""
    capsys.readouterr()
    call = ["lower", str(descriptor), "--mode", "offloadable", "--depth", depth]
    assert 0 == proofs([*call, "--evidence", str(evidence), "--format", "json"])
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    return row["label"], row["missing"]


class TestSynthetic:
    """Traces of the connector dialect."""

    def test_both(self, stripped: Path, tmp_path: Path, capsys: Capture) -> None:
        """A run that restores and a run that fails to, together, make the patch sound."""
        traces = paths(tmp_path, connector_success(), connector_failure())
        assert ("sound_with_adapter", []) == labelled(stripped, traces, capsys)

    def test_invented(self, stripped: Path, tmp_path: Path, capsys: Capture) -> None:
        """Evidence that says more than its traces show is refused, however right its digests."""
        (trace,) = paths(tmp_path, connector_success())
        evidence, name = tmp_path / "evidence.yaml", "restoration_failure_outcome"
        monitor(["evidence", trace, "--mode", "offloadable", "-o", str(evidence)])
        said = yaml.safe_load(evidence.read_text())
        said["unshown"] = [each for each in said["unshown"] if each["obligation"] != name]
        said["shown"].append({**said["shown"][0], "obligation": name})
        evidence.write_text(yaml.safe_dump(said))
        capsys.readouterr()

        call = ["lower", str(stripped), "--mode", "offloadable", "--evidence", str(evidence)]
        assert 2 == proofs(call)
        assert "its traces do not show what it says" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("traces", "missing"),
        [
            ([connector_success()], ["restoration_failure_outcome", "claim_harm_attribution"]),
            ([connector_failure()], ["offload_restorability"]),
        ],
    )
    def test_one(
        self, stripped: Path, tmp_path: Path, capsys: Capture, traces: list[Trace], missing: Any
    ) -> None:
        """One of the two alone does not."""
        found = labelled(stripped, paths(tmp_path, *traces), capsys)
        assert ("approximate", missing) == found

    def test_counters(self, stripped: Path, tmp_path: Path, capsys: Capture) -> None:
        """Counters without a claim leave all of it missing."""
        found, missing = labelled(stripped, paths(tmp_path, COUNTERS), capsys)
        assert ("approximate", 7) == (found, len(missing))

    def test_violated(self, stripped: Path, tmp_path: Path, capsys: Capture) -> None:
        """A third run that breaks the outcome of a failure takes it away again."""
        traces = paths(tmp_path, connector_success(), connector_failure(), OTHER_RUN)
        found, missing = labelled(stripped, traces, capsys)
        assert "approximate" == found
        assert "restoration_failure_outcome" in missing

    def test_never_above(self, stripped: Path, tmp_path: Path, capsys: Capture) -> None:
        """Evidence counts at the depth that is offered, and not where nothing is."""
        traces = paths(tmp_path, connector_success(), connector_failure())
        found, missing = labelled(stripped, traces, capsys, depth="storage_restorability")
        assert ("approximate", 7) == (found, len(missing))

    def test_edited(self, stripped: Path, tmp_path: Path, capsys: Capture) -> None:
        """A trace that was edited after the evidence was taken is refused, with its name."""
        traces = paths(tmp_path, connector_success(), connector_failure())
        labelled(stripped, traces, capsys)
        edited = changed(connector_success(), "resident_claim_restored", job_id=2)
        write(tmp_path / "t0.jsonl", edited)
        call = ["lower", str(stripped), "--evidence", str(tmp_path / "evidence.yaml")]
        assert 2 == proofs(call)
        assert "t0.jsonl was changed after the evidence was taken" in capsys.readouterr().err

    def test_dash(
        self, stripped: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A trace in a file called `-` is no standard input, and counts."""
        write(tmp_path / "-", connector_success())
        monkeypatch.chdir(tmp_path)
        monitor(["evidence", "./-", "--mode", "offloadable", "-o", "e.yaml"])
        found, missing = label(stripped, Path("e.yaml"), capsys)
        assert ("approximate", 2) == (found, len(missing))


@needs_recordings
class TestRecorded:
    """The traces that were recorded from a patched vLLM."""

    @pytest.mark.parametrize(
        ("names", "expected"),
        [
            (("success_path", "claimed_load_failure"), "sound_with_adapter"),
            (("success_path",), "approximate"),
            (("claimed_load_failure",), "approximate"),
            (("generic_counter_only",), "approximate"),
        ],
        ids=lambda each: "+".join(each) if isinstance(each, tuple) else each,
    )
    def test_label(
        self, stripped: Path, capsys: Capture, names: tuple[str, ...], expected: str
    ) -> None:
        """Both connector runs together make offloadable sound; one of them, or counters, do not."""
        traces = [str(RECORDED / f"{name}.jsonl") for name in names]
        assert expected == labelled(stripped, traces, capsys)[0]
