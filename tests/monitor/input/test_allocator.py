"""The allocator dialect: what each line means, and the two habits that are undone."""

import pytest

from spec.events.alphabet import Kind
from spec.events.canonical import CapacityProof
from tests.monitor.input.dialect_lines import (
    DEFERRED,
    HOLDS,
    NEED,
    REFUSED,
    VICTIM,
    Line,
    alloc,
    cached,
    events,
    feed,
    kinds,
    refusal,
)


class TestAllocatorMapping:
    def test_acceptance(self) -> None:
        """An accepted claim states footprint, mode, predicate and rank; the run is its identity."""
        more = {"protection_mode": "hard_exclude", "predicted_value": 0.25, **NEED}
        got = events(alloc("resident_claim_accepted", useful_threshold_blocks=40, **more))
        assert ["claim_registered", "claim_committed", "claim_accepted"] == [
            event.kind.value for event, _ in got
        ]
        accepted = got[-1][0]
        assert (60, "hard_exclude", "leading_prefix_at_least(40)", 250, "run:r1", "x") == (
            accepted.footprint,
            accepted.mode,
            accepted.predicate,
            accepted.priority,
            accepted.cache_identity,
            accepted.object_id,
        )

    @pytest.mark.parametrize(
        ("more", "priority"),
        [
            ({"priority": 3, "predicted_value": 9}, 3),
            ({"predicted_value": 2}, 2000),
            ({"predicted_value": "high"}, None),
            ({"predicted_value": True}, None),
            ({}, None),
        ],
    )
    def test_rank(self, more: Line, priority: int | None) -> None:
        """The rank is the priority, else the predicted value in thousandths."""
        assert priority == events(alloc("resident_claim_accepted", **NEED, **more))[-1][0].priority

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("run_id", None),
            ("prefix_id", None),
            ("useful_threshold_blocks", None),
            ("useful_threshold_blocks", 0),
        ],
    )
    def test_accepted_without(self, field: str, value: object) -> None:
        """A claim that is accepted without its identity or its predicate is in doubt."""
        whole = alloc("resident_claim_accepted", useful_threshold_blocks=40, **NEED)
        assert () == feed(whole)[0].doubts
        [doubt] = feed({**whole, field: value})[0].doubts
        assert ("c", frozenset()) == (doubt.claim_id, doubt.only)
        assert f"it was accepted without {field}" == doubt.why

    def test_blocks(self) -> None:
        """A block is cached at its logical position, and evicted whatever the reason is called."""
        [(block, _)] = events(cached(9))
        assert ((9,), (8,), "c") == (block.block_ids, block.positions, block.claim_id)
        for reason in ("free_uncached", "cached_prefix_reuse"):
            [(victim, _)] = events({**VICTIM, "victim_reason": reason})
            assert ("block_evicted", (7,), "q", None, None) == (
                victim.kind.value,
                victim.block_ids,
                victim.request_id,
                victim.claim_id,
                victim.cache_identity,
            )

    def test_a_victim_that_names_a_claim(self) -> None:
        """A victim event that names the claim tells the loss under its name too."""
        assert ["block_evicted", "claim_block_lost"] == kinds({**VICTIM, "claim_id": "c"})

    def test_a_loss_after_release(self) -> None:
        """The loss that is reported before its victim stands for the eviction."""
        lost = alloc("resident_claim_block_lost_after_release", physical_block_id=7)
        assert ["block_evicted", "claim_block_lost", "block_evicted"] == kinds(lost, VICTIM)

    def test_ends(self) -> None:
        """Demotion and expiry bring the facts behind them, once for a claim of a run."""
        demoted, expired = alloc("resident_claim_demoted"), alloc("resident_claim_expired")
        assert ["claim_retired", "claim_demoted"] == kinds(demoted)
        assert ["duration_elapsed", "claim_retired", "claim_expired"] == kinds(expired)
        assert ["claim_demoted"] == kinds(expired, demoted)[3:]
        assert 5 == len(kinds(expired, {**demoted, "run_id": "r2"}))

    def test_harm_and_denial(self) -> None:
        """Harm is a report; a denied reuse is known and carries nothing."""
        assert ["claim_harmed"] == kinds(alloc("resident_claim_harmed"))
        [record] = feed(alloc("future_reuse_denied"))
        assert ((), None) == (record.events, record.unknown)

    def test_refusal(self) -> None:
        """A refused request arrives, is refused with its proof, and ends."""
        arrived, refused, finished = (event for event, _ in events(REFUSED))
        assert ("request_arrived", 70, 80) == (arrived.kind.value, arrived.needed, arrived.usable)
        assert CapacityProof(60, 70, 130, 80, 50) == refused.proof
        assert (("c",), None) == (refused.blocking_claim_ids, refused.claim_id)
        assert "request_finished" == finished.kind.value

    @pytest.mark.parametrize(
        ("without", "proof"),
        [
            (["capacity_shortfall_blocks"], CapacityProof(60, 70, 130, 80, 50)),
            (["resident_plus_active_blocks"], CapacityProof(60, 70, 130, 80, 50)),
            (["protected_resident_blocks"], CapacityProof(60, 70, 130, 80, 50)),
            (
                ["protected_resident_blocks", "resident_plus_active_blocks"],
                CapacityProof(60, 70, 130, 80, 50),
            ),
            (
                [
                    "protected_resident_blocks",
                    "resident_plus_active_blocks",
                    "capacity_shortfall_blocks",
                ],
                None,
            ),
        ],
    )
    def test_a_proof_that_leaves_something_out(
        self, without: list[str], proof: CapacityProof | None
    ) -> None:
        """What follows from the rest is put in, and what was left out is in doubt."""
        [record] = feed({**REFUSED, **dict.fromkeys(without)})
        assert proof == record.events[1][0].proof
        if proof is None:
            assert () == record.doubts
        else:
            [doubt] = record.doubts
            assert (None, {"footprint_accounting"}) == (doubt.claim_id, doubt.only)
            assert f"the capacity proof does not give {', '.join(without)}" == doubt.why

    def test_a_sum_below_its_part(self) -> None:
        """A sum that is less than what the request needs leaves no resident blocks, not fewer."""
        without = {"protected_resident_blocks": None, "capacity_shortfall_blocks": None}
        refused = events({**REFUSED, **without, "resident_plus_active_blocks": 69})[1][0]
        assert CapacityProof(0, 70, 69, 80, 0) == refused.proof

    def test_deferral(self) -> None:
        """A deferred request stays; refused later it does not arrive again, unless it changed."""
        assert ["request_arrived", "request_deferred"] == kinds(DEFERRED)
        assert ["request_deferred"] == kinds(DEFERRED, DEFERRED)[2:]
        assert ["request_refused", "request_finished"] == kinds(DEFERRED, REFUSED)[2:]
        changed = {**REFUSED, "active_live_blocks_required": 71}
        assert "request_arrived" == kinds(DEFERRED, changed)[2]
        assert "request_arrived" == kinds(DEFERRED, REFUSED, REFUSED)[4]

    @pytest.mark.parametrize(
        ("line", "field"),
        [
            (cached(-1), "physical_block_id"),
            (cached(2, ref_count=-2), "ref_count"),
            (alloc("resident_block_materialized", physical_block_id=1), "logical_block_position"),
            (alloc("resident_claim_accepted"), "resident_blocks_required"),
            (
                alloc("resident_claim_accepted", resident_blocks_required=0),
                "resident_blocks_required",
            ),
            (
                alloc("resident_claim_accepted", useful_threshold_blocks=61, **NEED),
                "useful_threshold_blocks",
            ),
            (alloc("resident_claim_accepted", predicted_value=1e300, **NEED), "predicted_value"),
            (alloc("resident_claim_harmed", claim_id=None), "claim_id"),
            (alloc("allocation_victim_selected"), "physical_block_id"),
            ({**REFUSED, "request_id": None}, "request_id"),
            ({**REFUSED, "active_live_blocks_required": None}, "active_live_blocks_required"),
            ({**REFUSED, "usable_blocks": None}, "usable_blocks"),
            ({**REFUSED, "usable_blocks": -80}, "usable_blocks"),
            ({**REFUSED, "active_live_blocks_required": 10**12}, "active_live_blocks_required"),
            ({**REFUSED, "blocking_claim_ids": "c"}, "blocking_claim_ids"),
        ],
    )
    def test_bad_values(self, line: Line, field: str) -> None:
        """A bad value is refused under the dialect's own name for it."""
        assert field == refusal(line).field


