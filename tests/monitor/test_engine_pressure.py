"""Verdicts under pressure, by the allocator dialect: refusals, proofs, victims, losses."""

from __future__ import annotations

from typing import Any

import pytest

from monitor.input.errors import InputError
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from tests.monitor.traces import (
    CLAIM,
    OTHER,
    RUN,
    Trace,
    at,
    changed,
    claim_of,
    having,
    judge,
    moved,
    verdicts,
)
from tests.monitor.traces_allocator import (
    allocator,
    allocator_accepted,
    allocator_block,
    allocator_conflict,
    allocator_end,
    allocator_losses,
    allocator_refusal,
    allocator_resident,
    allocator_victim,
)
from tests.monitor.traces_canonical import about, canonical_claim

PROTECTED = set(MODES[Mode.HARD_PROTECTED].names())


def protect(trace: Trace, claim: str = CLAIM) -> dict[str, str]:
    return verdicts(judge(trace, Mode.HARD_PROTECTED), claim)


def two(first: int = 30, second: int = 30) -> Trace:
    """Two resident claims of one pool."""
    return [
        *allocator_resident(CLAIM, first, 1),
        *allocator_resident(OTHER, second, 1, first=500),
    ]


class TestRefusal:
    """A refusal is judged for every claim responsible in its pool."""

    @pytest.mark.parametrize("bundle", Bundle)
    def test_kept(self, bundle: Bundle) -> None:
        """Refused by name and sum: nothing was lost, so there was no harm to tell."""
        report = judge(allocator_refusal(), Mode.HARD_PROTECTED, bundle)
        names = set(MODES[Mode.HARD_PROTECTED].names(bundle))
        assert "kept" == report.verdict
        assert {"claim_harm_attribution"} == having(report, "unexercised")
        assert names - {"claim_harm_attribution"} == having(report, "satisfied")

    def test_still_responsible(self) -> None:
        """Refusing an active request ends no responsibility: a victim afterwards is a breach."""
        report = judge([*allocator_refusal(), allocator_victim(100)], Mode.HARD_PROTECTED)
        assert "victim_exclusion_before_violation" in having(report, "violated")
        again = judge([*allocator_refusal(), allocator_conflict()], Mode.HARD_PROTECTED)
        assert "kept" == again.verdict

    def test_two_claims(self) -> None:
        """Each of two claims that together keep a request out is judged, and both are satisfied."""
        trace = [*two(), allocator_conflict(blocking=[CLAIM, OTHER])]
        report = judge(trace, Mode.HARD_PROTECTED)
        assert "kept" == report.verdict
        for claim in (CLAIM, OTHER):
            for name in (
                "blocking_claim_ids",
                "footprint_accounting",
                "explicit_conflict_action",
                "victim_exclusion_before_violation",
            ):
                assert "satisfied" == verdicts(report, claim)[name]

    def test_deferred(self) -> None:
        """A deferral is an explicit action too, and the request is still to end."""
        trace = [*allocator_resident(), allocator_conflict(event="active_request_deferred")]
        found = protect(trace)
        assert "satisfied" == found["explicit_conflict_action"]
        assert "satisfied" == found["blocking_claim_ids"]
        assert "violated" not in found.values()

    def test_no_conflict(self) -> None:
        """A refusal of what would have fitted blames nobody rightly."""
        trace = [*allocator_resident(), allocator_conflict(needed=10)]
        assert "violated" == protect(trace)["blocking_claim_ids"]
        innocent = [*allocator_resident(), allocator_conflict(needed=10, blocking=[])]
        assert "unexercised" == protect(innocent)["blocking_claim_ids"]

    def test_invented_harm(self) -> None:
        """With the claim intact there is no loss, and harm must not be reported."""
        trace = [*allocator_refusal(), allocator("resident_claim_harmed")]
        assert "violated" == protect(trace)["claim_harm_attribution"]


