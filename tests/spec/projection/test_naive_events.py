"""Tests of what an event contradicts, leaves open and comes to in the naive projection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from spec.claims.claim import Mode
from spec.contract.modes import MODES
from spec.events.alphabet import Kind
from spec.events.canonical import Event, Mark
from spec.projection.lines import Line
from spec.projection.naive import Naive
from spec.projection.outcome import Outcome, judge
from spec.projection.pool import Claim, Request
from tests.spec.projection.stories import (
    arrives,
    begun,
    cached,
    ended,
    event,
    having,
    judged,
    lines,
    refused,
    verdicts,
)

ALL = set(MODES[Mode.HARD_PROTECTED].names())
TIER = set(MODES[Mode.OFFLOADABLE].names())
OTHER: dict[str, Any] = {"object_id": "another object"}


def evicted(*blocks: int) -> Event:
    return Event(kind=Kind.BLOCK_EVICTED, block_ids=blocks)


def taken(*events: Event, mode: Mode = Mode.HARD_PROTECTED) -> Naive:
    """The projection after these events."""
    naive = Naive(lines(*events), mode)
    for _ in naive:
        pass
    return naive


def gapped(before: Sequence[Event], *events: Event) -> Outcome:
    """What a stream comes to in which lines are missing after the first of these events."""
    told = lines(*before, *events)
    numbered = [line._replace(sequence=line.at - (line.at <= len(before))) for line in told]
    return judge(numbered, Mode.HARD_PROTECTED)


class TestBlocksTwice:
    """A block that is said to be at two positions."""

    three = (*begun("a"), *begun("b", block=20), *begun("c", block=30))

    def open(self, *events: Event) -> list[set[str]]:
        found = judged(*self.three, *events)
        return [having(found, "inconclusive", name) for name in "abc"]

    def test_touched(self) -> None:
        """It touches the claim that the fact names and the one that held the block, no other."""
        assert [ALL, ALL, set()] == self.open(cached("a", 21))

    def test_another_object(self) -> None:
        """A fact that names a claim with another object says nothing of where a block is."""
        _, held, other = self.open(cached("a", 21, **OTHER))
        assert (set(), set()) == (held, other)


class TestGaps:
    """What is known after a gap of claims that come after it, and of blocks placed before it."""

    @pytest.mark.parametrize("before", [(), begun("b")], ids=["first", "later"])
    def test_early_blame(self, before: Sequence[Event]) -> None:
        """A claim that was named before it came may have been there: that shows nothing of it."""
        found = gapped(before, arrives("r", 7), refused("r", "a"), *begun("a", block=20))
        assert (set(), set()) == (having(found, "inconclusive"), having(found, "violated"))

    @pytest.mark.parametrize(
        ("between", "verdict"),
        [
            (cached("a", 10, 11), ALL),
            (cached("a", 10, 11, **OTHER), set()),
            (event(Kind.CLAIM_BLOCK_LOST, "a", block_ids=(10,)), set()),
        ],
        ids=["placed", "for another object", "reported"],
    )
    def test_stated_again(self, between: Event, verdict: set[str]) -> None:
        """Only a fact that places a block of the claim says that it is there after the gap."""
        moved = [*begun("c")[:3], cached("c", 40, 10), begun("c")[4]]
        assert verdict == having(gapped(begun("a"), between, *moved), "inconclusive", "c")


class TestDurations:
    """Ends of durations that nobody can see, and those that are reported."""

    def test_derived(self) -> None:
        """What facts a form derives from reports its first line says; those contradict nothing."""
        told = lines(*begun("a"), event(Kind.DURATION_ELAPSED, "a"))
        derived = frozenset({Kind.DURATION_ELAPSED})
        first = [told[0]._replace(derived=derived), *told[1:]]
        last = [*told[:-1], told[-1]._replace(derived=derived)]
        found = [having(judge(each, Mode.HARD_PROTECTED), "inconclusive") for each in (first, last)]
        assert [set(), ALL] == found

    def test_no_boundary(self) -> None:
        """In a mode that promises no boundary nobody has to see whether the duration was over."""
        over = event(Kind.CLAIM_EXPIRED, "a", by="owner")
        found = judged(*begun("a", duration="5 s"), ended()[0], over)
        assert set() == having(found, "inconclusive")

    def test_steps_told_later(self) -> None:
        """A claim that its owner gave up is judged, if steps turn out to be told in the stream."""
        mode, terms = Mode.EXPIRING, dict[str, Any](duration="60 steps")
        both = [*begun("a", mode, **terms), *begun("b", mode, block=20, **terms)]
        elapsed = [
            event(Kind.DURATION_ELAPSED, "b"),
            event(Kind.CLAIM_RETIRED, "b", by="runtime"),
            event(Kind.CLAIM_EXPIRED, "b", by="runtime"),
        ]
        found = judged(*both, *ended("a"), *elapsed, mode=mode)
        assert (set(), set()) == (having(found, "inconclusive"), having(found, "inconclusive", "b"))

    def test_lost_blocks(self) -> None:
        """A loss does not say that the duration is over."""
        told = [*begun("a", Mode.EXPIRING, duration="5 s")]
        told += [event(Kind.BLOCK_LOST, "a", block_ids=(10,)), event(Kind.CLAIM_HARMED, "a")]
        found = judged(*told, mode=Mode.EXPIRING)
        assert set(MODES[Mode.EXPIRING].names()) == having(found, "inconclusive")


class TestRanked:
    """Reports of lost blocks, where every loss of a ranked claim is to be reported."""

    name = "claim_scoped_telemetry"
    mode = Mode.SOFT_PRIORITY

    def long(self, mode: Mode) -> list[Event]:
        """A claim that lost a block from behind its end, and another one."""
        told = begun("a", mode, priority=1)
        told[3] = cached("a", 10, 11, 12)
        return [*told, *begun("b", mode, block=20, priority=1), evicted(12)]

    def test_behind_the_end(self) -> None:
        """A report may mean a block from behind the end, which was none of the claim's losses."""
        lost = event(Kind.CLAIM_BLOCK_LOST, "a", block_ids=(12,))
        assert {self.name} == having(
            judged(*self.long(self.mode), lost, mode=self.mode), "inconclusive"
        )

    def test_not_ranked(self) -> None:
        """Where single blocks are not counted it leaves nothing open."""
        mode, lost = Mode.BEST_EFFORT, event(Kind.CLAIM_BLOCK_LOST, "a", block_ids=(12,))
        assert "satisfied" == verdicts(judged(*self.long(mode), lost, mode=mode))[self.name]

    def test_of_another(self) -> None:
        """A report of another claim's block leaves nothing open."""
        lost = [evicted(20), event(Kind.CLAIM_BLOCK_LOST, "b", block_ids=(20,))]
        found = judged(*self.long(self.mode), *lost, mode=self.mode)
        assert "satisfied" == verdicts(found)[self.name]

    def test_losses_of_others(self) -> None:
        """A loss is due to be told when another ranked claim loses a block, and not before."""
        both = [*begun("a", self.mode, priority=1), *begun("b", self.mode, block=20, priority=1)]
        lost = event(Kind.CLAIM_BLOCK_LOST, "a", block_ids=(11,))
        found = [
            verdicts(judged(*both, evicted(11), evicted(other), lost, mode=self.mode))[self.name]
            for other in (99, 20)
        ]
        assert ["satisfied", "violated"] == found


