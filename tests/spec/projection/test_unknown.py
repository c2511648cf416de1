"""Tests of spec.projection.unknown and rights: what nobody knows of an event, and what is left."""

from __future__ import annotations

from typing import Any

import pytest

from spec.claims.claim import Mode
from spec.claims.states import ClaimState
from spec.contract.modes import MODES, Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.contract.observed import facts_of
from spec.events.alphabet import Kind
from spec.projection import rights, unknown
from spec.projection.fields import views
from spec.projection.pool import Claim, Placed, Pool, Request
from tests.spec.projection.pools import claim, pool, sight

NEVER = -1
"""ObservabilityLoss of the stream was never lost."""
NEED = {"needed", "usable"}
FAILURES = {"blames_unfailed", "unfounded_failure"}
OFFLOADS = frozenset({"offload_restorability", "materialization_predicate"})


def unsure(made: Pool, name: str, kind: Kind, lost: int = NEVER, **fields: Any) -> set[str]:
    """The fields and registers that nobody knows from this event on."""
    seen = sight(made, name, kind, **fields)
    return set(unknown.unknown_of(seen, views(seen)[0], lost))


def on_request(request: Request, kind: Kind, lost: int = NEVER, **fields: Any) -> set[str]:
    """The same for an event of a request, as a responsible claim sees it."""
    return unsure(pool(claim("a"), r=request), "a", kind, lost, request_id="r", **fields)


class TestEnds:
    """Who is behind the end of a claim."""

    def test_owner(self) -> None:
        """Who owns a claim matters to the report of its end, and not when its entry ends."""
        made = pool(claim("a"))
        fields: dict[str, Any] = {"claim_id": "a", "by": "somebody"}
        assert {"authorised"} == unsure(made, "a", Kind.CLAIM_RELEASED, **fields)
        assert set() == unsure(made, "a", Kind.CLAIM_RETIRED, **fields)

    def test_runtime(self) -> None:
        """Whether the duration is over matters to what the runtime expires, and to no other end."""
        made = pool(claim("a", duration="9 s", unclear=(3, False)))
        fields: dict[str, Any] = {"claim_id": "a", "by": "runtime"}
        assert {"authorised"} == unsure(made, "a", Kind.CLAIM_EXPIRED, **fields)
        assert set() == unsure(made, "a", Kind.CLAIM_DEMOTED, **fields)
        assert set() == unsure(made, "a", Kind.CLAIM_RELEASED, **fields)


class TestRanked:
    """What else could have been taken."""

    made = pool(claim("hi", priority=90, held="1 2"), claim("lo", priority=1, held="3 4"))

    def test_unstated(self) -> None:
        """It is not known where the event does not say it."""
        assert {"lower_priority_available"} == unsure(
            self.made, "hi", Kind.BLOCK_EVICTED, block_ids=(2,)
        )

    @pytest.mark.parametrize("lost", [0, 3])
    def test_lost_track(self, lost: int) -> None:
        """Once track is lost it is never known, as others of lower priority may be there."""
        fields: dict[str, Any] = {"block_ids": (2,), "lowest_priority": 90}
        assert set() == unsure(self.made, "hi", Kind.BLOCK_EVICTED, **fields)
        assert {"lower_priority_available"} == unsure(
            self.made, "hi", Kind.BLOCK_EVICTED, lost, **fields
        )

    def test_no_loss(self) -> None:
        """It matters to a claim that loses a block by the eviction, and to nothing else."""
        assert set() == unsure(self.made, "hi", Kind.BLOCK_EVICTED, 0, block_ids=(3,))
        looked: dict[str, Any] = {"claim_id": "hi", "request_id": "r", "held": 2}
        assert set() == unsure(self.made, "hi", Kind.PREFIX_LOOKUP, 0, **looked)


