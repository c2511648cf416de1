"""Tests of single definitions: fields of an event, contradictions of facts, sums of the room."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from spec.claims.claim import Mode
from spec.events.alphabet import FACTS, Kind
from spec.events.canonical import CapacityProof, Event
from spec.projection import contradictions, definitions, room
from spec.projection.blocks import after
from spec.projection.case import Case
from spec.projection.fields import view, views
from spec.projection.pool import LARGEST, Pool, Request
from spec.projection.room import Sharing
from spec.projection.sight import Sight
from tests.spec.projection.pools import claim, pool, sight

NEVER = -1


def act(made: Pool, name: str, *blamed: str, **fields: Any) -> Sight:
    """A refusal of the request r that names claims, as one claim sees it."""
    fields = {"request_id": "r", "blocking_claim_ids": blamed, **fields}
    return sight(made, name, Kind.REQUEST_REFUSED, **fields)


def failed(*names: str) -> Request:
    """A request in hand, for which loads of these claims failed."""
    return Request(1, 8, failed=set(names))


class TestViews:
    """The fields of an event, all together."""

    def test_of_its_kind(self) -> None:
        """A field has a value on the kinds on which something reads it, and nothing else."""
        seen = view(sight(pool(claim("a")), "a", Kind.REQUEST_ARRIVED, request_id="r", needed=3))
        found = {name for name, value in seen.items() if value is not None}
        assert {"mine", "named", "here", "needed", "rest", "shared"} == found
        assert 3 == seen["needed"]

    def test_ends(self) -> None:
        """An event is seen once where the room is known, and else at each end of it, the least
        sharing first."""
        arrival: dict[str, Any] = {"kind": Kind.REQUEST_ARRIVED, "request_id": "r"}
        known = views(sight(pool(claim("a", on="o"), claim("b", on="o")), "a", **arrival))
        unknown = views(sight(pool(claim("a"), claim("b")), "a", **arrival))
        assert [2] == [seen["shared"] for seen in known]
        assert [0, 2] == [seen["shared"] for seen in unknown]

    def test_here(self) -> None:
        """In the scope of the claim alone no event is of a request."""
        assert definitions.here(act(pool(claim("a"), r=Request(1, 8)), "a")) is False


class TestBlocks:
    """Fields that rest on what a claim holds."""

    def test_covers(self) -> None:
        """A look-up covers a claim that asks for all that its predicate needs, or more."""
        made = pool(claim("a", 3, predicate="contiguous_range(1, 2)"))
        asked = (None, 2, 3, 9)
        found = [
            definitions.covers(sight(made, "a", Kind.PREFIX_LOOKUP, request_id="r", asked=blocks))
            for blocks in asked
        ]
        assert [False, False, True, True] == found

    def test_breaks(self) -> None:
        """A lost block breaks a claim that holds too little; of one whose entry ended what it held
        then counts."""
        whole, gone = pool(claim("a", held="7 8")), pool(claim("a"))
        whole.claims["a"].facts["lead"], gone.claims["a"].facts["lead"] = 0, 2

        def breaks(made: Pool) -> bool:
            return definitions.breaks(sight(made, "a", Kind.CLAIM_BLOCK_LOST, claim_id="a"))

        assert (False, True) == (breaks(whole), breaks(gone))
        whole.claims["a"].unwatched = gone.claims["a"].unwatched = True
        assert (True, False) == (breaks(whole), breaks(gone))

    def test_intact(self) -> None:
        """A load of the claim brings it back, whether or not a copy of it is known."""
        load: dict[str, Any] = {"claim_id": "a", "request_id": "r"}
        load |= {"block_ids": (7, 8), "positions": (0, 1)}
        made = pool(claim("a"), r=Request(1, 8))
        assert definitions.intact(sight(made, "a", Kind.LOAD_FINISHED, **load))

    def test_intact_by_another(self) -> None:
        """A load for another claim on the object brings back one of which there is a copy."""
        load: dict[str, Any] = {"claim_id": "b", "request_id": "r"}
        load |= {"block_ids": (7, 8), "positions": (0, 1)}
        made = pool(claim("a", on="o"), claim("b", on="o"), r=Request(1, 8))
        assert not definitions.intact(sight(made, "a", Kind.LOAD_FINISHED, **load))
        made.claims["a"].facts["host"] = True
        assert definitions.intact(sight(made, "a", Kind.LOAD_FINISHED, **load))

    def test_partly_computed(self) -> None:
        """A load that brings back only the rest of what was computed leaves it computed."""
        made = pool(claim("a", held="7", computed=frozenset({0})), r=Request(1, 8))
        load: dict[str, Any] = {"kind": Kind.LOAD_FINISHED, "claim_id": "a", "request_id": "r"}
        rest = sight(made, "a", **load, block_ids=(8,), positions=(1,))
        whole = sight(made, "a", **load, block_ids=(7, 8), positions=(0, 1))
        assert (False, True) == (definitions.intact(rest), definitions.intact(whole))


class TestBlame:
    """Fields of an action that names claims."""

    def test_invalid_blocker(self) -> None:
        """Of those that are named the claim itself is no stranger, even if nobody answers for it;
        one that is not responsible is one to the others."""
        made = pool(claim("a", responsible=False), claim("b"), claim("c"))
        assert not definitions.invalid_blocker(act(made, "a", "a", "b"))
        assert definitions.invalid_blocker(act(made, "b", "a", "b"))
        assert not definitions.invalid_blocker(act(made, "b", "b", "c"))

    def test_proof(self) -> None:
        """A capacity proof is judged by the claims that are in the pool."""
        made = pool(claim("a"), claim("b", responsible=False))
        proof = CapacityProof(2, 7, 9, 8, 1)
        found = [definitions.proof(act(made, name, proof=proof)) for name in "ab"]
        assert [True, False] == found
        assert not definitions.proof(act(made, "a"))

    def test_restore(self) -> None:
        """A refusal is for a failed restore if it says so, and a load failed for the request."""

        def said(*, restore: bool, **requests: Request) -> tuple[bool, bool]:
            seen = act(pool(claim("a"), **requests), "a", restore=restore)
            return definitions.restore(seen), definitions.unfounded_failure(seen)

        assert (True, False) == said(restore=True, r=failed("a"))
        assert (False, True) == said(restore=True, r=failed())
        assert (False, True) == said(restore=True)
        assert (False, False) == said(restore=False, r=failed("a"))

    def test_blames_unfailed(self) -> None:
        """Who is named beside those of which a load failed is smeared; that matters to a claim
        that is responsible, or named, or of which a load failed, and to no other."""
        rest = (claim(name, responsible=False) for name in "bcd")
        made = pool(claim("a"), *rest, r=failed("b"))

        def smeared(*blamed: str, **fields: Any) -> set[str]:
            return {
                n for n in "abcd" if definitions.blames_unfailed(act(made, n, *blamed, **fields))
            }

        assert {"a", "b", "c"} == smeared("b", "c")
        assert {"a", "b", "c"} == smeared(outcome_claim_id="c")
        assert set() == smeared("b")


class TestOutcomes:
    """What a failed restore is said to have come to."""

    def said(self, outcome: str, **fields: Any) -> tuple[bool, bool, bool]:
        """Whether it is an outcome of the claim a, a refusal, and harm."""
        made = pool(claim("a"), r=failed("a"))
        fields = {"claim_id": "a", "request_id": "r", "outcome": outcome, **fields}
        seen = sight(made, "a", Kind.CLAIM_RESTORATION_FAILED, **fields)
        return definitions.outcome(seen), definitions.refusal(seen), definitions.harm(seen)

    @pytest.mark.parametrize(
        ("outcome", "found"),
        [
            ("refusal", (True, True, False)),
            ("demotion", (True, False, False)),
            ("expiry", (True, False, False)),
            ("harm", (True, False, True)),
            ("regret", (False, False, False)),
        ],
    )
    def test_names(self, outcome: str, found: tuple[bool, bool, bool]) -> None:
        """Refusal, demotion, expiry and harm are outcomes, and nothing else is."""
        assert found == self.said(outcome)
        assert found == self.said(outcome, outcome_claim_id="a")

    def test_of_another(self) -> None:
        """An outcome that names another claim is none of this one."""
        none = (False, False, False)
        found = {self.said(name, outcome_claim_id="b") for name in ("refusal", "expiry", "harm")}
        assert {none} == found
        other: dict[str, Any] = {"outcome_claim_id": "b", "blocking_claim_ids": ("a",)}
        assert none == self.said("refusal", **other)

    def test_blocking(self) -> None:
        """A refusal that lists claims is one for those that it lists; of other outcomes the list
        says nothing."""
        listed = [self.said("refusal", blocking_claim_ids=ids)[1] for ids in (("a",), ("b",), ())]
        assert [True, False, False] == listed
        assert (True, False, True) == self.said("harm", blocking_claim_ids=("b",))


class TestRoom:
    """What positions are one block, and what claims take since when."""

    def test_since_arrival(self) -> None:
        """At the end of a request only what was there since its arrival is shared; of a request
        that never arrived nothing was."""
        made = pool(
            claim("a", on="o", took=1), claim("b", on="o", took=5), r=Request(1, 8, since=3)
        )
        found = {
            name: sight(made, "a", Kind.REQUEST_FINISHED, request_id=name) for name in ("r", None)
        }
        assert (0, 0) == (
            definitions.shared(found["r"]),
            definitions.rest_since_arrival(found["r"]),
        )
        assert 2 == definitions.shared(sight(made, "a", Kind.REQUEST_ARRIVED, request_id="r"))
        assert 0 == definitions.rest_since_arrival(found[None])

    def test_rest_since_arrival(self) -> None:
        """A claim for which nobody is responsible any more did not stand to the end."""
        ended = claim("b", took=1, responsible=False)
        made = pool(claim("a", took=1), ended, claim("c", took=5), r=Request(1, 8, since=3))
        assert (["a"], []) == (
            room.responsible_since_arrival(made, "r"),
            room.responsible_since_arrival(made, "s"),
        )

    def test_one_side(self) -> None:
        """What one of two claims states, or holds, decides nothing of the other one's blocks."""
        for one, other in (
            (claim("a"), claim("b", keys="xy")),
            (claim("a", held="7 8"), claim("b")),
            (claim("a"), claim("b", held="7 8")),
        ):
            made = pool(one, other)
            assert [4, 2] == [len({*room.cells(made, end).values()}) for end in Sharing]

    def test_unnamed_blocks(self) -> None:
        """Two positions in blocks that nobody named may be one block, and need not."""
        made = pool(claim("a"), claim("b"))
        for name in "ab":
            made = after(made, Event(kind=Kind.LOAD_FINISHED, claim_id=name, held=2))
        assert [4, 2] == [len({*room.cells(made, end).values()}) for end in Sharing]

    def test_within_a_claim(self) -> None:
        """Positions of one claim are different blocks: one content at two is a contradiction."""
        assert {0, 1} == {*room.cells(pool(claim("a", keys="xx")), Sharing.MOST).values()}

    def test_largest(self) -> None:
        """The largest claim that is looked at has each of its positions looked at."""
        made = pool(claim("a", LARGEST))
        assert LARGEST == len(room.spots(made, made.claims["a"]))

    def test_responsible(self) -> None:
        """Of ids that are named those count that are claims under responsibility."""
        made = pool(claim("a"), claim("b", responsible=False))
        assert {"a"} == room.responsible_of(made, ("a", "b", "nobody"))

    def test_shared_unblamed(self) -> None:
        """What a claim has alone is tied to nobody, whether or not it is named itself."""
        made = pool(claim("a", 3, keys="xyz"), claim("b", keys="xy"), claim("c", keys="vw"))
        cells = room.cells(made, Sharing.LEAST)
        found = [
            room.shared_unblamed(cells, made.claims["a"], names) for names in ({"b"}, {"a"}, {"c"})
        ]
        assert [0, 2, 2] == found


