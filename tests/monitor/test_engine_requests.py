"""Requests in hand: what outlives them, and what is said of them before its time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spec.claims.states import Mode
from spec.stream.claim import _KEPT as ENDED_KEPT
from tests.monitor.traces import (
    CLAIM,
    OTHER,
    Line,
    Trace,
    claim_of,
    having,
    judge,
    verdicts,
    without,
)
from tests.monitor.traces_canonical import about, canonical, canonical_claim


def request(name: str, *between: dict[str, object], needed: int = 1) -> Trace:
    """A request arrives, has to do with the claim, and ends."""
    return [
        canonical("request_arrived", request_id=name, needed=needed, usable=80),
        about("prefix_lookup", request_id=name, held=3, asked=3),
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
        """Pending as long as the request is remembered; inconclusive when it is forgotten."""
        for later, verdict, code in (
            (ENDED_KEPT - 1, "pending", ""),
            (ENDED_KEPT, "inconclusive", "RC304"),
            (3 * ENDED_KEPT, "inconclusive", "RC304"),
        ):
            report = judge(self.owing(later), Mode.OFFLOADABLE)
            assert {"offload_restorability"} == having(report, verdict)
            assert "inconclusive" == report.verdict
            found = claim_of(report).obligations["offload_restorability"]
            assert code == found.code
            line = len(self.away) + len(request("q")) + 1
            assert found.at is not None
            assert line == found.at.line

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
        """A breach outweighs what is still owed. Once that is forgotten, and so unknown, a later
        breach is not told apart from it."""
        silent = about("prefix_reused", request_id="r")
        evicted = canonical("block_evicted", block_ids=[100, 101, 102, 103])
        for later, verdict in ((ENDED_KEPT - 1, "violated"), (ENDED_KEPT, "inconclusive")):
            trace = [*self.owing(later), evicted, *request("r", silent)]
            report = judge(trace, Mode.OFFLOADABLE)
            assert ["RC115"] == [each.code for each in report.breaks]
            assert verdict == report.obligations["offload_restorability"]

    def test_satisfied_afterwards(self) -> None:
        """A request that had nothing to show hides nothing that is shown and gone again later."""
        known, *filled = without(
            canonical_claim(mode="best_effort"), "claim_committed", "claim_accepted"
        )
        lost = canonical("block_lost", block_ids=[100])
        others = [line for i in range(ENDED_KEPT + 1) for line in request(f"q{i}")]
        trace = [
            known,
            *({**line, "held": 0} if "held" in line else line for line in others),
            *filled,
            lost,
            about("claim_unmaterialized"),
            about("block_cached", block_ids=[200], positions=[0]),
            lost | {"block_ids": [200]},
        ]
        report = judge(trace, Mode.BEST_EFFORT)
        assert "satisfied" == report.obligations["claim_materialized_event"]


def refused(blocking: list[str] | None = None, **fields: Any) -> Line:
    return canonical("request_refused", request_id="q", blocking_claim_ids=blocking, **fields)


ARRIVED = canonical("request_arrived", request_id="q", needed=7, usable=10)
FINISHED = canonical("request_finished", request_id="q")


class TestBeforeItsTime:
    """Blame is judged by what was known when it was reported."""

    def blame(self, trace: Trace, claim: str = CLAIM) -> str:
        return verdicts(judge(trace, Mode.HARD_PROTECTED), claim)["blocking_claim_ids"]

    def test_explained_afterwards(self) -> None:
        """A refusal that names a claim which does not exist yet is no business of that claim."""
        early = [ARRIVED, refused([CLAIM]), FINISHED, *canonical_claim()]
        assert "unexercised" == self.blame(early)
        during = [ARRIVED, refused([CLAIM]), *canonical_claim(), FINISHED]
        assert "unexercised" == self.blame(during)
        assert "satisfied" == self.blame([*canonical_claim(), ARRIVED, refused([CLAIM]), FINISHED])

    def test_nobody_named(self) -> None:
        """A refusal that names nobody is no business of claims that come later."""
        assert "unexercised" == self.blame([ARRIVED, refused(), FINISHED, *canonical_claim()])

    def test_named_with_another(self) -> None:
        """Naming the right claim beside one that does not exist yet is wrong of the right one."""
        other = canonical_claim(OTHER, first=500)
        trace = [*canonical_claim(), ARRIVED, refused([CLAIM, OTHER]), FINISHED, *other]
        assert "violated" == self.blame(trace)
        assert "unexercised" == self.blame(trace, OTHER)

    def test_after_a_gap(self) -> None:
        """Whoever is named after a gap may have been known in it."""
        trace = [ARRIVED, refused([CLAIM]), FINISHED, *canonical_claim()]
        numbered = [{**line, "sequence": i + 1} for i, line in enumerate(trace)]
        assert "violated" != self.blame(numbered)

    def test_proof_of_that_time(self) -> None:
        """The sums of a proof are no business of a claim that was not there."""
        proof = {"resident": 0, "active": 7, "total": 7, "usable": 10, "shortfall": 0}
        trace = [ARRIVED, refused([CLAIM], proof=proof), FINISHED, *canonical_claim()]
        report = judge(trace, Mode.HARD_PROTECTED)
        assert set() == having(report, "violated")
        assert "unexercised" == self.blame(trace)


class TestRestoreRefused:
    """A refusal is for a failed restore if a restore of a known claim failed for that request."""

    def blame(self, *lines: Line, before: Sequence[Line] = (ARRIVED,)) -> str:
        claims = [*canonical_claim(), *canonical_claim(OTHER, first=500)]
        trace = [*claims, about("store_finished", OTHER), *before, *lines, FINISHED]
        return verdicts(judge(trace, Mode.HARD_PROTECTED))["blocking_claim_ids"]

    failed = about("load_failed", OTHER, request_id="q")

    def test_real(self) -> None:
        """A real failure, of the claim that is named."""
        trace = [
            *canonical_claim(),
            about("store_finished"),
            about("block_lost"),
            about("claim_harmed"),
            ARRIVED,
            about("load_failed", request_id="q"),
            refused([CLAIM], restore=True),
            FINISHED,
        ]
        found = verdicts(judge(trace, Mode.HARD_PROTECTED))
        assert "satisfied" == found["blocking_claim_ids"]

    def test_stranger(self) -> None:
        """The failure of something that no registry holds is no claim's failure, named or not."""
        strange = about("load_failed", "claim:x", request_id="q")
        assert "violated" == self.blame(strange, refused(restore=True))
        assert "violated" == self.blame(strange, refused(["claim:x"], restore=True))

    def test_another_request(self) -> None:
        """A failure for another request explains nothing about this one."""
        elsewhere = {**self.failed, "request_id": "r"}
        assert "violated" == self.blame(elsewhere, refused(restore=True))
        assert "violated" == self.blame(elsewhere, refused([OTHER], restore=True))

    def test_earlier_request_of_that_name(self) -> None:
        """Nor does one for an earlier request of the same id."""
        again = [self.failed, refused([OTHER], restore=True), FINISHED, ARRIVED]
        assert "violated" == self.blame(*again, refused(restore=True))

    def test_ended(self) -> None:
        """A load that fails after its claim was released did fail: saying so is no breach, and
        naming another claim for it is one."""
        ended = [about("claim_retired", OTHER), about("claim_released", OTHER, by="tenant:1")]
        before = [*ended, ARRIVED | {"needed": 8}]
        for named, verdict in (
            ([], "unexercised"),
            ([OTHER], "unexercised"),
            ([CLAIM], "violated"),
        ):
            said = refused(named, restore=True)
            assert verdict == self.blame(self.failed, said, before=before)


