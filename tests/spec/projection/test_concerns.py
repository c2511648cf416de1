"""Tests of spec.projection.concerns, and of what follows whom an event is about: what is still to
be told of losses and of routes, and who is passed over."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.projection import definitions, losses, routes
from spec.projection.concerns import belongs_to, is_direct, is_mine, is_named, loses, strays
from spec.projection.pool import Claim, Object, Placed, Pool
from tests.spec.projection.pools import claim, pool, sight


def mine(made: Pool, kind: Kind, **fields: Any) -> set[str]:
    """The claims that an event is about."""
    return {name for name in made.claims if is_mine(sight(made, name, kind, **fields))}


def evicted(made: Pool, *blocks: int, **fields: Any) -> set[str]:
    return mine(made, Kind.BLOCK_EVICTED, block_ids=blocks, **fields)


def over(name: str, **terms: Any) -> tuple[Claim, frozenset[Placed]]:
    """A claim that was committed to, and of which no news is owed any more."""
    made, blocks = claim(name, responsible=False, **terms)
    made.facts["committed"] = True
    return made, blocks


def with_more(made: Pool, *placed: tuple[str, int, int | None]) -> Pool:
    """The pool, with these positions of claims in these blocks besides."""
    return replace(made, placed=made.placed | {Placed(*each) for each in placed})


class TestIdentity:
    """What names a claim with another identity, or a claim that is watched no more."""

    def test_another_identity(self) -> None:
        """What names the claim with another identity is not about it, even where it loses."""
        loss = sight(pool(claim("a", held="7 8")), "a", Kind.BLOCK_LOST, claim_id="a")
        assert (True, True) == (is_mine(loss), is_direct(loss))
        other = replace(loss, binds=False)
        assert (True, False) == (loses(other), is_mine(other))
        assert not is_direct(other)

    def test_unwatched(self) -> None:
        """No fact that names a claim which is watched no more is about it; a report is."""
        made = pool(claim("a", unwatched=True))
        fact = sight(made, "a", Kind.STORE_FINISHED, claim_id="a")
        assert (False, False) == (is_mine(fact), is_named(fact))
        assert not is_named(replace(fact, binds=False))
        assert {"a"} == mine(made, Kind.CLAIM_OFFLOADED, claim_id="a")

    def test_named(self) -> None:
        """A fact names the claims that it means; one of another identity names its claim as well,
        without being about it."""
        made = pool(claim("a", on="o"), claim("b"))
        meant = {n: is_named(sight(made, n, Kind.STORE_FINISHED, object_id="o")) for n in "ab"}
        assert {"a": True, "b": False} == meant
        other = replace(sight(made, "a", Kind.STORE_FINISHED, claim_id="a"), binds=False)
        assert (False, True) == (is_mine(other), is_named(other))

    def test_nobody(self) -> None:
        """A report without the id of a claim is about none, whatever object it names."""
        assert set() == mine(pool(claim("a", on="o")), Kind.CLAIM_RESTORED, object_id="o")

    def test_object_again(self) -> None:
        """Blocks that are cached again for an object are an event of the claims on it, though none
        of them gains any."""
        made = pool(claim("a", on="o", held="7"), claim("b"))
        fields: dict[str, Any] = {"object_id": "o", "block_ids": (7,), "positions": (0,)}
        assert {"a"} == mine(made, Kind.BLOCK_CACHED, **fields)

    def test_blocks(self) -> None:
        """A load of blocks alone means the claims that held them before, and none that gains by
        it for being on the same content."""
        made = pool(claim("a", on="o", held="7"), claim("b", on="o"))
        load: dict[str, Any] = {"block_ids": (7,), "positions": (0,)}
        seen = {name: sight(made, name, Kind.LOAD_FINISHED, **load) for name in "ab"}
        assert {"a": True, "b": False} == {name: is_direct(each) for name, each in seen.items()}
        assert all(is_mine(each) for each in seen.values())


class TestUnknownBlocks:
    """A loss that names a claim, by a block that the claim is not known to hold."""

    def test_nothing_held(self) -> None:
        """A claim that is not known to hold anything may have held a block of another claim."""
        made = pool(claim("a", held="7 8"), claim("b", held="9"), claim("c"))
        assert {"a", "c"} == evicted(made, 7, claim_id="c")
        assert {"a"} == evicted(made, 7, claim_id="b")

    def test_no_block(self) -> None:
        """An event that names no block is about the claim that it names, whatever that holds."""
        made = pool(claim("a", held="7 8"), claim("c"))
        assert {"c"} == evicted(made, claim_id="c")

    def test_position(self) -> None:
        """Where the loss states positions it is about the claim if one of them is not held."""
        made = pool(claim("a", 6, held="7 8"))
        assert set() == evicted(made, 99, positions=(1,), claim_id="a")
        assert {"a"} == evicted(made, 99, positions=(5,), claim_id="a")
        assert {"a"} == evicted(made, 98, 99, positions=(1, 5), claim_id="a")
        nameless = with_more(pool(claim("a", held="7")), ("a", 1, None))
        assert {"a"} == evicted(nameless, 99, positions=(1,), claim_id="a")

    def test_known_copy(self) -> None:
        """A block that the claim is known to hold is no unknown one: its position is held still,
        and no other was in that block."""
        made = with_more(pool(claim("a", held="7 8")), ("a", 1, 9))
        assert set() == evicted(made, 9, claim_id="a")
        assert set() == evicted(made, 9, positions=(1,), claim_id="a")
        assert set() == evicted(with_more(made, ("a", 2, None)), 9, claim_id="a")

    def test_behind_its_end(self) -> None:
        """Nor is a known block from behind the claim's end, wherever the object goes on."""
        made = with_more(pool(claim("a", held="7 8")), ("a", 2, 9))
        assert set() == evicted(made, 9, positions=(2,), claim_id="a")
        assert strays(sight(made, "a", Kind.BLOCK_EVICTED, block_ids=(9,)))

    def test_partly_behind_its_end(self) -> None:
        """A block that the object has within the claim, too, may have been the claim's."""
        made, thing = pool(claim("a", held="7 8", on="o")), Object("o", "cache", None)
        placed = {Placed(thing, 1, 9), Placed(thing, 5, 9)}
        made = replace(made, placed=made.placed | placed)
        assert {"a"} == evicted(made, 9, claim_id="a")

    def test_unnamed(self) -> None:
        """A position in a block that nobody named may have been in it, unless there is a copy."""
        made = with_more(pool(claim("a", held="7")), ("a", 1, None))
        assert {"a"} == evicted(made, 99, claim_id="a")
        assert set() == evicted(with_more(made, ("a", 1, 8)), 99, claim_id="a")

    def test_its_own(self) -> None:
        """A claim's own are the positions of its footprint, and those that its predicate needs."""
        for size, predicate in ((3, 2), (2, 3)):
            terms: dict[str, Any] = {"predicate": f"leading_prefix_at_least({predicate})"}
            made = pool(claim("a", size, held="6 7 8 9", **terms))
            assert {"a"} == evicted(made, 8)
            assert set() == evicted(made, 9)


