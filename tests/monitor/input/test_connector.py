"""The connector dialect: what each line means, what is remembered, and what only repeats."""

import pytest

from monitor.input.dialects._recorded import REQUESTS
from monitor.input.dialects.connector import Run, block_size_of
from tests.monitor.input.dialect_lines import (
    BOUND,
    DONE,
    FAILED,
    FOUND,
    LOAD,
    LOADED,
    RESIDENT,
    REUSE,
    SPOKE,
    STORE,
    STORED,
    Line,
    conn,
    events,
    feed,
    kinds,
    refusal,
    report,
    required,
)


class TestConnectorMapping:
    def test_acceptance_is_the_metadata(self) -> None:
        """The first resident request registers, commits and accepts the claim, and arrives."""
        got = events(RESIDENT)
        assert [
            "claim_registered",
            "claim_committed",
            "claim_accepted",
            "request_arrived",
        ] == [event.kind.value for event, _ in got]
        for event, _ in got:
            assert BOUND == {name: getattr(event, name) for name in BOUND}

    def test_acceptance_happens_once(self) -> None:
        """A second resident request, and a reuse, only arrive, under the identity they state."""
        got = events(RESIDENT, {**RESIDENT, "cache_identity": "k2"}, REUSE)[4:]
        assert [("request_arrived", "k2"), ("request_arrived", "k")] == [
            (event.kind.value, event.cache_identity) for event, _ in got
        ]

    def test_unclaimed_requests_are_requests(self) -> None:
        """Control runs without claim metadata yield requests and nothing about claims."""
        bare = {"event_sequence": 1, "request_id": "q", "cache_identity": "k"}
        got = events(
            {**bare, "event": "request_initialized"},
            {**bare, "event": "offload_lookup_result", "num_hit_tokens": 16},
            {**bare, "event": "offload_worker_transfer_finished", **LOAD, "success": False},
            {**bare, "event": "offload_load_job_failed", **LOAD},
            {**bare, "event": "offload_request_finished_no_pending_jobs"},
        )
        assert ["request_arrived", "request_finished"] == [event.kind.value for event, _ in got]
        assert {(None, None)} == {(event.claim_id, event.cache_identity) for event, _ in got}

    @pytest.mark.parametrize(
        ("line", "kind", "fields"),
        [
            (STORED, "store_finished", {"request_id": "r"}),
            (LOADED, "load_finished", {"held": 10}),
            (FAILED, "load_failed", {}),
            (conn("offload_worker_load_failed", **LOAD), "load_failed", {}),
            (conn("offload_load_job_failed", **LOAD), "load_failed", {}),
            (conn("resident_claim_offloaded"), "claim_offloaded", {}),
            (conn("resident_claim_restore_required"), "claim_restore_required", {}),
            (
                conn("resident_claim_restored", restored_from_offload_tier=True),
                "claim_restored",
                {"from_tier": True},
            ),
            (
                conn(
                    "resident_claim_restored",
                    restored_from_offload_tier=True,
                    restoration_source="recompute",
                ),
                "claim_restored",
                {"from_tier": False},
            ),
            (conn("resident_claim_restored"), "claim_restored", {"from_tier": False}),
            (
                conn(
                    "scheduler_resident_claim_restoration_failed",
                    claim_scoped_outcome_type="refusal",
                    outcome_type="demotion",
                    outcome_claim_id="c",
                ),
                "claim_restoration_failed",
                {"outcome": "refusal", "outcome_claim_id": "c", "duplicate": False},
            ),
            (
                conn("resident_claim_restoration_failed", outcome_type="fallback_recompute"),
                "claim_restoration_failed",
                {"outcome": "fallback_recompute", "duplicate": False},
            ),
            (conn("resident_claim_materialized"), "claim_materialized", {}),
            (
                conn("resident_claim_materialized", predicate_materialized=False),
                "claim_unmaterialized",
                {},
            ),
            (conn("resident_claim_harmed"), "claim_harmed", {}),
        ],
    )
    def test_one_line_one_event(self, line: Line, kind: str, fields: Line) -> None:
        """A line about a claim becomes one event that is bound to it."""
        [(event, _)] = events(line)
        assert kind == event.kind.value
        assert {**BOUND, **fields} == {name: getattr(event, name) for name in {**BOUND, **fields}}

    @pytest.mark.parametrize(
        "line",
        [
            conn("offload_store_job_created"),
            conn("offload_load_job_created"),
            conn("offload_worker_transfer_submitted"),
            conn("offload_job_completed"),
            conn("offload_worker_transfer_finished", **STORE, success=False),
            conn("offload_worker_transfer_finished", transfer_type=["CPU", "DISK"]),
            conn("offload_lookup_result", role="resident", num_hit_tokens=0),
        ],
    )
    def test_known_and_silent(self, line: Line) -> None:
        """Some kinds are known and carry nothing; they are not counted as unknown."""
        [record] = feed(line)
        assert ((), None) == (record.events, record.unknown)

    def test_a_contradiction_on_a_silent_line_is_not_lost(self) -> None:
        """A line that carries nothing still shows a claim under another identity."""
        silent = conn("offload_job_completed", reusable_object_id="other")
        [(event, line)] = events(RESIDENT, silent)[4:]
        assert ("other", 2) == (event.object_id, line)

    def test_ends(self) -> None:
        """Demotion and expiry bring the facts behind them, once for a claim."""
        assert [
            "claim_retired",
            "claim_demoted",
            "claim_expired",
        ] == kinds(conn("resident_claim_demoted"), conn("resident_claim_expired"))

    def test_an_acceptance_in_so_many_words_restates_the_metadata(self) -> None:
        """An explicit acceptance adds nothing to the metadata's, and a second one stands."""
        said = conn("resident_claim_accepted", resident_blocks_required=4)
        assert [] == kinds(RESIDENT, said)[4:]
        assert "claim_accepted" == kinds(RESIDENT, said, said)[-1]
        assert "claim_accepted" == kinds(said)[-1]

    @pytest.mark.parametrize(
        ("line", "field"),
        [
            (conn("offload_lookup_result", num_hit_tokens=-1), "num_hit_tokens"),
            (conn("offload_worker_transfer_finished", dst_block_count=2**40), "dst_block_count"),
            (conn("offload_worker_transfer_finished", **STORE), "success"),
            (conn("offload_worker_transfer_finished", key_count=-1), "key_count"),
            (conn("request_initialized", request=None), "request_id"),
            (conn("request_initialized", claim_id=""), "claim_id"),
            (
                conn("request_initialized", materialization_predicate="prefix(1)"),
                "materialization_predicate",
            ),
            ({**conn("resident_claim_offloaded"), "claim_id": None}, "claim_id"),
            ({"event": "x", "event_sequence": -1}, "event_sequence"),
            ({"event": "x", "monotonic_ns": 10**30}, "monotonic_ns"),
            ({"event": 3, "event_sequence": 1}, "event"),
        ],
    )
    def test_bad_values(self, line: Line, field: str) -> None:
        """A bad value is refused under the dialect's own name for it."""
        assert field == refusal(line).field