class TestFactsOfClaims:
    """What a fact about one claim contradicts."""

    made = pool(claim("a", held="7 8"))

    def found(
        self, made: Pool, kind: Kind, observes: frozenset[Kind] | None = None, **fields: Any
    ) -> str:
        seen = sight(made, "a", kind, Mode.EXPIRING, claim_id="a", **fields)
        case = Case(seen.claim, (), Mode.EXPIRING, ())
        return contradictions.of_claim(seen, case.look(views(seen)), observes)

    def test_rests(self) -> None:
        """A look-up rests on the two kinds of losses, and on nothing else."""
        looks: dict[str, Any] = {"kind": Kind.PREFIX_LOOKUP, "held": 0, "asked": 2}
        losses = frozenset({Kind.BLOCK_EVICTED, Kind.BLOCK_LOST})
        assert "facts contradict" in self.found(self.made, observes=losses, **looks)
        assert "" == self.found(self.made, observes=losses - {Kind.BLOCK_LOST}, **looks)

    def test_no_predicate(self) -> None:
        """Of a claim that states no predicate nobody knows where a look-up counts from."""
        made = pool(claim("a", held="7 8"))
        made.claims["a"].predicate = None
        assert "" == self.found(made, Kind.PREFIX_LOOKUP, held=0, asked=2)

    def test_only_look_ups(self) -> None:
        """What was found is stated by look-ups, and by no other fact about a claim."""
        fields: dict[str, Any] = {"request_id": "r", "held": 0, "asked": 2}
        assert "" == self.found(self.made, Kind.PREFIX_REUSED, **fields)

    def test_over_again(self) -> None:
        """That a duration is over may be reported again, with a time or without one."""
        made = pool(claim("a", mode="expiring", duration="10 s", end=10))
        assert "no time" in self.found(made, Kind.DURATION_ELAPSED)
        made.claims["a"].elapsed = True
        assert "" == self.found(made, Kind.DURATION_ELAPSED)


