"""Tests of spec.projection.blocks: what an event brings and takes, and what was computed; and of
the moment of an event."""

from __future__ import annotations

from typing import Any

import pytest

from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.projection.blocks import after, computed, gained, may_share, placed
from spec.projection.pool import (
    LARGEST,
    Claim,
    Object,
    Placed,
    Pool,
    Request,
    TooLarge,
    held_by,
)
from spec.projection.room import Sharing
from spec.projection.sight import Moment
from tests.spec.projection.pools import claim, pool, sight

WAITS = frozenset({"r"})


def event(kind: Kind, name: str | None = None, **fields: Any) -> Event:
    return Event(kind=kind, claim_id=name, **fields)


def cached(name: str | None, blocks: tuple[int, ...], *positions: int, **more: Any) -> Event:
    return event(Kind.BLOCK_CACHED, name, block_ids=blocks, positions=positions, **more)


def loaded(name: str | None = None, **fields: Any) -> Event:
    return event(Kind.LOAD_FINISHED, name, **fields)


def told(made: Pool, *events: Event) -> Pool:
    """The pool after these events."""
    for each in events:
        made = after(made, each)
    return made


def holds(made: Pool, name: str) -> list[tuple[int, int | None]]:
    """The positions that a claim holds, each with a block."""
    return sorted(held_by(made, made.claims[name]), key=str)


def of_objects(made: Pool) -> set[int | None]:
    """The blocks that are held for objects."""
    return {block for owner, _, block in made.placed if isinstance(owner, Object)}


class TestPlaced:
    """What an event brings, and to whom."""

    def test_named(self) -> None:
        """A claim that is named gets the blocks, and not the object that is stated beside it."""
        made = pool(claim("a", on="o"))
        found = placed(made, cached("a", (7,), 0, object_id="o"))
        assert frozenset({Placed("a", 0, 7)}) == found

    def test_object(self) -> None:
        """Blocks that are cached for an object are held for it, and for the claims on it; where
        nothing is stated they are nobody's."""
        made, about = pool(claim("a", on="o")), Object("o", None, None)
        found = placed(made, cached(None, (7,), 0, object_id="o"))
        assert frozenset({Placed(about, 0, 7), Placed("a", 0, 7)}) == found
        assert frozenset() == placed(made, cached(None, (7,), 0))

    def test_without_ids(self) -> None:
        """Positions whose blocks are not listed are held in blocks that nobody named, but not for
        an object, of which only blocks with ids are remembered."""
        made = pool(claim("a", on="o"))
        both = frozenset({Placed("a", 0, None), Placed("a", 1, None)})
        assert both == placed(made, loaded("a", positions=(0, 1)))
        assert both == placed(made, loaded(object_id="o", positions=(0, 1)))

    def test_without_positions(self) -> None:
        """A load that lists blocks, but not where they belong, brings as many as it counts."""
        found = placed(pool(claim("a")), loaded("a", block_ids=(7, 8), held=2))
        assert frozenset({Placed("a", 0, None), Placed("a", 1, None)}) == found

    def test_too_large(self) -> None:
        """A load counts at most as many blocks as are looked at one by one."""
        made = pool(claim("a", LARGEST))
        assert LARGEST == len(placed(made, loaded("a", held=LARGEST)))
        with pytest.raises(TooLarge):
            placed(made, loaded("a", held=LARGEST + 1))

    def test_owners(self) -> None:
        """A load of blocks alone is for those that hold them; cached blocks of nobody, and a load
        that failed, are for nobody."""
        made = pool(claim("a", held="7 8"), claim("b", held="9"))
        fields: dict[str, Any] = {"block_ids": (7,), "positions": (0,)}
        assert frozenset({Placed("a", 0, 7)}) == placed(made, loaded(**fields))
        for kind in (Kind.BLOCK_CACHED, Kind.LOAD_FAILED):
            assert frozenset() == placed(made, event(kind, **fields))

    def test_failed(self) -> None:
        """Nothing is held after a load that failed that was not held before, whatever it lists."""
        made = pool(claim("a", held="7"))
        failed = event(Kind.LOAD_FAILED, "a", block_ids=(8,), positions=(1,))
        assert made.placed == after(made, failed).placed

    def test_shared(self) -> None:
        """Others on the object hold the same, if they are tracked and a registry holds them."""
        made = pool(*(claim(name, on="o", responsible=name != "c") for name in "abcd"))
        made.claims["d"].known = False
        found = placed(made, cached("a", (7,), 0))
        assert frozenset({Placed("a", 0, 7), Placed("b", 0, 7)}) == found

    def test_unwatched(self) -> None:
        """A claim that is watched no more gets nothing, not in its own name either."""
        made = pool(claim("a", on="o"), claim("b", on="o"))
        made.claims["a"].unwatched = True
        assert frozenset() == placed(made, cached("a", (7,), 0))

    def test_moved(self) -> None:
        """A block that is cached at another position is no more where it was, but for claims that
        are tracked: of these it would have been stated."""
        untracked = claim("b", held="7 9", responsible=False)
        made = told(
            pool(claim("a", held="7 8"), untracked, claim("c")),
            cached(None, (6,), 0, object_id="o"),
            cached("c", (7, 6), 1, 2),
        )
        assert [(0, 7), (1, 8)] == holds(made, "a")
        assert [(1, 9)] == holds(made, "b")
        assert set() == of_objects(made)


