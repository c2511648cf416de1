"""Tests of the naive projection line by line: what is counted, lost, told and gained."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from spec.claims.claim import Mode
from spec.events.alphabet import FACTS, Kind
from spec.events.canonical import Event, Mark
from spec.projection.lines import Line, Order
from spec.projection.naive import Naive
from spec.projection.outcome import outcome_of
from spec.projection.pool import held_by
from tests.spec.projection.stories import (
    arrives,
    begun,
    cached,
    ended,
    event,
    finishes,
    having,
    keyed,
    lines,
    refused,
    verdicts,
)

HARD, WATCHED, TIERED = Mode.HARD_PROTECTED, Mode.BEST_EFFORT, Mode.OFFLOADABLE
ORDER = "ordered_lifecycle_events"
ON: dict[str, Any] = {"cache_identity": "cache", "object_id": "o"}
TWO: dict[str, Any] = {"predicate": "leading_prefix_at_least(2)"}
MADE: dict[str, Any] = {**ON, **TWO}


def taken(told: Iterable[Line], mode: Mode = HARD) -> Naive:
    """The projection after these lines."""
    naive = Naive(told, mode)
    assert list(naive) == list(naive.lines)
    return naive


def said(*events: Event, mode: Mode = HARD, gap: int = 0) -> Naive:
    """The projection after these events, one a line; before the line `gap` lines are missing."""
    moved = [e._replace(sequence=e.at - (not 0 < gap <= e.at)) for e in lines(*events)]
    return taken(moved, mode)


def timed(*events: Event, mode: Mode = Mode.EXPIRING, without: int = 0) -> list[Line]:
    """The events as a stream, one a second; the line `without` has no time."""
    return [e._replace(time_ns=None if e.at == without else e.at * 10**9) for e in lines(*events)]


def taints(naive: Naive) -> dict[str | None, int | None]:
    """By claim, the line from which on nothing is concluded of it."""
    return {name: case.taint for name, case in naive.cases.items()}


def held(naive: Naive, name: str = "a") -> set[tuple[int, int | None]]:
    """The positions that a claim holds, each with a block."""
    return held_by(naive.pool, naive.pool.claims[name])


class TestCounts:
    """Events, claims and requests, as they are numbered and listed."""

    def test_listed(self) -> None:
        """Claims and requests are those that some event names, and no others."""
        naive = said(*begun("a"), arrives("r", 1), cached("b", 20), arrives("q", 1))
        assert (["a", "b"], ("r", "q")) == ([*naive.cases], naive.requests)

    def test_numbers(self) -> None:
        """Events count from 1, each once."""
        naive = said(arrives("r", 1), event(Kind.CLAIM_REGISTERED, "a"), arrives("q", 1))
        assert {"r": 1, "q": 3} == {n: r.since for n, r in naive.pool.requests.items()}

    def test_took(self) -> None:
        """Responsibility began with the last commitment, and that stays so when it has ended."""
        told = [*begun("a"), *ended("a"), arrives("r", 1)]
        assert 0 == said(*told[:1]).pool.claims["a"].took
        assert 2 == said(*told).pool.claims["a"].took
        assert 8 == said(*told[:7], told[1]).pool.claims["a"].took

    def test_met(self) -> None:
        """A claim is met by the first line that names it."""
        assert 2 == said(arrives("r", 1), *begun("a")).pool.claims["a"].met


class TestEnd:
    """What is known once the stream is over."""

    def test_whole(self) -> None:
        """The end of a stream that is whole leaves no assumption, and touches no claim."""
        naive = said(*begun("a"))
        naive.finish()
        assert (None, {"a": None}) == (naive.left, taints(naive))

    def test_cut(self) -> None:
        """Where a promised end does not come, nothing is concluded since the promise."""
        naive = taken([Line(1, mark=Mark.STREAM_OPENED), *lines(*begun("a"))])
        naive.finish()
        assert {"a": 1} == taints(naive)
        assert naive.left is not None
        assert "the stream was cut" in naive.left[1]

    @pytest.mark.parametrize(("mode", "taint"), [(HARD, None), (Mode.EXPIRING, 2)])
    def test_duration(self, mode: Mode, taint: int | None) -> None:
        """What a duration came to, which nobody can see, matters to a mode that lapses alone."""
        naive = said(*begun("a", mode, duration="5 s"), mode=mode)
        naive.finish()
        assert {"a": taint} == taints(naive)


class TestLines:
    """What a line says besides its events."""

    def test_observes(self) -> None:
        """What is observed is stated by the first line, or by one after it, from there on."""
        opened = Line(1, mark=Mark.STREAM_OPENED, observes=FACTS - {Kind.BLOCK_EVICTED})
        told = [line._replace(at=line.at + 1, sequence=None) for line in lines(*begun("a"))]
        first, later = taken([opened, *told]), taken([*told, opened._replace(at=9)])
        assert "victim_exclusion_before_violation" in first.cases["a"].open
        assert first.cases["a"].open.keys() == later.cases["a"].open.keys()
        assert {9} == set(later.cases["a"].open.values())
        assert {} == taken([*told, opened._replace(at=9, observes=FACTS)]).cases["a"].open
        assert {} == taken([*told, opened._replace(at=9, mark=None)]).cases["a"].open

    def test_observes_less_and_less(self) -> None:
        """What is observed is narrowed by each line, and never widened."""
        opened = Line(1, mark=Mark.STREAM_OPENED, observes=FACTS - {Kind.REQUEST_ARRIVED})
        told = [line._replace(at=line.at + 1, sequence=None) for line in lines(*begun("a"))]
        loaded = opened._replace(at=9, mark=None, observes=FACTS - {Kind.BLOCK_EVICTED})
        last = Line(10, (finishes("r"),))
        found = taken([opened, *told, loaded, last])
        assert {1} == set(found.cases["a"].open.values())
        assert {"a": None} == taints(found)

    def test_observes_after_the_end(self) -> None:
        """Of a claim that is over what was concluded stays, until more is told of it; one that is
        met later is as one that is not over."""
        told = lines(*begun("a"), *ended("a"))
        opened = Line(9, mark=Mark.STREAM_OPENED, observes=frozenset())
        found = taken([*told, opened, Line(10, (event(Kind.CLAIM_REGISTERED, "b"),))])
        assert ({}, True) == (found.cases["a"].open, found.cases["a"].claim.missed)
        assert {9} == set(found.cases["b"].open.values())
        again = taken([*told, opened, Line(10, (event(Kind.CLAIM_RELEASED, "a"),))])
        assert 10 == again.cases["a"].taint

    def test_unobserved(self) -> None:
        """What the first line does not observe contradicts nothing in the lines after it: a request
        may end of whose arrival nothing was seen.
        """
        told = lines(*begun("a"), finishes("r"))
        told = [line._replace(at=line.at + 1, sequence=None) for line in told]
        for observes, taint in ((FACTS, 7), (FACTS - {Kind.REQUEST_ARRIVED}, None)):
            opened = Line(1, mark=Mark.STREAM_OPENED, observes=observes)
            assert {"a": taint} == taints(taken([opened, *told]))

    def test_no_time(self) -> None:
        """An event without a time hides whether a duration that runs is over; a mark does not."""
        told = timed(*begun("a", Mode.EXPIRING, duration="60 s"), arrives("r", 1), without=6)
        hidden = taken(told, Mode.EXPIRING).pool.claims["a"]
        assert (6, False) == hidden.unclear
        seen = taken([*told[:5], Line(6, mark=Mark.STREAM_CLOSED)], Mode.EXPIRING)
        assert None is seen.pool.claims["a"].unclear

    def test_doubts(self) -> None:
        """A doubt of single obligations leaves these open, and nothing else of a claim."""
        told = lines(*begun("a"))
        only = frozenset({"claim_identity"})
        one = taken([*told, Line(6, doubts=((None, only),))])
        assert ({"claim_identity": 6}, None) == (one.cases["a"].open, one.cases["a"].taint)
        over = lines(*begun("a"), *ended("a"))
        ways = [
            taken([*over, Line(8, doubts=((None, each),))]) for each in (only, frozenset[str]())
        ]
        assert [False, True] == [each.pool.claims["a"].missed for each in ways]


class TestDisorder:
    """The stream steps back."""

    def back(self, *events: Event) -> Naive:
        """One claim begins, the stream steps back, and these events follow."""
        told = lines(*begun("a"), *events)
        return taken([line._replace(sequence=line.at - 1 - 3 * (line.at > 5)) for line in told])

    def test_later(self) -> None:
        """Only the order of claims that were met before is broken."""
        naive = self.back(arrives("r", 1), *begun("b", block=20))
        found = outcome_of(naive)
        assert ({ORDER}, set()) == (having(found, "violated"), having(found, "violated", "b"))
        assert {"a": 6, "b": None} == taints(naive)

    def test_missing(self) -> None:
        """A request that ends after a step back may have arrived where the stream broke off."""
        naive = self.back(*begun("b", block=20), finishes("r"))
        assert {"a": 6, "b": None} == taints(naive)

    def test_noticed(self) -> None:
        """A step back that the reader of the stream noticed is one as well."""
        naive = said(*begun("a"), Event(kind=Kind.STREAM_DISORDER), *begun("b", block=20))
        found = outcome_of(naive)
        assert ({ORDER}, set()) == (having(found, "violated"), having(found, "violated", "b"))
        assert ({"a": 6, "b": None}, (6, "the stream is out of order")) == (
            taints(naive),
            naive.left,
        )


class TestIdentity:
    """Events that name a claim, and another object than it is on."""

    both = (*begun("a"), *begun("b", block=20))

    def test_placed(self) -> None:
        """What is cached of another object is none of the claim's."""
        naive = said(*self.both, cached("b", 30, 31, object_id="another"))
        assert ({(0, 20), (1, 21)}, {"a": None, "b": 11}) == (held(naive, "b"), taints(naive))

    def test_gone(self) -> None:
        """Blocks that are gone are gone for all who held them, whatever object is named."""
        gone = event(Kind.BLOCK_EVICTED, "b", object_id="another", block_ids=(10,))
        naive = said(*self.both, gone)
        assert {(1, 11)} == held(naive)
        assert "victim_exclusion_before_violation" in having(outcome_of(naive), "violated")
        assert {"a": None, "b": 11} == taints(naive)


