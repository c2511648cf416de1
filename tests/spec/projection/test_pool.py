"""Tests of spec.projection.pool: who holds which position in which block."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.projection.blocks import after, gained
from spec.projection.concerns import belongs_to, is_mine, is_named, loses
from spec.projection.pool import Pool, Request, attributed, held_by, lead, tell
from tests.spec.projection.pools import claim, pool, sight


def told(made: Pool, *events: Event) -> Pool:
    """The pool after these events, each stating what it states of the claim that it names."""
    for event in events:
        if event.claim_id is not None:
            tell(made.claims[event.claim_id], event)
        made = after(made, event)
    return made


def event(kind: Kind, name: str | None = None, **fields: Any) -> Event:
    return Event(kind=kind, claim_id=name, **fields)


def cached(name: str | None, blocks: tuple[int, ...], *positions: int, **more: Any) -> Event:
    return event(Kind.BLOCK_CACHED, name, block_ids=blocks, positions=positions, **more)


def evicted(*blocks: int, **more: Any) -> Event:
    return Event(kind=Kind.BLOCK_EVICTED, block_ids=blocks, **more)


def holds(made: Pool, name: str) -> list[tuple[int, int | None]]:
    """The positions that a claim holds, each with a block."""
    return sorted(held_by(made, made.claims[name]), key=str)


class TestHeld:
    """What a claim holds, and what others on the same content do."""

    def test_copies(self) -> None:
        """A second copy may go; the position is lost with the last one (B08)."""
        made = told(pool(claim("a", held="7 8")), cached("a", (9,), 0))
        assert 2 == lead(told(made, evicted(9)), made.claims["a"])
        assert 0 == lead(told(made, evicted(9, 7)), made.claims["a"])

    def test_lead(self) -> None:
        """Positions count from the start of the predicate, up to the first gap."""
        made = told(
            pool(claim("a", 4, predicate="contiguous_range(1, 2)")),
            cached("a", (10, 11, 13), 0, 1, 3),
        )
        assert 1 == lead(made, made.claims["a"])
        made = told(made, cached("a", (12,), 2))
        assert 3 == lead(made, made.claims["a"])

    def test_object(self) -> None:
        """The blocks of an object are those of every claim on it, as far as that goes."""
        short = claim("a", 1, on="o", predicate="leading_prefix_at_least(1)")
        made = told(pool(short, claim("b", 3, on="o")), cached("b", (7, 8), 0, 1))
        assert ([(0, 7)], [(0, 7), (1, 8)]) == (holds(made, "a"), holds(made, "b"))

    def test_object_without_claims(self) -> None:
        """A claim that comes later starts with the blocks that its object holds."""
        made = pool(claim("a", on="o", responsible=False))
        made.claims["a"].known = False
        made = told(made, cached(None, (7, 8), 0, 1, object_id="o"))
        assert [] == holds(made, "a")
        tell(made.claims["a"], event(Kind.CLAIM_REGISTERED, "a"))
        made = replace(made, placed=made.placed | gained(made, made.claims["a"]))
        assert [(0, 7), (1, 8)] == holds(made, "a")

    def test_keys(self) -> None:
        """So does one that commits to keys of which blocks are cached."""
        made = pool(claim("a", keys="xy", held="7 8"), claim("b"))
        tell(made.claims["b"], event(Kind.CLAIM_COMMITTED, "b", content_keys=("x", "z")))
        made = replace(made, placed=made.placed | gained(made, made.claims["b"]))
        assert [(0, 7)] == holds(made, "b")

    def test_another_object(self) -> None:
        """Blocks of another object, or of another cache, are not the claim's."""
        made = told(
            pool(claim("a", on="o")),
            cached(None, (7,), 0, object_id="p"),
            cached(None, (8,), 0, object_id="o", cache_identity="another"),
            cached(None, (9,), 0),
        )
        assert [] == holds(made, "a")

    def test_unnamed(self) -> None:
        """A load that counts brings back positions in blocks that nobody named."""
        made = told(pool(claim("a")), event(Kind.LOAD_FINISHED, "a", held=2))
        assert [(0, None), (1, None)] == holds(made, "a")
        made = told(made, event(Kind.BLOCK_EVICTED, "a", block_ids=(9,), positions=(1,)))
        assert [(0, None)] == holds(made, "a")

    def test_all_of_them(self) -> None:
        """A loss that lists no blocks takes all: of the claim, of the object, or of everybody."""
        both = (claim("a", held="7 8"), claim("b", on="o", held="9 10"))
        named = told(pool(*both), event(Kind.BLOCK_LOST, "a"))
        assert (0, 2) == (len(holds(named, "a")), len(holds(named, "b")))
        meant = told(pool(*both), event(Kind.BLOCK_LOST, object_id="o"))
        assert (2, 0) == (len(holds(meant, "a")), len(holds(meant, "b")))
        nobody = told(pool(*both), event(Kind.BLOCK_LOST))
        assert (0, 0) == (len(holds(nobody, "a")), len(holds(nobody, "b")))


