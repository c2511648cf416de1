"""Tests of spec.projection.ranks: who was passed over, and who was spared (P1, P2, A16)."""

from __future__ import annotations

from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.projection import definitions
from spec.projection.pool import Claim, Placed, Pool, tell
from tests.spec.projection.pools import claim, pool, sight


def ranked() -> Pool:
    """A high claim, a low one, and one of another mode, without a priority."""
    return pool(
        claim("hi", priority=90, held="1 2"),
        claim("lo", priority=1, held="3 4"),
        claim("none", held="5 6", mode="best_effort"),
    )


def beside(*others: tuple[Claim, frozenset[Placed]]) -> Pool:
    """A high claim beside others."""
    return pool(claim("hi", priority=90, held="1 2"), *others)


def available(made: Pool, *blocks: int, lowest: int | None = None, name: str = "hi") -> bool | None:
    """Whether a claim of lower priority than this one could have lost instead."""
    fields = {"block_ids": blocks, "lowest_priority": lowest}
    mode = Mode.SOFT_PRIORITY
    return definitions.lower_priority_available(
        sight(made, name, Kind.BLOCK_EVICTED, mode, **fields)
    )


class TestPassed:
    """The higher loses."""

    def test_known(self) -> None:
        """A block of the lower one could be taken, as is stated (P2)."""
        assert available(ranked(), 2, lowest=1)

    def test_unstated(self) -> None:
        """Nobody says what could be taken (P1, A16)."""
        assert available(ranked(), 1, 2) is None

    def test_not_to_be_taken(self) -> None:
        """What could be taken was of no lower priority."""
        assert available(ranked(), 2, lowest=90) is False

    def test_somebody_else(self) -> None:
        """What could be taken is of a priority that no claim known here has, or nobody below it."""
        made = pool(claim("hi", priority=90, held="1 2"), claim("lo", priority=1, held="3 4"))
        assert available(made, 2, lowest=50) is None

    def test_in_the_same_event(self) -> None:
        """The block of the lower one that could be taken may be the one that was."""
        assert available(ranked(), 2, 3, lowest=1) is None

    def test_none_lower(self) -> None:
        """Where no lower claim holds anything, nothing needs to be stated."""
        assert available(ranked(), 2, 3, 4) is False
        assert available(ranked(), 3, name="lo") is False

    def test_nobody(self) -> None:
        """A block of lower priority could go, and no claim of such a priority is known to hold one:
        nothing is known; that the event took it itself is no such thing."""
        assert available(ranked(), 1, 3, 4, lowest=0) is None
        assert available(beside(), 1, lowest=5) is None
        assert available(beside(claim("lo", priority=1)), 1, lowest=1) is None
        assert available(ranked(), 1, 3, 4, lowest=1) is False
        assert available(beside(), 1, lowest=90) is False

    def test_no_priority(self) -> None:
        """A claim of the mode that states no priority may be a lower one, as long as it holds any,
        unless nothing lower could go."""
        made = beside(claim("none", held="5 6", mode="soft_priority"))
        assert [None, None, False] == [available(made, 1, lowest=low) for low in (None, 0, 90)]
        assert available(made, 1, 5, 6) is False
        assert available(beside(claim("none", held="5 6")), 1) is None  # it names no mode
        lower = claim("lo", priority=1, held="3 4")
        made = beside(claim("none", held="5 6", mode="soft_priority"), lower)
        assert available(made, 1, lowest=1)

    def test_took_of_unknown_priority(self) -> None:
        """A block of a claim of unknown priority went: it may be the one that could."""
        rival = claim("none", held="5 6", mode="soft_priority")
        assert available(beside(rival), 1, 5, 6, lowest=1) is None
        assert available(beside(rival, claim("lo", priority=1, held="3 4")), 1, 5, lowest=0) is None
        assert (
            available(beside(rival, claim("lo", priority=1, held="3 4")), 1, 5, lowest=90) is None
        )

    def test_took_all_of_it(self) -> None:
        """It, and the lowest that could go, went whole: the lowest may have been another."""
        made = beside(
            claim("none", held="5 6", mode="soft_priority"), claim("lo", priority=1, held="3 4")
        )
        assert available(made, 1, 3, 4, 5, 6, lowest=1) is None

    def test_took_from_behind_its_end(self) -> None:
        """A block from behind its end, of which it loses nothing, has an unknown priority, too."""
        none = claim("none", held="5 6 7", mode="soft_priority")
        made = beside(none, claim("lo", priority=5, held="3 4"))
        assert available(made, 1, 7, lowest=1) is None
        assert available(made, 1, lowest=1)

    def test_took_unnamed_blocks(self) -> None:
        """Its blocks went, and nobody states which: so did those of the other on its object."""
        none = claim("none", held="5 6", on="object of hi", mode="soft_priority")
        made = beside(none, claim("lo", priority=5, held="3 4"))
        fields = {"object_id": "object of hi", "lowest_priority": 1}
        seen = sight(made, "hi", Kind.BLOCK_EVICTED, Mode.SOFT_PRIORITY, **fields)
        assert definitions.lower_priority_available(seen) is None

    def test_over(self) -> None:
        """A claim that is over is no rival, whatever it holds."""
        made = beside(claim("none", held="5 6", mode="soft_priority", responsible=False))
        made.claims["none"].facts |= {"committed": True}
        assert available(made, 1) is False

    def test_two_priorities(self) -> None:
        """Of a claim that stated two nobody knows the order to any other."""
        low = claim("lo", priority=1, held="3 4", disputed=True)
        assert available(beside(low), 1, lowest=1) is None
        assert available(beside(low), 1, lowest=90) is False
        assert available(beside(low), 3, name="lo") is None

    def test_after_the_whole_event(self) -> None:
        """There is no order among the blocks that one event takes."""
        assert available(ranked(), 4, 3, 2) is available(ranked(), 2, 3, 4)

    def test_bystander(self) -> None:
        """A claim that loses nothing, or has no rank, was not passed over."""
        assert available(ranked(), 3, lowest=1) is False
        assert available(ranked(), 5, name="none") is False