class TestShared:
    """What is held of content that a claim comes to, and what a load may bring of it."""

    def test_gained(self) -> None:
        """A claim comes to the blocks of its object up to its own end, and to none behind it."""
        short = claim("a", 1, on="o", predicate="leading_prefix_at_least(1)")
        made = told(pool(short), cached(None, (7, 8, 9), 0, 1, 2, object_id="o"))
        assert frozenset({Placed("a", 0, 7)}) == gained(made, made.claims["a"])

    def test_may_share(self) -> None:
        """What a load brings may be another claim's if they are known to share a position, and the
        other is tracked."""
        made = pool(
            *(claim(name, keys=keys) for name, keys in (("a", "xy"), ("b", "xz"), ("c", "vw"))),
            claim("d", keys="xy", responsible=False),
        )
        found = {n for n, each in made.claims.items() if may_share(made, loaded("a"), each)}
        assert {"a", "b"} == found

    def test_may_share_far_behind(self) -> None:
        """Positions behind those that are looked at one by one are not compared."""
        size = LARGEST + 1
        made = pool(
            claim("a", size, keys="x" * LARGEST + "z"), claim("b", size, keys="y" * LARGEST + "z")
        )
        assert not may_share(made, loaded("a"), made.claims["b"])


class TestGone:
    """What an event takes."""

    def test_object(self) -> None:
        """The loss of all of an object takes its blocks where no claim is on it yet, and no blocks
        of another; nor does the loss of a claim."""
        made = told(
            pool(claim("a", held="5 6")),
            cached(None, (7,), 0, object_id="o"),
            cached(None, (9,), 0, object_id="p"),
        )
        assert {9} == of_objects(after(made, event(Kind.BLOCK_LOST, object_id="o")))
        assert {7, 9} == of_objects(after(made, event(Kind.BLOCK_LOST, "a")))

    @pytest.mark.parametrize(
        ("said", "lost", "gone"),
        [
            ("cache", "cache", True),
            ("cache", "another", False),
            (None, "cache", True),
            ("cache", None, True),
        ],
    )
    def test_cache(self, said: str | None, lost: str | None, gone: bool) -> None:
        """An object of another cache is another object; one of a cache that is not stated may be
        the same."""
        made = told(pool(), cached(None, (7,), 0, object_id="o", cache_identity=said))
        lose = event(Kind.BLOCK_LOST, object_id="o", cache_identity=lost)
        assert (set() if gone else {7}) == of_objects(after(made, lose))

    def test_name_of_an_object(self) -> None:
        """A claim whose id is the name of an object is not on that object for it."""
        made = told(pool(claim("o", held="7 8")), event(Kind.BLOCK_LOST, object_id="o"))
        assert [(0, 7), (1, 8)] == holds(made, "o")

    def test_unnamed_copy(self) -> None:
        """A block that is known to hold a position takes no other copy of it away."""
        made = told(
            pool(claim("a", held="7")),
            loaded("a", held=1),
            event(Kind.BLOCK_EVICTED, "a", block_ids=(7,), positions=(0,)),
        )
        assert [(0, None)] == holds(made, "a")


