"""Priorities: each eviction is judged where it happens, by what could have been taken instead."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.core import Streams
from monitor.input.records import Record, Stamp, at_line
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from tests.monitor.traces import Line, Trace, claim_of, judge, verdicts
from tests.monitor.traces_canonical import about, canonical, canonical_claim

RANKS = {"claim:a": 1, "claim:b": 2, "claim:c": 3}
FIRST = {claim: 100 * rank for claim, rank in RANKS.items()}
NAME = "priority_influence"


def known(claim: str, **fields: Any) -> Trace:
    """A ranked claim with four blocks, of which the predicate needs one."""
    asks = {"priority": RANKS[claim], **fields}
    trace = canonical_claim(claim, 4, 1, FIRST[claim], mode="soft_priority", **asks)
    return [trace[0], *trace[3:]]


def _loses(claim: str, block: int, lowest: int | None = None) -> tuple[Line, Line]:
    gone = canonical("block_evicted", block_ids=[FIRST[claim] + block], lowest_priority=lowest)
    return gone, about("claim_block_lost", claim)


def loses(claim: str, lowest: int | None = None, block: int = 3) -> Trace:
    """The claim loses a block where the lowest priority that could be taken was this, and that is
    told."""
    return list(_loses(claim, block, lowest))


def loses_all(claim: str) -> Trace:
    """It loses all its blocks, one after another, and each loss is reported."""
    told = ["claim_block_lost"] * 3 + ["claim_unmaterialized"]
    gone = [_loses(claim, block)[0] for block in (3, 2, 1, 0)]
    return [line for g, kind in zip(gone, told, strict=True) for line in (g, about(kind, claim))]


def ranked(*lines: Line) -> Trace:
    """All three claims, and what becomes of them."""
    return [*(line for claim in RANKS for line in known(claim)), *lines]


def found(trace: Trace) -> dict[str, str]:
    """The verdict on influence, of each claim."""
    report = judge(trace, Mode.SOFT_PRIORITY)
    return {claim: verdicts(report, claim)[NAME] for claim in RANKS}


def why(trace: Trace, claim: str) -> str:
    """What is said of one claim."""
    return claim_of(judge(trace, Mode.SOFT_PRIORITY), claim).obligations[NAME].why


UNSTATED = TOOK = NOBODY = UNKNOWN = DISPUTED = BLURRED = (
    "what block_evicted does not state decides priority_influence (lower_priority_available)"
)


class TestChoice:
    """A claim that lost a block did so wrongly where one of a lower claim could have been taken."""

    @pytest.mark.parametrize(
        ("lowest", "verdict"),
        [(1, "violated"), (2, "violated"), (3, "unexercised"), (9, "inconclusive")],
    )
    def test_highest(self, lowest: int, verdict: str) -> None:
        """The highest claim loses: violated at once, unless nothing lower could be taken.

        That nothing as low as what was taken could be is no fact.
        """
        trace = ranked(*loses("claim:c", lowest))
        assert {
            "claim:a": "unexercised",
            "claim:b": "unexercised",
            "claim:c": verdict,
        } == found(trace)

    @pytest.mark.parametrize(("lowest", "verdict"), [(1, "violated"), (2, "satisfied")])
    def test_middle(self, lowest: int, verdict: str) -> None:
        """The middle claim loses before the highest: rightly where the lowest could not go."""
        trace = ranked(*loses("claim:b", lowest))
        assert verdict == found(trace)["claim:b"]

    def test_lowest(self) -> None:
        """The lowest claim loses: no statement is needed."""
        assert "satisfied" == found(ranked(*loses("claim:a")))["claim:a"]
        assert "satisfied" == found(ranked(*loses("claim:a", 1)))["claim:a"]

    @pytest.mark.parametrize("claim", ["claim:b", "claim:c"])
    def test_unstated(self, claim: str) -> None:
        """A lower claim holds blocks, and the stream does not say whether they could go."""
        trace = ranked(*loses(claim))
        assert ("inconclusive", UNSTATED) == (found(trace)[claim], why(trace, claim))

    def test_nothing_lower_is_left(self) -> None:
        """Where no lower claim holds a block no statement is needed."""
        trace = ranked(*loses_all("claim:a"), *loses("claim:b"), *loses_all("claim:b"))
        assert "satisfied" == found(trace)["claim:b"]
        assert "unexercised" == found([*trace, *loses("claim:c")])["claim:c"]

    def test_nobody_known(self) -> None:
        """A priority could be taken that no claim is known to hold, below one that held blocks."""
        trace = [*known("claim:a"), *known("claim:b", priority=7), *known("claim:c", priority=9)]
        trace += [*loses_all("claim:b"), *loses("claim:c", 5)]
        assert ("inconclusive", NOBODY) == (found(trace)["claim:c"], why(trace, "claim:c"))

    def test_another_than_stated(self) -> None:
        """The lowest that could be taken is nobody's known, and one between is held."""
        trace = [*known("claim:b"), *known("claim:c"), *known("claim:a"), *loses("claim:c", 0)]
        assert "violated" == found(trace)["claim:c"]

    def test_one_rank(self) -> None:
        """Claims of one rank may go in any order, stated or not."""
        equal = [*known("claim:a", priority=3), *known("claim:b", priority=3), *known("claim:c")]
        trace = [*equal, *loses("claim:c"), *loses("claim:b", 3), *loses("claim:a")]
        assert {"unexercised"} == set(found(trace).values())

    @pytest.mark.parametrize("order", list(permutations(RANKS)))
    def test_order(self, order: tuple[str, ...]) -> None:
        """No order of first losses is kept: what each loss could have spared is what counts."""
        right = ranked(*(line for claim in order for line in loses(claim, RANKS[claim])))
        expected = dict.fromkeys(("claim:a", "claim:b"), "satisfied")
        assert expected | {"claim:c": "unexercised"} == found(right)
        wrong = ranked(*(line for claim in order for line in loses(claim, 1)))
        expected = {"claim:a": "satisfied", "claim:b": "violated", "claim:c": "violated"}
        assert expected == found(wrong)

    @pytest.mark.parametrize("lowest", [(1, 3), (3, 1), (1, None)])
    def test_once_is_enough(self, lowest: tuple[int, int | None]) -> None:
        """One loss that passed over a lower claim is a breach, whatever the others did."""
        losses = [loses("claim:c", p, block) for p, block in zip(lowest, (3, 2), strict=True)]
        assert "violated" == found(ranked(*losses[0], *losses[1]))["claim:c"]

    def test_unknown_first(self) -> None:
        """Once it is unknown whether a loss was right, a later breach is not told apart from it."""
        trace = ranked(*loses("claim:c"), *loses("claim:c", 1, block=2))
        assert "inconclusive" == found(trace)["claim:c"]

    def test_registered_later(self) -> None:
        """A claim that was registered since was not passed over, and not spared."""
        early = [*known("claim:b"), *known("claim:a"), *loses("claim:a", 1)]
        assert "satisfied" == found([*early, *known("claim:c")])["claim:a"]
        alone = [*known("claim:a"), *loses("claim:a"), *known("claim:b"), *known("claim:c")]
        assert "unexercised" == found(alone)["claim:a"]
        last = [*known("claim:c"), *loses("claim:c"), *known("claim:a"), *known("claim:b")]
        assert "unexercised" == found(last)["claim:c"]

    def test_no_priority(self) -> None:
        """Of a claim that states no priority nobody knows which others it may outlast: neither
        what it loses nor what it keeps is judged."""
        plain = [*known("claim:a"), *known("claim:b", priority=None), *known("claim:c")]
        trace = [*plain, *loses("claim:b", 1)]
        assert ("inconclusive", UNKNOWN) == (found(trace)["claim:b"], why(trace, "claim:b"))
        report = claim_of(judge(trace, Mode.SOFT_PRIORITY), "claim:b")
        assert "RC301" == report.obligations[NAME].code
        only = [*plain, *loses_all("claim:a")]
        trace = [*only, *loses("claim:c")]
        assert ("inconclusive", UNKNOWN) == (found(trace)["claim:c"], why(trace, "claim:c"))
        trace = [*only, *loses("claim:c", 2)]
        assert ("inconclusive", NOBODY) == (found(trace)["claim:c"], why(trace, "claim:c"))
        assert "unexercised" == found([*only, *loses("claim:c", 3)])["claim:c"]
        assert "unexercised" == found([*only, *loses_all("claim:b"), *loses("claim:c")])["claim:c"]
        assert "violated" == found([*plain, *loses("claim:c", 1)])["claim:c"]

    def test_priority_is_stated_late(self) -> None:
        """A claim has a place among the others from the statement of its priority on."""
        late = about("claim_accepted", "claim:b", footprint=4, priority=2)
        plain = [*known("claim:b", priority=None), *known("claim:c"), *known("claim:a")]
        trace = [*plain, *loses_all("claim:a"), late, *loses("claim:c", 2)]
        assert "violated" == found(trace)["claim:c"]

    def test_another_mode_without_priority(self) -> None:
        """A claim of another mode that states none is no rival."""
        plain = known("claim:b", priority=None)
        plain[0]["mode"] = "best_effort"
        trace = [*known("claim:c"), *plain, *loses("claim:c")]
        judged = verdicts(judge(trace, Mode.SOFT_PRIORITY), "claim:c")
        assert "unexercised" == judged[NAME]

    def test_nobody_is_known_to_hold(self) -> None:
        """The stream says that a block of lower priority could go, and no claim of such a one is
        known, or the one that is holds nothing any more."""
        trace = ranked(*loses_all("claim:a"), *loses_all("claim:b"), *loses("claim:c", 1))
        assert ("inconclusive", NOBODY) == (found(trace)["claim:c"], why(trace, "claim:c"))
        assert "inconclusive" == found(ranked(*loses("claim:a", 0)))["claim:a"]