class TestMoot:
    """Reports of what is owed to nobody any more."""

    def test_route(self) -> None:
        """A report of a route to a claim that is over is about it only if a route of that request
        is still to be reported."""
        report: dict[str, Any] = {"claim_id": "a", "cost": 3}
        owed: dict[Any, Any] = {("r", Kind.ROUTE_COST_REPORTED): [3]}
        made = pool(over("a", owed=owed))
        for request, found in (("r", {"a"}), ("s", set())):
            report["request_id"] = request
            assert found == mine(made, Kind.ROUTE_COST_REPORTED, **report)
            seen = sight(made, "a", Kind.ROUTE_COST_REPORTED, **report)
            assert bool(found) is is_named(seen)
        assert {"a"} == mine(pool(claim("a")), Kind.ROUTE_COST_REPORTED, **report)

    def test_after_its_entry_ended(self) -> None:
        """A report of whether a claim is there, which is watched no more, is about it only if it
        agrees with what the claim held last."""
        there, gone = {Kind.CLAIM_MATERIALIZED, Kind.CLAIM_RESTORED}, {Kind.CLAIM_UNMATERIALIZED}
        for held, agreeing in ((1, gone), (2, there), (3, there)):
            made = pool(claim("a", responsible=False, unwatched=True))
            made.claims["a"].facts["lead"] = held
            assert agreeing == {kind for kind in there | gone if mine(made, kind, claim_id="a")}
            made.claims["a"].unwatched = False
            for kind in there | gone:
                assert {"a"} == mine(made, kind, claim_id="a")


