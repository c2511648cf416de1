"""Verdicts on failed loads, by the connector dialect."""

from __future__ import annotations

from typing import Any

import pytest

from spec.claims.states import Mode
from tests.monitor.traces import (
    CLAIM,
    OTHER,
    Trace,
    having,
    judge,
    put,
    verdicts,
)
from tests.monitor.traces_connector import (
    connector,
    connector_end,
    connector_failed_load,
    connector_lookup,
    connector_outcome,
    connector_store,
    connector_success,
    plain_connector,
    scheduler_outcome,
)


def offload(trace: Trace) -> dict[str, str]:
    return verdicts(judge(trace, Mode.OFFLOADABLE))


def failed(*after: Trace, before: Trace | None = None) -> Trace:
    """A failed load followed by these lines."""
    trace = [*connector_store(), *connector_lookup(), *(before or []), *connector_failed_load()]
    return [*trace, *(line for lines in after for line in lines)]


class TestFailure:
    """A failed load needs an outcome that names the claim, and only it, in time."""

    def test_unanswered(self) -> None:
        """The request ends, and only the connector says something afterwards."""
        report = judge(failed(connector_end(pending=True), connector_outcome()), Mode.OFFLOADABLE)
        assert {"restoration_failure_outcome", "claim_harm_attribution"} <= having(
            report, "violated"
        )

    def test_unfinished(self) -> None:
        """Before the boundary the outcome is still owed."""
        report = judge(failed(), Mode.OFFLOADABLE)
        assert "inconclusive" == report.verdict
        assert {"restoration_failure_outcome", "claim_harm_attribution"} == having(
            report, "pending"
        )

    @pytest.mark.parametrize("outcome", ["refusal", "demotion", "expiry", "harm"])
    def test_outcomes(self, outcome: str) -> None:
        """Each of the four outcomes answers, told by the scheduler before the boundary; a refusal
        with the request refused."""
        found = offload(failed(scheduler_outcome(outcome), connector_end(pending=True)))
        assert "satisfied" == found["restoration_failure_outcome"]
        assert "satisfied" == found["claim_harm_attribution"]

    @pytest.mark.parametrize(
        "event", ["resident_claim_demoted", "resident_claim_expired", "resident_claim_harmed"]
    )
    def test_reports(self, event: str) -> None:
        """A report of demotion, expiry or harm answers too."""
        said = connector(event, "r1", "reuse")
        found = offload(failed([said], connector_end(pending=True)))
        assert "satisfied" == found["restoration_failure_outcome"]
        assert "satisfied" == found["claim_harm_attribution"]

    def test_refusal_not_carried_out(self) -> None:
        """A refusal that is only stated, of a request that is never refused, is none."""
        found = offload(failed(scheduler_outcome()[:1], connector_end(pending=True)))
        assert "violated" == found["restoration_failure_outcome"]

    def test_connector_in_time(self) -> None:
        """The connector's own report answers if it comes before the boundary."""
        found = offload(failed(connector_outcome(), connector_end(pending=True)))
        assert "satisfied" == found["restoration_failure_outcome"]

    def test_other_word(self) -> None:
        """An outcome that is none of the four is no outcome."""
        said = scheduler_outcome("retry", outcome_type="retry")
        found = offload(failed(said, connector_end(pending=True)))
        assert "violated" == found["restoration_failure_outcome"]

    @pytest.mark.parametrize(
        "blame",
        [
            {"blocking_claim_ids": [CLAIM, OTHER]},
            {"blocking_claim_ids": [OTHER]},
            {"blocking_claim_ids": [OTHER], "outcome_claim_id": OTHER},
        ],
        ids=["also", "instead", "wrong claim"],
    )
    def test_smear(self, blame: dict[str, Any]) -> None:
        """A refusal that names a claim which did not fail is a smear, wherever it is judged."""
        trace = failed(scheduler_outcome(**blame), connector_end(pending=True))
        assert "violated" == offload(trace)["restoration_failure_outcome"]
        protected = verdicts(judge(trace, Mode.HARD_PROTECTED))
        assert "violated" == protected["blocking_claim_ids"]

    def test_smear_of_a_claim_that_is_there(self) -> None:
        """It is no matter that the other claim is known and accepted in the same run."""
        other = [{**line, "claim_id": OTHER, "request_id": "r9"} for line in connector_store()]
        blame = {"blocking_claim_ids": [CLAIM, OTHER]}
        trace = [*other, *failed(scheduler_outcome(**blame), connector_end(pending=True))]
        report = judge(trace, Mode.OFFLOADABLE)
        assert "restoration_failure_outcome" in having(report, "violated")
        assert set() == having(report, "violated", OTHER)

    def test_two_failed(self) -> None:
        """Two claims whose loads failed for one request may both be named."""
        both = {"blocking_claim_ids": [CLAIM, OTHER]}
        other = [{**line, "claim_id": OTHER, "request_id": "r9"} for line in connector_store()]
        load = [{**line, "claim_id": OTHER, "job_id": 7} for line in connector_failed_load()]
        said = scheduler_outcome(**both)
        said += [{**line, "claim_id": OTHER, "outcome_claim_id": OTHER} for line in said]
        trace = [*other, *failed(load, said, connector_end(pending=True))]
        report = judge(trace, Mode.OFFLOADABLE)
        assert set() == having(report, "violated")
        assert set() == having(report, "violated", OTHER)

    def test_late_smear(self) -> None:
        """What the connector adds after the boundary may not smear either."""
        late = connector_outcome(blocking_claim_ids=[CLAIM, OTHER])
        trace = failed(scheduler_outcome(), connector_end(pending=True), late)
        assert "violated" == offload(trace)["restoration_failure_outcome"]

    def test_invented(self) -> None:
        """A failed restore is reported and no load failed."""
        trace = put(
            connector_success(),
            "offload_request_finished_no_pending_jobs",
            *scheduler_outcome(),
            nth=1,
        )
        assert "violated" == offload(trace)["restoration_failure_outcome"]

    def test_other_requests(self) -> None:
        """Failed loads of requests without a claim are nobody's failure."""
        noise = [
            plain_connector("request_initialized", "x", num_prompt_tokens=32, num_block_hashes=2),
            plain_connector(
                "offload_worker_transfer_finished",
                "x",
                success=False,
                transfer_type=["CPU", "GPU"],
            ),
            plain_connector("offload_worker_load_failed", "x", job_id=9),
            plain_connector("offload_request_finished_no_pending_jobs", "x"),
        ]
        trace = put(connector_success(), "resident_claim_restored", *noise)
        assert offload(connector_success()) == offload(trace)