class TestTwoPriorities:
    """Of a claim that states two priorities nobody knows which holds."""

    def again(self, claim: str, priority: int, kind: str = "claim_registered") -> Trace:
        """Another statement of its priority."""
        if kind == "claim_accepted":
            return [about(kind, claim, priority=priority, mode="soft_priority", footprint=4)]
        return known(claim, priority=priority)[:1]

    @pytest.mark.parametrize("kind", ["claim_registered", "claim_accepted"])
    @pytest.mark.parametrize(("first", "then"), [(3, 0), (0, 3)])
    @pytest.mark.parametrize("lowest", [None, 1, 3])
    def test_loser(self, kind: str, first: int, then: int, lowest: int | None) -> None:
        """What its own loss shows is inconclusive, whichever is stated first."""
        claims = [*known("claim:c", priority=first), *known("claim:a"), *known("claim:b")]
        trace = [*claims, *self.again("claim:c", then, kind), *loses("claim:c", lowest)]
        assert ("inconclusive", DISPUTED) == (found(trace)["claim:c"], why(trace, "claim:c"))

    def test_repeated(self) -> None:
        """The same priority once more, or none, changes nothing."""
        again = [*self.again("claim:c", 3), *known("claim:c", priority=None)[:1]]
        assert "violated" == found(ranked(*again, *loses("claim:c", 1)))["claim:c"]

    @pytest.mark.parametrize(("first", "then"), [(9, 1), (1, 9)])
    def test_rival(self, first: int, then: int) -> None:
        """Whether it is lower than another one is unknown; where nothing lower could go it does not
        matter."""
        claims = [*known("claim:c"), *known("claim:a", priority=first), *known("claim:b")]
        claims += [*loses_all("claim:b"), *self.again("claim:a", then)]
        trace = [*claims, *loses("claim:c", 1)]
        assert ("inconclusive", NOBODY) == (found(trace)["claim:c"], why(trace, "claim:c"))
        trace = [*claims, *loses("claim:c")]
        assert ("inconclusive", UNKNOWN) == (found(trace)["claim:c"], why(trace, "claim:c"))
        assert "unexercised" == found([*claims, *loses("claim:c", 3)])["claim:c"]

    def test_taken_with_it(self) -> None:
        """A block of it goes by the same event: it may be the lowest that could."""
        claims = ranked(*self.again("claim:b", 9))
        for lowest in (1, 3):
            gone = [FIRST["claim:b"] + 3, FIRST["claim:c"] + 3]
            trace = [*claims, canonical("block_evicted", block_ids=gone, lowest_priority=lowest)]
            assert ("inconclusive", BLURRED) == (found(trace)["claim:c"], why(trace, "claim:c"))

    def test_spares_nobody(self) -> None:
        """That it keeps its blocks shows nothing of a lower claim."""
        claims = [*known("claim:a"), *known("claim:b"), *self.again("claim:b", 9)]
        trace = [*claims, *known("claim:c", priority=0), *loses("claim:a", 1)]
        assert "unexercised" == found(trace)["claim:a"]

    def test_violated_before(self) -> None:
        """A breach that was found stays."""
        trace = ranked(*loses("claim:c", 1), *self.again("claim:c", 0))
        assert "violated" == found(trace)["claim:c"]