class TestFactsOfRequests:
    """What a fact about a request contradicts, and which leave what is assumed of a stream."""

    made = pool(
        claim("a"),
        here=Request(1, 8, since=3),
        ended=Request(1, 8, in_hand=False, ended=True),
        unseen=Request(in_hand=False, failed={"a"}),  # a load failed for it before it arrived
    )

    def said(self, kind: Kind, name: str, seen: frozenset[Kind] | None = None) -> str:
        moment = sight(self.made, "a", kind, request_id=name).moment
        return contradictions.of_request(moment, NEVER, seen)

    def test_nobody_met(self) -> None:
        """A request of which nothing is known may arrive, and cannot end."""
        assert "" == self.said(Kind.REQUEST_ARRIVED, "new")
        assert "not arrived or" in self.said(Kind.REQUEST_FINISHED, "new")

    def test_rests(self) -> None:
        """The end of a request rests on arrivals alone, and an arrival on ends alone."""
        arrivals, ends = frozenset({Kind.REQUEST_ARRIVED}), frozenset({Kind.REQUEST_FINISHED})
        assert "not arrived or" in self.said(Kind.REQUEST_FINISHED, "ended", arrivals)
        assert "" == self.said(Kind.REQUEST_FINISHED, "ended", ends)
        assert "unfinished" in self.said(Kind.REQUEST_ARRIVED, "here", ends)
        assert "" == self.said(Kind.REQUEST_ARRIVED, "here", arrivals)

    @pytest.mark.parametrize(
        ("kind", "out"),
        [
            (Kind.REQUEST_REFUSED, {"unseen", "new"}),  # a report may come after the end
            (Kind.PREFIX_REUSED, {"ended", "unseen", "new"}),
            (Kind.BLOCK_CACHED, {"ended", "unseen", "new"}),
            (Kind.REQUEST_ARRIVED, {"here"}),
            (Kind.BLOCK_EVICTED, set()),  # it is of no request, whoever made it necessary
        ],
    )
    def test_out_of_hand(self, kind: Kind, out: set[str]) -> None:
        """Nothing is of a request before its arrival, and no fact of one after its end."""
        names = ("here", "ended", "unseen", "new")
        events = {name: Event(kind=kind, request_id=name, block_ids=(7,)) for name in names}
        found = {n for n, event in events.items() if contradictions.out_of_hand(self.made, event)}
        assert out == found


