"""Honest streams: whatever a faithful runtime does that keeps its promises is called kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from monitor.__main__ import main
from spec.claims.states import Mode
from tests.monitor.traces import CLAIM, OTHER, Trace, judge, write
from tests.monitor.traces_canonical import about, canonical
from tests.monitor.traces_promises import (
    HARD,
    accepted,
    arrives,
    cached,
    looked_up,
    named,
    of,
    proof,
    released,
    reused,
    there,
)

THIRD = "claim:c"


def streams() -> Iterator[tuple[str, Mode, Trace]]:
    """Each with the mode that it keeps."""
    whole = ["a/0", "a/1", "a/2", "a/3"]
    shared = ["a/0", "a/1", "b/2", "b/3"]
    yield (
        "a burst computes one prefix twice",
        HARD,
        [
            *accepted(),
            arrives("q"),
            looked_up("q", 0),
            arrives("r"),
            looked_up("r", 0),
            cached(CLAIM, 100, 0, 1, 2, 3, request_id="q"),
            named("claim_materialized"),
            cached(CLAIM, 300, 0, 1, 2, 3, request_id="r"),
            of("finished", "r"),
            canonical("block_evicted", block_ids=[300, 301, 302, 303]),
            of("finished", "q"),
            *released(),
        ],
    )
    yield (
        "preempted and rescheduled",
        HARD,
        [
            *there(),
            arrives("q", 8),
            looked_up("q", 4),
            reused("q"),
            of("deferred", "q"),
            looked_up("q", 4),
            reused("q"),
            of("finished", "q"),
        ],
    )
    yield (
        "two claims on one prefix",
        HARD,
        [
            *there(of="x"),
            *accepted(OTHER, of="x"),
            named("claim_materialized", OTHER),
            arrives("q", 16),
            of("finished", "q"),
            *released(),
            *released(OTHER),
            canonical("block_evicted", block_ids=[100, 101, 102, 103]),
        ],
    )
    yield (
        "two claims share half their blocks",
        HARD,
        [
            *there(keys=whole),
            *accepted(OTHER, keys=shared),
            cached(OTHER, 298, 2, 3),
            named("claim_materialized", OTHER),
            arrives("q", 14),
            of("finished", "q"),
            arrives("r", 15),
            of("refused", "r", blocking_claim_ids=[CLAIM], proof=proof(6, 15, 20)),
            of("finished", "r"),
        ],
    )
    yield (
        "the one that shares ends, and the other keeps its blocks",
        HARD,
        [
            *there(keys=whole),
            *accepted(OTHER, keys=shared),
            cached(OTHER, 298, 2, 3),
            named("claim_materialized", OTHER),
            *released(OTHER),
            canonical("block_evicted", block_ids=[300, 301]),
            arrives("q", 17),
            of("refused", "q", blocking_claim_ids=[CLAIM]),
            of("finished", "q"),
        ],
    )
    yield (
        "only the tail of a claim goes",
        Mode.DEMOTABLE,
        [
            *there(mode=Mode.DEMOTABLE),
            canonical("block_evicted", block_ids=[103]),
            named("claim_retired", by="runtime"),
            named("claim_demoted", by="runtime"),
            canonical("block_evicted", block_ids=[100, 101, 102]),
        ],
    )
    yield (
        "an aborted request",
        HARD,
        [
            *there(),
            arrives("q", 4),
            looked_up("q", 4),
            of("finished", "q"),
            arrives("r", 30),
            of("finished", "r"),
        ],
    )
    yield (
        "a reset with harm, and the prefix computed again",
        HARD,
        [
            *there(),
            canonical("block_lost"),
            named("claim_harmed"),
            arrives("q"),
            cached(CLAIM, 200, 0, 1, 2, 3, request_id="q"),
            named("claim_materialized"),
            of("finished", "q"),
        ],
    )
    yield (
        "a reset of several claims, each told",
        HARD,
        [
            *there(),
            *there(OTHER, 500),
            canonical("block_lost"),
            named("claim_harmed"),
            named("claim_harmed", OTHER),
            arrives("q"),
            of("finished", "q"),
        ],
    )
    yield (
        "a standing conflict, refused with its sums",
        HARD,
        [
            *there(),
            *there(OTHER, 500),
            arrives("q", 15),
            of("refused", "q", blocking_claim_ids=[OTHER], proof=proof(8, 15, 20)),
            of("finished", "q"),
        ],
    )
    yield (
        "a transient conflict that waits in silence",
        HARD,
        [
            *there(),
            arrives("q", 10),
            arrives("r", 10),
            of("finished", "q"),
            of("finished", "r"),
        ],
    )
    yield (
        "a third request queues behind",
        HARD,
        [
            *there(),
            arrives("q", 10),
            arrives("r", 9),
            arrives("s", 12),
            of("refused", "s", blocking_claim_ids=[CLAIM], proof=proof(4, 22, 20)),
            of("finished", "s"),
            of("deferred", "r"),
            of("finished", "q"),
            of("finished", "r"),
        ],
    )
    yield (
        "withdrawn before a decision, with an entry and without",
        HARD,
        [
            *there(),
            about(
                "claim_registered",
                OTHER,
                predicate="leading_prefix_at_least(1)",
                mode=str(HARD),
                owner_scope="tenant:1",
            ),
            named("claim_released", OTHER, by="tenant:1"),
            about(
                "claim_registered",
                THIRD,
                predicate="leading_prefix_at_least(1)",
                mode=str(HARD),
                owner_scope="tenant:1",
            ),
            named("claim_retired", THIRD, by="tenant:1"),
            named("claim_released", THIRD, by="tenant:1"),
        ],
    )
    yield (
        "expired in time",
        Mode.EXPIRING,
        [
            *there(mode=Mode.EXPIRING, duration="60 steps"),
            arrives("q"),
            named("duration_elapsed"),
            named("claim_expired", by="runtime"),
            of("finished", "q"),
            canonical("block_evicted", block_ids=[100, 101, 102, 103]),
        ],
    )
    yield "the lower claim loses, then the higher", Mode.SOFT_PRIORITY, ranked()


def ranked() -> Trace:
    """Two claims that are watched: what could be taken is stated where it matters."""
    low, high = (
        {"priority": p, "mode": "soft_priority", "owner_scope": "tenant:1"} for p in (1, 9)
    )
    asks = {"predicate": "leading_prefix_at_least(3)"}
    return [
        about("claim_registered", CLAIM, **asks, **low),
        about("claim_registered", OTHER, **asks, **high),
        cached(CLAIM, 100, 0, 1, 2, 3),
        named("claim_materialized", CLAIM),
        cached(OTHER, 500, 0, 1, 2, 3),
        named("claim_materialized", OTHER),
        canonical("block_evicted", block_ids=[103]),
        named("claim_block_lost", CLAIM),
        canonical("block_evicted", block_ids=[503], lowest_priority=9),
        named("claim_block_lost", OTHER),
        canonical("block_evicted", block_ids=[100, 101, 102]),
        named("claim_unmaterialized", CLAIM),
        canonical("block_evicted", block_ids=[502]),
        named("claim_unmaterialized", OTHER),
    ]


STREAMS = list(streams())


class TestHonest:
    """Streams of runtimes that keep what they accepted."""

    @pytest.mark.parametrize(
        ("mode", "trace"), [row[1:] for row in STREAMS], ids=[row[0] for row in STREAMS]
    )
    def test_kept(self, mode: Mode, trace: Trace) -> None:
        """It is kept."""
        report = judge(trace, mode)
        assert "kept" == report.verdict, report.why

    def test_exit(self, tmp_path: Path) -> None:
        """The command says so by its exit code."""
        codes = {
            name: main(["check", write(tmp_path / f"{n}.jsonl", trace), "--mode", str(mode)])
            for n, (name, mode, trace) in enumerate(STREAMS)
        }
        assert {name: 0 for name, _, _ in STREAMS} == codes
