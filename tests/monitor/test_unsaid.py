"""What a recorded line leaves unsaid is neither kept nor broken."""

from __future__ import annotations

from typing import Any

import pytest

from monitor.input.errors import InputError
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from tests.monitor.traces import (
    CLAIM,
    OTHER,
    Line,
    Trace,
    at,
    changed,
    claim_of,
    having,
    judge,
    put,
    verdicts,
    without,
)
from tests.monitor.traces_allocator import allocator_accepted, allocator_refusal, allocator_resident
from tests.monitor.traces_canonical import about, canonical, canonical_claim
from tests.monitor.traces_connector import (
    connector,
    connector_end,
    connector_failed_load,
    connector_failure,
    connector_load,
    connector_lookup,
    connector_restored,
    connector_store,
    connector_success,
    scheduler_outcome,
)

OFFLOADABLE = set(MODES[Mode.OFFLOADABLE].names())
PROTECTED = set(MODES[Mode.HARD_PROTECTED].names())
END = "offload_request_finished_no_pending_jobs"
REQUIRED = ("cache_identity", "reusable_object_id", "materialization_predicate")
BOUND = (*REQUIRED, "predicate_id", "prefix_id", "request_token_map_id")


def bare(trace: Trace, *fields: str) -> Trace:
    """The trace, no line of which has these fields."""
    return [{k: v for k, v in line.items() if k not in fields} for line in trace]


def whys(trace: Trace, mode: Mode = Mode.OFFLOADABLE) -> set[str]:
    """The reasons given for the obligations of the claim that are inconclusive."""
    (claim,) = judge(trace, mode).claims
    return {o.why for o in claim.obligations.values() if o.verdict == "inconclusive"}