class TestMoves:
    """Which events can move an observer."""

    def test_another_mode(self) -> None:
        """Of a claim of another mode nothing is found."""
        naive = taken(*begun("a"), *begun("b", Mode.DEMOTABLE, block=20), evicted(20))
        assert {"unexercised"} == {str(found.verdict) for _, found in naive.cases["b"].findings()}

    def test_unknown_mode(self) -> None:
        """A claim that asked for a mode that nobody knows is judged by each."""
        told = begun("a")
        told[0] = msgspec.structs.replace(told[0], mode="a mode of its own")
        assert {"a"} == set(judged(*told).claims)

    def test_silent_lookup(self) -> None:
        """A look-up that does not say what it found evaluates no predicate."""
        found = [
            verdicts(judged(*begun()[:4], arrives("r", 1), self.lookup(held))) for held in (None, 2)
        ]
        assert ["unexercised", "satisfied"] == [each["materialization_predicate"] for each in found]

    def lookup(self, held: int | None) -> Event:
        return event(Kind.PREFIX_LOOKUP, "a", request_id="r", held=held, asked=2)

    def test_eviction_in_a_false_name(self) -> None:
        """An eviction that names the claim with another object breaks its identity."""
        found = judged(*begun("a"), event(Kind.BLOCK_EVICTED, "a", block_ids=(99,), **OTHER))
        assert {"claim_identity"} == having(found, "violated")