class TestBlockers:
    """The ids named must be responsible here and now, and together explain the refusal."""

    @pytest.mark.parametrize(
        "blocking",
        [[], ["claim:stranger"], [CLAIM, "claim:stranger"]],
        ids=["none", "stranger", "also"],
    )
    def test_wrong(self, blocking: list[str]) -> None:
        """Nobody, or somebody who is not there."""
        trace = [*allocator_resident(), allocator_conflict(blocking=blocking)]
        assert "violated" == protect(trace)["blocking_claim_ids"]

    def test_released(self) -> None:
        """A claim that was demoted before blocks nothing any more."""
        trace = [
            *allocator_resident(CLAIM, 50, 1),
            *allocator_resident(OTHER, 20, 1, first=500),
            allocator_end("resident_claim_demoted"),
            allocator_conflict(20, blocking=[CLAIM, OTHER]),
        ]
        assert "violated" == protect(trace, OTHER)["blocking_claim_ids"]

    def test_too_few(self) -> None:
        """Without the one that is named the request still would not fit."""
        trace = [*two(), allocator_conflict(blocking=[OTHER])]
        report = judge(trace, Mode.HARD_PROTECTED)
        assert "blocking_claim_ids" in having(report, "violated")
        assert "blocking_claim_ids" in having(report, "violated", OTHER)

    def test_too_many(self) -> None:
        """By the reading "blame" none of those named may be put back without a conflict left."""
        trace = [*two(40, 5), allocator_conflict(45, blocking=[CLAIM, OTHER])]
        assert "violated" == protect(trace)["blocking_claim_ids"]
        enough = [*two(40, 5), allocator_conflict(45, blocking=[CLAIM])]
        assert "satisfied" == protect(enough)["blocking_claim_ids"]

    def test_other_pool(self) -> None:
        """A claim of another run is a stranger in this pool."""
        other = [{**line, "run_id": "run-2"} for line in allocator_resident(OTHER, 60, 1)]
        trace = [*other, *allocator_resident(), allocator_conflict(blocking=[OTHER])]
        assert "violated" == protect(trace)["blocking_claim_ids"]


