"""Verdicts on canonical streams: order, gaps, ownership, losses, and the rule of the whole."""

from __future__ import annotations

import pytest

from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from tests.monitor.traces import (
    CLAIM,
    OTHER,
    RUN,
    Trace,
    changed,
    claim_of,
    having,
    judge,
    moved,
    put,
    verdicts,
    without,
)
from tests.monitor.traces_allocator import allocator, allocator_refusal, allocator_victim
from tests.monitor.traces_canonical import about, canonical, canonical_claim, canonical_refusal
from tests.monitor.traces_connector import connector_success


def protect(trace: Trace, claim: str = CLAIM) -> dict[str, str]:
    return verdicts(judge(trace, Mode.HARD_PROTECTED), claim)


class TestOrder:
    """Numbers and times run forward; a number that is missing is an event that is missing."""

    def test_gap(self) -> None:
        """A gap makes what is alive inconclusive, and its breach is not hidden by it."""
        trace = changed(canonical_refusal(), "request_arrived", sequence=6)
        report = judge(trace, Mode.HARD_PROTECTED)
        assert "inconclusive" == report.verdict
        assert set(report.obligations) == having(report, "inconclusive")

    def test_gap_at_the_start(self) -> None:
        """A stream that does not start at 0 has lost its beginning."""
        trace = [{**line, "sequence": 5 + i} for i, line in enumerate(canonical_refusal())]
        started = judge(trace, Mode.HARD_PROTECTED)
        headless = judge(trace[3:], Mode.HARD_PROTECTED)
        assert "violated" not in started.obligations.values()
        assert "inconclusive" == headless.verdict
        assert "violated" not in headless.obligations.values()

    def test_gap_after_a_breach(self) -> None:
        """Violated stays violated, whatever is missing later."""
        victim = canonical("block_evicted", block_ids=[100])
        trace = put(canonical_refusal(), "request_arrived", victim)
        trace = changed(trace, "request_refused", sequence=40)
        found = protect(trace)
        assert "violated" == found["victim_exclusion_before_violation"]
        assert "inconclusive" == found["blocking_claim_ids"]

    def test_gap_after_the_end(self) -> None:
        """A claim whose responsibility is over is not touched by what is missing after it."""
        ended = [about("claim_retired"), about("claim_released", by="tenant:1")]
        trace = [*canonical_claim(), *ended, canonical("request_finished", request_id="q")]
        trace[-1]["sequence"] = 99
        assert "inconclusive" not in protect(trace).values()

    @pytest.mark.parametrize(
        ("field", "reason"), [("sequence", "out-of-order"), ("time_ns", "time-backwards")]
    )
    def test_backwards(self, field: str, reason: str) -> None:
        """Time or sequence running backwards leaves live claims open: transport breaks nothing."""
        trace = changed(canonical_refusal(), "request_arrived", **{field: 2})
        report = judge(trace, Mode.HARD_PROTECTED)
        assert "inconclusive" == report.verdict
        assert [reason] == [each.reason for each in report.breaks]

    def test_same_time(self) -> None:
        """Two events may share a time, not a number."""
        trace = [{**line, "time_ns": 7} for line in canonical_refusal()]
        assert "kept" == judge(trace, Mode.HARD_PROTECTED).verdict
        twice = changed(canonical_refusal(), "request_arrived", sequence=4)
        assert "inconclusive" == protect(twice)["ordered_lifecycle_events"]

    def test_backwards_without_the_obligation(self) -> None:
        """Where the mode has no order to break, disorder leaves the verdict open."""
        trace = changed(canonical_claim(mode="best_effort"), "claim_materialized", time_ns=1)
        assert "inconclusive" == judge(trace, Mode.BEST_EFFORT).verdict

    def test_streams_are_ordered_apart(self) -> None:
        """Each stream has its own numbers and its own clock."""
        other = [{**line, "stream": "run-2"} for line in canonical_refusal()]
        mixed = [line for pair in zip(canonical_refusal(), other, strict=True) for line in pair]
        assert "kept" == judge(mixed, Mode.HARD_PROTECTED).verdict