class TestBelongs:
    """The requests that an event belongs to, to one claim."""

    def loaded(self, *, host: bool = True, on: str = "o", held: str = "") -> set[str]:
        """Those that a load for another claim belongs to, to one for which a request waits."""
        made = pool(claim("a", on="o"), claim("b", on=on, held=held, waiting=frozenset({"s"})))
        made.claims["b"].facts["host"] = host
        load: dict[str, Any] = {"claim_id": "a", "request_id": "r"}
        load |= {"block_ids": (7,), "positions": (0,)}
        return set(belongs_to(sight(made, "b", Kind.LOAD_FINISHED, **load)))

    def test_load_for_another(self) -> None:
        """It belongs to the requests that wait for a claim which gains by it, and of which a copy
        is known; to none where there is no copy, or no gain."""
        assert {"s"} == self.loaded()
        assert set() == self.loaded(host=False)
        assert set() == self.loaded(on="p")
        assert set() == self.loaded(held="7")

    def test_load(self) -> None:
        """A load of the claim belongs to its own request, and to each that waits for the claim."""
        made = pool(claim("a", waiting=frozenset({"s"})))
        load: dict[str, Any] = {"claim_id": "a", "held": 2}
        found = [
            set(belongs_to(sight(made, "a", kind, **load, request_id="r")))
            for kind in (Kind.LOAD_FINISHED, Kind.LOAD_FAILED)
        ]
        assert [{"r", "s"}, {"r"}] == found
        assert {"s"} == belongs_to(sight(made, "a", Kind.LOAD_FINISHED, **load))

    def test_no_request(self) -> None:
        """An event of no request belongs to none."""
        assert set() == belongs_to(sight(pool(claim("a")), "a", Kind.STORE_FINISHED, claim_id="a"))


class TestLosses:
    """Which lost blocks no report named."""

    def unsaid(self, made: Pool, kind: Kind, **fields: Any) -> frozenset[int | None]:
        """The lost blocks of the claim `a` that no report named, after this event."""
        losses.follow(sight(made, "a", kind, **fields))
        return made.claims["a"].unsaid

    def test_loss(self) -> None:
        """Of the blocks that are gone a claim lost those that it held, if news of it is owed."""
        gone: dict[str, Any] = {"block_ids": (8, 9)}
        both = pool(claim("a", held="7 8"), claim("b", held="9"))
        assert {8} == self.unsaid(both, Kind.BLOCK_EVICTED, **gone)
        assert set() == self.unsaid(pool(over("a", held="7 8")), Kind.BLOCK_EVICTED, **gone)

    def test_unknown_ids(self) -> None:
        """Where nobody knows the ids there are such without; what others lose is none of them."""
        made = pool(claim("a", held="7 8"), claim("b", held="9"))
        assert set() == self.unsaid(made, Kind.BLOCK_EVICTED, block_ids=(9,))
        assert {None} == self.unsaid(made, Kind.BLOCK_LOST, claim_id="a")

    def test_report(self) -> None:
        """A report of the claim's lost blocks tells of those that it names, or of all."""
        made = pool(claim("a", unsaid=frozenset({7, 8})), claim("b"))
        assert {7, 8} == self.unsaid(made, Kind.CLAIM_BLOCK_LOST, claim_id="b")
        assert {7, 8} == self.unsaid(made, Kind.CLAIM_UNMATERIALIZED, claim_id="a")
        assert {8} == self.unsaid(made, Kind.CLAIM_BLOCK_LOST, claim_id="a", block_ids=(7,))
        assert set() == self.unsaid(made, Kind.CLAIM_BLOCK_LOST, claim_id="a")