class TestLookups:
    def test_blocks_found(self) -> None:
        """What a look-up finds is counted in blocks of the size that the trace shows."""
        found = conn("offload_lookup_result", num_computed_tokens=16, num_hit_tokens=47)
        on_gpu, looked = (event for event, _ in events(REUSE, found)[1:])
        assert ("prefix_lookup", 3) == (looked.kind.value, looked.held)
        assert ("block_cached", (0,)) == (on_gpu.kind.value, on_gpu.positions)

    def test_gone_from_the_gpu(self) -> None:
        """A look-up that finds fewer blocks on the GPU than the one before shows a loss."""
        both = conn("offload_lookup_result", num_computed_tokens=32, num_hit_tokens=0)
        one = conn("offload_lookup_result", num_computed_tokens=16, num_hit_tokens=16)
        seen = [(event.kind.value, event.positions) for event, _ in events(REUSE, both, one)[1:]]
        assert [
            ("block_cached", (0, 1)),
            ("prefix_lookup", ()),
            ("block_lost", ()),
            ("block_cached", (0,)),
            ("prefix_lookup", ()),
        ] == seen

    def test_block_size_unknown(self) -> None:
        """Where the trace shows no block size, the look-up says nothing of blocks."""
        [(event, _)] = events(FOUND)
        assert event.held is None

    def test_block_size_from_a_load(self) -> None:
        """A load shows the block size too."""
        loaded = {**LOADED, "num_external_tokens": 320}
        assert 5 == events(loaded, FOUND)[-1][0].held

    @pytest.mark.parametrize(
        ("tokens", "hashes", "size"),
        [(480, 30, 16), (481, 30, 16), (31, 1, 16), (480, 10, 48), (5, 0, None), (None, 3, None)],
    )
    def test_block_size_of_a_prompt(
        self, tokens: int | None, hashes: int | None, size: int | None
    ) -> None:
        """A power of two is taken where it explains the prompt, else the largest size."""
        assert size == block_size_of(tokens, hashes)

    @pytest.mark.parametrize(
        ("hits", "expected"),
        [
            (64, ["prefix_lookup"]),
            (63, ["host_copy_lost", "prefix_lookup"]),
            (0, ["host_copy_lost", "prefix_lookup"]),
            (None, ["prefix_lookup"]),
        ],
    )
    def test_a_copy_that_is_gone(self, hits: int | None, expected: list[str]) -> None:
        """A stored claim that a look-up does not find up to its predicate has lost its copy."""
        found = conn("offload_lookup_result", num_computed_tokens=0, num_hit_tokens=hits)
        assert expected == kinds(RESIDENT, STORED, REUSE, found)[6:]

    @pytest.mark.parametrize("hits", [64, 63, 0, None])
    def test_a_copy_that_nobody_stored(self, hits: int | None) -> None:
        """A copy that a look-up finds up to the predicate, and of no store, is found; once."""
        found = conn("offload_lookup_result", num_computed_tokens=0, num_hit_tokens=hits)
        seen = ["host_copy_found"] if hits == 64 else []
        assert [*seen, *["prefix_lookup"] * 2] == kinds(RESIDENT, REUSE, found, found)[5:]

    def test_asked(self) -> None:
        """A look-up says how many blocks its prompt could use, where the prompt shows it."""
        assert [10] == [event.asked for event, _ in events(REUSE, FOUND) if event.held is not None]
        silent = {**REUSE, "num_prompt_tokens": None}
        got = events(RESIDENT, silent, FOUND)
        assert [None] == [event.asked for event, _ in got if event.held is not None]

    def test_what_is_seen_was_found(self) -> None:
        """Blocks that a look-up shows on the GPU were found there, and not computed by it."""
        found = conn("offload_lookup_result", num_computed_tokens=64, num_hit_tokens=0)
        cached = events(REUSE, found)[1][0]
        assert ("block_cached", True, "q") == (cached.kind, cached.found, cached.request_id)

    def test_a_copy_is_lost_once(self) -> None:
        """The loss is a fact of one moment; a new store starts anew."""
        gone = {**FOUND, "num_hit_tokens": 0}
        got = kinds(RESIDENT, STORED, REUSE, gone, gone, STORED, gone)
        assert 2 == got.count("host_copy_lost")

    def test_a_short_prompt_cannot_see_a_loss(self) -> None:
        """A prompt that ends before the predicate finds all that it can ask for."""
        short = conn("request_initialized", num_prompt_tokens=49, num_block_hashes=3)
        found = {**FOUND, "num_hit_tokens": 48}
        assert ["prefix_lookup"] == kinds(RESIDENT, STORED, short, found)[6:]
        lost = {**FOUND, "num_hit_tokens": 32}
        assert "host_copy_lost" in kinds(RESIDENT, STORED, short, lost)
        ranged: Line = {"materialization_predicate": "contiguous_range(3, 4)"}
        lines = [{**line, **ranged} for line in (RESIDENT, STORED, short, lost)]
        assert "host_copy_lost" not in kinds(*lines)

    def test_a_range_is_counted_from_its_start(self) -> None:
        """Blocks before a range are none of its blocks."""
        ranged: Line = {"materialization_predicate": "contiguous_range(2, 4)"}
        got = events({**REUSE, **ranged}, {**FOUND, **ranged}, {**LOADED, **ranged})
        assert [None, 8, 8] == [event.held for event, _ in got[1:]]

    def test_a_load_comes_behind_what_the_gpu_held(self) -> None:
        """After a load the leading blocks are those computed and those loaded."""
        found = conn("offload_lookup_result", num_computed_tokens=32, num_hit_tokens=128)
        assert 12 == events(REUSE, found, LOADED)[-1][0].held

    def test_a_load_that_counts_tokens(self) -> None:
        """A load that states only tokens is counted in blocks."""
        loaded = {**LOADED, "dst_block_count": None, "num_external_tokens": 64}
        assert 4 == events(REUSE, loaded)[-1][0].held