class TestOneEvent:
    """There is no order among the blocks that one event took: it is judged as a whole."""

    def both(self, *claims: str, lowest: int | None = None, keeps: int = 0) -> Trace:
        """One event takes the blocks of these claims but so many, and that is reported."""
        gone = [FIRST[c] + n for c in claims for n in range(keeps, 4)]
        kind = "claim_block_lost" if keeps else "claim_unmaterialized"
        event = canonical("block_evicted", block_ids=gone, lowest_priority=lowest)
        return [event, *(about(kind, claim) for claim in claims)]

    def test_last_ones(self) -> None:
        """Where the lower claim lost all its blocks by it, none was passed over."""
        trace = ranked(*self.both("claim:a", "claim:c", lowest=2))
        verdict = found(trace)  # the lowest that could go was taken: it was no higher than that
        assert ("satisfied", "inconclusive") == (verdict["claim:a"], verdict["claim:c"])
        trace = ranked(*self.both("claim:a", "claim:b"))
        assert {"claim:a": "satisfied", "claim:b": "satisfied"} == {
            claim: verdict for claim, verdict in found(trace).items() if claim != "claim:c"
        }

    def test_took_the_lowest(self) -> None:
        """It took a block of the lowest priority that could go: was there another?"""
        trace = ranked(*self.both("claim:a", "claim:c", lowest=1, keeps=2))
        assert ("inconclusive", TOOK) == (found(trace)["claim:c"], why(trace, "claim:c"))
        assert "satisfied" == found(trace)["claim:a"]

    def test_took_another(self) -> None:
        """It took a block between, and left one that could go."""
        trace = ranked(*self.both("claim:b", "claim:c", lowest=1, keeps=2))
        verdict = found(trace)
        assert ("violated", "violated") == (verdict["claim:b"], verdict["claim:c"])

    def test_shared_block(self) -> None:
        """A block that both hold is lost by both."""
        shared = about("block_cached", "claim:c", block_ids=[FIRST["claim:a"] + 3], positions=[3])
        own = canonical("block_evicted", block_ids=[FIRST["claim:c"] + 3], lowest_priority=3)
        gone = canonical("block_evicted", block_ids=[FIRST["claim:a"] + 3], lowest_priority=1)
        told = [about("claim_block_lost", claim) for claim in ("claim:a", "claim:c")]
        verdict = found(ranked(shared, own, gone, *told))
        assert ("satisfied", "inconclusive") == (verdict["claim:a"], verdict["claim:c"])

    def test_all_told(self) -> None:
        """Each loss is reported after it, in any order."""
        report = judge(ranked(*self.both(*RANKS, keeps=3)), Mode.SOFT_PRIORITY)
        assert "satisfied" == report.obligations["claim_scoped_telemetry"]

    def test_told_late(self) -> None:
        """A loss that is told after another claim has lost blocks is told too late."""
        (first, said), (then, after) = _loses("claim:a", 3), _loses("claim:b", 3)
        report = judge(ranked(first, then, said, after), Mode.SOFT_PRIORITY)
        assert "violated" == verdicts(report, "claim:a")["claim_scoped_telemetry"]
        assert "satisfied" == verdicts(report, "claim:b")["claim_scoped_telemetry"]