class TestProof:
    """A capacity proof is arithmetic, and must add up."""

    def test_null_block(self) -> None:
        """The published proof of 40 and 46 in 68 with 19 missing does not add up."""
        resident = [{**line, "usable_blocks": 68} for line in allocator_resident(CLAIM, 40, 40)]
        proof = allocator_conflict(40, 46, 68, capacity_shortfall_blocks=19)
        report = judge([*resident, proof], Mode.HARD_PROTECTED)
        assert {"footprint_accounting"} == having(report, "violated")
        right = [*resident, allocator_conflict(40, 46, 68)]
        assert "satisfied" == protect(right)["footprint_accounting"]

    @pytest.mark.parametrize(
        "wrong",
        [
            {"protected_resident_blocks": 50},
            {"resident_plus_active_blocks": 131},
            {"capacity_shortfall_blocks": 49},
            {"capacity_shortfall_blocks": 0},
        ],
    )
    def test_wrong(self, wrong: dict[str, Any]) -> None:
        """Any of its numbers that does not follow breaks it, and nothing else."""
        trace = changed(allocator_refusal(), "active_request_refused", **wrong)
        assert {"footprint_accounting"} == having(judge(trace, Mode.HARD_PROTECTED), "violated")

    def test_consistently_wrong(self) -> None:
        """Sums that are right of a footprint that nobody declared are wrong all the same."""
        trace = [*allocator_resident(), allocator_conflict(61)]
        assert "violated" == protect(trace)["footprint_accounting"]

    @pytest.mark.parametrize(
        ("without", "wrong"),
        [
            (["capacity_shortfall_blocks"], {"protected_resident_blocks": 10}),
            (["capacity_shortfall_blocks"], {"resident_plus_active_blocks": 131}),
            (["resident_plus_active_blocks"], {"capacity_shortfall_blocks": 49}),
            (["protected_resident_blocks"], {"resident_plus_active_blocks": 131}),
            (["protected_resident_blocks"], {"resident_plus_active_blocks": 69}),
            (["protected_resident_blocks"], {"capacity_shortfall_blocks": 0}),
            (
                ["protected_resident_blocks", "resident_plus_active_blocks"],
                {"capacity_shortfall_blocks": 51},
            ),
            (
                ["protected_resident_blocks", "capacity_shortfall_blocks"],
                {"resident_plus_active_blocks": 140},
            ),
            (
                ["resident_plus_active_blocks", "capacity_shortfall_blocks"],
                {"protected_resident_blocks": 59},
            ),
            (["usable_blocks"], {"capacity_shortfall_blocks": 49}),
            (["capacity_shortfall_blocks"], {"usable_blocks": 75}),
        ],
    )
    def test_partial(self, without: list[str], wrong: dict[str, int]) -> None:
        """What a proof leaves out is not reported; what it does give is checked all the same."""
        line = allocator_conflict(**dict.fromkeys(without))
        report = judge([*allocator_resident(), line], Mode.HARD_PROTECTED)
        assert {"footprint_accounting"} == having(report, "inconclusive")
        assert set() == having(report, "violated")
        why = report.claims[0].obligations["footprint_accounting"].why
        assert all(name in why for name in without)
        report = judge([*allocator_resident(), {**line, **wrong}], Mode.HARD_PROTECTED)
        assert {"footprint_accounting"} == having(report, "violated")

    def test_nothing_follows(self) -> None:
        """A shortfall of none at all says nothing of the rest, and is no satisfied proof."""
        gone = ["protected_resident_blocks", "resident_plus_active_blocks"]
        line = allocator_conflict(**dict.fromkeys(gone), capacity_shortfall_blocks=0)
        trace = [*allocator_resident(), line]
        assert "inconclusive" == protect(trace)["footprint_accounting"]

    def test_broken_before(self) -> None:
        """A wrong proof stays wrong when a later one leaves something out."""
        wrong = allocator_conflict(capacity_shortfall_blocks=49)
        partial = allocator_conflict(capacity_shortfall_blocks=None)
        trace = [*allocator_resident(), wrong, partial]
        assert "violated" == protect(trace)["footprint_accounting"]
        assert "inconclusive" == protect([trace[0], partial, wrong])["footprint_accounting"]

    def test_other_pool(self) -> None:
        """A proof counts on the pool that the run has, and nobody is to blame where all fits it."""
        trace = [*allocator_resident(), allocator_conflict(60, 20, 75)]
        report = judge(trace, Mode.HARD_PROTECTED)
        assert {"footprint_accounting", "blocking_claim_ids"} == having(report, "violated")
        assert set() == having(report, "inconclusive")
        bare = dict.fromkeys(
            (
                "protected_resident_blocks",
                "resident_plus_active_blocks",
                "capacity_shortfall_blocks",
            )
        )
        report = judge(
            [*allocator_resident(), allocator_conflict(60, 70, 75, **bare)], Mode.HARD_PROTECTED
        )
        assert PROTECTED == having(report, "inconclusive")

    def test_two_sizes(self) -> None:
        """A run whose lines give its pool two sizes is not judged further."""
        trace = changed(allocator_refusal(), "resident_claim_materialized", usable_blocks=79)
        report = judge(trace, Mode.HARD_PROTECTED)
        assert PROTECTED == having(report, "inconclusive")
        assert (
            "usable_blocks is 79 here and was 80 before"
            == report.claims[0].obligations["blocking_claim_ids"].why
        )

    def test_two_sizes_after_the_end(self) -> None:
        """What is doubtful then touches no claim whose responsibility is over."""
        trace = [*allocator_resident(CLAIM, 3, 2), allocator_end("resident_claim_demoted")]
        trace += [*allocator_losses([2, 1, 0]), allocator_victim(9, usable_blocks=79)]
        assert "inconclusive" not in protect(trace).values()

    def test_pool_of_another_line(self) -> None:
        """A conflict that does not repeat the size of the pool is judged by that of the run."""
        line = allocator_conflict(
            usable_blocks=None, **dict.fromkeys(["capacity_shortfall_blocks"])
        )
        found = protect([*allocator_resident(), line])
        assert "satisfied" == found["blocking_claim_ids"]
        assert "inconclusive" == found["footprint_accounting"]

    @pytest.mark.parametrize("field", ["active_live_blocks_required", "usable_blocks"])
    def test_need_unknown(self, field: str) -> None:
        """A refusal of nobody knows how much is bad input, and no breach."""
        trace = [{**line, "usable_blocks": None} for line in allocator_resident()]
        trace.append(allocator_conflict(**{field: None}))
        with pytest.raises(InputError) as caught:
            judge(trace, Mode.HARD_PROTECTED)
        assert field == caught.value.field
        report = judge(trace, Mode.HARD_PROTECTED, lenient=True)
        assert "inconclusive" == report.verdict


