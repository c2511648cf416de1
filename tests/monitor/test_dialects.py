"""What each line of each dialect means, and that no line whatever breaks the reader."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.dialects import Reader
from monitor.dialects._connector_state import REQUESTS, Run, block_size_of
from monitor.errors import InputError
from monitor.records import Record
from monitor.samples import FOLDER, sample
from monitor.samples.generate import SAMPLES, main
from monitor.sources import read
from spec.alphabet import Kind
from spec.events import EVENT_ENCODER, CapacityProof, Event

Line = dict[str, Any]


def feed(*lines: Line) -> list[Record]:
    """The records of a file of these lines."""
    reader = Reader("f")
    records = [
        record
        for number, line in enumerate(lines, 1)
        for record in reader.feed(json.dumps(line).encode(), number)
    ]
    return [*records, *reader.flush()]


def events(*lines: Line) -> list[tuple[Event, int]]:
    """The events of these lines, each with the line that it stands for."""
    return [(event, at.line) for record in feed(*lines) for event, at in record.events]


def kinds(*lines: Line) -> list[str]:
    return [event.kind.value for event, _ in events(*lines)]


def refusal(line: Line) -> InputError:
    with pytest.raises(InputError) as caught:
        feed(line)
    return caught.value


CLAIM = {
    "claim_id": "c",
    "cache_identity": "k",
    "reusable_object_id": "o",
    "materialization_predicate": "leading_prefix_at_least(4)",
    "predicate_id": "p",
    "request_token_map_id": "t",
}
BOUND = {
    "claim_id": "c",
    "cache_identity": "k",
    "object_id": "o",
    "predicate": "leading_prefix_at_least(4)",
    "predicate_id": "p",
    "token_map": "t",
}
LOAD = {"transfer_type": ["CPU", "GPU"], "job_id": 1}
STORE = {"transfer_type": ["GPU", "CPU"], "job_id": 0}


def conn(event: str, request: str | None = "q", role: str = "reuse", **more: Any) -> Line:
    """A claimed line of the connector dialect; the clock is the call's own business."""
    own = {"event": event, "event_sequence": 0, "request_id": request}
    return {**CLAIM, **own, "resident_claim_role": role, **more}


RESIDENT = conn("request_initialized", "r", "resident", num_prompt_tokens=161, num_block_hashes=10)
REUSE = conn("request_initialized", num_prompt_tokens=161, num_block_hashes=10)
STORED = conn("offload_worker_transfer_finished", "r", "resident", **STORE, success=True)
FOUND = conn("offload_lookup_result", num_computed_tokens=0, num_hit_tokens=160)
DONE = conn("offload_request_finished_no_pending_jobs")
LOADED = conn("offload_worker_transfer_finished", **LOAD, success=True, dst_block_count=10)
FAILED = conn("offload_worker_transfer_finished", **LOAD, success=False)


class TestTellingApart:
    def test_by_content_line_by_line(self) -> None:
        """One file may hold all three dialects; each line is told by its own fields."""
        got = feed(
            {"kind": "request_finished", "request_id": "a"},
            {"event": "future", "event_sequence": 7, "timestamp_ns": 9},
            {"event": "future", "monotonic_ns": 8, "timestamp_ns": 9},
            {"event": "future_reuse_denied", "timestamp_ns": 9, "run_id": "r1"},
        )
        assert [False, True, True, True] == [r.stamp.skips for r in got]
        assert [None, 7, None, None] == [r.stamp.sequence for r in got]
        assert [None, 9, 8, 9] == [r.stamp.time_ns for r in got]
        assert [None, "future", "future", None] == [r.unknown for r in got]

    @pytest.mark.parametrize(
        ("names", "stream"),
        [
            ({"run_id": "r1", "hook_scope": "h"}, "r1"),
            ({"hook_scope": "h"}, "h"),
            ({}, "f"),
        ],
    )
    def test_streams(self, names: Line, stream: str) -> None:
        """A stream is the run, else the hooks' scope, else the file."""
        assert [stream] == [r.stamp.stream for r in feed({"event": "x", **names})]

    def test_neither(self) -> None:
        """A line without kind and event is no event."""
        assert "an event without a kind" == refusal({"evnt": "x"}).reason