class TestNeed:
    """What a request needs."""

    def test_arrival(self) -> None:
        """An arrival has to state both counts, and says all whatever was known under its id."""
        doubtful = Request(unsure=True)
        assert NEED == on_request(doubtful, Kind.REQUEST_ARRIVED, usable=8)
        assert NEED == on_request(doubtful, Kind.REQUEST_ARRIVED, needed=2)
        assert set() == on_request(doubtful, Kind.REQUEST_ARRIVED, needed=2, usable=8)

    def test_in_hand(self) -> None:
        """It matters while the request is in hand, to each action on it and to its end."""
        for kind in (Kind.REQUEST_DEFERRED, Kind.REQUEST_FINISHED):
            assert NEED == on_request(Request(unsure=True), kind)
            assert set() == on_request(Request(), kind)
            assert set() == on_request(Request(unsure=True, in_hand=False, ended=True), kind)

    def test_never_arrived(self) -> None:
        """An action on a request of which no arrival is known rests on what nobody knows."""
        assert NEED == on_request(Request(in_hand=False), Kind.REQUEST_DEFERRED)
        assert NEED == unsure(pool(claim("a")), "a", Kind.REQUEST_DEFERRED, request_id="r")

    def test_of_a_claim(self) -> None:
        """A look-up and a commitment do not rest on it, whatever request they name."""
        doubtful = Request(unsure=True)
        assert set() == on_request(doubtful, Kind.PREFIX_LOOKUP, claim_id="a", held=2)
        assert set() == on_request(doubtful, Kind.CLAIM_COMMITTED, claim_id="a", footprint=2)


@pytest.mark.parametrize("lost", [0, 3])
class TestRoom:
    """Once track is lost nobody knows who takes the room of the pool."""

    def test_arrival(self, lost: int) -> None:
        """That matters to a request that arrives and fits the empty pool."""
        found = [
            on_request(Request(), Kind.REQUEST_ARRIVED, lost, needed=needed, usable=usable)
            for needed, usable in ((8, 8), (0, 0), (9, 8), (1, 0))
        ]
        assert [unknown.POOL, unknown.POOL, set(), set()] == found

    def test_unstated(self, lost: int) -> None:
        """One that does not say what it needs fits; where it does not say of how many, it does not.

        What it needs is unknown besides.
        """
        assert unknown.POOL | NEED == on_request(Request(), Kind.REQUEST_ARRIVED, lost, usable=8)
        assert NEED == on_request(Request(), Kind.REQUEST_ARRIVED, lost, needed=3)

    def test_end(self, lost: int) -> None:
        """It matters to the end of one that fits the empty pool, while it is in hand."""
        assert unknown.POOL == on_request(Request(8, 8), Kind.REQUEST_FINISHED, lost)
        assert set() == on_request(Request(9, 8), Kind.REQUEST_FINISHED, lost)


class TestEndUnseen:
    """Nobody can see whether the runtime is still responsible for some claim of the pool."""

    def crowd(self, made: Pool, kind: Kind, **fields: Any) -> set[str]:
        """What is unknown of a request that this pool hears of, to the claim that stays."""
        return unsure(made, "stays", kind, NEVER, request_id="r", **fields)

    def beside(self, request: Request, **terms: Any) -> Pool:
        """A claim of 2 blocks that stays, and one of 3 whose duration is unclear since line 4."""
        guest = {"mode": "expiring", "duration": "2 s", "unclear": (4, False)} | terms
        return pool(claim("stays"), claim("guest", 3, **guest), r=request)

    def test_arrival(self) -> None:
        """That matters to a request that fits the empty pool, and not beside all claims."""
        found = []
        for needed, usable in ((4, 8), (3, 8), (8, 8), (9, 8)):
            terms = {"needed": needed, "usable": usable}
            made = self.beside(Request(**terms))
            arrives = self.crowd(made, Kind.REQUEST_ARRIVED, **terms)
            assert arrives == self.crowd(made, Kind.REQUEST_FINISHED)
            found.append(arrives)
        assert [unknown.POOL, set(), unknown.POOL, set()] == found

    def test_responsible(self) -> None:
        """Claims that nobody is responsible for take no room."""
        made = self.beside(Request(3, 8))
        made.claims["gone"], _ = claim("gone", responsible=False)
        assert set() == self.crowd(made, Kind.REQUEST_FINISHED)

    def test_action(self) -> None:
        """It matters to every action on a request."""
        assert unknown.POOL == self.crowd(self.beside(Request(1, 8)), Kind.REQUEST_REFUSED)

    @pytest.mark.parametrize(
        "seen",
        [
            {"unclear": None},
            {"responsible": False},
            {"elapsed": True},
            {"mode": "hard_protected"},
            {"mode": None},
            {"duration": "2 steps", "unclear": (4, True)},
        ],
    )
    def test_seen(self, seen: dict[str, Any]) -> None:
        """It is seen where the duration is clear or over, where nobody is responsible, or where the
        claim does not lapse by it; one in steps lasts until a fact tells its end.
        """
        made = self.beside(Request(7, 8), **seen)
        assert set() == self.crowd(made, Kind.REQUEST_FINISHED)


