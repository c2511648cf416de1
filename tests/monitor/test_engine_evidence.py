"""Whose evidence counts: that of claims which entered."""

from __future__ import annotations

import pytest

from spec.claims.states import Mode
from spec.contract.modes import Bundle
from tests.monitor.traces import CLAIM, OTHER, Trace, claim_of, judge, verdicts, without
from tests.monitor.traces_canonical import about, canonical, canonical_claim


def looked_up(claim: str) -> Trace:
    """A claim is registered, cached and looked up, and never accepted."""
    trace = canonical_claim(claim, first=500, mode="demotable")
    lookup = about("prefix_lookup", claim, request_id="q", held=4)
    quiet = without(trace, "claim_committed", "claim_accepted", "claim_materialized")
    return [*quiet, lookup]


class TestPhantoms:
    """A claim that never entered shows nothing kept; what it shows broken is broken."""

    accepted = without(canonical_claim(mode="demotable"), "claim_materialized")

    def test_satisfied(self) -> None:
        """Evidence about an unaccepted claim does not stand in for the accepted one."""
        name = "materialization_predicate"
        report = judge([*self.accepted, *looked_up(OTHER)], Mode.DEMOTABLE)
        assert "unexercised" == verdicts(report, OTHER)[name]
        assert "unexercised" == report.obligations[name]
        strict = judge([*self.accepted, *looked_up(OTHER)], Mode.DEMOTABLE, strict=True)
        assert name in strict.why

    def test_order(self) -> None:
        """Nor does it when it comes first."""
        report = judge([*looked_up(OTHER), *self.accepted], Mode.DEMOTABLE)
        assert "unexercised" == report.obligations["materialization_predicate"]

    def test_accepted(self) -> None:
        """The same evidence counts once the claim has been accepted."""
        said = [
            about("claim_committed", OTHER, footprint=4),
            about("claim_accepted", OTHER, footprint=4),
        ]
        before, lookup = looked_up(OTHER)[:-1], looked_up(OTHER)[-1]
        report = judge([*self.accepted, *before, *said, lookup], Mode.DEMOTABLE)
        assert "satisfied" == report.obligations["materialization_predicate"]

    @pytest.mark.parametrize("bundle", Bundle)
    def test_violated(self, bundle: Bundle) -> None:
        """A report about a claim that was never accepted breaks the mode, whoever else is kept."""
        phantom = about("claim_materialized", OTHER)
        report = judge([*canonical_claim(), phantom], Mode.HARD_PROTECTED, bundle)
        assert "kept" == claim_of(report, CLAIM).verdict
        assert "violated" == report.obligations["explicit_acceptance"]

    def test_pending(self) -> None:
        """An acceptance that is still owed is owed by the mode."""
        committed = canonical_claim(OTHER, first=500)[:2]
        report = judge([*canonical_claim(), *committed], Mode.HARD_PROTECTED)
        assert "pending" == report.obligations["explicit_acceptance"]

    def test_registered(self) -> None:
        """Where nobody accepts, a claim enters by being registered, and not by being named.
        A look-up that finds what was never cached breaks the stream."""
        named = about("prefix_lookup", OTHER, request_id="q", held=4)
        known = without(canonical_claim(mode="best_effort"), "claim_materialized")[:1]
        report = judge([*known, named], Mode.BEST_EFFORT)
        assert "unexercised" == report.obligations["materialization_predicate"]
        own = {**named, "claim_id": CLAIM, "object_id": f"object:{CLAIM}"}
        report = judge([*known, own | {"held": 0}], Mode.BEST_EFFORT)
        assert "satisfied" == report.obligations["materialization_predicate"]
        report = judge([*known, own], Mode.BEST_EFFORT)
        assert ["RC114"] == [each.code for each in report.breaks]
        assert "inconclusive" == report.obligations["materialization_predicate"]

    def test_none(self) -> None:
        """A stream of phantoms alone has nothing to judge."""
        arrival = canonical("request_arrived", request_id="q", needed=1, usable=80)
        end = canonical("request_finished", request_id="q")
        report = judge([arrival, *looked_up(OTHER), end], Mode.DEMOTABLE)
        assert ("inconclusive", "no accepted claim") == (report.verdict, report.why)
        assert {"unexercised"} == set(report.obligations.values())
