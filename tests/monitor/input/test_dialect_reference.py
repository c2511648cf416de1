"""The reference dialect: what its lines mean, and what is kept or broken by them."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.check.files import check
from monitor.input.dialects.reference import DERIVED, OBSERVES
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from tests.monitor.input.dialect_lines import events, feed, refusal
from tests.monitor.traces import OTHER, Trace, claim_of, having, judge, verdicts, write
from tests.monitor.traces_reference import (
    BLOCKS,
    reference,
    reference_accepted,
    reference_away,
    reference_failed,
    reference_failure,
    reference_materialized,
    reference_offloaded,
    reference_refused,
    reference_required,
    reference_restored,
    reference_reused,
    reference_success,
)

AWAY = reference_away()
RECORDED = Path(__file__).parents[4] / "shared" / "traces" / "reference"
BEFORE = {"event_sequence": 1}


def kinds(trace: Trace) -> list[list[str]]:
    """The kinds of the events of each line."""
    numbered = [{**line, "event_sequence": number} for number, line in enumerate(trace, 1)]
    return [[event.kind.value for event, _ in record.events] for record in feed(*numbered)]


class TestMeaning:
    """What each line becomes."""

    def test_success(self) -> None:
        """Ids are facts, tiers say what was copied and what is gone, the first line is arrival."""
        assert [
            ["claim_registered", "claim_committed", "claim_accepted"],
            ["block_cached", "claim_materialized"],
            ["store_finished", "block_evicted", "claim_offloaded"],
            ["request_arrived", "claim_restore_required"],
            ["load_finished", "claim_restored"],
            ["prefix_reused", "request_finished"],
        ] == kinds(reference_success())

    def test_failure(self) -> None:
        """A failed restore is the fact and the report of it, a refusal ends its request."""
        assert [
            ["load_failed", "claim_restoration_failed"],
            ["request_refused", "request_finished"],
        ] == kinds(reference_failure())[4:]

    def test_fields(self) -> None:
        """Blocks stand at positions from 0 on; the claim is bound on every line that names it."""
        by_kind = {
            event.kind.value: event
            for event, _ in events(*[{**line, **BEFORE} for line in reference_success()])
        }
        cached, loaded = by_kind["block_cached"], by_kind["load_finished"]
        assert (tuple(BLOCKS), (0, 1, 2, 3)) == (cached.block_ids, cached.positions)
        assert (tuple(BLOCKS), (0, 1, 2, 3)) == (loaded.block_ids, loaded.positions)
        assert ("resident", "reuse") == (cached.request_id, loaded.request_id)
        assert tuple(BLOCKS) == by_kind["block_evicted"].block_ids
        assert by_kind["claim_restored"].from_tier
        accepted = by_kind["claim_accepted"]
        assert (4, "offloadable") == (accepted.footprint, accepted.mode)
        assert ("cache:v1", "object:1") == (accepted.cache_identity, accepted.object_id)

    def test_every_fact_is_on_its_table(self) -> None:
        """What the adapter states is what its table says, no more and, but for ends, no less."""
        lines = [*reference_success(), *reference_failure(), reference("resident_claim_expired")]
        shown = {event.kind for event, _ in events(*[{**line, **BEFORE} for line in lines])}
        assert DERIVED == OBSERVES == {kind for kind in shown if kind in OBSERVES}

    @pytest.mark.parametrize(
        ("trace", "said"),
        [
            ([reference_required("a"), reference_required("b")], [True, True]),
            ([reference_required("a"), reference_restored("a")], [True, False]),
            ([reference_accepted(), reference_required("resident")], [False, True]),
            ([reference_accepted(), reference_materialized()], [False, False]),
            ([reference_materialized(request_id="other")], [True]),
            ([reference_refused("a"), reference_refused("a")], [True, False]),
            ([reference_refused("a"), reference_required("a")], [True, True]),
        ],
    )
    def test_arrival(self, trace: Trace, said: list[bool]) -> None:
        """The first line of a request that reuses is its arrival; it ends once, and may return."""
        found = kinds(trace)
        assert said == ["request_arrived" in line for line in found]
        assert sum("request_finished" in line for line in found) < 2

    @pytest.mark.parametrize(
        ("line", "field"),
        [
            (reference_materialized(claim_id=None), "claim_id"),
            (reference_required(claim_id=None), "claim_id"),
            (reference_required(request_id=None), "request_id"),
            (reference_reused(request_id=None), "request_id"),
            (reference_failed(request_id=None), "request_id"),
            (reference_refused(request_id=None), "request_id"),
            (reference_materialized(block_ids=[1, 2, 2]), "block_ids"),
            (reference_materialized(block_ids=[-1]), "block_ids[0]"),
            (
                reference_accepted(materialization_predicate="leading(4"),
                "materialization_predicate",
            ),
        ],
    )
    def test_absurd(self, line: dict[str, object], field: str) -> None:
        """A line that means nothing without a field, or has an absurd one, is bad input."""
        assert field == refusal({**line, **BEFORE}).field

    def test_unknown(self) -> None:
        """An event that nobody knows keeps its place and is named."""
        [record] = feed({**reference("resident_claim_frobbed"), **BEFORE})
        assert ("resident_claim_frobbed", (), 1) == (
            record.unknown,
            record.events,
            record.stamp.sequence,
        )


class TestKept:
    """Lifecycles that keep the mode."""

    @pytest.mark.parametrize(
        ("trace", "idle"),
        [
            (reference_success(), {"restoration_failure_outcome", "claim_harm_attribution"}),
            (reference_failure(), {"offload_restorability"}),
            ([*reference_success(), *reference_failure()[2:]], set()),
            ([*reference_failure(), *reference_success()[3:]], set()),
            (
                [*AWAY, reference_required("r2"), reference_restored("r2"), reference_reused("r2")],
                {"restoration_failure_outcome", "claim_harm_attribution"},
            ),
        ],
    )
    def test_alone(self, trace: Trace, idle: set[str]) -> None:
        """A restore and a refusal, alone or one after the other under the same names; and a restore
        for one request while another waits for it, too."""
        report = judge(trace, Mode.OFFLOADABLE)
        assert "kept" == report.verdict
        assert idle == having(report, "unexercised")

    def test_offloaded_twice(self) -> None:
        """What did not come back cannot leave the GPU again."""
        report = judge([*reference_failure(), *reference_success()[2:]], Mode.OFFLOADABLE)
        assert ["RC112"] == [each.code for each in report.breaks]
        assert {"inconclusive"} == set(verdicts(report).values())

    def test_together(self, tmp_path: Path) -> None:
        """Two files of one run, each whole, exercise all obligations between them."""
        files = [
            write(tmp_path / "a.jsonl", reference_success()),
            write(tmp_path / "b.jsonl", reference_failure()),
        ]
        report = check(files, Mode.OFFLOADABLE, Bundle.CONTRACT, strict=True)
        assert ("kept", 2) == (report.verdict, len(report.claims))
        assert {"satisfied"} == set(report.obligations.values())

    @pytest.mark.parametrize("first", [0, 1])
    def test_numbers(self, first: int) -> None:
        """Numbers begin with 0 or 1."""
        trace = [{**line, "event_sequence": n} for n, line in enumerate(reference_success(), first)]
        assert "kept" == judge(trace, Mode.OFFLOADABLE).verdict

    def test_wall_clock(self) -> None:
        """A wall clock that is set back is no disorder."""
        trace = [{**line, "timestamp_ns": 9 - n} for n, line in enumerate(reference_success())]
        assert "kept" == judge(trace, Mode.OFFLOADABLE).verdict

    @pytest.mark.parametrize("mode", [mode for mode in Mode if mode is not Mode.OFFLOADABLE])
    def test_other_mode(self, mode: Mode) -> None:
        """Its claims ask to be offloadable, so that no other mode judges them."""
        report = judge(reference_success(), mode)
        assert ("inconclusive", {"offloadable": 1}) == (report.verdict, report.others)

    def test_trust(self) -> None:
        """What is read from reports is listed."""
        trust = judge(reference_success(), Mode.OFFLOADABLE).trust
        assert {"claim_committed", "block_cached", "prefix_reused"} <= set(trust.derived)
        assert set(trust.facts) == set(trust.derived)


COMPUTED = {"restoration_source": "recomputation"}
NOT_LOADED = {"restored_from_offload_tier": False}
ELSEWHERE = {"source_tier": "another", "cache_tier_from": "another"}


class TestViolated:
    """One reason, and no other obligation beside it."""

    @pytest.mark.parametrize(
        ("trace", "broken", "line"),
        [
            ([*AWAY, reference_reused(), reference_restored()], "offload_restorability", 5),
            (
                [*AWAY[:3], reference_reused(), AWAY[3], reference_restored()],
                "offload_restorability",
                4,
            ),
            ([*AWAY, reference_reused()], "offload_restorability", 5),
            *[
                (
                    [*AWAY, reference_restored(**said), reference_reused()],
                    "offload_restorability",
                    5,
                )
                for said in (COMPUTED, NOT_LOADED, ELSEWHERE, COMPUTED | NOT_LOADED | ELSEWHERE)
            ],
            (
                [*AWAY, reference_failed(outcome_claim_id=OTHER), reference_refused()],
                "restoration_failure_outcome",
                5,
            ),
            (
                [
                    *AWAY,
                    reference_failed(outcome_claim_id=OTHER),
                    reference_refused(outcome_claim_id=OTHER),
                ],
                "restoration_failure_outcome",
                5,
            ),
            (
                [*AWAY, reference_failed(), reference_refused(blocking_claim_ids=[OTHER])],
                "restoration_failure_outcome",
                6,
            ),
            (
                [AWAY[0], reference_materialized(block_ids=BLOCKS[:3]), *reference_success()[2:]],
                "materialization_predicate",
                2,
            ),
        ],
    )
    def test_one_reason(self, trace: Trace, broken: str, line: int) -> None:
        """Reused unrestored, recomputed, answered in another's name, told of missing blocks."""
        report = judge(trace, Mode.OFFLOADABLE)
        assert "violated" == report.verdict
        assert {broken} == having(report, "violated")
        at = claim_of(report).obligations[broken].at
        assert line == (at and at.line)

    def test_identity(self) -> None:
        """A refusal under another identity is noticed, though it carries none of its own."""
        trace = [*AWAY, reference_failed(), reference_refused(cache_identity="cache:v2")]
        assert {"claim_identity"} == having(judge(trace, Mode.OFFLOADABLE), "violated")


