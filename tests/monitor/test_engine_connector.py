"""Verdicts on offloaded claims, by the connector dialect."""

from __future__ import annotations

import pytest

from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from tests.monitor.traces import (
    Trace,
    at,
    changed,
    claim_of,
    having,
    judge,
    moved,
    put,
    verdicts,
    without,
)
from tests.monitor.traces_connector import (
    connector,
    connector_end,
    connector_failed_load,
    connector_failure,
    connector_fallback,
    connector_load,
    connector_lookup,
    connector_restored,
    connector_store,
    connector_success,
    scheduler_outcome,
)

OFFLOADABLE = set(MODES[Mode.OFFLOADABLE].names())


def offload(trace: Trace) -> dict[str, str]:
    return verdicts(judge(trace, Mode.OFFLOADABLE))


def failed(*after: Trace, before: Trace | None = None) -> Trace:
    """A failed load followed by these lines."""
    trace = [*connector_store(), *connector_lookup(), *(before or []), *connector_failed_load()]
    return [*trace, *(line for lines in after for line in lines)]


class TestStories:
    """The three stories of the recordings, whole."""

    @pytest.mark.parametrize("bundle", Bundle)
    def test_success(self, bundle: Bundle) -> None:
        """A claim that is stored, restored and reused keeps the mode; nothing failed."""
        report = judge(connector_success(), Mode.OFFLOADABLE, bundle)
        idle = {"restoration_failure_outcome", "claim_harm_attribution"}
        assert "kept" == report.verdict
        assert idle == having(report, "unexercised")
        assert OFFLOADABLE - idle == having(report, "satisfied")

    @pytest.mark.parametrize("bundle", Bundle)
    def test_failure(self, bundle: Bundle) -> None:
        """A failed load that ends in a refusal naming the claim keeps the mode."""
        report = judge(connector_failure(), Mode.OFFLOADABLE, bundle)
        assert "kept" == report.verdict
        assert {"offload_restorability"} == having(report, "unexercised")
        assert OFFLOADABLE - {"offload_restorability"} == having(report, "satisfied")

    @pytest.mark.parametrize("connector_says", ["before", "after", "never"])
    def test_fallback(self, connector_says: str) -> None:
        """A silent recomputation is no outcome, whatever restores or is said later."""
        report = judge(connector_fallback(connector_says=connector_says), Mode.OFFLOADABLE)
        assert "violated" == report.verdict
        assert "restoration_failure_outcome" in having(report, "violated")
        assert "violated" != verdicts(report)["ordered_lifecycle_events"]

    def test_fallback_without_a_restore(self) -> None:
        """A recomputation after which the request simply ends is no restoration either."""
        fallback = "fallback_recompute_without_claim_satisfaction"
        said = scheduler_outcome(fallback, outcome_type=fallback, blocking_claim_ids=[])
        found = offload(failed(said, connector_end()))
        assert "violated" == found["restoration_failure_outcome"]
        assert "satisfied" != found["offload_restorability"]


class TestAcceptance:
    """Acceptance before everything."""

    @pytest.mark.parametrize(
        "event",
        ["resident_claim_offloaded", "resident_claim_materialized", "resident_claim_demoted"],
    )
    def test_post_hoc(self, event: str) -> None:
        """A lifecycle event before the claim's metadata names it after the fact."""
        early = connector(event, "r0", "resident")
        found = offload([early, *connector_success()])
        assert "violated" == found["explicit_acceptance"]

    def test_never_accepted(self) -> None:
        """Metadata of a reuse accepts nothing: what follows is post-hoc naming."""
        trace = [*connector_lookup(), *connector_load(), *connector_restored(), *connector_end()]
        assert "violated" == offload(trace)["explicit_acceptance"]

    def test_only_looked_up(self) -> None:
        """A claim that is only looked up, in vain, and never accepted is not judged."""
        trace = [*connector_lookup(num_hit_tokens=0), *connector_end()]
        report = judge(trace, Mode.OFFLOADABLE)
        assert ("inconclusive", "no accepted claim") == (report.verdict, report.why)
        assert ("inconclusive", "not accepted") == (report.claims[0].verdict, report.claims[0].why)

    def test_restated(self) -> None:
        """An acceptance that only puts the metadata into words is no second acceptance."""
        said = connector("resident_claim_accepted", "r0", "resident")
        trace = put(connector_success(), "offload_lookup_result", said)
        assert "satisfied" == offload(trace)["explicit_acceptance"]
        assert "satisfied" == offload(trace)["ordered_lifecycle_events"]