class TestRoutes:
    """What is still to be told of routes."""

    def owed(self, made: Pool, kind: Kind, **fields: Any) -> dict[tuple[str | None, Kind], Any]:
        """The same of the claim `a`, after this event."""
        routes.follow(sight(made, "a", kind, **fields))
        return {key: values for key, values in made.claims["a"].owed.items() if values}

    def test_fact(self) -> None:
        """A route to the claim is to be told by its cost, and by its worker as a number; one to
        another claim, or to one that is over, is not."""
        route: dict[str, Any] = {"request_id": "r", "claim_id": "a", "cost": 3, "worker": "w"}
        told = {
            ("r", Kind.ROUTE_COST_REPORTED): [3],
            ("r", Kind.ROUTE_PLACEMENT_REPORTED): [routes.number("w")],
        }
        assert told == self.owed(pool(claim("a")), Kind.REQUEST_ROUTED, **route)
        assert {} == self.owed(pool(over("a")), Kind.REQUEST_ROUTED, **route)
        route["claim_id"] = "b"
        assert {} == self.owed(pool(claim("a"), claim("b")), Kind.REQUEST_ROUTED, **route)

    def test_nothing(self) -> None:
        """What cost nothing, hit nothing, or states neither, is told as 0, and so is no text."""
        assert 0 == routes.number(None)
        for value in (None, 0):
            made = pool(claim("a"))
            route: dict[str, Any] = {"request_id": "r", "claim_id": "a", "cost": value}
            assert [0] == self.owed(made, Kind.REQUEST_ROUTED, **route)[
                "r", Kind.ROUTE_COST_REPORTED
            ]

    def test_report(self) -> None:
        """A report tells the oldest of what is to be reported, and of nothing else."""
        cost, hit = ("r", Kind.ROUTE_COST_REPORTED), ("r", Kind.ROUTE_REUSE_REPORTED)
        made = pool(claim("a", owed={cost: [1, 2, 3], hit: [1]}), claim("b"))
        report: dict[str, Any] = {"request_id": "r", "cost": 1}
        left = self.owed(made, Kind.ROUTE_COST_REPORTED, claim_id="b", **report)
        assert {cost: [1, 2, 3], hit: [1]} == left
        left = self.owed(made, Kind.ROUTE_COST_REPORTED, claim_id="a", **report)
        assert {cost: [2, 3], hit: [1]} == left

    def test_end(self) -> None:
        """Nothing is to be told of a request that has ended; another's, and what another event
        says of the request, change nothing."""
        key, other = ("r", Kind.ROUTE_COST_REPORTED), ("s", Kind.ROUTE_COST_REPORTED)
        made = pool(claim("a", owed={key: [1], other: [2]}))
        for kind in (Kind.CLAIM_COMMITTED, Kind.REQUEST_ARRIVED):
            left = self.owed(made, kind, claim_id="a", request_id="r")
            assert {key: [1], other: [2]} == left
        assert {other: [2]} == self.owed(made, Kind.REQUEST_FINISHED, request_id="r")


class TestPassed:
    """Whether a claim of lower priority could have lost instead."""

    def available(self, made: Pool, name: str, *blocks: int, **fields: Any) -> bool | None:
        terms: dict[str, Any] = {"block_ids": blocks, **fields}
        mode = Mode.HARD_PROTECTED
        return definitions.lower_priority_available(
            sight(made, name, Kind.BLOCK_EVICTED, mode, **terms)
        )

    def test_of_the_highest(self) -> None:
        """A block that goes has the priority of the highest of its claims: what could be taken was
        lower than that, but not than the other claim that loses."""
        made = pool(
            claim("top", priority=90, held="7"),
            claim("mid", priority=50, held="7"),
            claim("low", priority=1, held="3"),
        )
        assert self.available(made, "mid", 7, lowest_priority=60) is False
        assert self.available(made, "mid", 7, lowest_priority=1) is True

    def test_unknown_block(self) -> None:
        """So has a block that nobody is known to hold, of those that may have lost it."""
        made = pool(
            claim("top", priority=90, on="o"),
            claim("mid", priority=50, on="o"),
            claim("low", priority=1, held="3"),
        )
        for name in ("top", "mid"):
            found = self.available(made, name, 99, object_id="o", lowest_priority=90)
            assert found is False, name

    def test_shared_with_a_higher(self) -> None:
        """A low claim that loses a block of a higher one's, too, may have lost what could be taken:
        the one of its priority."""
        made = pool(
            claim("top", priority=90, held="7"),
            claim("low", priority=10, held="7 8"),
        )
        assert self.available(made, "top", 7, lowest_priority=10) is None

    def test_copy_of_zero(self) -> None:
        """A copy that goes may be what could be taken, of a claim of priority 0, too."""
        made = with_more(
            pool(claim("hi", priority=5, held="7"), claim("zero", priority=0, held="3")),
            ("zero", 0, 4),
        )
        assert self.available(made, "hi", 7, 4, lowest_priority=0) is None

    def test_zero(self) -> None:
        """A priority of 0 is one like any other, above those that are negative."""
        made = pool(claim("hi", priority=0, held="7"), claim("low", priority=-1, held="3"))
        assert self.available(made, "hi", 7, lowest_priority=-1) is True
        assert self.available(made, "hi", 7, lowest_priority=0) is False