class TestOpen:
    """What a line leaves out, or says twice, is inconclusive."""

    @pytest.mark.parametrize(
        ("trace", "why"),
        [
            ([AWAY[0], reference_materialized(block_ids=None)], "does not say which blocks"),
            ([*AWAY[:2], reference_offloaded(block_ids=None)], "does not say which blocks"),
            ([*AWAY, reference_restored(block_ids=None)], "does not say which blocks"),
            (
                [*AWAY[:2], reference_offloaded(source_tier="disk")],
                "does not say that it led from the GPU",
            ),
            (
                [*AWAY[:2], reference_offloaded(destination_tier=None, cache_tier_to=None)],
                "does not say that it led from the GPU",
            ),
            (
                [
                    *AWAY,
                    reference_restored(
                        restoration_source=None,
                        restored_from_offload_tier=None,
                        source_tier=None,
                        cache_tier_from=None,
                    ),
                ],
                "does not say whether it was completed, and from where",
            ),
            ([*AWAY, reference_restored(restoration_completed=False)], "was completed"),
            (
                [*reference_success()[:5], reference_reused(predicate_satisfied=False)],
                "without what",
            ),
            ([*AWAY, reference_refused()], "no line states that it failed"),
            ([reference_accepted(resident_blocks_required=None)], "resident_blocks_required"),
            ([reference_accepted(cache_identity=None)], "without cache_identity"),
        ],
    )
    def test_doubt(self, trace: Trace, why: str) -> None:
        """The claim is inconclusive, with what is missing, and nothing is broken."""
        report = judge(trace, Mode.OFFLOADABLE)
        assert {"inconclusive"} == set(verdicts(report).values())
        assert why in claim_of(report).obligations["claim_identity"].why

    @pytest.mark.parametrize(
        ("trace", "open_"),
        [
            (
                [AWAY[0], reference_materialized(leading_blocks_survived=1), *AWAY[2:]],
                {"materialization_predicate"},
            ),
            (
                [*AWAY, reference_failed(outcome_type="harm"), reference_refused()],
                {"restoration_failure_outcome"},
            ),
        ],
    )
    def test_contradiction(self, trace: Trace, open_: set[str]) -> None:
        """A report that contradicts itself leaves open what rests on it."""
        assert open_ == having(judge(trace, Mode.OFFLOADABLE), "inconclusive")

    def test_counts(self) -> None:
        """Where a report gives its counts alone, they are what it says."""
        said = {"predicate_materialized": None, "leading_blocks_survived": None}
        enough = [AWAY[0], reference_materialized(**said)]
        few = [AWAY[0], reference_materialized(**said, resident_blocks_materialized=1)]
        assert "claim_materialized" in kinds(enough)[1]
        assert "claim_unmaterialized" in kinds(few)[1]

    def test_positions(self) -> None:
        """Of a claim whose predicate does not begin at 0 nobody knows where its blocks stand."""
        trace = [
            {**line, "materialization_predicate": "contiguous_range(2, 2)"}
            for line in reference_success()
        ]
        report = judge(trace, Mode.OFFLOADABLE)
        assert "at which positions" in claim_of(report).obligations["claim_identity"].why

    @pytest.mark.parametrize("hole", [2, 3, 4, 5])
    def test_gap(self, hole: int) -> None:
        """A number that is missing inside the stream is a line that is missing."""
        numbers = [n + (n > hole) for n in range(1, 7)]
        trace = [
            {**line, "event_sequence": n}
            for n, line in zip(numbers, reference_success(), strict=True)
        ]
        found = claim_of(judge(trace, Mode.OFFLOADABLE)).obligations["claim_identity"]
        why = f"lines are missing before sequence number {hole + 2}"
        assert ("inconclusive", why) == (found.verdict, found.why)

    def test_no_room(self) -> None:
        """Whom a refusal for want of room blames cannot be judged: its need is not reported."""
        trace = [
            *reference_success(),
            reference_refused("late", restoration_failure_event_sequence=None),
        ]
        report = judge(
            [{**line, "protection_mode": "another"} for line in trace], Mode.HARD_PROTECTED
        )
        assert {"blocking_claim_ids", "explicit_conflict_action"} <= having(report, "inconclusive")