class TestStreams:
    """A claim lives in its stream."""

    def test_two_runs(self) -> None:
        """One id in two runs is two claims, each with its own verdict."""
        good = allocator_refusal()
        bad = [{**line, "run_id": "run-2"} for line in [*good, allocator_victim(100)]]
        report = judge([*good, *bad], Mode.HARD_PROTECTED)
        assert ["kept", "violated"] == [claim.verdict for claim in report.claims]
        assert [RUN, "run-2"] == [claim.stream for claim in report.claims]
        assert "kept" == claim_of(report, CLAIM, RUN).verdict

    def test_identities_of_two_runs(self) -> None:
        """The same id under another identity in another run is no contradiction."""
        other = [
            {**line, "hook_scope": "run-2", "cache_identity": "cache:v2"}
            for line in connector_success()
        ]
        report = judge([*connector_success(), *other], Mode.OFFLOADABLE)
        assert "kept" == report.verdict

    def test_other_claims(self) -> None:
        """Only the claim that goes by two identities is in doubt."""
        other = canonical_claim(OTHER, first=500)
        trace = [*canonical_claim(), *other, {**about("claim_materialized"), "object_id": "x"}]
        report = judge(trace, Mode.HARD_PROTECTED)
        assert "claim_identity" in having(report, "violated")
        assert {"satisfied", "unexercised"} == set(verdicts(report, OTHER).values())


class TestOwnership:
    """Who may end a claim."""

    def ended(self, event: str, by: str, *before: str, duration: str = "60 steps") -> str:
        facts = [about(kind) for kind in before]
        ends = [*facts, about("claim_retired"), about(event, by=by)]
        claim = canonical_claim(mode="demotable", duration=duration)
        report = judge([*claim, *ends], Mode.DEMOTABLE)
        return verdicts(report)["ordered_lifecycle_events"]

    def test_owner(self) -> None:
        """The owning scope may release and demote; nobody else may."""
        for event in ("claim_released", "claim_demoted"):
            assert "satisfied" == self.ended(event, "tenant:1")
            assert "violated" == self.ended(event, "tenant:2")

    @pytest.mark.parametrize("declared", [True, False])
    @pytest.mark.parametrize("mode", [m for m in MODES if "explicit_acceptance" in MODES[m].paper])
    def test_runtime_demotes(self, mode: Mode, declared: bool) -> None:
        """The runtime may demote where the mode judged by lets it."""
        allowed = "satisfied" if mode is Mode.DEMOTABLE else "violated"
        trace = canonical_claim(mode=mode)
        if not declared:
            del trace[0]["mode"]
        ends = [about("claim_retired"), about("claim_demoted", by="runtime")]
        report = judge([*trace, *ends], mode)
        assert (mode if declared else None) == claim_of(report).declared_mode
        assert allowed == verdicts(report)["ordered_lifecycle_events"]

    def test_runtime_releases(self) -> None:
        """Withdrawing a claim is its owner's alone."""
        assert "violated" == self.ended("claim_released", "runtime")

    def test_runtime_expires(self) -> None:
        """The runtime may expire a claim at its duration, not before."""
        assert "satisfied" == self.ended("claim_expired", "runtime", "duration_elapsed")
        assert "violated" == self.ended("claim_expired", "runtime", duration="60 s")
        assert "inconclusive" == self.ended("claim_expired", "runtime")