def test_higher_priority_kept() -> None:
    """A claim that loses first was the lower one if a higher one keeps blocks."""
    found = [
        definitions.higher_priority_kept(
            sight(ranked(), name, Kind.BLOCK_EVICTED, block_ids=blocks)
        )
        for name, blocks in (("lo", (3,)), ("lo", (1, 2, 3)), ("hi", (1,)))
    ]
    assert [True, False, False] == found


def test_higher_priority_kept_at_the_bottom() -> None:
    """A priority of 0 is one like any other."""
    made = pool(claim("hi", priority=1, held="1 2"), claim("lo", priority=0, held="3 4"))
    assert definitions.higher_priority_kept(sight(made, "lo", Kind.BLOCK_EVICTED, block_ids=(3,)))


def test_higher_priority_kept_by_two_priorities() -> None:
    """Nothing is shown by a claim that stated two, nor by its own loss."""
    for high, low in ((True, False), (False, True)):
        made = pool(
            claim("hi", priority=90, held="1 2", disputed=high),
            claim("lo", priority=1, held="3 4", disputed=low),
        )
        assert not definitions.higher_priority_kept(
            sight(made, "lo", Kind.BLOCK_EVICTED, block_ids=(3,))
        )


def test_disputed() -> None:
    """Two priorities are in dispute, one that is repeated is not; the first is kept."""
    found = []
    for stated in ((None, 1), (1, None), (1, 1), (1, 0), (0, 1)):
        made, _ = claim("a")
        for priority in stated:
            tell(made, Event(kind=Kind.CLAIM_REGISTERED, claim_id="a", priority=priority))
        found.append((made.priority, made.disputed))
    assert [(1, False), (1, False), (1, False), (1, True), (0, True)] == found