class TestRenewal:
    """A request of an id of which one has ended."""

    tiered = (
        *begun("a", TIERED),
        event(Kind.STORE_FINISHED, "a"),
        Event(kind=Kind.BLOCK_EVICTED, block_ids=(10, 11)),
        arrives("r", 1),
        event(Kind.LOAD_FAILED, "a", request_id="r"),
        event(Kind.CLAIM_RESTORATION_FAILED, "a", request_id="r", outcome="refusal"),
        refused("r", "a", restore=True),
        finishes("r"),
    )

    def test_again(self) -> None:
        """The next one begins anew: no load failed for it."""
        naive = said(*self.tiered, mode=TIERED)
        assert {"a"} == naive.pool.requests["r"].failed
        again = said(*self.tiered, arrives("r", 1), mode=TIERED)
        assert set() == again.pool.requests["r"].failed

    def test_late(self) -> None:
        """A late word about the one that has ended begins no other."""
        late = event(Kind.CLAIM_RESTORATION_FAILED, "a", request_id="r", outcome="refusal")
        naive = said(*self.tiered, late, mode=TIERED)
        assert naive.pool.requests["r"].ended


class TestTold:
    """Claims of which too little was reported."""

    @pytest.mark.parametrize(
        ("kind", "taint"),
        [
            *((Kind.CLAIM_REGISTERED, 9), (Kind.CLAIM_COMMITTED, 9)),
            *((Kind.CLAIM_RETIRED, 9), (Kind.CLAIM_MATERIALIZED, 9)),
            *((Kind.STORE_FINISHED, None), (Kind.BLOCK_CACHED, None)),
        ],
    )
    def test_missed(self, kind: Kind, taint: int | None) -> None:
        """Of a claim that was over before a gap, what a registry does or a report says may rest on
        what is missing; what becomes of its blocks does not.
        """
        naive = said(*begun("a"), *ended("a"), arrives("r", 1), event(kind, "a"), gap=8)
        assert {"a": taint} == taints(naive)

    def test_turned_away(self) -> None:
        """The registry may end the entry of a claim that was turned away; behind a gap it may be
        one of which the beginning is missing.
        """
        registered, rejected = begun("a")[0], event(Kind.CLAIM_REJECTED, "a")
        told = [registered, rejected, event(Kind.CLAIM_RETIRED, "a", by="owner")]
        assert [None, 3] == [said(*told, gap=gap).cases["a"].taint for gap in (0, 3)]

    @pytest.mark.parametrize(
        ("kind", "taint"),
        [
            *((Kind.CLAIM_REGISTERED, None), (Kind.CLAIM_COMMITTED, None)),
            *((Kind.CLAIM_RETIRED, 1), (Kind.CLAIM_ACCEPTED, 1), (Kind.CLAIM_MATERIALIZED, 1)),
        ],
    )
    def test_lost(self, kind: Kind, taint: int | None) -> None:
        """A claim of which one hears first behind a gap may have been accepted there, even where
        the gap is before the first line; one that a registry takes up there begins there.
        """
        naive = said(event(kind, "a", footprint=2, **MADE), gap=1)
        assert {"a": taint} == taints(naive)

    def test_spoken_of(self) -> None:
        """Where registration is watched, a claim is introduced before it is spoken of: also by its
        acceptance.
        """
        kinds = (Kind.CLAIM_ACCEPTED, Kind.CLAIM_REJECTED, Kind.CLAIM_MATERIALIZED)
        found = [said(event(kind, "a", **MADE), mode=WATCHED) for kind in kinds]
        assert [None, None, 1] == [each.cases["a"].taint for each in found]

    @pytest.mark.parametrize(
        ("states", "taint"),
        [
            *(({"cache_identity": "cache", **TWO}, None), ({"object_id": "o", **TWO}, None)),
            *((ON, 1), (TWO, 1)),
        ],
    )
    def test_introduced(self, states: dict[str, Any], taint: int | None) -> None:
        """What is accepted has a predicate, and a cache identity or an object."""
        naive = said(event(Kind.CLAIM_ACCEPTED, "a", footprint=2, **states))
        assert {"a": taint} == taints(naive)

    def test_unwatched(self) -> None:
        """Of a claim that its owner withdrew the blocks are not followed any more: what was known
        of them stays, and of a second life nothing is concluded.
        """
        registered = event(Kind.CLAIM_REGISTERED, "a", owner_scope="owner", **MADE)
        told = [registered, cached("a", 10, 11), event(Kind.CLAIM_MATERIALIZED, "a"), *ended()]
        naive = said(*told, mode=WATCHED)
        claim = naive.pool.claims["a"]
        assert (True, 2, set()) == (claim.unwatched, claim.facts["lead"], held(naive))
        assert {"a": None} == taints(naive)
        assert {"a": 6} == taints(said(*told, registered, mode=WATCHED))