class TestLosses:
    """A loss that breaks the predicate while responsible is harm, and must be reported."""

    lost = canonical("block_lost", block_ids=[100])

    def test_told(self) -> None:
        """A reset, told as harm of the claim."""
        trace = [*canonical_claim(), self.lost, about("claim_harmed")]
        assert "satisfied" == protect(trace)["claim_harm_attribution"]

    def test_owed(self) -> None:
        """Not told yet when the stream ends: the whole is inconclusive."""
        report = judge([*canonical_claim(), self.lost], Mode.HARD_PROTECTED)
        assert {"claim_harm_attribution"} == having(report, "pending")
        assert "inconclusive" == report.verdict
        assert "claim_harm_attribution" in report.why

    def test_silent(self) -> None:
        """Passed over when the runtime next did something with the claim."""
        trace = [*canonical_claim(), self.lost, about("claim_retired")]
        assert "violated" == protect(trace)["claim_harm_attribution"]

    def test_tail(self) -> None:
        """A loss behind what the predicate needs is no harm, and may not be called so."""
        tail = canonical("block_lost", block_ids=[103])
        assert "unexercised" == protect([*canonical_claim(), tail])["claim_harm_attribution"]
        invented = [*canonical_claim(), tail, about("claim_harmed")]
        assert "violated" == protect(invented)["claim_harm_attribution"]

    def test_environment(self) -> None:
        """A reset is nobody's choice of a victim."""
        trace = [*canonical_claim(), self.lost, about("claim_harmed")]
        assert "violated" != protect(trace)["victim_exclusion_before_violation"]


IDLE = "not exercised: claim_harm_attribution"