class TestWhose:
    """Facts that do not name a claim, and blocks that a load did not name."""

    mode = Mode.OFFLOADABLE
    loaded = (
        *begun("a", Mode.OFFLOADABLE),
        event(Kind.STORE_FINISHED, "a"),
        evicted(10, 11),
        arrives("r", 1),
        event(Kind.CLAIM_RESTORE_REQUIRED, "a", request_id="r"),
        event(Kind.LOAD_FINISHED, "a", request_id="r", held=2),
        event(Kind.CLAIM_RESTORED, "a", request_id="r", from_tier=True),
    )

    def open(self, *events: Event) -> set[str]:
        return having(judged(*events, mode=self.mode), "inconclusive")

    def test_stored(self) -> None:
        """A copy is somebody's if its fact names an object, or blocks that a claim holds."""
        about: list[dict[str, Any]] = [OTHER, {"block_ids": (10,)}, {"block_ids": (99,)}, {}]
        told = begun("a", self.mode)
        found = [self.open(*told, Event(kind=Kind.STORE_FINISHED, **each)) for each in about]
        assert [set(), set(), TIER, TIER] == found

    def test_moved(self) -> None:
        """A load of blocks that a claim held before it is that claim's, though it moves them."""
        over = [*begun("x", self.mode), event(Kind.STORE_FINISHED, "x"), *ended("x")]
        load: dict[str, Any] = {"request_id": "r", "block_ids": (10,), "positions": (5,)}
        moved = Event(kind=Kind.LOAD_FINISHED, **load)
        assert set() == self.open(*over, *begun("a", self.mode, block=20), arrives("r", 1), moved)

    def test_unnamed_blocks(self) -> None:
        """Blocks that a load did not name may be those of nobody that are taken, not cached."""
        placed = Event(kind=Kind.BLOCK_CACHED, block_ids=(99,), positions=(0,))
        assert set() == self.open(*self.loaded, placed)
        assert TIER == self.open(*self.loaded, evicted(99))

    def test_unnamed_blocks_after_the_end(self) -> None:
        """Once the claim is over it does not matter what becomes of them."""
        assert set() == self.open(*self.loaded, *ended("a"), evicted(99))

    def test_computed_for_another(self) -> None:
        """Who computed the blocks of another claim does not matter to one that is away."""
        told = [*begun("a", self.mode), event(Kind.STORE_FINISHED, "a")]
        told += [*begun("b", self.mode, block=30)[:3], evicted(10, 11)]
        assert set() == self.open(*told, arrives("r", 1), arrives("s", 1), cached("b", 30, 31))