class TestFailures:
    """Which loads failed for a request."""

    @pytest.mark.parametrize("lost", [0, 3])
    def test_unseen(self, lost: int) -> None:
        """A load may have failed unseen for a request that came before track was lost, or of which
        nothing is known.
        """
        made = pool(claim("a"), r=Request(since=lost), s=Request(since=lost + 1))
        refusals = {
            request: unsure(made, "a", Kind.REQUEST_REFUSED, lost, request_id=request)
            for request in ("r", "s", "t")
        }
        assert unknown.POOL | FAILURES == refusals["r"]
        assert unknown.POOL == refusals["s"]
        assert unknown.POOL | FAILURES | NEED == refusals["t"]

    def test_part(self) -> None:
        """That matters to each claim that has a part in an action: it is responsible, or blamed, or
        a load of it failed.
        """
        request = Request(since=1, failed={"failed"})
        names = ("blamed", "failed", "bystander")
        made = pool(*(claim(name, responsible=False) for name in names), r=request)
        fields: dict[str, Any] = {"request_id": "r", "blocking_claim_ids": ("blamed",)}
        found = {name: unsure(made, name, Kind.REQUEST_REFUSED, 3, **fields) for name in names}
        assert unknown.POOL | FAILURES == found["blamed"]
        assert FAILURES == found["failed"]
        assert set() == found["bystander"]

    def test_report(self) -> None:
        """It matters to the report of a restore that failed, and to no other report of a claim."""
        made = pool(claim("a"))
        fields: dict[str, Any] = {"claim_id": "a", "outcome": "harm"}
        assert FAILURES == unsure(made, "a", Kind.CLAIM_RESTORATION_FAILED, 0, **fields)
        assert set() == unsure(made, "a", Kind.CLAIM_DEMOTED, 0, claim_id="a")


def test_names() -> None:
    """A report that names a claim which nobody registered may name one that was, once track is
    lost.
    """
    made = pool(claim("a"), (Claim("x"), frozenset()))
    fields: dict[str, Any] = {"claim_id": "x", "object_id": "object of a"}
    assert {"named"} == unsure(made, "a", Kind.CLAIM_MATERIALIZED, 0, **fields)
    assert set() == unsure(made, "a", Kind.CLAIM_MATERIALIZED, **fields)
    assert set() == unsure(made, "a", Kind.CLAIM_MATERIALIZED, 0, claim_id="a")


class TestBlocksGone:
    """A block is gone that may hold a position of the claim."""

    @staticmethod
    def gone(**fields: Any) -> bool:
        """Whether it may, of a claim that holds block 7, and a position in a block of no name."""
        one, blocks = claim("a", held="7")
        made = pool((one, blocks | {Placed("a", 1, None)}), claim("b", held="3"))
        return unknown.may_be_gone(sight(made, "a", Kind.BLOCK_EVICTED, **fields))

    def test_of_nobody(self) -> None:
        """The event says nothing of a claim: it may if nobody was known to hold the block."""
        assert self.gone(block_ids=(9,))
        assert self.gone(block_ids=(3, 9))
        assert not self.gone(block_ids=(3,))
        assert not self.gone(block_ids=(7,))

    def test_of_the_claim(self) -> None:
        """The event names the claim: it may if the claim did not hold the block, and no position is
        stated.
        """
        assert self.gone(claim_id="a", block_ids=(9,))
        assert self.gone(claim_id="a", block_ids=(7, 9))
        assert not self.gone(claim_id="a", block_ids=(7,))
        assert not self.gone(claim_id="a", block_ids=(9,), positions=(0,))

    def test_of_another(self) -> None:
        """The event names another claim: it may not."""
        assert not self.gone(claim_id="b", block_ids=(9,))


