"""Honest streams with an offload tier: restores, failed loads and resets, all kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from monitor.__main__ import main
from spec.claims.states import Mode
from tests.monitor.traces import CLAIM, Trace, judge, write
from tests.monitor.traces_canonical import canonical
from tests.monitor.traces_promises import (
    OFFLOADABLE,
    accepted,
    arrives,
    back,
    broken,
    cached,
    copied,
    looked_up,
    named,
    of,
    released,
    reused,
    there,
)

KEYS = tuple("abcd")
TWO_AWAY = [
    *there(mode=OFFLOADABLE, keys=KEYS),
    *accepted("other", mode=OFFLOADABLE, keys=KEYS),
    cached("other", 100, 0, 1, 2, 3, found=True),
    named("claim_materialized", "other"),
    *(named("store_finished", claim) for claim in (CLAIM, "other")),
    *(named("claim_offloaded", claim) for claim in (CLAIM, "other")),
    canonical("block_evicted", block_ids=[100, 101, 102, 103]),
]
"""Two claims on the same blocks, copied to the tier and gone from the GPU."""


def streams() -> Iterator[tuple[str, Mode, Trace]]:
    """Each with the mode that it keeps."""
    yield (
        "a burst on a claim that is away, before it was ever there",
        OFFLOADABLE,
        [
            *accepted(mode=OFFLOADABLE),
            arrives("q"),
            looked_up("q", 0),
            arrives("r"),
            looked_up("r", 0),
            cached(CLAIM, 100, 0, 1, 2, 3, request_id="q"),
            named("claim_materialized"),
            cached(CLAIM, 300, 0, 1, 2, 3, request_id="r"),
            of("finished", "q"),
            of("finished", "r"),
        ],
    )
    yield (
        "the second of a burst reuses what the first has computed",
        OFFLOADABLE,
        [
            *accepted(mode=OFFLOADABLE),
            arrives("q"),
            arrives("r"),
            cached(CLAIM, 100, 0, 1, 2, 3, request_id="q"),
            named("claim_materialized"),
            looked_up("r", 4),
            reused("r"),
            of("finished", "q"),
            of("finished", "r"),
        ],
    )
    yield (
        "two requests restore one claim side by side",
        OFFLOADABLE,
        [
            *copied(),
            arrives("q"),
            looked_up("q", 4),
            named("claim_restore_required", CLAIM, "q"),
            arrives("r"),
            looked_up("r", 4),
            *back("r", first=300),
            reused("r"),
            *back("q")[1:],
            reused("q"),
            of("finished", "q"),
            canonical("block_evicted", block_ids=[200, 201, 202, 203]),
            of("finished", "r"),
        ],
    )
    yield (
        "the second of them reuses what was loaded for the first",
        OFFLOADABLE,
        [
            *copied(),
            arrives("q"),
            looked_up("q", 4),
            arrives("r"),
            looked_up("r", 4),
            *back("q"),
            reused("q"),
            reused("r"),
            of("finished", "r"),
            of("finished", "q"),
        ],
    )
    yield (
        "restored, evicted and restored again",
        OFFLOADABLE,
        [
            *copied(),
            arrives("q"),
            *back("q"),
            reused("q"),
            of("finished", "q"),
            canonical("block_evicted", block_ids=[200, 201, 202, 203]),
            arrives("r"),
            *back("r", first=300),
            reused("r"),
            of("finished", "r"),
        ],
    )
    yield (
        "restored, lost with the copy, which is reported, and computed again",
        OFFLOADABLE,
        [
            *copied(),
            arrives("q"),
            *back("q"),
            reused("q"),
            arrives("r"),
            canonical("block_evicted", block_ids=[200, 201, 202, 203]),
            named("host_copy_lost"),
            named("claim_harmed"),
            looked_up("r", 0),
            cached(CLAIM, 300, 0, 1, 2, 3, request_id="r"),
            named("claim_materialized"),
            looked_up("q", 4),
            reused("q"),
            of("finished", "q"),
            of("finished", "r"),
        ],
    )
    yield (
        "back by a load for another claim, and reported as materialized",
        OFFLOADABLE,
        [
            *TWO_AWAY,
            arrives("q"),
            *back("q", "other"),
            named("claim_materialized"),
            reused("q", "other"),
            of("finished", "q"),
            arrives("r"),
            looked_up("r", 4),
            reused("r"),
            of("finished", "r"),
        ],
    )
    yield (
        "back by a load for another claim, after a failed restore that only a refusal reports",
        OFFLOADABLE,
        [
            *TWO_AWAY,
            arrives("q"),
            named("claim_restore_required", CLAIM, "q"),
            named("load_failed", CLAIM, "q"),
            of("refused", "q", blocking_claim_ids=[CLAIM], restore=True),
            of("finished", "q"),
            arrives("r"),
            *back("r", "other"),
            named("claim_materialized"),
            reused("r", "other"),
            of("finished", "r"),
        ],
    )
    yield (
        "preempted in the middle of its prompt",
        OFFLOADABLE,
        [
            *copied(),
            arrives("q"),
            *back("q"),
            reused("q"),
            of("deferred", "q"),
            looked_up("q", 4),
            reused("q"),
            of("finished", "q"),
        ],
    )
    yield (
        "a request that was aborted while its load was in flight",
        OFFLOADABLE,
        [
            *copied(),
            arrives("q"),
            named("claim_restore_required", CLAIM, "q"),
            of("refused", "q"),
            named(
                "load_finished", CLAIM, "q", block_ids=[200, 201, 202, 203], positions=[0, 1, 2, 3]
            ),
            of("finished", "q"),
        ],
    )
    yield (
        "released while a load is in flight",
        OFFLOADABLE,
        [
            *copied(),
            arrives("q"),
            named("claim_restore_required", CLAIM, "q"),
            *released(),
            named(
                "load_finished", CLAIM, "q", block_ids=[200, 201, 202, 203], positions=[0, 1, 2, 3]
            ),
            of("finished", "q"),
        ],
    )
    yield (
        "released while a load is in flight that fails",
        OFFLOADABLE,
        [
            *copied(),
            arrives("q"),
            named("claim_restore_required", CLAIM, "q"),
            *released(),
            named("load_failed", CLAIM, "q"),
            named(
                "claim_restoration_failed", CLAIM, "q", outcome="refusal", outcome_claim_id=CLAIM
            ),
            of("refused", "q", blocking_claim_ids=[CLAIM], restore=True),
            of("finished", "q"),
        ],
    )
    yield (
        "a load fails, the request is refused, and the next one is served",
        OFFLOADABLE,
        [
            *copied(),
            arrives("q"),
            named("claim_restore_required", CLAIM, "q"),
            named("load_failed", CLAIM, "q"),
            named(
                "claim_restoration_failed", CLAIM, "q", outcome="refusal", outcome_claim_id=CLAIM
            ),
            of("refused", "q", blocking_claim_ids=[CLAIM], restore=True),
            of("finished", "q"),
            arrives("q"),
            *back("q"),
            reused("q"),
            of("finished", "q"),
        ],
    )
    yield (
        "a reset beside a copy, restored before the reuse",
        OFFLOADABLE,
        [
            *there(mode=OFFLOADABLE),
            named("store_finished"),
            named("claim_offloaded"),
            canonical("block_lost"),
            arrives("q"),
            looked_up("q", 4),
            *back("q"),
            reused("q"),
            of("finished", "q"),
        ],
    )


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


class TestAccused:
    """A restore that is required is reported by its outcome, not by `claim_materialized` alone."""

    def test_loaded(self) -> None:
        """The request that waited for the load reuses the claim before `claim_restored`."""
        waited, load, _ = back("q")
        lines = [*copied(), arrives("q"), waited, load, named("claim_materialized"), reused("q")]
        assert {"offload_restorability"} == broken(OFFLOADABLE, *lines)

    def test_back_by_another_load(self) -> None:
        """The request waits until a load for another claim brings the blocks back."""
        waits = [arrives("q"), named("claim_restore_required", CLAIM, "q"), arrives("r")]
        lines = [*TWO_AWAY, *waits, *back("r", "other"), named("claim_materialized"), reused("q")]
        assert {"offload_restorability"} == broken(OFFLOADABLE, *lines)

    def test_failed(self) -> None:
        """The load failed, and no outcome is reported before the claim is back and reused."""
        waits = [arrives("q"), named("claim_restore_required", CLAIM, "q")]
        failed = [*TWO_AWAY, *waits, named("load_failed", CLAIM, "q"), arrives("r")]
        lines = [*failed, *back("r", "other"), named("claim_materialized"), reused("q")]
        assert "restoration_failure_outcome" in broken(OFFLOADABLE, *lines)
        assert "ordered_lifecycle_events" not in broken(OFFLOADABLE, *lines)