class TestRule:
    """How the verdicts of obligations make one."""

    def test_kept(self) -> None:
        """Everything exercised was satisfied; what was not is listed."""
        report = judge(canonical_refusal(), Mode.HARD_PROTECTED)
        assert ("kept", IDLE) == (report.verdict, report.why)

    def test_strict(self) -> None:
        """Strict counts what no claim exercised as open."""
        report = judge(canonical_refusal(), Mode.HARD_PROTECTED, strict=True)
        assert "inconclusive" == report.verdict
        assert f"1 of 10 obligations {IDLE}" == report.why
        harmed = [*canonical_refusal(), TestLosses.lost, about("claim_harmed")]
        assert "kept" == judge(harmed, Mode.HARD_PROTECTED, strict=True).verdict

    def test_strict_pools(self) -> None:
        """What one claim exercised is exercised."""
        other = [*canonical_claim(OTHER, first=500), canonical("block_lost", block_ids=[500])]
        other = [{**line, "stream": "run-2"} for line in [*other, about("claim_harmed", OTHER)]]
        report = judge([*canonical_refusal(), *other], Mode.HARD_PROTECTED, strict=True)
        assert "kept" == report.verdict
        assert ["kept", "kept"] == [claim.verdict for claim in report.claims]

    def test_only(self) -> None:
        """One claim judged alone does not answer for another."""
        bad = [*canonical_claim(OTHER, first=500), canonical("block_evicted", block_ids=[500])]
        trace = [*canonical_claim(), *bad]
        assert "violated" == judge(trace, Mode.HARD_PROTECTED).verdict
        assert "kept" == judge(trace, Mode.HARD_PROTECTED, claim=CLAIM).verdict
        assert "violated" == judge(trace, Mode.HARD_PROTECTED, claim=OTHER).verdict
        absent = judge(trace, Mode.HARD_PROTECTED, claim="claim:c")
        assert ("inconclusive", "claim claim:c does not occur") == (absent.verdict, absent.why)

    def test_not_accepted(self) -> None:
        """A claim that was turned away is not judged, and does not stand for one that is."""
        turned_away = [*canonical_claim()[:1], about("claim_rejected")]
        report = judge(turned_away, Mode.HARD_PROTECTED)
        assert ("inconclusive", "no accepted claim") == (report.verdict, report.why)
        assert "not accepted" == report.claims[0].why
        both = [*turned_away, *canonical_claim(OTHER, first=500)]
        report = judge(both, Mode.HARD_PROTECTED)
        assert "kept" == report.verdict
        assert "inconclusive" == claim_of(report).verdict

    def test_registered(self) -> None:
        """A mode without acceptance judges what was registered."""
        registered = without(canonical_claim(mode="best_effort"), "claim_accepted")
        assert "kept" == judge(registered, Mode.BEST_EFFORT).verdict
        arrives = canonical("request_arrived", request_id="q", needed=1, usable=9)
        nothing = judge([arrives], Mode.BEST_EFFORT)
        assert ("inconclusive", "no registered claim") == (nothing.verdict, nothing.why)

    @pytest.mark.parametrize(
        ("report", "verdict"), [("claim_rejected", "kept"), ("claim_harmed", "inconclusive")]
    )
    def test_unregistered(self, report: str, verdict: str) -> None:
        """Whoever asks badly is turned away unregistered, and spoils nobody's verdict by that; any
        other report on a claim that nobody registered does."""
        registered = without(canonical_claim(mode="best_effort"), "claim_accepted")
        stranger = canonical(report, claim_id="claim of a request")
        assert verdict == judge([*registered, stranger], Mode.BEST_EFFORT).verdict

    def test_other_mode(self) -> None:
        """A claim of another mode was never promised this one: it is not judged, and not kept."""
        victim = canonical("block_evicted", block_ids=[100])
        report = judge([*canonical_claim(mode="demotable"), victim], Mode.HARD_PROTECTED)
        assert "inconclusive" == report.verdict
        assert "no accepted claim of this mode, only of demotable" == report.why
        assert ([], {"demotable": 1}) == (report.claims, report.others)
        assert {"unexercised"} == set(report.obligations.values())

    def test_beside_another_mode(self) -> None:
        """What becomes of it is nobody's breach of this one."""
        other = canonical_claim(OTHER, first=500, mode="demotable")
        demoted = [about("claim_retired", OTHER), about("claim_demoted", OTHER, by="runtime")]
        trace = [*canonical_claim(), *other, *demoted]
        report = judge(trace, Mode.HARD_PROTECTED)
        assert ("kept", [CLAIM]) == (report.verdict, [claim.claim_id for claim in report.claims])
        assert "kept" == judge(trace, Mode.DEMOTABLE).verdict

    def test_accepted_in_another_mode(self) -> None:
        """It is unknown what was promised: by neither mode anything is concluded."""
        trace = canonical_claim()
        trace[2]["mode"] = "demotable"
        victim = canonical("block_evicted", block_ids=[100])
        for mode in (Mode.HARD_PROTECTED, Mode.DEMOTABLE):
            report = judge([*trace, victim], mode)
            said = "asked for hard_protected and was accepted in demotable"
            assert ("inconclusive", f"claim {CLAIM} {said}") == (report.verdict, report.why)
        third = judge(trace, Mode.EXPIRING)
        assert ("inconclusive", {"hard_protected": 1}) == (third.verdict, third.others)

    def test_other_mode_alone(self) -> None:
        """A claim that is named to be judged alone, and is of another mode, is not judged."""
        report = judge(canonical_claim(mode="demotable"), Mode.HARD_PROTECTED, claim=CLAIM)
        assert "no accepted claim of this mode, only of demotable" == report.why

    def test_owed_acceptance(self) -> None:
        """Committed and not yet said: pending, so inconclusive; passed over: violated."""
        committed = canonical_claim()[:2]
        assert "pending" == protect(committed)["explicit_acceptance"]
        silent = without(canonical_claim(), "claim_accepted")
        assert "violated" == protect(silent)["explicit_acceptance"]

    def test_added_by_the_contract(self) -> None:
        """The contract owes the report that the predicate became true; the paper does not."""
        trace = without(canonical_refusal(), "claim_materialized")
        paper = judge(trace, Mode.HARD_PROTECTED, Bundle.PAPER)
        contract = judge(trace, Mode.HARD_PROTECTED)
        assert "claim_materialized_event" not in paper.obligations
        assert "violated" == contract.obligations["claim_materialized_event"]

    def test_post_hoc(self) -> None:
        """A report before the acceptance names the claim after the fact."""
        trace = moved(canonical_claim(), "claim_materialized", "claim_accepted")
        assert "violated" == protect(trace)["explicit_acceptance"]

    def test_unknown_kinds(self) -> None:
        """An unknown kind of a recorded dialect is counted and changes nothing."""
        noise = [allocator("gpu_hiccup"), allocator("gpu_hiccup"), allocator("other")]
        report = judge([*allocator_refusal(), *noise], Mode.HARD_PROTECTED)
        assert {"gpu_hiccup": 2, "other": 1} == report.events.unknown
        assert len(allocator_refusal()) + 3 == report.events.read
        assert "kept" == report.verdict