class TestLoads:
    """A load does not say how many blocks came back."""

    made = pool(claim("a", on="o"), claim("b", on="o"), claim("c"), claim("d", held="1 2"))

    def short(self, name: str, of: str = "a", **fields: Any) -> bool:
        """Whether a load of one claim says too little of another."""
        fields |= {"claim_id": of, "request_id": "r"}
        return unknown.says_too_little(sight(self.made, name, Kind.LOAD_FINISHED, **fields))

    def test_whose(self) -> None:
        """It says too little of the claim itself, and of one that it shares content with."""
        assert [True, True, False] == [self.short(name) for name in ("a", "b", "c")]

    def test_enough(self) -> None:
        """It need not say it of a claim that is there; nor where it counts its blocks."""
        assert not self.short("d", "d")
        assert not self.short("a", held=1)

    def test_another_object(self) -> None:
        """A load that names a claim with another identity says nothing of any."""
        seen = sight(self.made, "b", Kind.LOAD_FINISHED, claim_id="a", cache_identity="other")
        seen.moment.binds = False
        assert not unknown.says_too_little(seen)

    def test_over(self) -> None:
        """It matters to a claim that was only accepted, and not to one that is over."""
        accepted = claim("a", responsible=False)
        seen = sight(pool(accepted), "a", Kind.LOAD_FINISHED, claim_id="a", request_id="r")
        assert unknown.says_too_little(seen)
        accepted[0].state = ClaimState.RELEASED
        assert not unknown.says_too_little(seen)


class TestOpen:
    """What is left open of a claim."""

    def test_strayed(self) -> None:
        """A report of a lost block may mean those from behind the end of a claim that lost such.

        That leaves open the obligations that read which blocks were lost, in the modes that do.
        """
        ranked, other = Mode.SOFT_PRIORITY, Mode.HARD_PROTECTED
        made = pool(claim("a", strayed=True), claim("b"))
        lost, action = Kind.CLAIM_BLOCK_LOST, Kind.REQUEST_DEFERRED
        found = unknown.may_mean_another(sight(made, "a", lost, ranked))
        assert {"claim_scoped_telemetry"} == found
        assert set() == unknown.may_mean_another(sight(made, "a", lost, other))
        assert set() == unknown.may_mean_another(sight(made, "b", lost, ranked))
        assert set() == unknown.may_mean_another(sight(made, "a", action, ranked, request_id="r"))

    def test_unobserved(self) -> None:
        """An obligation is judged where the stream observes each fact that it rests on, and needs
        no other.
        """
        name = "offload_restorability"
        facts = facts_of(OBLIGATIONS[name])
        assert not unknown.unobserved(name, facts)
        assert all(unknown.unobserved(name, facts - {fact}) for fact in facts)

    def test_computed_by(self) -> None:
        """Who computed the blocks of a claim matters to a restore, and to the failure of one."""
        names = MODES[Mode.OFFLOADABLE].names(Bundle.CONTRACT)
        found = {n for n in names if unknown.without(n, unknown.CACHED_BY) is not None}
        assert {"offload_restorability", "restoration_failure_outcome"} == found

    @pytest.mark.parametrize(
        "kind",
        [
            *(Kind.STORE_FINISHED, Kind.HOST_COPY_FOUND, Kind.HOST_COPY_LOST),
            *(Kind.LOAD_FINISHED, Kind.PREFIX_REUSED),
        ],
    )
    def test_whose_copy(self, kind: Kind) -> None:
        """On what is on the GPU and in the tier all obligations of a bundle of offloads rest, and
        none of another.
        """
        assert OFFLOADS == unknown.open_without(kind, OFFLOADS)
        others = frozenset({"materialization_predicate"})
        assert set() == unknown.open_without(kind, others)

    def test_whose_failure(self) -> None:
        """On a failed load that is nobody's rests who is harmed, and who is blamed."""
        rest = frozenset({"blocking_claim_ids", "claim_harm_attribution"})
        bundle = rest | {"footprint_accounting"}
        assert rest == unknown.open_without(Kind.LOAD_FAILED, bundle)

    def test_whose_route(self) -> None:
        """On a route that is nobody's rests what is said of its cost and its place, as far as the
        bundle has it; on its reuse what is said of that.
        """
        costs = frozenset({"route_cost_attribution", "claim_identity"})
        routed = costs | {"placement_attribution", "reuse_routing_attribution"}
        places = {"route_cost_attribution", "placement_attribution"}
        assert places == unknown.open_without(Kind.REQUEST_ROUTED, routed)
        assert {"route_cost_attribution"} == unknown.open_without(Kind.REQUEST_ROUTED, costs)
        assert {"reuse_routing_attribution"} == unknown.open_without(Kind.REUSE_SERVED, routed)
        assert set() == unknown.open_without(Kind.REQUEST_ROUTED, OFFLOADS)