class TestDuration:
    """Durations that are stated late, or twice."""

    def unclear(self, *events: Event) -> tuple[int, bool] | None:
        return taken(timed(*events), Mode.EXPIRING).pool.claims["a"].unclear

    def test_late(self) -> None:
        """One that is stated after the commitment began to run nobody knows when."""
        registered, committed, accepted, *_ = begun("a", Mode.EXPIRING)
        late = event(Kind.CLAIM_ACCEPTED, "a", footprint=2, duration="60 s")
        assert (3, False) == self.unclear(registered, committed, late)
        assert None is self.unclear(registered, committed, accepted)
        assert None is self.unclear(registered, late, committed)

    def test_same(self) -> None:
        """One that was stated before the commitment may be stated again."""
        told = begun("a", Mode.EXPIRING, duration="60 s")
        same = event(Kind.CLAIM_ACCEPTED, "a", footprint=2, duration="60 s")
        assert None is self.unclear(*told[:2], same)

    def test_differs(self) -> None:
        """Two that differ leave the end unclear, since the first that says so."""
        told = begun("a", Mode.EXPIRING, duration="60 s")
        other = [event(Kind.CLAIM_ACCEPTED, "a", duration=f"{n} s") for n in (70, 80)]
        assert (3, False) == self.unclear(*told[:2], *other)

    def test_least(self) -> None:
        """The earliest end counts from the registration, and anew from each commitment; what comes
        between, registers what is committed to, or retires it, moves it not.
        """
        registered, committed, accepted, *_ = begun("a", Mode.EXPIRING, duration="3 s")
        over = event(Kind.DURATION_ELAPSED, "a")
        retired = event(Kind.CLAIM_RETIRED, "a", by="owner")
        told = timed(registered, accepted, over, committed, registered, retired)
        naive = Naive(told, Mode.EXPIRING)
        found = [naive.pool.claims["a"].least for _ in naive]
        assert [n * 10**9 for n in (4, 4, 4, 7, 7, 7)] == found

    def test_lapse_in_doubt(self) -> None:
        """Whoever ends a claim of which nobody can see whether its duration is over, nothing is
        concluded of it since then, though it is over soon after.
        """
        told = begun("a", Mode.EXPIRING, duration="60 s")
        end = [event(Kind.CLAIM_EXPIRED, "a"), event(Kind.DURATION_ELAPSED, "a")]
        assert {"a": 2} == taints(said(*told, *end, mode=Mode.EXPIRING))

    def test_elsewhere(self) -> None:
        """Only what introduces a claim states its duration."""
        report = event(Kind.CLAIM_MATERIALIZED, "a", duration="70 s")
        for duration in (None, "60 s"):
            assert None is self.unclear(*begun("a", Mode.EXPIRING, duration=duration), report)


