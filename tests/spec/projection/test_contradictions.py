"""Tests of spec.projection.contradictions: what shows that a fact was not observed faithfully."""

from __future__ import annotations

from typing import Any

import pytest

from spec.claims.claim import Mode
from spec.contract.facts import FACTS_ARE_FACTS
from spec.events.alphabet import FACTS, Kind
from spec.projection import contradictions
from spec.projection.case import Case
from spec.projection.fields import views
from spec.projection.pool import Pool, Request
from tests.spec.projection.pools import claim, pool, sight

NEVER = -1


def found(
    made: Pool,
    kind: Kind,
    name: str = "a",
    mode: Mode = Mode.HARD_PROTECTED,
    observes: frozenset[Kind] | None = None,
    **fields: Any,
) -> str:
    """What a fact that names a claim contradicts."""
    seen = sight(made, name, kind, mode, claim_id=name, **fields)
    case = Case(seen.claim, (), mode, ())
    return contradictions.of_claim(seen, case.look(views(seen)), observes)


class TestLookUps:
    """A look-up finds what is held, as far as its prompt could use it (A03)."""

    made = pool(claim("a", held="7 8"))

    def said(self, held: int | None, asked: int | None = None) -> str:
        return found(self.made, Kind.PREFIX_LOOKUP, request_id="r", held=held, asked=asked)

    def test_all(self) -> None:
        """All that is held, or more than is known to be."""
        assert ("", "", "") == (self.said(2), self.said(3), self.said(2, 2))

    def test_nothing(self) -> None:
        """Less than it could use is a contradiction; of one that asked for less it is none."""
        assert "facts contradict" in self.said(0, 2)
        assert "facts contradict" in self.said(0, 9)
        assert ("", "") == (self.said(1, 1), self.said(0, 0))

    def test_unasked(self) -> None:
        """Less than is held, of one that does not state what it asked for, leaves it open."""
        assert "does not state what it asked for" in self.said(0)

    def test_losses_unseen(self) -> None:
        """Where hooks do not observe each loss it contradicts nothing."""
        unseen = FACTS - {Kind.BLOCK_LOST}
        fields: dict[str, Any] = {"request_id": "r", "held": 0, "asked": 2}
        assert "" == found(self.made, Kind.PREFIX_LOOKUP, observes=unseen, **fields)

    def test_unsaid(self) -> None:
        """One that does not say what it found shows nothing."""
        assert "" == self.said(None, 2)

    def test_from_the_start_of_the_predicate(self) -> None:
        """What was asked counts from position 0, what was found from the predicate's start."""
        made = pool(claim("a", 3, predicate="contiguous_range(1, 2)", held="7 8 9"))
        fields = {"request_id": "r", "held": 1}
        assert "" == found(made, Kind.PREFIX_LOOKUP, asked=2, **fields)
        assert "facts contradict" in found(made, Kind.PREFIX_LOOKUP, asked=3, **fields)


class TestOfClaims:
    """Facts about one claim."""

    def test_each_assumption(self) -> None:
        """Each assumption of the theorem is evaluated, and its kinds must be observed for it."""
        fresh, ended = pool(claim("a", responsible=False)), pool(claim("a", responsible=False))
        ended.claims["a"].facts["committed"] = True
        broken = {
            "one commitment": (pool(claim("a")), Kind.CLAIM_COMMITTED, {"footprint": 2}),
            "room for the predicate": (fresh, Kind.CLAIM_COMMITTED, {"footprint": 1}),
            "copies of what was there": (pool(claim("a")), Kind.STORE_FINISHED, {}),
            "a copy to lose": (pool(claim("a")), Kind.HOST_COPY_LOST, {}),
            "a copy to load": (pool(claim("a")), Kind.LOAD_FAILED, {"request_id": "r"}),
        }
        says = {each.name: each.broken for each in FACTS_ARE_FACTS}
        for name, (made, kind, fields) in broken.items():
            assert f"facts contradict: {says[name]}" == found(made, kind, **fields)
            for unseen in contradictions.RESTS[name]:
                assert "" == found(made, kind, observes=FACTS - {unseen}, **fields)

    def test_unstated_footprint(self) -> None:
        """A commitment that states no footprint has room for all that is known."""
        assert "" == found(pool(claim("a", responsible=False)), Kind.CLAIM_COMMITTED)

    @pytest.mark.parametrize(
        ("mode", "duration", "end", "time", "contradicts"),
        [
            ("hard_protected", None, None, None, True),  # A13
            ("expiring", None, None, None, False),
            ("expiring", "10 s", 10, 1, True),  # A12
            ("expiring", "10 s", 10, 10, False),
            ("expiring", "10 s", None, 1, False),
            ("hard_exclude", None, None, None, False),
        ],
    )
    def test_durations(
        self, mode: str, duration: str | None, end: int | None, time: int | None, contradicts: bool
    ) -> None:
        """A duration is over that there is, and not before the clock says so."""
        made = pool(claim("a", mode=mode, duration=duration, end=end))
        said = found(made, Kind.DURATION_ELAPSED, mode=Mode.EXPIRING, time_ns=time)
        assert contradicts == said.startswith("facts contradict")


class TestOfRequests:
    """Facts about requests, which touch every claim alive."""

    def said(self, kind: Kind, lost: int = NEVER, seen: frozenset[Kind] | None = None) -> str:
        made = pool(claim("a"), r=Request(1, 8, since=3), s=Request(1, 8, in_hand=False))
        name = "r" if kind is Kind.REQUEST_ARRIVED else "s"
        return contradictions.of_request(sight(made, "a", kind, request_id=name).moment, lost, seen)

    def test_end(self) -> None:
        """A request ends that never arrived, or ended before (D2)."""
        assert "not arrived or" in self.said(Kind.REQUEST_FINISHED)
        assert "" == self.said(Kind.REQUEST_FINISHED, lost=0)
        unseen = FACTS - {Kind.REQUEST_ARRIVED}
        assert "" == self.said(Kind.REQUEST_FINISHED, seen=unseen)

    def test_arrival(self) -> None:
        """A request arrives that is in hand (A09), unless it may have ended unseen."""
        assert "unfinished" in self.said(Kind.REQUEST_ARRIVED)
        assert "unfinished" in self.said(Kind.REQUEST_ARRIVED, lost=2)
        assert "" == self.said(Kind.REQUEST_ARRIVED, lost=3)
        unseen = FACTS - {Kind.REQUEST_FINISHED}
        assert "" == self.said(Kind.REQUEST_ARRIVED, seen=unseen)


class TestBlockTwice:
    """A physical block holds one logical position, until it is lost (A11)."""

    def touched(self, position: int, **more: Any) -> list[str]:
        made = pool(claim("a", held="7 8"), claim("b", 6))
        fields = {"claim_id": "b", "block_ids": (7,), "positions": (position,)}
        moment = sight(made, "b", Kind.BLOCK_CACHED, **fields).moment
        seen = {"stale": frozenset(), "observes": None, **more}
        return [each.claim_id for each in contradictions.block_twice(moment, **seen)]

    def test_another_position(self) -> None:
        """At another position it contradicts what its holder is known to hold."""
        assert ["a"] == self.touched(5)

    def test_sharing(self) -> None:
        """At the same position under two objects it is shared."""
        assert [] == self.touched(0)

    def test_lost_unseen(self) -> None:
        """What may have been lost in a gap, or unobserved, contradicts nothing."""
        assert [] == self.touched(5, stale={7, 8})
        assert [] == self.touched(5, observes=FACTS - {Kind.BLOCK_EVICTED})