class TestVictims:
    """A block belongs to the claim that materialized it at that physical id."""

    @pytest.mark.parametrize("claim", [None, CLAIM], ids=["unnamed", "named"])
    def test_at_once(self, claim: str | None) -> None:
        """The first cached victim violates exclusion, also where no report says whose it was."""
        trace = [*allocator_resident(), allocator_victim(159, claim)]
        report = judge(trace, Mode.HARD_PROTECTED)
        found = report.claims[0].obligations["victim_exclusion_before_violation"]
        assert "violated" == found.verdict
        assert found.at is not None
        assert len(trace) == found.at.line

    def test_after_demotion(self) -> None:
        """After an explicit end a victim is no breach."""
        trace = [
            *allocator_resident(),
            allocator_end("resident_claim_demoted"),
            allocator_victim(100),
        ]
        assert "violated" not in protect(trace).values()

    def test_unclaimed(self) -> None:
        """Blocks of unclaimed requests are ordinary cache behaviour."""
        trace = [
            *allocator_resident(),
            allocator_block(0, 7, None),
            allocator_victim(7),
            allocator_victim(9, victim_reason="free_uncached"),
            allocator_conflict(),
        ]
        assert protect(allocator_refusal()) == protect(trace)

    def test_handed_on(self) -> None:
        """A physical block that another claim materialized since is that claim's."""
        trace = [
            *allocator_resident(),
            allocator_end("resident_claim_demoted"),
            *allocator_losses(list(range(60))),
            *allocator_resident(OTHER),
            allocator_victim(100),
        ]
        assert "violated" not in protect(trace).values()
        assert "violated" == protect(trace, OTHER)["victim_exclusion_before_violation"]

    def test_spared(self) -> None:
        """A conflict that ends with no block taken is what exercises exclusion."""
        assert "unexercised" == protect(allocator_resident())["victim_exclusion_before_violation"]
        assert "satisfied" == protect(allocator_refusal())["victim_exclusion_before_violation"]


class TestPredicate:
    """The predicate is judged on logical positions."""

    def test_hole(self) -> None:
        """59 of 60 blocks, and the first is not among them: no leading prefix at all."""
        trace = allocator_resident()
        del trace[at(trace, "resident_block_materialized")]
        assert "violated" == protect(trace)["materialization_predicate"]

    def test_short(self) -> None:
        """39 leading blocks do not make 40."""
        trace = allocator_resident()
        short = [line for line in trace if line.get("logical_block_position", 0) < 39]
        assert "violated" == protect(short)["materialization_predicate"]

    def test_one_early(self) -> None:
        """The report may stand before the last block, as the recordings have it."""
        trace = moved(
            allocator_resident(), "resident_claim_materialized", "resident_claim_accepted"
        )
        early = trace.pop(0)
        early_trace = [*trace[:-1], early, trace[-1]]
        assert "satisfied" == protect(early_trace)["materialization_predicate"]
        assert "satisfied" == protect(early_trace)["claim_materialized_event"]

    def test_said_false(self) -> None:
        """A predicate reported false while the positions make it true is a breach too."""
        said = {"predicate_materialized": False}
        trace = changed(allocator_resident(), "resident_claim_materialized", **said)
        assert "violated" == protect(trace)["materialization_predicate"]

    def test_post_hoc(self) -> None:
        """Materialized before it was accepted."""
        trace = moved(
            allocator_resident(), "resident_claim_materialized", "resident_claim_accepted"
        )
        assert "violated" == protect(trace)["explicit_acceptance"]

    def test_two_objects(self) -> None:
        """One claim over two prefixes of a run."""
        trace = changed(
            allocator_refusal(), "resident_claim_materialized", prefix_id="prefix:other"
        )
        report = judge(trace, Mode.HARD_PROTECTED)
        assert {"claim_identity"} == having(report, "violated")
        assert PROTECTED - {"claim_identity"} == having(report, "inconclusive")

    def test_accepted_twice(self) -> None:
        """A second acceptance has no place in the lifecycle; where it is read as a second
        commitment, too, facts contradict."""
        trace = [*canonical_claim(), about("claim_accepted", footprint=4)]
        assert "violated" == protect(trace)["ordered_lifecycle_events"]
        report = judge([*allocator_refusal(), allocator_accepted()], Mode.HARD_PROTECTED)
        found = claim_of(report).obligations["ordered_lifecycle_events"]
        said = "facts contradict: the registry commits to a claim that it already holds, or held"
        assert ("inconclusive", said) == (found.verdict, found.why)


def test_streams_are_pools() -> None:
    """The run is the pool: the name of the run is where its claim lives."""
    assert RUN == judge(allocator_refusal(), Mode.HARD_PROTECTED).claims[0].stream
