"""What claims on one object state of its contents."""

from __future__ import annotations

from typing import Any

from spec.claims.claim import Mode
from spec.claims.states import ClaimState
from spec.events.alphabet import Kind
from spec.projection.blocks import after
from spec.projection.contents import adopt, counts, disputed, hidden, is_early
from spec.projection.lines import Line
from spec.projection.naive import Naive
from spec.projection.pool import Claim, Placed, tell
from tests.spec.projection.pools import claim, pool
from tests.spec.projection.stories import begun, cached, event, keyed, lines


def early(name: str, size: int = 2, **more: Any) -> tuple[Claim, frozenset[Placed]]:
    """A claim that is registered, and not committed to yet."""
    return claim(name, size, responsible=False, **more)


class TestCounts:
    def test_tracked(self) -> None:
        """A claim counts while it is tracked, if a registry holds it."""
        made = pool(claim("a"), claim("b"))
        a, b = made.claims.values()
        b.known = False
        assert [True, False] == [counts(made, each) for each in (a, b)]
        assert [False, False] == [is_early(made, each) for each in (a, b)]

    def test_early(self) -> None:
        """It counts before, too: until it was committed to, is over, or is watched no more."""
        made = pool(early("a"), early("b"), early("c"), early("d"), early("e"))
        a, b, c, d, e = made.claims.values()
        b.facts["committed"] = True
        c.state = ClaimState.REFUSED
        d.unwatched, e.known = True, False
        expected = [True, False, False, False, False]
        assert expected == [is_early(made, each) for each in (a, b, c, d, e)]
        assert expected == [counts(made, each) for each in (a, b, c, d, e)]

    def test_watched(self) -> None:
        """One that is watched is tracked from its registration on, and is never early."""
        made = pool(early("a", mode="best_effort"))
        assert counts(made, made.claims["a"])
        assert not is_early(made, made.claims["a"])


class TestAdopt:
    def test_as_far_as_it_reaches(self) -> None:
        """A claim has what others on its object state, up to its own end."""
        made = pool(claim("a", 1, on="o", keys="xyz"), claim("b", 2, on="o"), claim("c", 2))
        a, b, c = made.claims.values()
        assert [] == adopt(made, b)
        assert [("x", "y", "z"), ("x", "y"), ()] == [each.keys for each in (a, b, c)]
        assert [] == adopt(made, c)
        assert () == c.keys

    def test_gives(self) -> None:
        """The others there have what it states; those that have as much are not among them."""
        made = pool(
            claim("a", 3, on="o", keys="xyz"),
            claim("b", 3, on="o", keys="x"),
            early("c", 4, on="o"),
            claim("d", 2, on="o", keys="xy"),
            claim("e", 3, on="o", cache="another"),
            claim("f", 3, on="o", cache=None),
            claim("g", 3),
        )
        a, b, c, d, e, f, g = made.claims.values()
        assert [b, c] == adopt(made, a)
        assert ["xyz", "xyz", "xyz", "xy", "", "", ""] == [
            "".join(each.keys) for each in (a, b, c, d, e, f, g)
        ]

    def test_over(self) -> None:
        """A claim that is over neither has nor gives anything."""
        made = pool(early("a", on="o", keys="xy"), early("b", on="o"), claim("c", on="o"))
        a, b, c = made.claims.values()
        a.state = b.state = ClaimState.REFUSED
        assert [] == adopt(made, c)
        assert ((), ()) == (b.keys, c.keys)


