"""Tests of spec.projection.ranks: who was passed over, and who was spared (P1, P2, A16)."""

from __future__ import annotations

from spec.events.alphabet import Kind
from spec.projection import definitions
from spec.projection.pool import Pool
from tests.spec.projection.pools import claim, pool, sight


def ranked() -> Pool:
    """A high claim, a low one, and one without a priority."""
    return pool(
        claim("hi", priority=90, held="1 2"),
        claim("lo", priority=1, held="3 4"),
        claim("none", held="5 6"),
    )


def passed(made: Pool, *blocks: int, lowest: int | None = None, name: str = "hi") -> bool | None:
    """Whether a claim of lower priority than this one could have lost instead."""
    fields = {"block_ids": blocks, "lowest_priority": lowest}
    return definitions.passed(sight(made, name, Kind.BLOCK_EVICTED, **fields))


class TestPassed:
    """The higher loses."""

    def test_known(self) -> None:
        """A block of the lower one could be taken, as is stated (P2)."""
        assert passed(ranked(), 2, lowest=1)

    def test_unstated(self) -> None:
        """Nobody says what could be taken (P1, A16)."""
        assert passed(ranked(), 1, 2) is None

    def test_not_to_be_taken(self) -> None:
        """What could be taken was of no lower priority."""
        assert passed(ranked(), 2, lowest=90) is False

    def test_somebody_else(self) -> None:
        """What could be taken is of a priority that no claim known here has, or nobody below it."""
        made = pool(claim("hi", priority=90, held="1 2"), claim("lo", priority=1, held="3 4"))
        assert passed(made, 2, lowest=50) is None

    def test_in_the_same_event(self) -> None:
        """The block of the lower one that could be taken may be the one that was."""
        assert passed(ranked(), 2, 3, lowest=1) is None

    def test_none_lower(self) -> None:
        """Where no lower claim holds anything, nothing needs to be stated."""
        assert passed(ranked(), 2, 3, 4) is False
        assert passed(ranked(), 3, name="lo") is False

    def test_after_the_whole_event(self) -> None:
        """There is no order among the blocks that one event takes."""
        assert passed(ranked(), 4, 3, 2) is passed(ranked(), 2, 3, 4)

    def test_bystander(self) -> None:
        """A claim that loses nothing, or has no rank, was not passed over."""
        assert passed(ranked(), 3, lowest=1) is False
        assert passed(ranked(), 5, name="none") is False


def test_spared() -> None:
    """A claim that loses first was the lower one if a higher one keeps blocks."""
    found = [
        definitions.spared(sight(ranked(), name, Kind.BLOCK_EVICTED, block_ids=blocks))
        for name, blocks in (("lo", (3,)), ("lo", (1, 2, 3)), ("hi", (1,)))
    ]
    assert [True, False, False] == found