class TestCanonical:
    @given(st.sampled_from(Kind), st.integers(0, 2**62), st.text(min_size=1, max_size=20))
    def test_round_trip(self, kind: Kind, number: int, name: str) -> None:
        """What the encoder of the specification writes comes back as the same event."""
        event = Event(
            kind=kind,
            stream="s",
            sequence=number,
            time_ns=number,
            claim_id=name,
            request_id=name,
            block_ids=(1, 2),
            positions=(5, 6),
            predicate="contiguous_range(2, 3)",
            duration="15 s",
            proof=CapacityProof(1, 2, 3, 4, 0),
        )
        [record] = Reader("f").feed(EVENT_ENCODER.encode(event), 1)
        assert ((event, record.at),) == record.events


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
                    claim_scoped_outcome_type="demotion",
                    outcome_type="refusal",
                    outcome_claim_id="c",
                ),
                "claim_restoration_failed",
                {"outcome": "demotion", "outcome_claim_id": "c", "echo": False},
            ),
            (
                conn("resident_claim_restoration_failed", outcome_type="fallback_recompute"),
                "claim_restoration_failed",
                {"outcome": "fallback_recompute", "echo": False},
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
        [(event, _)] = events(REUSE, found)[1:]
        assert ("prefix_lookup", 3) == (event.kind.value, event.held)

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
        assert ["prefix_lookup"] == kinds(RESIDENT, REUSE, found)[5:]

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

    def test_a_range_is_counted_from_its_start(self) -> None:
        """Blocks before a range are none of its blocks."""
        ranged = {"materialization_predicate": "contiguous_range(2, 4)"}
        got = events({**REUSE, **ranged}, {**FOUND, **ranged}, {**LOADED, **ranged})
        assert [8, 8] == [event.held for event, _ in got[1:]]

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


def required(generation: int | None) -> Line:
    return conn("resident_claim_restore_required", restoration_generation=generation)


def report(generation: int | None = None, event: str = "resident_claim_restoration_failed") -> Line:
    return conn(event, outcome_type="refusal", restoration_generation=generation)


SPOKE = conn(
    "scheduler_resident_claim_restoration_failed",
    claim_scoped_outcome_type="fallback_recompute_without_claim_satisfaction",
    blocking_claim_ids=[],
)


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
        ("before", "generation", "echo"),
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
    def test_echoes(
        self, event: str, before: tuple[Line, ...], generation: int | None, echo: bool
    ) -> None:
        """A connector's report repeats the scheduler's about the same attempt, however late."""
        got = events(*before, report(generation, event))[-1][0]
        assert echo == got.echo

    def test_the_scheduler_is_no_echo(self) -> None:
        """What the scheduler says is never an echo, not even of a connector's report."""
        refused = conn("scheduler_active_request_refused")
        got = [event for event, _ in events(required(1), report(1), SPOKE, refused)]
        assert [False] * 3 == [event.echo for event in got[1:]]

    @pytest.mark.parametrize(
        ("event", "more", "restore"),
        [
            ("active_request_refused", {}, False),
            ("active_request_refused", {"feasibility": "infeasible_restore_claimed_kv"}, True),
            ("active_request_refused", {"restoration_generation": 1}, True),
            ("active_request_refused", {"job_id": 1}, True),
            ("active_request_refused", {"failure_reason": "x"}, True),
            ("scheduler_active_request_refused", {}, True),
        ],
    )
    def test_refusals_say_what_for(self, event: str, more: Line, restore: bool) -> None:
        """A refusal for a failed restore is told from one for want of room."""
        named = {"blocking_claim_ids": ["c", "d"], "outcome_claim_id": "c"}
        [(refused, _)] = events(conn(event, **named, **more))
        assert (restore, ("c", "d"), "c", None) == (
            refused.restore,
            refused.blocking_claim_ids,
            refused.outcome_claim_id,
            refused.claim_id,
        )

    def test_recompute_then_a_second_restore(self) -> None:
        """After a fallback the second attempt counts, and the first one's late report echoes."""
        got = kinds(
            REUSE, FOUND, required(1), FAILED, SPOKE, FOUND, required(2), report(1),
            {**LOADED, "job_id": 2}, DONE,
        )  # fmt: skip
        assert [
            "request_arrived",
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
            run.request(str(number))
        assert REQUESTS == len(run.requests)
        assert "4" not in run.requests


def alloc(event: str, **more: Any) -> Line:
    return {
        "event": event,
        "run_id": "r1",
        "timestamp_ns": 5,
        "usable_blocks": 80,
        "claim_id": "c",
        "prefix_id": "x",
        **more,
    }


NEED = {"resident_blocks_required": 60}
HOLDS = alloc("resident_claim_materialized", predicate_materialized=True)
VICTIM = alloc("allocation_victim_selected", claim_id=None, request_id="q", physical_block_id=7)
REFUSED = alloc(
    "active_request_refused",
    claim_id=None,
    request_id="q",
    active_live_blocks_required=70,
    protected_resident_blocks=60,
    resident_plus_active_blocks=130,
    capacity_shortfall_blocks=50,
    blocking_claim_ids=["c"],
)
DEFERRED = {**REFUSED, "event": "active_request_deferred"}


def cached(block: int, **more: Any) -> Line:
    own = {"physical_block_id": block, "logical_block_position": block - 1}
    return alloc("resident_block_materialized", **own, **more)


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

    @pytest.mark.parametrize("threshold", [None, 0])
    def test_without_a_threshold_all_blocks_count(self, threshold: int | None) -> None:
        """A claim without a useful threshold is useful as a whole."""
        line = alloc("resident_claim_accepted", useful_threshold_blocks=threshold, **NEED)
        assert "leading_prefix_at_least(60)" == events(line)[-1][0].predicate

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
        """The loss that is told before its victim stands for the eviction."""
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

    def test_a_proof_is_whole_or_none(self) -> None:
        """Four numbers of five are no capacity proof."""
        [_, (refused, _), _] = events({**REFUSED, "capacity_shortfall_blocks": None})
        assert refused.proof is None

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
            cached(2, run_id="r2"),
            cached(2, claim_id=None),
            VICTIM,
            HOLDS,
            {"event": "unheard_of"},
            {"kind": "request_finished", "request_id": "a"},
            {"event": "offload_job_completed", "event_sequence": 0},
        ],
    )
    def test_otherwise_stays_where_it_is(self, following: Line) -> None:
        """Before anything else the report keeps its place."""
        got = feed(HOLDS, following)
        assert [1, 2] == [record.at.line for record in got]
        assert (Kind.CLAIM_MATERIALIZED, 1) == (got[0].events[0][0].kind, got[0].events[0][1].line)

    def test_the_end_of_the_file_lets_it_go(self) -> None:
        """A report on the last line is not lost."""
        assert ["claim_materialized"] == kinds(HOLDS)

    def test_false_is_unmaterialized(self) -> None:
        """A report that the predicate does not hold is the opposite report."""
        assert ["claim_unmaterialized"] == kinds({**HOLDS, "predicate_materialized": False})