class TestDisputed:
    def test_others(self) -> None:
        """Those that state another content of a position are disputed, with the claim."""
        made = pool(
            claim("a", on="o", keys="xy"),
            claim("b", on="o", keys="xz"),
            claim("c", on="o", keys="x"),
            claim("d", keys="xz"),
        )
        a, b, c, d = made.claims.values()
        assert [a, b] == disputed(made, a, a.keys)
        assert [b, a] == disputed(made, b, b.keys)
        assert [] == disputed(made, d, d.keys)
        b.state = ClaimState.REFUSED
        b.facts["responsible"] = False
        assert [] == disputed(made, a, a.keys)
        assert [] == disputed(made, c, c.keys)

    def test_among_others(self) -> None:
        """So is one that comes to two contents, as far as it reaches there."""
        kinds = {"predicate": "leading_prefix_at_least(1)"}
        made = pool(
            claim("a", on="o", keys="xy"),
            claim("b", on="o", keys="xzw"),
            claim("c", 1, on="o", **kinds),
            claim("d", 2, on="o"),
        )
        c, d = made.claims["c"], made.claims["d"]
        assert [] == disputed(made, c, ())
        assert [d] == disputed(made, d, ())

    def test_before(self) -> None:
        """So is one that states another content than others stated before."""
        made = pool(claim("a", keys="xy"))
        a = made.claims["a"]
        assert [] == disputed(made, a, ("x",))
        assert [] == disputed(made, a, ())
        assert [a] == disputed(made, a, ("x", "z"))


class TestHidden:
    def test_blocks(self) -> None:
        """A claim is behind those that are early and hold other blocks of its contents."""
        made = pool(
            claim("a", on="o", held="7 8"),
            early("b", on="o", held="7 8"),
            early("c", on="o", held="7 9"),
            early("d", held="5 6"),
            claim("e", on="o", held="5 6"),
            early("f", on="o", cache="another", held="5 6"),
        )
        assert {"c"} == hidden(made, made.claims["a"])
        assert {"b"} == hidden(made, made.claims["c"])

    def test_keys(self) -> None:
        """By its contents on other objects, and only as far as it reaches."""
        kinds = {"predicate": "leading_prefix_at_least(1)"}
        made = pool(
            claim("a", 1, on="o", **kinds),
            early("b", keys="xy", held="7 8"),
            early("c", 2, on="o"),
            claim("d", keys="xz"),
            claim("e", keys="zy"),
            claim("f", keys="zw"),
        )
        held = {Placed("c", 1, 9)}
        made = type(made)(made.claims, made.requests, made.placed | held)
        behind = {name: hidden(made, made.claims[name]) for name in "adef"}
        assert {"a": set(), "d": {"b"}, "e": {"b"}, "f": set()} == behind


def _followed(stream: list[Line]) -> Naive:
    naive = Naive(stream, Mode.OFFLOADABLE)
    for _ in naive:
        pass
    return naive


class TestComes:
    def test_no_positions(self) -> None:
        """Blocks without positions move nothing that is held."""
        made = pool(claim("a", held="7 8"))
        load = event(Kind.LOAD_FINISHED, "a", block_ids=(7,))
        assert made.placed == after(made, load).placed

    def test_states_less(self) -> None:
        """A claim that states less than others stated of its object has that still; where it states
        another content, it has its own.
        """
        made = pool(claim("a", 3, keys="klm"), claim("b", 3, keys="klm"))
        a, b = made.claims.values()
        tell(a, event(Kind.CLAIM_COMMITTED, "a", footprint=3, content_keys=("k", "l")))
        tell(b, event(Kind.CLAIM_COMMITTED, "b", footprint=3, content_keys=("k", "n")))
        assert [("k", "l", "m"), ("k", "n")] == [a.keys, b.keys]

    def test_was_there(self) -> None:
        """A claim that comes to more than it needs was there."""
        on, keys = {"object_id": "o"}, ("k", "l", "m")
        a, c = (
            keyed(begun(n, Mode.OFFLOADABLE, size=3, **o), keys) for n, o in (("a", on), ("c", {}))
        )
        b = begun("b", Mode.OFFLOADABLE, **on, size=3, predicate="leading_prefix_at_least(2)")
        stream = lines(*c[:3], cached("c", 10, 11, 12), *b[:3], *a[:2])
        facts = _followed(stream).pool.claims["b"].facts
        assert (3, True) == (facts["lead"], facts["there"])

    def test_after_missing_lines(self) -> None:
        """Blocks without known ids may be gone, also where lines are missing before all others."""
        a, b = (begun(name, Mode.OFFLOADABLE, object_id="o") for name in "ab")
        load = event(Kind.LOAD_FINISHED, "a", held=2)
        stream = [each._replace(sequence=each.at) for each in lines(*a[:3], load, *b[:3])]
        assert "materialization_predicate" in _followed(stream).cases["b"].open
