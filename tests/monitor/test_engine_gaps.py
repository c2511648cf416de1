"""What a gap hides: not only what became of the claims that live in it, but who else is there."""

from __future__ import annotations

import pytest

from spec.claims.claim import Mode
from tests.monitor.traces import CLAIM, OTHER, Line, Trace, claim_of, judge, put, verdicts, without
from tests.monitor.traces_canonical import about, canonical, canonical_claim, canonical_refusal

POOL = {"explicit_conflict_action", "blocking_claim_ids", "footprint_accounting"}
CONFLICT = {*POOL, "victim_exclusion_before_violation"}


def gapped(trace: Trace, where: int) -> Trace:
    """The trace numbered so that one number is missing before this line."""
    return [{**line, "sequence": i + (i >= where)} for i, line in enumerate(trace)]


def judged(trace: Trace, claim: str = CLAIM) -> dict[str, str]:
    return verdicts(judge(trace, Mode.HARD_PROTECTED), claim)


def ends(claim: str) -> Trace:
    return [about("claim_retired", claim), about("claim_released", claim, by="tenant:1")]


def passes(needed: int, *between: Line, usable: int = 20) -> Trace:
    """A request comes, something is said of it, and it goes."""
    return [
        canonical("request_arrived", request_id="q", needed=needed, usable=usable),
        *between,
        canonical("request_finished", request_id="q"),
    ]


class TestPool:
    """What rests on the sum of the pool is not concluded after a gap, neither way."""

    before = canonical_claim(OTHER, first=500)

    @pytest.mark.parametrize("needed", [15, 17, 20])
    def test_silent(self, needed: int) -> None:
        """Whether a request fits beside the claim depends on claims that nobody can list."""
        trace = [*self.before, *ends(OTHER), *canonical_claim(), *passes(needed)]
        found = judged(gapped(trace, len(self.before)))
        assert {"inconclusive"} == {found[name] for name in CONFLICT}
        assert "satisfied" == found["claim_materialized_event"]

    def test_oversized(self) -> None:
        """A request larger than the pool is in conflict with nobody, whoever is in the pool."""
        trace = [*self.before, *ends(OTHER), *canonical_claim(), *passes(21)]
        found = judged(gapped(trace, len(self.before)))
        assert "unexercised" == found["explicit_conflict_action"]
        assert "inconclusive" not in found.values()

    def test_blocker(self) -> None:
        """Whoever is named may have been committed in the gap."""
        refused = canonical("request_refused", request_id="q", blocking_claim_ids=["claim:lost"])
        found = judged(gapped([*canonical_claim(), *passes(18, refused)], 0))
        assert {"inconclusive"} == {found[name] for name in POOL}

    def test_refusal_that_would_be_right(self) -> None:
        """That the sums known come out right satisfies nothing where not all are known."""
        found = judged(gapped(canonical_refusal(), 0))
        assert {"inconclusive"} == {found[name] for name in CONFLICT}

    def test_proof(self) -> None:
        """A capacity proof that does not add up with the claims known may be right all the same."""
        trace = canonical_refusal()
        trace[6]["proof"] = {"resident": 9, "active": 7, "total": 16, "usable": 10, "shortfall": 6}
        assert "violated" == judged(trace)["footprint_accounting"]
        assert "inconclusive" == judged(gapped(trace, 0))["footprint_accounting"]

    def test_no_pressure(self) -> None:
        """As long as no request presses on the pool, who else is in it does not matter."""
        trace = [*self.before, *ends(OTHER), *canonical_claim()]
        report = judge(gapped(trace, len(self.before)), Mode.HARD_PROTECTED)
        assert "kept" == claim_of(report).verdict

    @pytest.mark.parametrize("where", ["before", "after"])
    def test_victim(self, where: str) -> None:
        """A victim of a claim that was accepted after the gap is one, whoever else is there."""
        victim = canonical("block_evicted", block_ids=[100])
        pressed = [*canonical_claim(), *passes(17)]
        trace = put(pressed, "request_arrived", victim) if where == "before" else [*pressed, victim]
        found = judged(gapped(trace, 0))
        assert "violated" == found["victim_exclusion_before_violation"]
        assert "inconclusive" == found["explicit_conflict_action"]

    def test_misstated(self) -> None:
        """An acceptance is compared with the claim's own commitment alone."""
        trace = [*canonical_claim(), *passes(17)]
        trace[2]["footprint"] = 5
        assert "violated" == judged(gapped(trace, 0))["footprint_accounting"]

    def test_reason(self) -> None:
        """The reason is the gap, at the line after it."""
        report = judge(gapped([*canonical_claim(), *passes(17)], 0), Mode.HARD_PROTECTED)
        found = claim_of(report).obligations["explicit_conflict_action"]
        assert (
            "sequence 0 is missing, so it is unknown which other requests are in the pool"
        ) == found.why
        assert found.at is not None
        assert 1 == found.at.line