def reuses(*found: tuple[int, int], prompt: int = 481) -> Trace:
    """A claim that is never stored, and reuses that find so many tokens on the GPU and beyond."""
    trace = connector_store()[:2]
    for number, (on_gpu, hits) in enumerate(found):
        request = f"r{number + 1}"
        counts = {"num_prompt_tokens": prompt, "num_block_hashes": prompt // 16}
        tokens = {"num_computed_tokens": on_gpu, "num_hit_tokens": hits}
        trace += connector_lookup(request, **counts, **tokens)
        trace += connector_end(request)
    return trace


class TestAcceptance:
    """A claim has an identity, an object and a predicate from its acceptance on."""

    @pytest.mark.parametrize("mode", Mode)
    @pytest.mark.parametrize("trace", [connector_success(), connector_failure()])
    def test_no_fields_at_all(self, trace: Trace, mode: Mode) -> None:
        """A stream whose lines say nothing of the claim but its id satisfies nothing."""
        report = judge(bare(trace, *BOUND), mode)
        assert "inconclusive" == report.verdict
        assert {"inconclusive"} == set(report.obligations.values())

    @pytest.mark.parametrize("field", REQUIRED)
    def test_each_field(self, field: str) -> None:
        """Any of the three leaves everything open, and the reason names it."""
        report = judge(bare(connector_success(), field), Mode.OFFLOADABLE)
        assert OFFLOADABLE == having(report, "inconclusive")
        reason = f"it was accepted without {field}"
        if field == "materialization_predicate":
            reason = "the object and the predicate of the claim are not stated"
        assert {reason} == whys(bare(connector_success(), field))

    @pytest.mark.parametrize("field", REQUIRED)
    def test_too_late(self, field: str) -> None:
        """What the acceptance leaves out no later line supplies."""
        trace = changed(connector_success(), "request_initialized", **{field: None})
        assert OFFLOADABLE == having(judge(trace, Mode.OFFLOADABLE), "inconclusive")

    def test_in_so_many_words(self) -> None:
        """An acceptance in so many words needs them too."""
        said = connector("resident_claim_accepted", "r0", "resident", cache_identity=None)
        assert {"it was accepted without cache_identity"} <= whys([said, *connector_success()])

    @pytest.mark.parametrize("field", ["run_id", "prefix_id", "useful_threshold_blocks"])
    def test_allocator(self, field: str) -> None:
        """The same of a claim of a block pool."""
        trace = bare(allocator_refusal(), field)
        report = judge(trace, Mode.HARD_PROTECTED)
        assert PROTECTED == having(report, "inconclusive")
        assert {f"it was accepted without {field}"} == whys(trace, Mode.HARD_PROTECTED)

    def test_only_that_claim(self) -> None:
        """Another claim of the run is judged as ever."""
        trace = [allocator_accepted(OTHER, 1, 1, prefix_id=None), *allocator_resident()]
        report = judge(trace, Mode.HARD_PROTECTED)
        assert PROTECTED == having(report, "inconclusive", OTHER)
        assert "satisfied" == verdicts(report)["materialization_predicate"]

    def test_broken_before(self) -> None:
        """What was broken before the acceptance stays broken."""
        early = connector("resident_claim_offloaded", "r0", "resident")
        report = judge(bare([early, *connector_success()], *BOUND), Mode.OFFLOADABLE)
        assert {"explicit_acceptance"} <= having(report, "violated")
        assert "satisfied" not in verdicts(report).values()

    def test_no_role(self) -> None:
        """Where no line says whether a request is the resident or a reuse, nothing is reported."""
        trace = bare(connector_success(), "resident_claim_role")
        report = judge(trace, Mode.OFFLOADABLE)
        assert ("inconclusive", "no accepted claim") == (report.verdict, report.why)
        assert OFFLOADABLE == having(report, "inconclusive")

    def test_no_role_of_the_reuse(self) -> None:
        """A reuse that does not say that it is one is not passed over."""
        reuse = bare([*connector_lookup(), *connector_end()], "resident_claim_role")
        trace = [*connector_store(), *reuse]
        assert OFFLOADABLE == having(judge(trace, Mode.OFFLOADABLE), "inconclusive")
        assert any("resident or a reuse" in why for why in whys(trace))


class TestTokens:
    """Tokens are counted in blocks of a size that the trace shows, or not at all."""

    def unsized(self, trace: Trace) -> Trace:
        return bare(trace, "num_prompt_tokens", "num_block_hashes")

    def test_no_block_size(self) -> None:
        """Where the look-up comes before any block size is shown, nothing is reported, and why."""
        trace = self.unsized(connector_success())
        report = judge(trace, Mode.OFFLOADABLE)
        assert OFFLOADABLE == having(report, "inconclusive")
        assert {"no block size is shown, so the tokens found cannot be counted in blocks"} == (
            whys(trace)
        )

    def test_nothing_found(self) -> None:
        """No tokens are no blocks, whatever their size."""
        found = {"num_computed_tokens": 0, "num_hit_tokens": 0}
        trace = [*connector_store()[:2], *connector_lookup(**found), *connector_end()]
        assert (
            "satisfied"
            == verdicts(judge(self.unsized(trace), Mode.OFFLOADABLE))["materialization_predicate"]
        )

    @pytest.mark.parametrize("field", ["num_hit_tokens", "num_computed_tokens"])
    def test_not_counted(self, field: str) -> None:
        """A look-up that does not say what it found observes nothing."""
        trace = changed(connector_success(), "offload_lookup_result", 1, **{field: None})
        assert {"the look-up does not state how many tokens it found"} == whys(trace)
        assert OFFLOADABLE == having(judge(trace, Mode.OFFLOADABLE), "inconclusive")

    def test_not_counted_after_the_end(self) -> None:
        """Nor of a claim that was demoted before."""
        demoted = connector("resident_claim_demoted", "r0", "resident")
        lookup = connector_lookup(num_hit_tokens=None)
        found = verdicts(judge([*connector_store(), demoted, *lookup], Mode.OFFLOADABLE))
        assert "inconclusive" == found["materialization_predicate"]

    def test_not_loaded(self) -> None:
        """A load that does not say how many blocks came back restores nothing."""
        trace = bare(connector_success(), "dst_block_count", "num_external_tokens")
        assert {"a load does not state which blocks it brought back"} == whys(trace)
        assert "inconclusive" == judge(trace, Mode.OFFLOADABLE).verdict


class TestSeen:
    """A look-up shows a loss only where it could have found the blocks."""

    def test_behind_the_predicate(self) -> None:
        """Blocks that the predicate does not ask for are no loss of the claim's."""
        found = verdicts(judge(reuses((448, 0), (432, 0), (448, 0)), Mode.OFFLOADABLE))
        assert "unexercised" == found["claim_harm_attribution"]
        assert "violated" not in found.values()

    def test_lost(self) -> None:
        """One that it does ask for is, whenever it is seen to be gone."""
        for trace in (reuses((448, 0), (0, 0)), reuses((448, 0), (432, 0), (0, 0))):
            report = judge(trace, Mode.OFFLOADABLE)
            assert {"claim_harm_attribution"} == having(report, "violated")

    def test_short_prompt(self) -> None:
        """A prompt shorter than the predicate finds less, and nothing is lost."""
        trace = [
            {**line, "materialization_predicate": "leading_prefix_at_least(20)"}
            for line in [*reuses((448, 0)), *reuses((32, 0), prompt=48)[2:]]
        ]
        assert "violated" not in verdicts(judge(trace, Mode.OFFLOADABLE)).values()

    @pytest.mark.parametrize("stored", [False, True])
    def test_prompt_unknown(self, stored: bool) -> None:
        """Where the prompt's length is not reported, what it does not find may be there."""
        before = connector_store() if stored else reuses((448, 0))
        found = {"num_computed_tokens": 0, "num_hit_tokens": 0}
        lookup = bare(connector_lookup("r5", **found), "num_prompt_tokens", "num_block_hashes")
        trace = [*before, *lookup, *connector_end("r5")]
        assert {"the prompt does not show how many blocks its look-up could find"} == whys(trace)
        assert "violated" not in verdicts(judge(trace, Mode.OFFLOADABLE)).values()


class TestUnnamed:
    """A line about a claim names it."""

    @pytest.mark.parametrize("event", ["offload_worker_transfer_finished", END])
    def test_request_of_a_claim(self, event: str) -> None:
        """A load or an end of a claim's request that does not name the claim hides nothing."""
        restore = ("resident_claim_restore_required", "resident_claim_restored")
        trace = without(connector_success(), *restore)
        assert "violated" == verdicts(judge(trace, Mode.OFFLOADABLE))["offload_restorability"]
        nameless = dict.fromkeys(("claim_id", "resident_claim"))
        report = judge(changed(trace, event, 1, **nameless), Mode.OFFLOADABLE)
        assert OFFLOADABLE == having(report, "inconclusive")

    def test_other_requests(self) -> None:
        """A request that no line ever joined to the claim is none of its business."""
        other: Line = dict.fromkeys(("claim_id", "resident_claim", "resident_claim_role"))
        noise = [{**line, **other} for line in [*connector_lookup("x"), *connector_end("x")]]
        trace = put(connector_success(), "resident_claim_restored", *noise)
        assert verdicts(judge(connector_success(), Mode.OFFLOADABLE)) == verdicts(
            judge(trace, Mode.OFFLOADABLE)
        )

    @pytest.mark.parametrize(
        ("event", "field"),
        [
            (END, "claim_id"),
            ("offload_worker_transfer_finished", "claim_id"),
            ("offload_worker_transfer_finished", "request_id"),
            ("offload_worker_transfer_finished", "transfer_type"),
            ("offload_worker_load_failed", "request_id"),
            ("resident_claim_restore_required", "request_id"),
            ("scheduler_resident_claim_restoration_failed", "request_id"),
        ],
    )
    def test_absurd(self, event: str, field: str) -> None:
        """A line that is about a claim, and does not say which or for which request, is refused."""
        trace = [*connector_store(), *connector_lookup(), *connector_failed_load()]
        trace += [*scheduler_outcome(), *connector_end()]
        nth = 1 if event in (END, "offload_worker_transfer_finished") else 0
        with pytest.raises(InputError) as caught:
            judge(changed(trace, event, nth, **{field: None}), Mode.OFFLOADABLE)
        assert (field, at(trace, event, nth) + 1) == (caught.value.field, caught.value.line)

    @pytest.mark.parametrize(
        ("event", "nth"),
        [("resident_claim_restored", 0), ("offload_worker_transfer_finished", 1)],
    )
    def test_restored_for_nobody(self, event: str, nth: int) -> None:
        """The same of a restore, and of the load before it."""
        trace = changed(connector_success(), event, nth, request_id=None)
        with pytest.raises(InputError, match="request_id"):
            judge(trace, Mode.OFFLOADABLE)


class TestUntold:
    """A dialect that has no report of something is not broken for its silence, nor kept by it."""

    @pytest.mark.parametrize("bundle", Bundle)
    @pytest.mark.parametrize("mode", [Mode.BEST_EFFORT, Mode.HARD_PROTECTED])
    @pytest.mark.parametrize("trace", [connector_success(), connector_failure()])
    def test_materialized(self, trace: Trace, mode: Mode, bundle: Bundle) -> None:
        """Whether the connector's runtime said that a claim materialized cannot be told, nor what
        rests on the size of a claim or of a request."""
        report = judge(trace, mode, bundle)
        untold = {"claim_materialized_event", "claim_scoped_telemetry"}
        if mode is Mode.HARD_PROTECTED:
            untold |= {"footprint_accounting", "explicit_conflict_action"}
            untold |= {"victim_exclusion_before_violation"}
        untold &= set(MODES[mode].names(bundle))
        found = claim_of(report).obligations
        assert {"RC301", "RC303"} >= {found[name].code for name in untold}
        assert set() == having(report, "violated")
        assert untold == having(report, "inconclusive")

    def test_lost_blocks(self) -> None:
        """Nor whether it said that a claim had lost blocks."""
        for mode in (Mode.BEST_EFFORT, Mode.SOFT_PRIORITY, Mode.ROUTED_REUSE):
            report = judge(reuses((448, 0), (0, 0), (448, 0)), mode)
            assert "inconclusive" == verdicts(report)["claim_scoped_telemetry"]
            assert set() == having(report, "violated")

    def test_canonical_is_told(self) -> None:
        """In the canonical form silence is a breach as ever."""
        trace = without(canonical_claim(mode="best_effort"), "claim_materialized")
        trace += [about("claim_retired"), about("claim_released", by="tenant:1")]
        assert "violated" == judge(trace, Mode.BEST_EFFORT).verdict

    def test_broken_before(self) -> None:
        """A claim that was seen to break the obligation before is not cleared by another hook."""
        silent = [
            *without(canonical_claim(), "claim_materialized"),
            canonical("request_arrived", request_id="q", needed=1, usable=9),
            canonical("request_finished", request_id="q"),
        ]
        found = verdicts(judge([*silent, *connector_success()], Mode.HARD_PROTECTED))
        assert "violated" == found["claim_materialized_event"]


class TestRoom:
    """The connector does not say how many blocks a request needs."""

    def refused(self, **fields: Any) -> Trace:
        line = connector("active_request_refused", "r7", "reuse", claim_id=None, **fields)
        line["resident_claim"] = False
        return [*connector_store(), line]

    @pytest.mark.parametrize("blocking", [[CLAIM], [OTHER], [], None])
    def test_refused(self, blocking: list[str] | None) -> None:
        """A refusal of a request that has not arrived breaks the stream, whomever it names."""
        report = judge(self.refused(blocking_claim_ids=blocking), Mode.HARD_PROTECTED)
        assert ["RC116"] == [each.code for each in report.breaks]
        assert PROTECTED == having(report, "inconclusive")

    def test_offloadable(self) -> None:
        """In every mode."""
        report = judge(self.refused(blocking_claim_ids=[CLAIM]), Mode.OFFLOADABLE)
        assert ["RC116"] == [each.code for each in report.breaks]
        assert OFFLOADABLE == having(report, "inconclusive")

    def test_after_a_failed_restore(self) -> None:
        """A refusal after a failed restore answers for it in whatever words."""
        trace = [*connector_store(), *connector_lookup(), *connector_failed_load()]
        said = {"blocking_claim_ids": [CLAIM]}
        trace += [connector("active_request_refused", "r1", "reuse", **said)]
        trace += connector_end(pending=True)
        report = judge(trace, Mode.HARD_PROTECTED)
        assert "satisfied" == verdicts(report)["blocking_claim_ids"]
        assert (
            "satisfied" == verdicts(judge(trace, Mode.OFFLOADABLE))["restoration_failure_outcome"]
        )


def test_what_was_broken_before() -> None:
    """A doubt takes nothing back: what was broken before it stays broken."""
    again = [*connector_lookup("r2"), *connector_load("r2", 2, 1)]
    again += [*connector_restored("r2", 2, 1), *connector_end("r2")]
    trace = [*without(connector_success(), "resident_claim_restored"), *again]
    trace[at(trace, "offload_lookup_result", 2)]["num_hit_tokens"] = None
    report = judge(trace, Mode.OFFLOADABLE)
    assert {"offload_restorability"} == having(report, "violated")
    assert OFFLOADABLE - {"offload_restorability"} == having(report, "inconclusive")