class TestEntries:
    """Whose retirement ends the news of a claim to which nobody committed."""

    asked = begun("a", Mode.BEST_EFFORT, duration="5 s")[:1]
    elapsed = event(Kind.DURATION_ELAPSED, "a")

    def followed(self, *events: Event, mode: Mode = Mode.BEST_EFFORT) -> bool:
        return not taken(*self.asked, *events, mode=mode).pool.claims["a"].unwatched

    def retired(self, by: str | None = None) -> Event:
        return event(Kind.CLAIM_RETIRED, "a", by=by)

    def test_ended(self) -> None:
        """Its owner may end it, and anybody when its duration is over."""
        assert not self.followed(self.retired("owner"))
        assert not self.followed(self.elapsed, self.retired())

    def test_not_ended(self) -> None:
        """Another may not, nor does a report, nor a block, nor the duration by itself."""
        assert self.followed(self.retired("another"))
        assert self.followed(event(Kind.CLAIM_RELEASED, "a", by="owner"))
        assert self.followed(self.elapsed, cached("a", 10))

    def test_committed(self) -> None:
        """A claim to which the runtime committed goes on, as in modes that need acceptance."""
        committed = event(Kind.CLAIM_COMMITTED, "a", footprint=2)
        assert self.followed(committed, self.retired("owner"))

    def test_stated(self) -> None:
        """The mode that the claim states decides; the one that judges, where it states none."""
        hard = begun("a", Mode.HARD_PROTECTED)[0]
        silent = msgspec.structs.replace(hard, mode=None)
        for mode, watches in ((Mode.BEST_EFFORT, True), (Mode.HARD_PROTECTED, False)):
            assert not self.followed(self.retired("owner"), mode=mode)
            for asked, over in ((hard, False), (silent, watches)):
                naive = taken(asked, self.retired("owner"), mode=mode)
                assert over is naive.pool.claims["a"].unwatched

    def test_no_owner(self) -> None:
        """Where no owner is stated nobody is the owner."""
        told = msgspec.structs.replace(self.asked[0], owner_scope=None)
        naive = taken(told, self.retired(), mode=Mode.BEST_EFFORT)
        assert not naive.pool.claims["a"].unwatched


class TestWaiting:
    """The requests for which a restore of a claim is required, and what was computed meanwhile."""

    mode = Mode.OFFLOADABLE
    away = (
        *begun("b", Mode.OFFLOADABLE)[:3],
        event(Kind.HOST_COPY_FOUND, "b"),
        *begun("a", Mode.OFFLOADABLE)[:3],
        event(Kind.HOST_COPY_FOUND, "a"),
        arrives("r", 1),
        arrives("s", 1),
    )
    required = event(Kind.CLAIM_RESTORE_REQUIRED, "a", request_id="r")

    def claim(self, *events: Event) -> Claim:
        return taken(*self.away, *events, mode=self.mode).pool.claims["a"]

    def waits(self, kind: Kind, name: str | None = None, request: str = "r", **more: Any) -> bool:
        """Whether a request for which it was required waits for it after another event."""
        said = event(kind, name, request_id=request, **more)
        return {"r"} == self.claim(self.required, said).waiting

    def test_ends(self) -> None:
        """A request waits until its load failed, it is refused or ends, or the claim is back."""
        assert not self.waits(Kind.LOAD_FAILED, "a")
        assert not self.waits(Kind.REQUEST_REFUSED)
        assert not self.waits(Kind.REQUEST_FINISHED)
        assert not self.waits(Kind.CLAIM_RESTORED, "a", from_tier=True)

    def test_goes_on(self) -> None:
        """What befalls another claim or request ends no wait, nor do other reports."""
        assert self.waits(Kind.LOAD_FAILED, "b")
        assert self.waits(Kind.REQUEST_FINISHED, request="s")
        assert self.waits(Kind.REQUEST_ROUTED_ELSEWHERE)
        assert self.waits(Kind.PREFIX_LOOKUP, "a", held=0, asked=2)
        assert self.waits(Kind.CLAIM_RESTORATION_FAILED, "a", outcome="harm")
        assert self.waits(Kind.CLAIM_RESTORED, "a", from_tier=True, **OTHER)

    def test_begins(self) -> None:
        """Only the report that a restore of the claim's object is required for it makes it wait."""
        looked_up = event(Kind.PREFIX_LOOKUP, "a", request_id="r", held=0, asked=2)
        another = event(Kind.CLAIM_RESTORE_REQUIRED, "a", request_id="r", **OTHER)
        nobody = event(Kind.CLAIM_RESTORE_REQUIRED, "a")
        assert frozenset({"r"}) == self.claim(self.required).waiting
        assert {frozenset()} == {self.claim(e).waiting for e in (looked_up, another, nobody)}

    def test_computed(self) -> None:
        """What was computed while a request waits counts until it is gone."""
        made = cached("a", 30, request_id="s")
        assert frozenset({0}) == self.claim(self.required, made).computed
        assert frozenset() == self.claim(self.required, made, evicted(30)).computed