class TestGains:
    """What a claim comes to hold since another one on its object holds it, or the object."""

    registered = event(Kind.CLAIM_REGISTERED, "a", **MADE)
    committed = event(Kind.CLAIM_COMMITTED, "a", footprint=2)
    accepted = event(Kind.CLAIM_ACCEPTED, "a", footprint=2)
    other = tuple(begun("b", **ON))
    both: frozenset[tuple[int, int | None]] = frozenset({(0, 10), (1, 11)})

    def test_commitment(self) -> None:
        """A commitment to the claim gains it, not one that means another object, nor its end."""
        known = (self.registered, *self.other)
        astray = event(Kind.CLAIM_COMMITTED, "a", footprint=2, object_id="another")
        steps = (self.committed, astray, event(Kind.CLAIM_RETIRED, "a", by="owner"))
        assert [self.both, set(), set()] == [held(said(*known, step)) for step in steps]

    def test_object(self) -> None:
        """A registry that comes to hold it gains it, or that its object or its cache is stated."""
        introduced = event(Kind.CLAIM_ACCEPTED, "a", footprint=2, **MADE)
        naive = said(introduced, *self.other)
        assert set() == held(naive)
        assert self.both == held(said(introduced, *self.other, self.registered))
        for name, value in ON.items():
            states = {n: v for n, v in MADE.items() if n != name}
            known = (event(Kind.CLAIM_REGISTERED, "a", **states), *self.other)
            told = event(Kind.CLAIM_MATERIALIZED, "a", **{name: value})
            assert set() == held(said(*known))
            assert self.both == held(said(*known, told))

    def test_no_object(self) -> None:
        """A claim of which no object is known is on none: a cache alone gains it nothing."""
        registered = event(Kind.CLAIM_REGISTERED, "a", **TWO)
        mine = event(Kind.CLAIM_COMMITTED, "a", footprint=2, content_keys=("x", "y"))
        retired = event(Kind.CLAIM_RETIRED, "a", by="owner")
        told = event(Kind.CLAIM_RELEASED, "a", by="owner", cache_identity="cache")
        assert set() == held(
            said(registered, mine, retired, *keyed([*self.other], ("x", "y")), told)
        )

    def test_extent(self) -> None:
        """A claim that is longer than was known gains what the object holds so far."""
        whole = Event(
            kind=Kind.BLOCK_CACHED, block_ids=(10, 11, 12, 13), positions=(0, 1, 2, 3), **ON
        )
        longer = event(Kind.CLAIM_ACCEPTED, "a", footprint=4)
        assert self.both == held(said(self.registered, whole))
        assert {*enumerate(range(10, 14))} == held(said(self.registered, whole, longer))

    def test_there(self) -> None:
        """Its predicate held as soon as a registry knows it, if at least so much is held."""
        filled = cached("a", 10, 11)
        accepted = event(Kind.CLAIM_ACCEPTED, "a", footprint=2, **MADE)
        before, after = said(filled, accepted), said(filled, accepted, self.registered)
        assert [False, True] == [each.pool.claims["a"].facts["there"] for each in (before, after)]
        more = Event(kind=Kind.BLOCK_CACHED, block_ids=(10, 11, 12), positions=(0, 1, 2), **ON)
        known = event(Kind.CLAIM_REGISTERED, "b", **MADE)
        registered = event(Kind.CLAIM_REGISTERED, "a", footprint=3, **MADE)
        claim = said(known, more, registered).pool.claims["a"]
        assert (3, True) == (claim.facts["lead"], claim.facts["there"])

    def test_measured(self) -> None:
        """What it gains was its own before: the claim was not away when a request arrived."""
        other = [*begun("b", TIERED, **ON), event(Kind.STORE_FINISHED, "b")]
        told = [self.committed, self.accepted, event(Kind.CLAIM_MATERIALIZED, "a")]
        reused = event(Kind.PREFIX_REUSED, "a", request_id="r")
        naive = said(self.registered, *other, arrives("r", 1), *told, reused, mode=TIERED)
        found = outcome_of(naive)
        assert "unexercised" == verdicts(found)["offload_restorability"]
        assert (set(), set()) == (having(found, "violated"), having(found, "inconclusive"))

    def test_stale(self) -> None:
        """What was placed before a gap may be gone, up to the last event before it; what is placed
        behind it is there.
        """
        told = [*self.other[:4], self.registered]
        opened = [said(*told, gap=gap).cases["a"].open for gap in (0, 4, 5)]
        assert [False, False, True] == [bool(each) for each in opened]

    def test_nobody_named(self) -> None:
        """Where lines are missing, if only before the first, a block that nobody named may be
        gone.
        """
        loaded = event(Kind.LOAD_FINISHED, "a", request_id="r", held=2)
        told = [self.registered, event(Kind.HOST_COPY_FOUND, "a"), arrives("r", 1), loaded]
        opened = [said(*told, self.committed, mode=TIERED, gap=gap).cases["a"] for gap in (0, 1)]
        assert [None, None] == [case.taint for case in opened]
        assert [False, True] == [bool(case.open) for case in opened]


def test_opened_again() -> None:
    """Numbers that begin anew with a mark are no step back: lines are missing before it."""
    order = Order()
    marks = [Line(at, mark=Mark.STREAM_OPENED, sequence=number) for at, number in ((1, 0), (2, 0))]
    assert [(False, False), (False, True)] == [order.take(mark) for mark in marks]