FIELDS = {
    "cache_identity": "cache:v2",
    "reusable_object_id": "object:2",
    "materialization_predicate": "leading_prefix_at_least(2)",
    "predicate_id": "predicate:other",
    "request_token_map_id": "tokens:2",
}


class TestIdentity:
    """One name, one object."""

    @pytest.mark.parametrize("field", FIELDS)
    @pytest.mark.parametrize(
        "event",
        ["resident_claim_offloaded", "offload_store_job_created", "resident_claim_restored"],
    )
    def test_two_identities(self, field: str, event: str) -> None:
        """Under two identities nothing but the breach of identity can be concluded."""
        trace = changed(connector_success(), event, **{field: FIELDS[field]})
        report = judge(trace, Mode.OFFLOADABLE)
        assert {"claim_identity"} == having(report, "violated")
        assert OFFLOADABLE - {"claim_identity"} == having(report, "inconclusive")

    def test_violated_before(self) -> None:
        """What was violated before the second identity appears stays violated."""
        trace = changed(connector_fallback(), "offload_job_completed", 1, cache_identity="other")
        report = judge(trace, Mode.OFFLOADABLE)
        assert {"claim_identity"} <= having(report, "violated")
        late = [*connector_fallback(), connector("resident_claim_offloaded", "r0", "resident")]
        late[-1]["cache_identity"] = "other"
        report = judge(late, Mode.OFFLOADABLE)
        assert {"claim_identity", "restoration_failure_outcome"} <= having(report, "violated")
        assert "satisfied" not in verdicts(report).values()

    def test_same_predicate(self) -> None:
        """A predicate written with other spaces is the same predicate."""
        spaced = {"materialization_predicate": "leading_prefix_at_least( 1 )"}
        trace = changed(connector_success(), "resident_claim_restored", **spaced)
        assert "satisfied" == offload(trace)["claim_identity"]


class TestRestore:
    """Only the tier restores, and only in time."""

    def test_not_from_the_tier(self) -> None:
        """A restore from somewhere else than the tier is none."""
        for wrong in (
            {"restored_from_offload_tier": False},
            {"restoration_source": "recompute"},
        ):
            trace = changed(connector_success(), "resident_claim_restored", **wrong)
            assert "violated" == offload(trace)["offload_restorability"]

    def test_after_the_end(self) -> None:
        """Restored after the reusing request ended is too late."""
        end = "offload_request_finished_no_pending_jobs"
        trace = connector_success()
        restored = trace.pop(at(trace, "resident_claim_restored"))
        assert at(trace, end, 1) == len(trace) - 1
        assert "violated" == offload([*trace, restored])["offload_restorability"]

    def test_never_restored(self) -> None:
        """A reuse that needed a restore and got none."""
        trace = without(connector_success(), "resident_claim_restored")
        assert "violated" == offload(trace)["offload_restorability"]

    def test_no_load(self) -> None:
        """A restore is said and nothing was loaded."""
        trace = connector_success()
        del trace[at(trace, "offload_worker_transfer_finished", 1)]
        assert "violated" == offload(trace)["offload_restorability"]

    def test_before_the_load(self) -> None:
        """A restore is said before the load that should bring the blocks back."""
        trace = connector_success()
        finished = trace.pop(at(trace, "offload_worker_transfer_finished", 1))
        trace.insert(at(trace, "resident_claim_restored") + 1, finished)
        assert "violated" == offload(trace)["offload_restorability"]

    def test_too_few_blocks(self) -> None:
        """The look-up finds 28 blocks and the predicate asks for 29: the copy is lost, and a load
        of it breaks the stream."""
        trace = [
            {**line, "materialization_predicate": "leading_prefix_at_least(29)"}
            for line in connector_success()
        ]
        report = judge(trace, Mode.OFFLOADABLE)
        assert ["RC113"] == [each.code for each in report.breaks]
        assert OFFLOADABLE == having(report, "inconclusive")
        enough = [
            {**line, "materialization_predicate": "leading_prefix_at_least(28)"}
            for line in connector_success()
        ]
        assert "satisfied" == offload(enough)["offload_restorability"]

    def test_unfinished(self) -> None:
        """A trace that ends before the request does leaves the restore owed."""
        trace = [*connector_store(), *connector_lookup(), *connector_load()]
        report = judge(trace, Mode.OFFLOADABLE)
        assert "inconclusive" == report.verdict
        assert {"offload_restorability"} == having(report, "pending")

    def test_predicate_on_positions(self) -> None:
        """The look-up of the reuse is the observation of the predicate, in blocks of 16 tokens. A
        load of what it did not find breaks the stream."""
        assert "satisfied" == offload(connector_success())["materialization_predicate"]
        trace = changed(connector_success(), "offload_lookup_result", 1, num_hit_tokens=0)
        report = judge(trace, Mode.OFFLOADABLE)
        assert ["RC113"] == [each.code for each in report.breaks]
        assert OFFLOADABLE == having(report, "inconclusive")
        none = without(connector_store(), "offload_lookup_result")
        assert "unexercised" == offload(none)["materialization_predicate"]