class TestLate:
    """A request may be followed for a claim only when something comes of it."""

    def order(self, *lines: Line) -> str:
        trace = [*canonical_claim(), *lines]
        return verdicts(judge(trace, Mode.HARD_PROTECTED))["ordered_lifecycle_events"]

    small = canonical("request_arrived", request_id="q", needed=1, usable=10)
    retired = about("claim_retired")

    def test_silent_end(self) -> None:
        """A request of the pool ends: what the claim owes is due, whenever the request began."""
        assert "violated" == self.order(self.small, self.retired, FINISHED)
        assert "violated" == self.order(self.retired, self.small, FINISHED)
        assert "pending" == self.order(self.small, FINISHED, self.retired)

    def test_action(self) -> None:
        """So it is when the request is acted on."""
        deferred = canonical("request_deferred", request_id="q")
        assert "violated" == self.order(self.small, self.retired, deferred)
        assert "violated" == self.order(self.retired, self.small, deferred)
        assert "pending" == self.order(self.small, deferred, self.retired)

    def test_another_of_that_name(self) -> None:
        """One that arrives again and has not ended contradicts its first arrival; one that has
        is another."""
        assert "inconclusive" == self.order(self.small, self.retired, self.small, FINISHED)
        assert "inconclusive" == self.order(self.small, self.small, self.retired, FINISHED)
        again = [self.small, FINISHED, self.retired, self.small]
        assert "pending" == self.order(*again)
        assert "violated" == self.order(*again, FINISHED)

    def test_room_at_arrival(self) -> None:
        """Whether it fits is judged by the claims that were there, until it is acted on."""
        tight = {**self.small, "needed": 6}
        other = canonical_claim(OTHER, first=500)
        looked_up = about("prefix_lookup", request_id="q", held=3, asked=3)
        name = "explicit_conflict_action"
        before = judge([*canonical_claim(), tight, *other, looked_up], Mode.HARD_PROTECTED)
        assert ("unexercised", "unexercised") == (
            verdicts(before)[name],
            verdicts(before, OTHER)[name],
        )
        after = judge([*canonical_claim(), *other, tight, looked_up], Mode.HARD_PROTECTED)
        assert ("pending", "pending") == (verdicts(after)[name], verdicts(after, OTHER)[name])
        late = judge([*canonical_claim(), tight, *other, FINISHED], Mode.HARD_PROTECTED)
        assert ("unexercised", "unexercised") == (verdicts(late)[name], verdicts(late, OTHER)[name])
        ended = judge([*canonical_claim(), *other, tight, FINISHED], Mode.HARD_PROTECTED)
        assert ("violated", "violated") == (verdicts(ended)[name], verdicts(ended, OTHER)[name])

    def test_forgotten(self) -> None:
        """A late report about a request that the monitor has forgotten proves nothing."""
        away, evicted = TestForgotten.away, canonical("block_evicted", block_ids=[100])
        failed = [
            about("claim_restore_required", request_id="q"),
            about("load_failed", request_id="q"),
            about("claim_restoration_failed", request_id="q", outcome="harm"),
            about("claim_harmed"),
        ]
        echo = about("claim_restoration_failed", request_id="q", outcome="harm", echo=True)
        for later, verdict in ((ENDED_KEPT - 1, "satisfied"), (ENDED_KEPT, "inconclusive")):
            others = [line for i in range(later) for line in request(f"q{i}")]
            trace = [*away, evicted, *request("q", *failed), *others, echo]
            report = judge(trace, Mode.OFFLOADABLE)
            assert verdict == report.obligations["restoration_failure_outcome"]
            again = [*trace[:-1], *request("q")]
            report = judge(again, Mode.OFFLOADABLE)
            assert "satisfied" == report.obligations["restoration_failure_outcome"]


def test_a_claim_that_comes_later() -> None:
    """While a request that arrived twice is in hand, it is unknown whether it fits beside a claim
    that comes after that."""
    once = canonical("request_arrived", request_id="q", needed=1, usable=80)
    end = canonical("request_finished", request_id="q")
    for arrivals, verdict in (([once], "satisfied"), ([once, once], "inconclusive")):
        later = canonical_claim(OTHER, first=200)
        report = judge([*canonical_claim(), *arrivals, *later, end], Mode.HARD_PROTECTED)
        assert verdict == claim_of(report, OTHER).obligations["footprint_accounting"].verdict
