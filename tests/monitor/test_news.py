"""What is still to be told of losses, and reports that are owed to nobody any more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from monitor.engine import Conclusion, ModeVerdict, Monitor
from monitor.news import UNSAID_KEPT
from monitor.sources import read
from spec.claims import Mode
from spec.verdicts import Verdict

TELEMETRY = "claim_scoped_telemetry"
OVER: dict[str, object] = {"kind": "claim_retired", "claim_id": "a", "by": "t"}
CLAIM = {
    "claim_id": "a",
    "object_id": "o",
    "cache_identity": "m/16",
    "predicate": "leading_prefix_at_least(1)",
    "mode": "soft_priority",
    "owner_scope": "t",
    "priority": 1,
}


def judged(folder: Path, *events: dict[str, object]) -> Conclusion:
    """A ranked claim is registered, and then these happen."""
    file = folder / "trace.jsonl"
    whole = [{"kind": "claim_registered", **CLAIM}, *events]
    lines = [json.dumps({**event, "sequence": at}) for at, event in enumerate(whole)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    monitor = Monitor(Mode.SOFT_PRIORITY)
    for record in read([str(file)]):
        monitor.take(record)
    return monitor.conclude()


def cached(*blocks: int) -> dict[str, object]:
    places = list(range(len(blocks)))
    return {"kind": "block_cached", "claim_id": "a", "block_ids": blocks, "positions": places}


def evicted(*blocks: int) -> dict[str, object]:
    return {"kind": "block_evicted", "block_ids": blocks, "lowest_priority": 1}


def told(*blocks: int) -> dict[str, object]:
    return {"kind": "claim_block_lost", "claim_id": "a", "block_ids": blocks}


class TestLosses:
    """Reports of lost blocks of a ranked claim."""

    def test_block_by_block(self, tmp_path: Path) -> None:
        """Each block that went may be reported once, by itself or with others."""
        held = cached(1, 2, 3, 4)
        assert (
            ModeVerdict.KEPT
            is judged(tmp_path, held, evicted(2, 3, 4), told(3), told(2, 4)).verdict
        )

    @pytest.mark.parametrize("again", [(2,), (1,), (2, 3)])
    def test_invented(self, tmp_path: Path, again: tuple[int, ...]) -> None:
        """A block that was reported, or is still there, is none that was lost."""
        found = judged(tmp_path, cached(1, 2, 3), evicted(2, 3), told(2), told(*again))
        assert Verdict.VIOLATED is found.obligations[TELEMETRY]

    def test_without_ids(self, tmp_path: Path) -> None:
        """A report without ids tells of all; after it there is none left to report."""
        first = cached(1, 2, 3), evicted(2, 3), told()
        assert ModeVerdict.KEPT is judged(tmp_path, *first).verdict
        assert ModeVerdict.VIOLATED is judged(tmp_path, *first, told(3)).verdict

    def test_unknown(self, tmp_path: Path) -> None:
        """Where the stream does not say which blocks went, any may be reported."""
        lost: dict[str, object] = {"kind": "block_lost", "claim_id": "a"}
        assert ModeVerdict.KEPT is judged(tmp_path, cached(1, 2), lost, told(1), told(2)).verdict

    def test_too_many(self, tmp_path: Path) -> None:
        """Of more lost blocks than are remembered any may be reported; memory has an end."""
        blocks = range(1, UNSAID_KEPT + 3)
        first = cached(*blocks), evicted(*blocks[1:])
        found = judged(tmp_path, *first, told(UNSAID_KEPT), told(UNSAID_KEPT))
        assert ModeVerdict.KEPT is found.verdict


class TestMoot:
    """Reports after the end."""

    def test_after_the_end(self, tmp_path: Path) -> None:
        """What happens after the end may be told, and need not be."""
        first = cached(1, 2), OVER, evicted(2)
        assert ModeVerdict.VIOLATED is not judged(tmp_path, *first).verdict
        assert ModeVerdict.VIOLATED is not judged(tmp_path, *first, told(2)).verdict

    def test_of_before(self, tmp_path: Path) -> None:
        """A block that went before the end may be reported after it, and one is to be."""
        first = cached(1, 2, 3), evicted(2, 3), told(2), OVER
        assert ModeVerdict.KEPT is judged(tmp_path, *first, told(3)).verdict
        silent = judged(tmp_path, cached(1, 2, 3), evicted(2, 3), OVER)
        assert Verdict.PENDING is silent.obligations[TELEMETRY]