class TestHidden:
    """Blocks that were cached for an object in a gap are those of a claim that comes later."""

    claim = without(canonical_claim(), "block_cached")
    cached = canonical(
        "block_cached", object_id=f"object:{CLAIM}", block_ids=[7, 8, 9, 10], positions=[0, 1, 2, 3]
    )

    def test_there(self) -> None:
        """A claim that is said to be there may be so by a line that is missing."""
        assert "satisfied" == judged([self.cached, *self.claim])["materialization_predicate"]
        assert "violated" == judged(self.claim)["materialization_predicate"]
        found = judged(gapped(self.claim, 0))
        assert "inconclusive" == found["materialization_predicate"]
        assert "satisfied" == found["claim_identity"]

    def test_nobodys(self) -> None:
        """A block that is nobody's may have been the claim's, and so a victim."""
        claim = without(self.claim, "claim_materialized")
        victim = canonical("block_evicted", block_ids=[7])
        name = "victim_exclusion_before_violation"
        assert "violated" == judged([self.cached, *claim, victim])[name]
        assert "unexercised" == judged([*claim, victim])[name]
        assert "inconclusive" == judged(gapped([*claim, victim], 0))[name]

    def test_known(self) -> None:
        """A block that was cached after the gap is known to be another's."""
        other = canonical("block_cached", object_id="another", block_ids=[70], positions=[0])
        victim = canonical("block_evicted", block_ids=[70])
        found = judged(gapped([*canonical_claim(), other, victim], 0))
        assert "inconclusive" not in found.values()

    def test_commitment(self) -> None:
        """A claim that is registered again may have been committed to before."""
        claim = canonical_claim()
        again = [*claim[:2], claim[0], *claim[2:]]
        assert "satisfied" == judged(again)["explicit_acceptance"]
        rest = [claim[0], *claim[2:]]
        assert "violated" == judged(rest)["explicit_acceptance"]
        assert "inconclusive" == judged(gapped(rest, 0))["explicit_acceptance"]


class TestClaims:
    """What a gap says of one claim, and what of the others."""

    def test_accepted_after(self) -> None:
        """The commitment behind an acceptance may be among the events that are missing."""
        trace = without(canonical_claim(), "claim_registered", "claim_committed")
        assert "violated" == judged(trace)["explicit_acceptance"]
        assert {"inconclusive"} == set(judged(gapped(trace, 0)).values())

    def test_ended_before(self) -> None:
        """What is reported of a claim that ended may rest on a line that is missing; where nothing
        is, what it was judged by stays."""
        trace = [*canonical_claim(), *ends(CLAIM)]
        late = [about("claim_harmed")]
        found = [
            judged(read)["ordered_lifecycle_events"]
            for end in ([], late)
            for read in ([*trace, *end], gapped([*trace, *passes(1), *end], len(trace)))
        ]
        assert ["satisfied", "satisfied", "violated", "inconclusive"] == found

    def test_registry(self) -> None:
        """A report about the claim's object may be under an id that was registered in the gap."""
        said = {**about("claim_materialized", OTHER), "object_id": f"object:{CLAIM}"}
        assert "violated" == judged([*canonical_claim(), said])["claim_identity"]
        assert "inconclusive" == judged(gapped([*canonical_claim(), said], 0))["claim_identity"]

    def test_failures(self) -> None:
        """Who else failed for a request that began before the gap is not known."""
        offloadable = [*canonical_claim(mode="offloadable"), about("store_finished")]
        offloadable.append(about("block_lost"))
        failed = [
            about("load_failed", request_id="q"),
            canonical("request_refused", request_id="q", blocking_claim_ids=[CLAIM, OTHER]),
        ]
        failed[1]["restore"] = True
        begins, *_ = passes(1)
        early = [begins, *offloadable, *failed, passes(1)[-1]]
        late = [*offloadable, begins, *failed, passes(1)[-1]]
        name = "restoration_failure_outcome"
        assert "violated" == verdicts(judge(early, Mode.OFFLOADABLE))[name]
        assert "inconclusive" == verdicts(judge(gapped(early, 1), Mode.OFFLOADABLE))[name]
        assert "violated" == verdicts(judge(gapped(late, 0), Mode.OFFLOADABLE))[name]

    def test_ledger(self) -> None:
        """A claim about which nothing is concluded any more still leaves the pool when it ends."""
        unnamed = [
            {k: v for k, v in line.items() if k not in ("cache_identity", "object_id")}
            for line in [*canonical_claim(OTHER, first=500), *ends(OTHER)]
        ]
        found = judged([*canonical_claim(), *unnamed, *passes(16)])
        assert "unexercised" == found["explicit_conflict_action"]
        assert "violated" not in found.values()

    def test_two_identities(self) -> None:
        """What a claim that goes by two identities holds, and whether it ended, nobody knows."""
        ended = [{**line, "object_id": "another"} for line in ends(OTHER)]
        other = canonical_claim(OTHER, first=500)
        found = judged([*canonical_claim(), *other, *ended, *passes(16)])
        assert "inconclusive" == found["explicit_conflict_action"]
        assert "satisfied" == found["claim_identity"]

    def test_disorder(self) -> None:
        """Where the order is lost the sum is lost with it, for claims that come later too."""
        other = canonical_claim(OTHER, first=500)
        trace = [*other, *ends(OTHER), *canonical_claim(), *passes(17)]
        stepped = [{**line, "sequence": i - 3 * (i >= 5)} for i, line in enumerate(trace)]
        found = judged(stepped)
        assert "inconclusive" == found["explicit_conflict_action"]
        assert "satisfied" == found["ordered_lifecycle_events"]
