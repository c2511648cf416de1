"""Lines that say too little of a claim before it is met."""

from __future__ import annotations

import pytest

from monitor.engine import Monitor
from monitor.input.records import Doubt, Record, Stamp, at_line
from monitor.stream import unmet
from spec.claims.claim import Mode
from spec.language.verdicts import Verdict
from tests.differential.compare import record
from tests.monitor.traces import CLAIM, OTHER
from tests.monitor.traces_canonical import canonical_claim, lines_of


def concluded(*doubts: Doubt) -> dict[str, set[Verdict]]:
    """What is found of two claims, of which the line before the first says too little."""
    monitor = Monitor(Mode.HARD_PROTECTED)
    monitor.take(Record(at_line("run", 0), Stamp("run", None, None), doubts=doubts))
    for line in lines_of([*canonical_claim(), *canonical_claim(OTHER, first=200)]):
        monitor.take(record(line))
    return {
        each.claim.claim_id: {finding.verdict for _, finding in each.claim.findings()}
        for each in monitor.conclude().claims
    }


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_all(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is concluded of a claim that was in doubt, however many are remembered; of another
    one what it came to.
    """
    monkeypatch.setattr(unmet, "UNMET", limit)
    both = concluded(Doubt("it says too little", CLAIM), Doubt("so does it", OTHER))
    assert {CLAIM: {Verdict.INCONCLUSIVE}, OTHER: {Verdict.INCONCLUSIVE}} == both
    assert Verdict.SATISFIED in concluded(Doubt("it says too little", CLAIM))[OTHER]


def test_some() -> None:
    """Only the obligations are left open of which the line says too little."""
    doubt = Doubt("it says too little", CLAIM, frozenset({"claim_identity"}))
    assert {Verdict.INCONCLUSIVE, Verdict.SATISFIED} < concluded(doubt)[CLAIM]