@pytest.mark.skipif(
    not RECORDED.is_dir(), reason="the recorded traces are not beside this checkout"
)
class TestRecorded:
    """The two files of the papers' reference suite, as they were recorded."""

    @pytest.mark.parametrize(
        ("name", "idle"),
        [
            ("success_restore", {"restoration_failure_outcome", "claim_harm_attribution"}),
            ("failure_refusal", {"offload_restorability"}),
        ],
    )
    @pytest.mark.parametrize("bundle", Bundle)
    def test_alone(self, name: str, idle: set[str], bundle: Bundle) -> None:
        """Each is kept, and every line of it is understood."""
        report = check([str(RECORDED / f"{name}.jsonl")], Mode.OFFLOADABLE, bundle)
        assert ("kept", 6, {}) == (report.verdict, report.events.read, report.events.unknown)
        assert idle == {n for n, v in report.obligations.items() if v == "unexercised"}

    def test_together(self) -> None:
        """Both together are kept under --strict: two runs of one name, each in its own file."""
        files = sorted(map(str, RECORDED.glob("*.jsonl")))
        report = check(files, Mode.OFFLOADABLE, Bundle.CONTRACT, strict=True)
        assert ("kept", 2) == (report.verdict, len(files))
        assert set(MODES[Mode.OFFLOADABLE].names()) == {
            name for name, verdict in report.obligations.items() if verdict == "satisfied"
        }