class TestSamples:
    @pytest.mark.parametrize("name", SAMPLES)
    def test_samples_are_fresh_and_readable(self, name: str) -> None:
        """Each shipped sample is what its generator writes, and every line of it is known."""
        assert SAMPLES[name]() == sample(name).read_bytes()
        assert not [r.unknown for r in read([str(sample(name))]) if r.unknown]

    def test_all_samples_are_listed(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The generator writes every sample, and the README beside them names each."""
        main()
        listed = capsys.readouterr().out.split()
        assert sorted(path.name for path in FOLDER.glob("*.jsonl")) == sorted(listed)
        readme = (FOLDER / "README.md").read_text()
        assert all(name in readme for name in listed)


RECORDED = sample("x").parents[3] / "shared" / "traces"


class TestRecordedTraces:
    @pytest.mark.parametrize(
        ("name", "lines", "unknown"),
        [("success_path", 17, 0), ("claimed_load_failure", 21, 0), ("generic_counter_only", 2, 2)],
    )
    def test_are_read_as_they_are(self, name: str, lines: int, unknown: int) -> None:
        """Every line of the recorded traces is understood; only the generic counters are not."""
        path = RECORDED / f"{name}.jsonl"
        if not path.exists():
            pytest.skip("the recorded traces are not part of the project and not beside it")
        got = list(read([str(path)]))
        assert (lines, unknown) == (len(got), sum(r.unknown is not None for r in got))


NAMES = sorted(
    {"kind", "event", *Event.__struct_fields__, *CLAIM, *RESIDENT, *LOADED, *REFUSED, *cached(1)}
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 100)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["c", "q", "reuse", "resident", "leading_prefix_at_least(2)", "GPU", "CPU"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
LIKELY = st.sampled_from(
    [RESIDENT, REUSE, STORED, FOUND, LOADED, FAILED, SPOKE, DONE, required(1), report(1), HOLDS]
    + [VICTIM, REFUSED, DEFERRED, cached(1), alloc("resident_claim_accepted", **NEED)]
    + [conn("resident_claim_demoted"), alloc("resident_claim_expired")]
    + [{"kind": kind.value, "claim_id": "c", "request_id": "q"} for kind in Kind]
)


class TestAnything:
    @settings(max_examples=300, deadline=None)
    @given(
        st.lists(
            st.builds(
                lambda base, more: {**base, **more},
                LIKELY | st.just({}),
                st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=5), VALUES, max_size=4),
            ),
            max_size=8,
        )
    )
    def test_no_object_breaks_the_reader(self, lines: list[Line]) -> None:
        """Any JSON object is read or refused with its place; records keep the order of lines."""
        reader = Reader("f")
        seen: list[int] = []
        for number, line in enumerate(lines, 1):
            try:
                records = reader.feed(json.dumps(line).encode(), number)
            except InputError as error:
                assert ("f", number) == (error.file, error.line)
                assert str(error).isprintable()
                continue
            seen += [record.at.line for record in records]
            for record in records:
                for event, _ in record.events:
                    EVENT_ENCODER.encode(event)
        seen += [record.at.line for record in reader.flush()]
        assert sorted(seen) == seen
        assert len(set(seen)) == len(seen)

    @settings(max_examples=300, deadline=None)
    @given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
    def test_no_bytes_break_the_reader(self, text: bytes) -> None:
        """Any bytes are read or refused."""
        try:
            Reader("f").feed(text, 1)
        except InputError as error:
            assert str(error).isprintable()