class TestFinishing:
    @pytest.mark.parametrize(
        ("before", "reused"),
        [
            ((REUSE, FOUND), True),
            ((FOUND,), True),
            ((REUSE, {**FOUND, "num_hit_tokens": 48}), False),
            ((REUSE, {**FOUND, "num_hit_tokens": 0}), False),
            ((REUSE,), False),
            ((REUSE, FOUND, LOADED), True),
            ((REUSE, FOUND, FAILED), False),
            ((REUSE, FOUND, FAILED, LOADED), True),
            ((REUSE, FOUND, FAILED, conn("resident_claim_restore_required")), True),
            ((REUSE, FOUND, conn("active_request_refused")), False),
            ((conn("request_initialized", role="resident"), FOUND), True),
        ],
    )
    def test_reuse_is_the_end_of_a_reusing_request(
        self, before: tuple[Line, ...], reused: bool
    ) -> None:
        """A reuse is found, not failed in its last attempt, and not refused."""
        expected = ["prefix_reused", "request_finished"] if reused else ["request_finished"]
        assert expected == kinds(*before, DONE)[len(kinds(*before)) :]

    def test_a_resident_request_reuses_nothing(self) -> None:
        """The request that makes the claim's blocks is no reuse of them."""
        done = conn("offload_request_finished_no_pending_jobs", "r", "resident")
        assert ["request_finished"] == kinds(RESIDENT, done)[4:]

    def test_a_request_ends_once(self) -> None:
        """With and without pending jobs is one boundary."""
        pending = conn("offload_request_finished_pending_jobs")
        assert 1 == kinds(REUSE, pending, DONE).count("request_finished")
        assert 2 == kinds(REUSE, pending, REUSE, DONE).count("request_finished")