class TestIntroduced:
    """What a claim has to state before anything is owed to it."""

    def test_identity(self) -> None:
        """Its object or its cache: of a claim that states neither nothing is concluded."""
        found = []
        for left in ("object_id", "cache_identity", None):
            told, names = begun("a"), {"object_id", "cache_identity"} - {left}
            lacking: dict[str, Any] = dict.fromkeys(names)
            told[0] = msgspec.structs.replace(told[0], **lacking)
            found.append(having(judged(*told), "inconclusive"))
        assert [set(), set(), ALL] == found


class TestRequests:
    """What is remembered of requests."""

    def requests(self, *events: Event) -> dict[str, Request]:
        return taken(*events).pool.requests

    def test_arrived(self) -> None:
        """What an arrival does not state counts as nothing, and it is unknown what it needs."""
        stated = [(3, 8), (None, 8), (3, None)]
        found = [
            self.requests(Event(kind=Kind.REQUEST_ARRIVED, request_id="r", needed=n, usable=u))["r"]
            for n, u in stated
        ]
        assert [(3, 8, False), (0, 8, True), (3, 0, True)] == [
            (each.needed, each.usable, each.unsure) for each in found
        ]

    def test_other_events(self) -> None:
        """A request without an id is none, and events of the registry are of no request."""
        told = [msgspec.structs.replace(each, request_id="r") for each in begun("a")[:2]]
        assert {} == self.requests(Event(kind=Kind.REQUEST_ARRIVED, needed=1, usable=8))
        assert {} == self.requests(*told)
        (request,) = self.requests(*told, arrives("r", 1)).values()
        assert request.in_hand

    def test_failed_loads(self) -> None:
        """A load that failed in the name of a claim that a registry holds counts to its request,
        also before that arrives.
        """
        of: dict[str, Any] = {"request_id": "r"}
        failed = event(Kind.LOAD_FAILED, "a", **of)
        assert {"a"} == self.requests(*begun("a"), failed)["r"].failed
        assert {"a"} == self.requests(*begun("a"), failed, arrives("r", 1))["r"].failed
        another = event(Kind.LOAD_FAILED, "a", **of, **OTHER)
        assert {"a"} == self.requests(*begun("a"), another)["r"].failed
        assert set() == self.requests(failed)["r"].failed


class TestOutcome:
    """Which claims count, and when a mode is kept."""

    def test_turned_away(self) -> None:
        """A claim that was registered enters a mode that watches it, unless it is turned away."""
        asked, mode = begun("a", Mode.BEST_EFFORT)[0], Mode.BEST_EFFORT
        rejected = event(Kind.CLAIM_REJECTED, "a")
        assert judged(asked, mode=mode).claims["a"].entered
        assert not judged(asked, rejected, mode=mode).claims["a"].entered

    def test_accepted_in_another_mode(self) -> None:
        """A claim that was accepted in another mode than it asked for did not enter."""
        told = begun("a")
        told[2] = msgspec.structs.replace(told[2], mode="demotable")
        assert not judged(*told).claims["a"].entered

    def test_pooled(self) -> None:
        """One that entered shows that an obligation is kept; one that never did cannot."""
        away = [begun("a")[0], event(Kind.CLAIM_REJECTED, "a")]
        found = [judged(*told) for told in (begun("a"), away)]
        assert ["satisfied"] * 2 == [verdicts(each)["claim_identity"] for each in found]
        pooled = [str(each.obligations["claim_identity"]) for each in found]
        assert ["satisfied", "unexercised"] == pooled

    def test_cut(self) -> None:
        """A stream that was cut keeps no mode, even if no claim of it is open."""
        told = [Line(1, mark=Mark.STREAM_OPENED), *lines(*begun("a"), *ended("a"))]
        found = judge(told, Mode.HARD_PROTECTED)
        assert (set(), "inconclusive") == (having(found, "inconclusive"), found.verdict)
        closed = judge([*told, Line(99, mark=Mark.STREAM_CLOSED)], Mode.HARD_PROTECTED)
        assert "kept" == closed.verdict