class TestDurations:
    """Whether anybody can see that a duration is over."""

    def test_steps(self) -> None:
        """A duration counts steps if its text says so; none counts nothing."""
        units = {text: rights.in_steps(Claim("a", duration=text)) for text in ("3 steps", "3 s")}
        assert {"3 steps": True, "3 s": False} == units
        assert not rights.in_steps(Claim("a"))

    def test_begin(self) -> None:
        """A duration runs from the time of each commitment on."""
        one = Claim("a", duration="2 s", elapsed=True)
        rights.begin(one, 4, 5)
        assert (2_000_000_005, False, None) == (one.end, one.elapsed, one.unclear)

    def test_begin_unseen(self) -> None:
        """It is unclear since the first commitment in steps, or on a line without a time."""
        found = []
        for text in ("2 steps", "2 s"):
            one = Claim("a", duration=text)
            for line in (4, 9):
                rights.begin(one, line, None)
                found.append(one.unclear)
        assert [(4, True), (4, True), (4, False), (4, False)] == found

    def test_stop(self) -> None:
        """The first line without a time makes a duration unclear that runs: of a claim that the
        runtime is responsible for, and that is not over.
        """
        runs, over, ended, timeless = (
            claim("a", duration="2 s", end=8)[0],
            claim("b", duration="2 s", end=8, elapsed=True)[0],
            claim("c", duration="2 s", end=8, responsible=False)[0],
            claim("d")[0],
        )
        for each in (runs, over, ended, timeless):
            rights.stop(each, 5)
            rights.stop(each, 6)
        assert [(5, False), None, None, None] == [
            each.unclear for each in (runs, over, ended, timeless)
        ]

    def test_due(self) -> None:
        """It is over at its end, once, and never where that is unclear."""
        assert rights.is_due(Claim("a", end=8), 8)
        assert not rights.is_due(Claim("a", end=8), 7)
        assert not rights.is_due(Claim("a", end=8, elapsed=True), 9)
        assert not rights.is_due(Claim("a", end=8, unclear=(3, False)), 9)

    def test_told(self) -> None:
        """Steps are told by facts where any duration in steps was; times are not."""
        steps = claim("a", duration="2 steps", unclear=(3, True))
        timed = claim("b", duration="2 s", unclear=(4, False))
        made = pool(steps, timed)
        timed[0].told = True
        assert [3, 4] == [rights.unclear(made, each) for each in made.claims.values()]
        steps[0].told = True
        assert [None, 4] == [rights.unclear(made, each) for each in made.claims.values()]

    def test_early(self) -> None:
        """An entry ends early only if the claim has a duration, and that is not over."""
        made = pool(
            claim("a", duration="2 s"), claim("b", duration="2 s", elapsed=True), claim("c")
        )
        found = [rights.ends_early(sight(made, n, Kind.CLAIM_RETIRED, claim_id=n)) for n in "abc"]
        assert [True, False, False] == found
