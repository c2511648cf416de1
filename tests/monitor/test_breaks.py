"""What a break leaves of a stream, and how a report tells of it."""

from __future__ import annotations

import pytest

from monitor.report.report_text import as_text
from spec.claims.states import Mode
from spec.cli.common import console
from tests.monitor.traces import CLAIM, OTHER, Line, Trace, claim_of, judge, verdicts
from tests.monitor.traces_canonical import about, canonical, canonical_claim

HARD = Mode.HARD_PROTECTED
ENDS = [about("claim_retired", by="tenant:1"), about("claim_released", by="tenant:1")]
VICTIM = canonical("block_evicted", block_ids=[100])
TWICE = [canonical("request_arrived", request_id="q", needed=1, usable=20)] * 2


def gapped(trace: Trace, where: int) -> Trace:
    """The trace numbered so that one number is missing before this line."""
    return [{**line, "sequence": i + (i >= where)} for i, line in enumerate(trace)]


def restated(trace: Trace) -> Trace:
    """A restatement of what stands by a trace."""
    mark: Line = {"kind": "stream_restated", "stream": trace[0]["stream"]}
    return [mark, *({**line, "restated": True} for line in trace)]


class TestMissing:
    """A sequence number is missing."""

    def test_alive(self) -> None:
        """Of a claim that is alive nothing more is concluded, and the code says why."""
        trace = canonical_claim()
        report = judge(gapped([*trace, *ENDS], len(trace)), HARD)
        found = claim_of(report)
        assert "inconclusive" == report.verdict == found.verdict
        assert {("RC101", "lines-missing")} == {
            (each.code, each.reason) for each in found.obligations.values()
        }
        assert {len(trace) + 1} == {each.at.line for each in found.obligations.values() if each.at}

    def test_final(self) -> None:
        """A claim that is final keeps its verdict; the whole is inconclusive all the same."""
        trace = [*canonical_claim(), *ENDS]
        gap = canonical("request_arrived", request_id="q", needed=1, usable=20)
        report = judge(gapped([*trace, gap], len(trace)), HARD)
        assert ("kept", "inconclusive") == (claim_of(report).verdict, report.verdict)
        assert "lines are missing before sequence number" in report.why
        assert "RC101 lines-missing" in report.why

    def test_violated(self) -> None:
        """What was violated before stays so, and the report says what came later."""
        trace = [*canonical_claim(), VICTIM]
        report = judge(gapped([*trace, *ENDS], len(trace)), HARD)
        assert "violated" == report.verdict
        assert [("RC101", len(trace) + 1)] == [(b.code, b.at and b.at.line) for b in report.breaks]
        assert "breaks" in as_text(report, console())

    def test_afterwards(self) -> None:
        """A claim that begins after it is inconclusive, for nothing is known of the pool."""
        report = judge(gapped([*canonical_claim(), *canonical_claim(OTHER, first=500)], 2), HARD)
        later = claim_of(report, OTHER).obligations.values()
        assert {"unknown-pool"} == {each.reason for each in later}


class TestContradiction:
    """Facts contradict each other."""

    def test_named(self) -> None:
        """The claim that is alive is inconclusive, and the theorem does not apply."""
        report = judge([*canonical_claim(), *TWICE], HARD)
        assert {"inconclusive"} == set(verdicts(report).values())
        assert ["request-contradicts"] == [each.reason for each in report.breaks]
        assert not report.theorem.applies

    def test_after_a_violation(self) -> None:
        """The report of a violated stream says where it contradicts itself later."""
        report = judge([*canonical_claim(), VICTIM, *TWICE], HARD)
        assert "violated" == report.verdict
        (found,) = report.breaks
        assert "request-contradicts" == found.reason
        assert "RC116 request-contradicts" in as_text(report, console())


class TestPeriods:
    """Another run begins after a break."""

    def test_restated(self) -> None:
        """What is restated is judged from there on, in a period of its own."""
        trace = canonical_claim()
        broken = gapped([*trace, canonical("block_lost", block_ids=[999])], len(trace))
        again = [*restated(trace), VICTIM]
        numbered = [
            {**line, "sequence": broken[-1]["sequence"] + 1 + n} for n, line in enumerate(again)
        ]
        report = judge([*broken, *numbered], HARD)
        found = {(claim.claim_id, claim.period): claim.verdict for claim in report.claims}
        assert {(CLAIM, 1): "inconclusive", (CLAIM, 2): "violated"} == found
        assert "2 of the stream" in as_text(report, console(), verbose=True)

    @pytest.mark.parametrize(("over", "verdict"), [(ENDS, "kept"), ([], "inconclusive")])
    def test_numbers_begin_again(self, over: Trace, verdict: str) -> None:
        """A run that begins again breaks what was alive, and nothing that was final."""
        first = [{**line, "sequence": n} for n, line in enumerate([*canonical_claim(), *over])]
        second = [{**line, "sequence": n} for n, line in enumerate([*canonical_claim(), *ENDS])]
        later = [{**line, "time_ns": 10_000_000 + n} for n, line in enumerate(second)]
        report = judge([*first, *later], HARD)
        assert [verdict, "kept"] == [claim.verdict for claim in report.claims]
        assert verdict == report.verdict
