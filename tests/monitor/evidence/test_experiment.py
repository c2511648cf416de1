"""Evidence of priority_influence needs runs with the priorities as given, swapped and equal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from models.catalog import descriptor
from monitor.evidence.joined import take_joined_evidence
from monitor.evidence.take import take_evidence
from proofs.labels.select import label
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.contract.supply import Depth
from spec.events.fields import OF_MODEL
from spec.lowering.evidence import EvidenceFile
from spec.lowering.vocabulary import Label
from tests.monitor.pressure.test_pressure import altered, lru_run, sample

ARMS = ("original", "swapped", "equal")
NAME = "priority_influence"


def taken(folder: Path, *paths: str) -> EvidenceFile:
    return take_evidence(paths, Mode.SOFT_PRIORITY, folder)


def why_not(evidence: EvidenceFile) -> list[str]:
    """Why files that keep priority_influence do not show it."""
    assert NAME not in {each.obligation for each in evidence.shown}
    unshown = [each for each in evidence.unshown if each.obligation == NAME]
    return [each.why for each in unshown if each.verdict == "inconclusive"]


def labelled(evidence: EvidenceFile) -> Label:
    """The label of the plugin by what is shown alone."""
    asked = ([descriptor("vllm_plugin")], Mode.SOFT_PRIORITY, Depth.BACKEND_PATCH)
    (row,) = label(*asked, Bundle.CONTRACT, evidence, require_evidence=True)
    return row.label


class TestArms:
    @pytest.mark.parametrize("missing", ARMS)
    def test_missing(self, missing: str, tmp_path: Path) -> None:
        """Without one of the three arms it is not shown, and the arm is named."""
        evidence = taken(tmp_path, *(sample(arm) for arm in ARMS if arm != missing))
        why = f"pressure finds influence inconclusive: there is no run with priorities {missing}"
        assert {why} == {*why_not(evidence)}
        assert Label.APPROXIMATE is labelled(evidence)

    def test_one(self, tmp_path: Path) -> None:
        """Nor is it shown by one trace, whose other obligations are."""
        evidence = taken(tmp_path, sample("original"))
        (why,) = why_not(evidence)
        assert why.endswith("there is no run with priorities swapped and equal")
        shown = {each.obligation for each in evidence.shown}
        assert {"claim_identity", "claim_scoped_telemetry"} == shown
        assert Label.APPROXIMATE is labelled(evidence)

    def test_whole(self, tmp_path: Path) -> None:
        """By all three arms it is shown, in the two with unequal priorities."""
        evidence = taken(tmp_path, *map(sample, ARMS))
        assert [0, 1] == [each.file for each in evidence.shown if each.obligation == NAME]
        assert Label.SOUND_WITH_ADAPTER is labelled(evidence)

    def test_model(self, tmp_path: Path) -> None:
        """Runs of a model say nothing of an engine."""
        runs = [tmp_path / f"{arm}.jsonl" for arm in ARMS]
        for run in runs:
            text = Path(sample(run.stem)).read_text()
            run.write_text(text.replace('"example-model"', f'"{OF_MODEL}"'))
        whys = why_not(taken(tmp_path, *map(str, runs)))
        assert ["pressure finds influence shown of a model"] * 2 == [w.split(":")[0] for w in whys]

    def test_other_claims(self, tmp_path: Path) -> None:
        """All runs are about the same claims."""
        run = altered(tmp_path, lambda x: [{**x[0], "owner_scope": "another"}, *x[1:]], "equal")
        whys = why_not(taken(tmp_path, sample("original"), sample("swapped"), run))
        assert all("not about the same two claims" in why for why in whys)
        assert len(whys) == 2


class TestJoined:
    def test_one_registry(self, tmp_path: Path) -> None:
        """The captures of one registry are runs of one arm."""
        runs = [lru_run(tmp_path / f"{n}", two) for n, two in enumerate([(1, 9), (9, 1), (5, 5)])]
        registry = runs[0].partition("=")[0]
        captures = [run.partition("=")[2] for run in runs]
        evidence = take_joined_evidence(registry, captures, Mode.SOFT_PRIORITY, tmp_path)
        assert NAME not in json.dumps([each.obligation for each in evidence.shown])
