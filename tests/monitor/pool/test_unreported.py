"""What is still to be told of losses, and reports that are owed to nobody any more."""

from __future__ import annotations

import pytest

from monitor.pool.unreported import UNREPORTED_KEPT
from spec.claims.claim import Mode
from tests.monitor.traces import Line, judge
from tests.monitor.traces_canonical import about, canonical

TELEMETRY = "claim_scoped_telemetry"
OWNER = "tenant:1"
OVER = about("claim_retired", by=OWNER)
CLAIMED = about(
    "claim_registered",
    predicate="leading_prefix_at_least(1)",
    mode="soft_priority",
    owner_scope=OWNER,
    priority=1,
)


def verdict(*lines: Line) -> str:
    """Of the mode: a ranked claim is registered, and then these happen."""
    return judge([CLAIMED, *lines], Mode.SOFT_PRIORITY).verdict


def telemetry(*lines: Line) -> str:
    """The same of one obligation."""
    return judge([CLAIMED, *lines], Mode.SOFT_PRIORITY).obligations[TELEMETRY]


def cached(*blocks: int) -> Line:
    return about("block_cached", block_ids=blocks, positions=list(range(len(blocks))))


def evicted(*blocks: int) -> Line:
    return canonical("block_evicted", block_ids=blocks, lowest_priority=1)


def told(*blocks: int) -> Line:
    return about("claim_block_lost", block_ids=blocks)


class TestLosses:
    """Reports of lost blocks of a ranked claim."""

    def test_block_by_block(self) -> None:
        """Each block that went may be reported once, by itself or with others."""
        held = cached(1, 2, 3, 4)
        assert "kept" == verdict(held, evicted(2, 3, 4), told(3), told(2, 4))

    @pytest.mark.parametrize("again", [(2,), (1,), (2, 3)])
    def test_invented(self, again: tuple[int, ...]) -> None:
        """A block that was reported, or is still there, is none that was lost."""
        lines = cached(1, 2, 3), evicted(2, 3), told(2), told(*again)
        assert "violated" == telemetry(*lines)

    def test_without_ids(self) -> None:
        """A report without ids tells of all; after it there is none left to report."""
        first = cached(1, 2, 3), evicted(2, 3), told()
        assert "kept" == verdict(*first)
        assert "violated" == verdict(*first, told(3))

    def test_unknown(self) -> None:
        """Where the stream does not say which blocks went, any may be reported."""
        assert "kept" == verdict(cached(1, 2), about("block_lost"), told(1), told(2))

    def test_too_many(self) -> None:
        """Of more lost blocks than are remembered any may be reported; memory has an end."""
        blocks = range(1, UNREPORTED_KEPT + 3)
        first = cached(*blocks), evicted(*blocks[1:])
        assert "kept" == verdict(*first, told(UNREPORTED_KEPT), told(UNREPORTED_KEPT))


class TestMoot:
    """Reports after the end."""

    def test_after_the_end(self) -> None:
        """What happens after the end may be reported, and need not be."""
        first = cached(1, 2), OVER, evicted(2)
        assert "violated" != verdict(*first)
        assert "violated" != verdict(*first, told(2))

    def test_of_before(self) -> None:
        """A block that went before the end may be reported after it, and one is to be."""
        first = cached(1, 2, 3), evicted(2, 3), told(2), OVER
        assert "kept" == verdict(*first, told(3))
        assert "pending" == telemetry(cached(1, 2, 3), evicted(2, 3), OVER)
