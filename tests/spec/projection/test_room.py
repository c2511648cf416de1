"""Tests of spec.projection.room: what claims take together, and what each of them frees."""

from __future__ import annotations

import pytest

from spec.events.alphabet import Kind
from spec.projection import definitions, room
from spec.projection.fields import views
from spec.projection.pool import LARGEST, Pool, Request, TooLarge
from spec.projection.room import Sharing
from tests.spec.projection.pools import claim, pool, sight


def taken(made: Pool, sharing: Sharing = Sharing.LEAST) -> int:
    """Blocks of all responsible claims."""
    return len(set(room.cells(made, sharing).values()))


def both(made: Pool) -> tuple[int, int]:
    """The same, where nothing unknown is shared, and where all that may be is."""
    return taken(made), taken(made, Sharing.MOST)


class TestOneBlock:
    """Which positions are one block."""

    def test_same_object(self) -> None:
        """Two claims on one object take its blocks once (B03)."""
        assert (2, 2) == both(pool(claim("a", on="o"), claim("b", on="o")))

    def test_prefix_of_an_object(self) -> None:
        """A longer claim on the same object adds only what is behind the shorter one."""
        assert (5, 5) == both(pool(claim("a", 2, on="o"), claim("b", 5, on="o")))

    def test_another_cache(self) -> None:
        """The object of another cache identity is another object, and shares nothing."""
        other = claim("b", on="o", cache="another")
        assert (4, 4) == both(pool(claim("a", on="o"), other))

    def test_unknown_cache(self) -> None:
        """Where one cache identity is not stated the same name may be the same object."""
        assert (4, 2) == both(pool(claim("a", on="o"), claim("b", on="o", cache=None)))

    def test_token_maps(self) -> None:
        """Where token maps differ, or one is not stated, the same name may be the same object."""
        one, other = claim("a", on="o"), claim("b", on="o")
        one[0].stated["token_map"] = "map:1"
        assert (4, 2) == both(pool(one, other))
        other[0].stated["token_map"] = "map:2"
        assert (4, 2) == both(pool(one, other))
        other[0].stated["token_map"] = "map:1"
        assert (2, 2) == both(pool(one, other))

    def test_keys(self) -> None:
        """Equal content keys are one block, and decide alone where both claims state them."""
        partly = pool(claim("a", 3, keys="xyz"), claim("b", 3, keys="xyw"))
        assert (4, 4) == both(partly)
        apart = pool(claim("a", on="o", keys="xy"), claim("b", on="o", keys="vw"))
        assert (4, 4) == both(apart)
        beside = pool(claim("a", keys="xy", held="7 8"), claim("b", keys="vw", held="7 8"))
        assert (4, 4) == both(beside)

    def test_keys_of_one(self) -> None:
        """Keys that one claim states decide nothing."""
        assert (4, 2) == both(pool(claim("a", keys="xy"), claim("b")))

    def test_same_block(self) -> None:
        """What is held in one physical block is one block, whatever the objects."""
        assert (3, 3) == both(pool(claim("a", held="7 8"), claim("b", held="7 9")))

    def test_copies(self) -> None:
        """A position that is held twice takes one block for its claim."""
        one, blocks = claim("a", on="o", held="7 8")
        other, more = claim("b", on="o", held="9 10")
        assert (2, 2) == both(pool((one, blocks), (other, more)))

    def test_unknown(self) -> None:
        """Different objects of one cache may share, until the blocks are known to be different."""
        assert (4, 2) == both(pool(claim("a"), claim("b")))
        assert (4, 3) == both(pool(claim("a", held="7"), claim("b", held="9")))
        assert (4, 4) == both(pool(claim("a", held="7 8"), claim("b", held="9 10")))

    def test_other_positions(self) -> None:
        """Only equal positions may be one block."""
        assert (5, 3) == both(pool(claim("a", 2), claim("b", 3)))

    def test_no_object(self) -> None:
        """A claim that states no object may share with any of its cache."""
        one, other = claim("a"), claim("b")
        del other[0].stated["object_id"]
        assert (4, 2) == both(pool(one, other))

    def test_ended(self) -> None:
        """A claim that nobody answers for takes no room."""
        assert (2, 2) == both(pool(claim("a"), claim("b", responsible=False)))

    def test_too_large(self) -> None:
        """Footprints that nobody looks at one by one are refused, not counted for ever."""
        with pytest.raises(TooLarge, match="4097"):
            taken(pool(claim("a", LARGEST + 1)))