class TestComputed:
    """What was computed since a claim was last away."""

    def found(
        self, one: tuple[Claim, frozenset[Placed]], kind: Kind, name: str = "a", **fields: Any
    ) -> set[int]:
        """The positions of the claim a, in a pool with another one."""
        made = pool(one, claim("b", 3))
        return set(computed(sight(made, "a", kind, claim_id=name, **fields)))

    def test_waiting(self) -> None:
        """Positions that are cached while the claim is away and a request waits are computed, until
        it is back and with the position that brings it back."""
        fields: dict[str, Any] = {"block_ids": (8,), "positions": (1,)}
        waits = claim("a", 3, held="7", waiting=WAITS)
        assert {1} == self.found(waits, Kind.BLOCK_CACHED, **fields)
        assert set() == self.found(waits, Kind.BLOCK_CACHED, found=True, **fields)
        assert set() == self.found(claim("a", 3, held="7"), Kind.BLOCK_CACHED, **fields)

    def test_away(self) -> None:
        """As long as it stays away, what was computed counts where it is still held."""
        terms: dict[str, Any] = {"predicate": "leading_prefix_at_least(3)", "waiting": WAITS}
        one = claim("a", 3, held="7", computed=frozenset({0}), **terms)
        fields: dict[str, Any] = {"block_ids": (8,), "positions": (1,)}
        assert {0, 1} == self.found(one, Kind.BLOCK_CACHED, **fields)
        two = claim("a", 3, held="7 8", computed=frozenset({0, 1}), **terms)
        assert {0} == self.found(two, Kind.BLOCK_EVICTED, block_ids=(8,))

    def test_there(self) -> None:
        """What is cached while the claim is there changes nothing, at its end or as a copy."""
        one = claim("a", 3, held="7 8", computed=frozenset({0, 1}), waiting=WAITS)
        for position in (0, 2):
            fields: dict[str, Any] = {"block_ids": (9,), "positions": (position,)}
            assert {0, 1} == self.found(one, Kind.BLOCK_CACHED, **fields)

    def test_gone(self) -> None:
        """When the claim goes away nothing was computed since."""
        one = claim("a", 3, held="7 8", computed=frozenset({0, 1}), waiting=WAITS)
        assert set() == self.found(one, Kind.BLOCK_EVICTED, block_ids=(8,))

    def test_loaded(self) -> None:
        """What a load of the claim brings was not computed; one of another claim, or one that
        failed, brings it nothing."""
        one = claim("a", 3, held="7 8", computed=frozenset({0, 1}))
        fields: dict[str, Any] = {"block_ids": (9,), "positions": (0,)}
        assert {1} == self.found(one, Kind.LOAD_FINISHED, **fields)
        assert {0, 1} == self.found(one, Kind.LOAD_FINISHED, name="b", **fields)
        assert {0, 1} == self.found(one, Kind.LOAD_FAILED, **fields)

    def test_loaded_for_owners(self) -> None:
        """A load of blocks is for those that held them before it: who shares one of its positions
        gets that, and not the others."""
        made = told(
            pool(claim("a", keys="xy", held="7 8"), claim("b", keys="xz")), cached("b", (9,), 1)
        )
        made.claims["b"].computed = frozenset({1})
        load = sight(made, "b", Kind.LOAD_FINISHED, block_ids=(7, 8), positions=(0, 1))
        assert [(0, 7), (1, 9)] == holds(load.later, "b")
        assert {1} == computed(load)


class TestMoment:
    """One event, as it happens to the pool."""

    def test_binds(self) -> None:
        """An event that names no claim has none of which it could mean another object."""
        made = pool(claim("a"))
        assert Moment(made, made, Event(kind=Kind.STREAM_DISORDER), Mode.EXPIRING).binds

    def test_room_since(self) -> None:
        """The room since an arrival is that of the claims that were there by then."""
        arrived = Request(1, 8, since=2)
        made = pool(claim("a", took=1), claim("b", took=3), r=arrived)
        moment = sight(made, "a", Kind.REQUEST_REFUSED, request_id="r").moment
        assert {("a", 0), ("a", 1)} == moment.room(Sharing.LEAST, "r").keys()
        assert 4 == len(moment.room(Sharing.LEAST))

    def test_room_before(self) -> None:
        """The room is that of the pool before the event, whatever becomes of it and its claims."""
        one = "leading_prefix_at_least(1)"
        made = pool(claim("a", 1, held="7", predicate=one), claim("b", 1, held="8", predicate=one))
        caching = sight(made, "b", Kind.BLOCK_CACHED, claim_id="b", block_ids=(7,), positions=(0,))
        assert [(0, 7), (0, 8)] == holds(caching.later, "b")
        room = caching.moment.room(Sharing.LEAST)
        assert 2 == len(set(room.values()))
        made.claims["a"].facts["responsible"] = False
        assert room == caching.moment.room(Sharing.LEAST)

    def test_belongs(self) -> None:
        """An eviction belongs to no request, whoever needed the room; a look-up belongs to one."""
        made = pool(claim("a", held="7 8"), r=Request(1, 8))
        evicting = sight(made, "a", Kind.BLOCK_EVICTED, block_ids=(7,), request_id="r")
        looking = sight(made, "a", Kind.PREFIX_LOOKUP, claim_id="a", request_id="r")
        assert (None, "r") == (evicting.moment.belongs, looking.moment.belongs)

    def test_others_unsure(self) -> None:
        """Others are those requests in hand that the event does not belong to."""
        made = pool(claim("a"), r=Request(unsure=True), s=Request(1, 8))
        for name, unsure in (("r", False), ("s", True)):
            moment = sight(made, "a", Kind.REQUEST_REFUSED, request_id=name).moment
            assert unsure == moment.others_unsure