class TestBlockTwice:
    """A physical block holds one logical position, and one content, until it is lost (A11)."""

    def touched(
        self, made: Pool, position: int, kind: Kind = Kind.BLOCK_CACHED, **about: Any
    ) -> list[str]:
        moment = sight(made, "b", kind, block_ids=(7,), positions=(position,), **about).moment
        found = contradictions.block_twice(moment, frozenset(), FACTS)
        return [each.claim_id for each in found]

    def test_placed(self) -> None:
        """Only what is cached or loaded is placed; no other fact says where a block is now."""
        made = pool(claim("a", held="7 8"), claim("b", 6))
        placing = {kind for kind in FACTS if self.touched(made, 5, kind, claim_id="b")}
        assert {Kind.BLOCK_CACHED, Kind.LOAD_FINISHED} == placing

    def test_over(self) -> None:
        """A claim that nobody took on may have lost its blocks unsaid."""
        made = pool(claim("a", held="7 8", responsible=False), claim("b", 6))
        assert [] == self.touched(made, 5, claim_id="b")
        made = replace(made, watched=True)
        assert ["a"] == self.touched(made, 5, claim_id="b")

    def test_contents(self) -> None:
        """At one position a block is of two claims, unless their contents are known to differ."""
        one, same, other = claim("a", keys="xy", held="7 8"), claim("b", keys="xz"), claim("b")
        differs = claim("b", keys="vw")
        found = [self.touched(pool(one, b), 0, claim_id="b") for b in (same, other, differs)]
        assert [[], [], ["a"]] == found

    def test_no_claim(self) -> None:
        """What names no claim states no content, and contradicts only another position."""
        made = pool(claim("a", keys="xy", held="7 8"), claim("b", 6))
        found = [self.touched(made, at, object_id="object of b") for at in (0, 5)]
        assert [[], ["a"]] == found