class TestShares:
    """What named claims free."""

    made = pool(
        claim("a", 3, keys="xyz"), claim("b", 2, keys="xy"), claim("c", 2, keys="vw")
    )  # a: only z is its own; b: nothing is

    def freed(self, *names: str) -> int:
        return room.freed(room.cells(self.made, Sharing.LEAST), set(names))

    def test_freed(self) -> None:
        """Blocks are free when none of their owners is left."""
        found = {names: self.freed(*names) for names in ("a", "b", "ab", "ac", "abc")}
        assert {"a": 1, "b": 0, "ab": 3, "ac": 3, "abc": 5} == found

    def test_share(self) -> None:
        """A share is what would not be freed without its claim."""
        cells, names = room.cells(self.made, Sharing.LEAST), {"a", "b"}
        assert (3, 2) == tuple(room.share(cells, names, name) for name in ("a", "b"))

    def test_least(self) -> None:
        """The smallest share above nothing, of the others."""
        cells, first = room.cells(self.made, Sharing.LEAST), self.made.claims["a"]
        assert 2 == room.least_share(cells, first, {"a", "b", "c"})
        assert 0 == room.least_share(cells, first, {"a"})

    def test_shared_unblamed(self) -> None:
        """What is shared with a claim that is not named is not freed."""
        cells, first = room.cells(self.made, Sharing.LEAST), self.made.claims["a"]
        assert (2, 0) == (
            room.shared_unblamed(cells, first, {"a"}),
            room.shared_unblamed(cells, first, {"a", "b"}),
        )

    def test_invalid_blocker(self) -> None:
        """Who is not there, or frees nothing besides, explains nothing."""
        cells = room.cells(self.made, Sharing.LEAST)
        ids = {"d", "b", "c"}
        found = {n for n in ids if room.frees_nothing(cells, {n}, {"b", "c"})}
        assert {"d", "b"} == found


class TestSums:
    """The fields of an event that rest on the room."""

    def seen(self, made: Pool, name: str, kind: Kind, **fields: object) -> list[tuple[object, ...]]:
        names = ("rest", "shared", "blamed_rest", "shared_unblamed", "others")
        found = views(sight(made, name, kind, request_id="r", **fields))
        return [tuple(view[field] for field in names) for view in found]

    def test_ends(self) -> None:
        """Where it is unknown what is shared there are two ends, and else one."""
        known = pool(claim("a", on="o"), claim("b", on="o"), r=Request(1, 8))
        unknown = pool(claim("a"), claim("b"), r=Request(1, 8))
        act = Kind.REQUEST_REFUSED
        assert [(2, 2, 0, 0, 0)] == self.seen(known, "a", act, blocking_claim_ids=("a", "b"))
        both_ends = [(2, 0, 2, 0, 0), (2, 2, 0, 0, 0)]
        assert both_ends == self.seen(unknown, "a", act, blocking_claim_ids=("a", "b"))

    def test_shared_unblamed_without_blame(self) -> None:
        """What this claim and one that is not named share stays."""
        made = pool(claim("a", on="o"), claim("b", 4, on="o"), r=Request(1, 8))
        found = self.seen(made, "a", Kind.REQUEST_REFUSED, blocking_claim_ids=("a",))
        assert [(4, 2, 0, 2, 0)] == found

    def test_since_arrival(self) -> None:
        """The end of a request is judged by the claims that were there since it arrived (B01)."""
        made = pool(claim("a", took=1), claim("b", took=5), r=Request(7, 8, since=3))
        at_end = sight(made, "a", Kind.REQUEST_FINISHED, request_id="r")
        assert (0, 0) == (definitions.rest_since_arrival(at_end), definitions.shared(at_end))
        later = sight(made, "b", Kind.REQUEST_FINISHED, request_id="r")
        assert 2 == definitions.rest_since_arrival(later)

    def test_others(self) -> None:
        """What the other requests in hand need counts."""
        requests = {"r": Request(3, 8), "s": Request(4, 8), "t": Request(5, 8, in_hand=False)}
        made = pool(claim("a"), **requests)
        act = {"kind": Kind.REQUEST_REFUSED, "blocking_claim_ids": ()}
        assert [4] == [found[-1] for found in self.seen(made, "a", **act)]  # type: ignore[arg-type]


class TestMost:
    """The blocks of claims that share nothing but by their objects."""

    def test_one_object(self) -> None:
        """Claims on one object share what they hold of it, unless they state their contents."""
        one = claim("a", 3, on="o")
        for other, most in (
            (claim("b", 2, on="o"), 3),
            (claim("b", 2, on="o", cache="another"), 5),
            (claim("b", 2, on="o", keys="xy"), 5),
            (claim("b", 2), 5),
            (claim("b", 2, on="o", responsible=False), 3),
        ):
            assert most == room.most_taken(pool(one, other))
        nameless = [claim(name, 2, on="o") for name in "bc"]
        for each, _ in nameless:
            del each.stated["object_id"]
        assert 4 == room.most_taken(pool(*nameless))