class TestNoRestoreOwed:
    """Where nothing has to come back from the tier, no restore is owed."""

    def test_still_on_the_gpu(self) -> None:
        """A look-up that finds the prefix on the GPU needs no restore."""
        found = {"num_computed_tokens": 448, "num_hit_tokens": 0, "will_load_async": False}
        trace = [*connector_store(), *connector_lookup(**found), *connector_end()]
        assert "unexercised" == offload(trace)["offload_restorability"]

    @pytest.mark.parametrize("load", [[], connector_load()[1:]], ids=["recomputed", "loaded"])
    def test_after_demotion(self, load: Trace) -> None:
        """After its demotion nothing is owed when a claim's prefix is reused."""
        demoted = connector("resident_claim_demoted", "r0", "resident")
        trace = [*connector_store(), demoted, *connector_lookup(), *load, *connector_end()]
        assert "violated" not in offload(trace).values()


class TestOrder:
    """Reports follow the lifecycle; numbers may be missing, but not run backwards."""

    def test_restored_unasked(self) -> None:
        """A restore that nobody needed is out of place."""
        trace = without(connector_success(), "resident_claim_restore_required")
        assert "violated" == offload(trace)["offload_restorability"]

    def test_restored_before_required(self) -> None:
        """So is one that is reported before it was needed."""
        trace = moved(
            connector_success(), "resident_claim_restored", "resident_claim_restore_required"
        )
        assert "violated" == offload(trace)["offload_restorability"]

    def test_skips_by_design(self) -> None:
        """Missing numbers are no loss in this dialect."""
        trace = connector_success()
        numbered = [{**line, "event_sequence": 3 * i + 1} for i, line in enumerate(trace)]
        assert offload(trace) == offload(numbered)

    @pytest.mark.parametrize(
        ("field", "reason"),
        [("event_sequence", "out-of-order"), ("monotonic_ns", "time-backwards")],
    )
    def test_backwards(self, field: str, reason: str) -> None:
        """Time or sequence running backwards leaves live claims open: transport breaks nothing."""
        trace = changed(connector_success(), "resident_claim_restored", **{field: 1})
        report = judge(trace, Mode.OFFLOADABLE)
        assert [reason] == [each.reason for each in report.breaks]
        assert set() == having(report, "violated")

    def test_accepted_again(self) -> None:
        """After a demotion the same id is not accepted anew: it is no id of a new claim."""
        ended = connector("resident_claim_demoted", "r0", "resident")
        again = connector("resident_claim_accepted", "r5", "resident")
        report = judge([*connector_store(), ended, again], Mode.OFFLOADABLE)
        assert OFFLOADABLE == having(report, "inconclusive")
        found = claim_of(report).obligations.values()
        assert {"RC203"} == {each.code for each in found}

    def test_twice(self) -> None:
        """A sequence number that occurs twice is disorder."""
        trace = changed(connector_success(), "resident_claim_restored", event_sequence=13)
        assert "inconclusive" == offload(trace)["ordered_lifecycle_events"]

    def test_violated_for_good(self) -> None:
        """A whole good story afterwards mends nothing."""
        bad = changed(
            connector_success(), "resident_claim_restored", restored_from_offload_tier=False
        )
        again = [*connector_lookup("r2"), *connector_load("r2", 2, 1)]
        again += [*connector_restored("r2", 2, 1), *connector_end("r2")]
        assert "violated" == offload([*bad, *again])["offload_restorability"]
        assert "satisfied" == offload([*connector_success(), *again])["offload_restorability"]
