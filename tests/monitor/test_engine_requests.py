"""Requests in hand: what outlives them."""

from __future__ import annotations

from monitor.claim import ENDED_KEPT
from spec.claims import Mode
from tests.monitor.traces import CLAIM, Trace, claim_of, having, judge
from tests.monitor.traces_canonical import about, canonical, canonical_claim


def request(name: str, *between: dict[str, object], needed: int = 1) -> Trace:
    """A request arrives, has to do with the claim, and ends."""
    return [
        canonical("request_arrived", request_id=name, needed=needed, usable=80),
        about("prefix_lookup", request_id=name, held=3),
        *between,
        canonical("request_finished", request_id=name),
    ]


class TestForgotten:
    """A request that ended is forgotten after a while; what it still owed is not."""

    away = (*canonical_claim(mode="offloadable"), about("store_finished"), about("claim_offloaded"))

    def owing(self, later: int) -> Trace:
        """A restore is owed to a request that has ended already, and others follow."""
        others = [line for i in range(later) for line in request(f"q{i}")]
        late = about("claim_restore_required", request_id="q")
        return [*self.away, *request("q"), late, *others]

    def test_still_owed(self) -> None:
        """Still pending when so many requests have ended since that it is out of hand."""
        for later in (ENDED_KEPT - 1, ENDED_KEPT, 3 * ENDED_KEPT):
            report = judge(self.owing(later), Mode.OFFLOADABLE)
            assert {"offload_restorability"} == having(report, "pending")
            assert "inconclusive" == report.verdict
            line = len(self.away) + len(request("q")) + 1
            at = claim_of(report).obligations["offload_restorability"].at
            assert at is not None
            assert line == at.line

    def test_settled(self) -> None:
        """What ended satisfied counts for good, and nothing is owed for it."""
        back = (
            about("claim_restore_required", request_id="q"),
            about("load_finished", request_id="q", held=3),
            about("claim_restored", request_id="q", from_tier=True),
            about("prefix_reused", request_id="q"),
        )
        others = [line for i in range(ENDED_KEPT + 1) for line in request(f"q{i}")]
        report = judge([*self.away, *request("q", *back), *others], Mode.OFFLOADABLE)
        assert "satisfied" == report.obligations["offload_restorability"]
        assert "kept" == claim_of(report, CLAIM).verdict

    def test_outweighed(self) -> None:
        """A breach outweighs what is still owed."""
        silent = about("prefix_reused", request_id="r")
        evicted = canonical("block_evicted", block_ids=[100, 101, 102, 103])
        trace = [*self.owing(ENDED_KEPT), evicted, *request("r", silent)]
        assert "violated" == judge(trace, Mode.OFFLOADABLE).obligations["offload_restorability"]