class TestFailedRestores:
    def test_one_failure_told_three_times(self) -> None:
        """The transfer, the worker and the job tell of one failed load; another job is another."""
        told = [
            FAILED,
            conn("offload_worker_load_failed", **LOAD),
            conn("offload_load_job_failed", **LOAD),
        ]
        assert ["load_failed"] == kinds(*told)
        assert 2 == len(kinds(*told, conn("offload_load_job_failed", job_id=2)))

    def test_failures_without_a_job_are_told_apart_by_attempt(self) -> None:
        """Where no job is named, each attempt fails once."""
        lost = conn("offload_load_job_failed")
        assert 2 == kinds(required(1), lost, lost, required(2), lost).count("load_failed")

    @pytest.mark.parametrize(
        "event", ["resident_claim_restoration_failed", "active_request_refused"]
    )
    @pytest.mark.parametrize(
        ("before", "generation", "duplicate"),
        [
            ((required(1), FAILED), 1, False),
            ((required(1), FAILED, SPOKE), 1, True),
            ((required(1), FAILED, SPOKE), None, True),
            ((required(1), FAILED, SPOKE, required(2)), 1, True),
            ((required(1), FAILED, SPOKE, required(2)), 2, False),
            ((required(1), FAILED, SPOKE, required(2)), None, False),
            ((required(None), FAILED, SPOKE, required(None), SPOKE), 2, True),
            ((required(1), SPOKE, required(2), LOADED, DONE), 1, True),
            ((FAILED, SPOKE), 1, True),
            ((required(1), FAILED, {**SPOKE, "request_id": "other"}), 1, False),
            ((required(1), FAILED, {**SPOKE, "claim_id": "other"}), 1, False),
        ],
    )
    def test_duplicates(
        self, event: str, before: tuple[Line, ...], generation: int | None, duplicate: bool
    ) -> None:
        """A connector's report repeats the scheduler's about the same attempt, however late."""
        got = events(*before, report(generation, event))[-1][0]
        assert duplicate == got.duplicate

    def test_the_scheduler_is_no_duplicate(self) -> None:
        """What the scheduler says is never a duplicate, not even of a connector's report."""
        refused = conn("scheduler_active_request_refused")
        got = [event for event, _ in events(required(1), report(1), SPOKE, refused)]
        assert [False] * 3 == [event.duplicate for event in got[1:]]

    @pytest.mark.parametrize(
        "event", ["active_request_refused", "scheduler_active_request_refused"]
    )
    def test_refusals_say_what_for(self, event: str) -> None:
        """A refusal answers a restore that failed for the same request, and no other."""
        named: Line = {"blocking_claim_ids": ["c", "d"], "outcome_claim_id": "c"}
        failed, other = feed(FAILED, conn(event, **named), conn(event, "r", **named))[1:]
        assert [(True, ("c", "d")), (False, None)] == [
            (record.events[0][0].restore, record.events[0][0].blocking_claim_ids)
            for record in (failed, other)
        ]
        assert {("c", None)} == {
            (record.events[0][0].outcome_claim_id, record.events[0][0].claim_id)
            for record in (failed, other)
        }

    @pytest.mark.parametrize(
        "event", ["active_request_refused", "scheduler_active_request_refused"]
    )
    def test_a_refusal_for_want_of_room(self, event: str) -> None:
        """Where nothing says what a request needs, whom its refusal names is in doubt."""
        line = conn(event, blocking_claim_ids=["c"])
        [doubt] = feed(line)[0].doubts
        assert (None, {"blocking_claim_ids", "explicit_conflict_action"}) == (
            doubt.claim_id,
            doubt.only,
        )
        assert () == feed(FAILED, line)[1].doubts

    def test_recompute_then_a_second_restore(self) -> None:
        """After a fallback the second attempt counts, and the first one's late report echoes."""
        got = kinds(
            REUSE, FOUND, required(1), FAILED, SPOKE, FOUND, required(2), report(1),
            {**LOADED, "job_id": 2}, DONE,
        )  # fmt: skip
        assert [
            "request_arrived",
            "host_copy_found",
            "prefix_lookup",
            "claim_restore_required",
            "load_failed",
            "claim_restoration_failed",
            "prefix_lookup",
            "claim_restore_required",
            "claim_restoration_failed",
            "load_finished",
            "prefix_reused",
            "request_finished",
        ] == got

    def test_requests_are_forgotten_in_the_end(self) -> None:
        """Memory of requests is bounded; the oldest goes first."""
        run = Run()
        for number in range(REQUESTS + 5):
            run.begin(str(number))
        assert REQUESTS == len(run.requests)
        assert "4" not in run.requests