class TestOver:
    """A watched claim is over when its entry ends, if its owner or its duration ended it."""

    def ends(self, claim: str, by: str, *, elapsed: bool = False) -> Trace:
        """The entry of the claim ends."""
        clock = [about("duration_elapsed", claim)] if elapsed else []
        return [*clock, about("claim_retired", claim, by=by)]

    @pytest.mark.parametrize(
        ("by", "elapsed", "over"),
        [("tenant:1", False, True), ("runtime", True, True), ("runtime", False, False)],
    )
    def test_over(self, by: str, elapsed: bool, over: bool) -> None:
        """Then its losses are nobody's; a runtime that merely drops the entry goes on owing."""
        quiet = canonical("block_evicted", block_ids=[FIRST["claim:c"] + 3])
        end = self.ends("claim:c", by, elapsed=elapsed)
        quiet["lowest_priority"] = 1
        claims = [line for each in RANKS for line in known(each, duration="60 steps")]
        trace = [*claims, *end, quiet, *loses("claim:a")]
        judged = judge(trace, Mode.SOFT_PRIORITY)
        expected = ("unexercised", "satisfied") if over else ("violated", "satisfied")
        assert expected == tuple(
            verdicts(judged, claim)[name]
            for claim, name in (
                ("claim:c", "priority_influence"),
                ("claim:a", "claim_scoped_telemetry"),
            )
        )

    def test_reset(self) -> None:
        """A reset afterwards takes nothing of it."""
        trace = [*ranked(), *self.ends("claim:c", "tenant:1"), canonical("block_lost")]
        judged = judge(trace, Mode.SOFT_PRIORITY)
        assert "satisfied" == verdicts(judged, "claim:c")["claim_scoped_telemetry"]
        assert "pending" == verdicts(judged, "claim:a")["claim_scoped_telemetry"]

    def test_owed(self) -> None:
        """What was owed before the end stays owed."""
        gone, _ = _loses("claim:c", 3)
        judged = judge([*ranked(), gone, *self.ends("claim:c", "tenant:1")], Mode.SOFT_PRIORITY)
        assert "pending" == verdicts(judged, "claim:c")["claim_scoped_telemetry"]


