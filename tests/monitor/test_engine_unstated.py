"""What nobody stated is not judged: the terms of a claim."""

from __future__ import annotations

from typing import Any

import pytest

from spec.claims import Mode
from spec.modes import MODES, Bundle
from tests.monitor.traces import Trace, claim_of, having, judge, without
from tests.monitor.traces_canonical import canonical_claim

IDENTITY = ("cache_identity", "object_id")
PREDICATE = "it was accepted without materialization_predicate"
OBJECT = "it was accepted without cache_identity or object_id"


def stripped(trace: Trace, *fields: str) -> Trace:
    """The trace without these fields."""
    return [{k: v for k, v in line.items() if k not in fields} for line in trace]


def why(trace: Trace, mode: Mode = Mode.HARD_PROTECTED, **options: Any) -> set[str]:
    """Why the obligations of the claim are inconclusive; all of them must be."""
    report = judge(trace, mode, **options)
    assert "inconclusive" == report.verdict
    assert set(report.obligations) == having(report, "inconclusive")
    return {found.why for found in claim_of(report).obligations.values()}


class TestTerms:
    """A claim has an identity and a predicate when it is accepted, or it is not judged."""

    def test_predicate(self) -> None:
        """Without a predicate nothing says what "there" means, so nothing is kept."""
        trace = without(stripped(canonical_claim(), "predicate"), "claim_registered")
        assert {PREDICATE} == why(trace)

    @pytest.mark.parametrize("bundle", Bundle)
    @pytest.mark.parametrize("mode", MODES)
    def test_every_bundle(self, mode: Mode, bundle: Bundle) -> None:
        """Every bundle of every mode reads the predicate, so each of them asks for it."""
        trace = without(stripped(canonical_claim(), "predicate"), "claim_registered")
        entered = "accepted" if "explicit_acceptance" in MODES[mode].paper else "registered"
        expected = {PREDICATE.replace("accepted", entered)}
        assert expected == why(trace, mode, bundle=bundle)

    def test_predicate_afterwards(self) -> None:
        """A predicate that is first stated after the acceptance was not fixed by it."""
        trace = without(stripped(canonical_claim(), "predicate"), "claim_registered")
        trace[-1]["predicate"] = "leading_prefix_at_least(1)"
        assert {PREDICATE} == why(trace)

    def test_predicate_at_acceptance(self) -> None:
        """Stated by the acceptance itself it is in time."""
        trace = without(stripped(canonical_claim(), "predicate"), "claim_registered")
        trace[1]["predicate"] = "leading_prefix_at_least(3)"
        assert "kept" == judge(trace, Mode.HARD_PROTECTED).verdict

    def test_identity(self) -> None:
        """A claim on nothing in particular satisfies no identity."""
        assert {OBJECT} == why(stripped(canonical_claim(), *IDENTITY))

    @pytest.mark.parametrize("field", IDENTITY)
    def test_one_identity(self, field: str) -> None:
        """A cache identity or an object is enough to say what the claim is on."""
        trace = stripped(canonical_claim(), field)
        assert "kept" == judge(trace, Mode.HARD_PROTECTED).verdict

    def test_registered(self) -> None:
        """Where a mode owes its telemetry from registration on, the terms are due there."""
        registered = without(stripped(canonical_claim(), *IDENTITY), "claim_accepted")
        assert {OBJECT.replace("accepted", "registered")} == why(registered, Mode.BEST_EFFORT)

    def test_violated_before(self) -> None:
        """An acceptance of what was never committed is untrue, whatever else is missing."""
        trace = without(stripped(canonical_claim(), *IDENTITY), "claim_committed")
        report = judge(trace, Mode.HARD_PROTECTED)
        assert {"explicit_acceptance"} == having(report, "violated")