class TestConcerns:
    """Whom an event is about."""

    def mine(self, made: Pool, kind: Kind, **fields: Any) -> set[str]:
        return {name for name in made.claims if is_mine(sight(made, name, kind, **fields))}

    def test_names(self) -> None:
        """A claim that is named, with an identity that agrees."""
        made = pool(claim("a"), claim("b"))
        assert {"a"} == self.mine(made, Kind.STORE_FINISHED, claim_id="a")
        other = sight(made, "a", Kind.STORE_FINISHED, claim_id="a")
        wrong = type(other)(other.moment, other.claim, binds=False)
        assert (False, True) == (is_mine(wrong), is_named(wrong))

    def test_object(self) -> None:
        """The claims, known to a registry, on the object of a fact that names none."""
        made = pool(claim("a", on="o"), claim("b", on="o"), claim("c"))
        made.claims["b"].known = False
        assert {"a"} == self.mine(made, Kind.PREFIX_REUSED, object_id="o", request_id="r")

    def test_blocks(self) -> None:
        """Those that hold the blocks of a fact that names neither a claim nor an object."""
        made = pool(claim("a", held="7 8"), claim("b", held="9 10"))
        assert {"b"} == self.mine(made, Kind.STORE_FINISHED, block_ids=(10,))

    def test_losses(self) -> None:
        """A loss concerns those that hold a position no more, and whom it names for a block that
        nobody is known to hold."""
        made = pool(claim("a", held="7 8"), claim("b", held="7 9"), claim("c"))
        assert {"a", "b"} == self.mine(made, Kind.BLOCK_EVICTED, block_ids=(7,))
        assert {"a"} == self.mine(made, Kind.BLOCK_EVICTED, block_ids=(8,), claim_id="b")
        assert {"a"} == self.mine(made, Kind.BLOCK_EVICTED, block_ids=(99,), claim_id="a")
        assert set() == self.mine(made, Kind.BLOCK_EVICTED, block_ids=(99,))
        assert {"c"} == self.mine(made, Kind.BLOCK_EVICTED, block_ids=(99,), claim_id="c")

    def test_last_copy(self) -> None:
        """The loss of a copy concerns nobody as long as there is another (B08)."""
        made = told(pool(claim("a", held="7 8")), cached("a", (9,), 0))
        assert not loses(sight(made, "a", Kind.BLOCK_EVICTED, block_ids=(9,)))
        assert loses(sight(made, "a", Kind.BLOCK_EVICTED, block_ids=(9, 7)))

    def test_content(self) -> None:
        """Blocks that are cached in the name of one claim reach the others that gain by it."""
        made = pool(claim("a", on="o"), claim("b", on="o"), claim("c"))
        fields: dict[str, Any] = {"claim_id": "a", "block_ids": (7,), "positions": (0,)}
        assert {"a", "b"} == self.mine(made, Kind.BLOCK_CACHED, **fields)
        again = told(made, cached("a", (7,), 0))
        assert {"a"} == self.mine(again, Kind.BLOCK_CACHED, **fields)

    def test_load_for_another(self) -> None:
        """A load for another claim on the object is for this one no load of the request."""
        made = pool(claim("a", on="o"), claim("b", on="o"), r=Request(1, 8))
        load = {"claim_id": "a", "request_id": "r", "block_ids": (7,), "positions": (0,)}
        found = {n: set(belongs_to(sight(made, n, Kind.LOAD_FINISHED, **load))) for n in "ab"}
        assert {"a": {"r"}, "b": set()} == found

    def test_retired(self) -> None:
        """The end of an entry is an event of the claim if somebody committed to it."""
        made = pool(claim("a"), claim("b", responsible=False), claim("c", responsible=False))
        made.claims["c"].facts["committed"] = True
        for name, found in (("a", {"a"}), ("b", set()), ("c", {"c"})):
            assert found == self.mine(made, Kind.CLAIM_RETIRED, claim_id=name)

    def test_lapsed(self) -> None:
        """Where the duration ends responsibility, the end of the entry after it is none."""
        made = pool(claim("a", responsible=False))
        made.claims["a"].facts["committed"] = True
        entry = sight(made, "a", Kind.CLAIM_RETIRED, Mode.EXPIRING, claim_id="a")
        assert not is_mine(entry)

    def test_foreign_name(self) -> None:
        """A report under an id that no registry holds is about the claims on its object."""
        made = pool(claim("a", on="o"), claim("x"))
        made.claims["x"].known = False
        report = sight(made, "a", Kind.CLAIM_MATERIALIZED, claim_id="x", object_id="o")
        assert (True, False) == (is_mine(report), is_named(report))

    def test_unwatched(self) -> None:
        """To a claim that is watched no more no fact is about it."""
        made = pool(claim("a", held="7 8"))
        made.claims["a"].unwatched = True
        assert set() == self.mine(made, Kind.BLOCK_EVICTED, block_ids=(7,))


class TestWhoCached:
    """Which request cached blocks."""

    def belongs(self, requests: str, **fields: Any) -> list[str]:
        made = pool(claim("a"), **{name: Request(1, 8) for name in requests})
        return attributed(made, cached("a", (7,), 0, **fields))

    def test_stated(self) -> None:
        """The one that is stated."""
        assert ["s"] == self.belongs("rt", request_id="s")

    def test_only_one(self) -> None:
        """The only one in hand, where none is stated; nobody, where there is none."""
        assert (["r"], []) == (self.belongs("r"), self.belongs(""))

    def test_several(self) -> None:
        """Any of several."""
        assert ["r", "s"] == self.belongs("rs")

    def test_found(self) -> None:
        """Blocks that were found were computed by nobody in hand."""
        assert [] == self.belongs("r", found=True)