_RANKS = st.lists(st.none() | st.integers(0, 3), min_size=2, max_size=5)
_TURNS = st.lists(
    st.tuples(
        st.sets(st.integers(0, 4), min_size=1, max_size=3),
        st.booleans(),
        st.none() | st.integers(0, 4),
    ),
    max_size=20,
)


class Plain:
    """The rule once more: claims are gone through, and nothing is kept in order."""

    def __init__(self, ranks: list[int | None]) -> None:
        self.ranks, self.blocks = ranks, [3] * len(ranks)
        self.said = ["unexercised"] * len(ranks)

    def evict(self, losers: list[int], lowest: int | None) -> None:
        """One event takes a block of each of these."""
        for loser in losers:
            self.blocks[loser] -= 1
        held = [p for p, n in zip(self.ranks, self.blocks, strict=True) if p is not None and n]
        lost = [self.ranks[loser] for loser in losers]
        for loser in losers:
            rank = self.ranks[loser]
            if self.said[loser] in ("violated", "inconclusive"):
                continue
            if rank is None:
                self.said[loser] = "inconclusive"
                continue
            unsure = any(p is None and n for p, n in zip(self.ranks, self.blocks, strict=True))
            rivals = unsure or any(p < rank for p in held)
            least = min(p for p in lost if p is not None)
            took = None not in lost and lowest == least and not rivals
            if lowest is None:
                doubt = rivals
            elif lowest >= rank:
                doubt = rivals and (lowest > least or None in lost)
            else:
                doubt = not took
            if doubt:
                known = lowest is not None and None not in lost and lowest < least
                between = known and any(lowest is not None and lowest <= p < rank for p in held)
                self.said[loser] = "violated" if between else "inconclusive"
            elif any(p > rank for p in held):
                self.said[loser] = "satisfied"


class TestManyRanks:
    """Any number of claims, ranks and losses."""

    @settings(max_examples=300, derandomize=True, database=None)
    @given(_RANKS, _TURNS)
    def test_plain(
        self, ranks: list[int | None], turns: list[tuple[set[int], bool, int | None]]
    ) -> None:
        """What is said of each claim is what the rule says, gone through plainly."""
        streams, plain, line = Streams(Mode.SOFT_PRIORITY), Plain(ranks), 0

        def take(kind: Kind, **fields: Any) -> None:
            nonlocal line
            line += 1
            event, at = Event(kind=kind, **fields), at_line("f", line)
            streams.take(Record(at, Stamp("run", None, None), ((event, at),)))

        for number, rank in enumerate(ranks):
            about_it: dict[str, Any] = {"claim_id": f"claim:{number}"}
            about_it["object_id"] = f"object:{number}"
            terms: dict[str, Any] = {"predicate": "leading_prefix_at_least(1)", "priority": rank}
            take(Kind.CLAIM_REGISTERED, **about_it, **terms, cache_identity="cache")
            ids = tuple(100 * number + n for n in range(3))
            take(Kind.BLOCK_CACHED, **about_it, block_ids=ids, positions=(0, 1, 2))
        for claims, evicts, lowest in turns:
            chosen = sorted(c for c in claims if c < len(ranks))
            if evicts:
                losers = [c for c in chosen if plain.blocks[c]]
                gone = tuple(100 * c + plain.blocks[c] - 1 for c in losers)
                if losers:
                    take(Kind.BLOCK_EVICTED, block_ids=gone, lowest_priority=lowest)
                    plain.evict(losers, lowest)
                continue
            for c in (c for c in chosen if plain.blocks[c] < 3):
                place = plain.blocks[c]
                what: dict[str, Any] = {"claim_id": f"claim:{c}", "object_id": f"object:{c}"}
                blocks: dict[str, Any] = {"block_ids": (100 * c + place,), "positions": (place,)}
                take(Kind.BLOCK_CACHED, **what, **blocks)
                plain.blocks[c] += 1
        (stream,) = streams
        said = [str(claim.findings()[NAME].verdict) for claim in stream.judge.claims.values()]
        assert plain.said == said