class TestHeldReport:
    def test_changes_places_with_the_last_block(self) -> None:
        """Materialized just before a block of the claim is read after it, from its own line."""
        got = feed(cached(1), HOLDS, cached(2), VICTIM)
        assert [1, 2, 3, 4] == [record.at.line for record in got]
        assert [
            ("block_cached", 1),
            ("block_cached", 3),
            ("claim_materialized", 2),
            ("block_evicted", 4),
        ] == [(event.kind.value, at.line) for record in got for event, at in record.events]

    @pytest.mark.parametrize(
        "following",
        [
            cached(2, claim_id="d"),
            cached(2, claim_id=None),
            VICTIM,
            HOLDS,
            {"event": "unheard_of", "run_id": "r1"},
            {"kind": "request_finished", "request_id": "a", "stream": "r1"},
            {"event": "offload_job_completed", "event_sequence": 0, "run_id": "r1"},
        ],
    )
    def test_otherwise_stays_where_it_is(self, following: Line) -> None:
        """Before anything else of its run the report keeps its place."""
        got = feed(HOLDS, following)
        assert [1, 2] == [record.at.line for record in got]
        assert (Kind.CLAIM_MATERIALIZED, 1) == (got[0].events[0][0].kind, got[0].events[0][1].line)

    @pytest.mark.parametrize(
        "between",
        [
            cached(2, run_id="r2"),
            {**HOLDS, "run_id": "r2"},
            {"event": "unheard_of", "run_id": "r2"},
            {"kind": "request_finished", "request_id": "a", "stream": "r2"},
            {"event": "offload_job_completed", "event_sequence": 0, "run_id": "r2"},
        ],
    )
    def test_lines_of_another_run(self, between: Line) -> None:
        """A line of another run between the report and the last block does not part them."""
        got = [record for record in feed(HOLDS, between, cached(2)) if record.stamp.stream == "r1"]
        assert [(Kind.BLOCK_CACHED, 3), (Kind.CLAIM_MATERIALIZED, 1)] == [
            (event.kind, at.line) for record in got for event, at in record.events
        ]

    def test_the_end_of_the_file_lets_it_go(self) -> None:
        """A report on the last line is not lost."""
        assert ["claim_materialized"] == kinds(HOLDS)

    def test_false_is_unmaterialized(self) -> None:
        """A report that the predicate does not hold is the opposite report."""
        assert ["claim_unmaterialized"] == kinds({**HOLDS, "predicate_materialized": False})
