"""Priorities of more than two claims: every pair is compared, and no third claim hides it."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.claim import ClaimRun
from monitor.compile import compile_mode
from monitor.ranks import Ranks
from monitor.records import At
from monitor.stream import Stream
from monitor.view import View
from spec.alphabet import Kind
from spec.claims import Mode
from spec.events import Event
from spec.modes import Bundle
from tests.monitor.traces import Line, Trace, judge, verdicts
from tests.monitor.traces_canonical import about, canonical, canonical_claim

RANKS = {"claim:a": 1, "claim:b": 2, "claim:c": 3}
FIRST = {claim: 100 * rank for claim, rank in RANKS.items()}


def known(claim: str, **fields: int) -> Trace:
    """A ranked claim with four blocks, of which the predicate needs one."""
    asks = {"priority": RANKS[claim], **fields}
    trace = canonical_claim(claim, 4, 1, FIRST[claim], mode="soft_priority", **asks)
    return [trace[0], *trace[3:]]


def loses(*claims: str, block: int = 3) -> Trace:
    """Each of these claims loses its last block, and that is told."""
    return [line for claim in claims for line in _loses(claim, block)]


def _loses(claim: str, block: int) -> tuple[Line, Line]:
    gone = [FIRST[claim] + block]
    return canonical("block_evicted", block_ids=gone), about("claim_block_lost", claim)


def ranked(*losses: str) -> Trace:
    return [*(line for claim in RANKS for line in known(claim)), *loses(*losses)]


def found(trace: Trace) -> dict[str, str]:
    """The verdict on influence, of each claim."""
    report = judge(trace, Mode.SOFT_PRIORITY)
    return {claim: verdicts(report, claim)["priority_influence"] for claim in RANKS}


class TestThreeRanks:
    """Of any two that lost blocks the lower went first, or both are in breach."""

    @pytest.mark.parametrize("order", list(permutations(RANKS)))
    def test_all(self, order: tuple[str, ...]) -> None:
        """Only the order of the ranks is kept; a claim is in breach if one of its pairs is."""
        pairs = [(one, other) for i, one in enumerate(order) for other in order[i + 1 :]]
        wrong = {claim for pair in pairs if RANKS[pair[0]] > RANKS[pair[1]] for claim in pair}
        expected = {c: "violated" if c in wrong else "satisfied" for c in RANKS}
        assert expected == found(ranked(*order))

    @pytest.mark.parametrize("order", list(permutations(RANKS, 2)))
    def test_two(self, order: tuple[str, str]) -> None:
        """Of the pair that lost something is known, of the third nothing."""
        one, other = order
        kept = "satisfied" if RANKS[one] < RANKS[other] else "violated"
        expected = {c: kept if c in order else "unexercised" for c in RANKS}
        assert expected == found(ranked(*order))

    def test_again(self) -> None:
        """What a claim loses later changes nothing about who went first."""
        trace = [*ranked("claim:a", "claim:b"), *loses("claim:a", block=2)]
        assert found(ranked("claim:a", "claim:b")) == found(trace)

    def test_one_rank(self) -> None:
        """Claims of one rank may go in any order."""
        equal = [*known("claim:a", priority=3), *known("claim:b", priority=3), *known("claim:c")]
        trace = [*equal, *loses("claim:c", "claim:b", "claim:a")]
        assert {"unexercised"} == set(found(trace).values())

    def test_one_event(self) -> None:
        """Where one event takes blocks of both, neither went first, and both are told after it."""
        both = canonical("block_evicted", block_ids=[FIRST[c] + 3 for c in RANKS])
        told = [about("claim_block_lost", claim) for claim in RANKS]
        assert {"unexercised"} == set(found([*ranked(), both, *told]).values())
        report = judge([*ranked(), both, *told], Mode.SOFT_PRIORITY)
        assert "satisfied" == report.obligations["claim_scoped_telemetry"]

    def test_told_late(self) -> None:
        """A loss that is told after another claim has lost blocks is told too late."""
        (first, said), (then, after) = _loses("claim:a", 3), _loses("claim:b", 3)
        report = judge([*ranked(), first, then, said, after], Mode.SOFT_PRIORITY)
        assert "violated" == verdicts(report, "claim:a")["claim_scoped_telemetry"]
        assert "satisfied" == verdicts(report, "claim:b")["claim_scoped_telemetry"]

    def test_registered_later(self) -> None:
        """A pair is compared from when both were registered: what was lost before is no matter."""
        early = [*known("claim:c"), *loses("claim:c"), *known("claim:a"), *known("claim:b")]
        assert {"unexercised"} == set(found([*early, *loses("claim:a")]).values())
        lost_again = [*early, *loses("claim:c", block=2), *loses("claim:a")]
        assert ("violated", "violated") == (
            found(lost_again)["claim:c"],
            found(lost_again)["claim:a"],
        )
        in_order = [*early, *loses("claim:a"), *loses("claim:c", block=2)]
        assert {"satisfied", "unexercised"} == set(found(in_order).values())


def passes(claim: str, lowest: int | None, block: int = 3) -> Trace:
    """The claim loses a block where the lowest priority that could be taken was this."""
    gone, told = _loses(claim, block)
    return [{**gone, "lowest_priority": lowest}, told]


class TestChoice:
    """A higher claim that lost first did wrong where one of a lower could have been taken."""

    @pytest.mark.parametrize(
        ("lowest", "kept"), [(None, "violated"), (1, "violated"), (2, "unexercised")]
    )
    def test_lowest(self, lowest: int | None, kept: str) -> None:
        """Judged against each lower claim by what could be taken then."""
        trace = [*ranked(), *passes("claim:b", lowest), *loses("claim:a")]
        assert {"claim:a": kept, "claim:b": kept, "claim:c": "unexercised"} == found(trace)

    def test_between(self) -> None:
        """A block of the middle claim was passed over, and none of the lowest."""
        trace = [*ranked(), *passes("claim:c", 2), *loses("claim:a", "claim:b")]
        assert {"claim:a": "satisfied", "claim:b": "violated", "claim:c": "violated"} == found(
            trace
        )

    @pytest.mark.parametrize(("first", "then"), [(1, 3), (3, 1), (2, 1)])
    def test_once_is_enough(self, first: int, then: int) -> None:
        """One loss that passed over a lower claim is a breach, whatever the others did."""
        over = [*passes("claim:c", first), *passes("claim:c", then, block=2)]
        assert "violated" == found([*ranked(), *over, *loses("claim:a")])["claim:a"]

    def test_registered_later(self) -> None:
        """A claim that was registered since was not passed over."""
        early = [*known("claim:b"), *known("claim:c"), *passes("claim:c", 1)]
        trace = [*early, *known("claim:a"), *passes("claim:c", 3, block=2), *loses("claim:a")]
        assert "unexercised" == found(trace)["claim:a"]

    def test_in_one_event(self) -> None:
        """A claim that is passed over, and then loses together with the other, was passed over."""
        both = canonical("block_evicted", block_ids=[FIRST[c] + 2 for c in ("claim:b", "claim:a")])
        told = [about("claim_block_lost", claim) for claim in ("claim:a", "claim:b")]
        trace = [*ranked(), *passes("claim:b", 1), both, *told]
        assert ("violated", "violated") == (found(trace)["claim:a"], found(trace)["claim:b"])

    def test_too_many(self) -> None:
        """Priorities without end are not followed, and the claim is not concluded about."""
        trace = [*known("claim:c", priority=1000), *known("claim:a")]
        for lowest in range(2, 80):
            trace += [*about_block(300 + 4 + lowest), *passes_block(300 + 4 + lowest, lowest)]
        verdict = verdicts(judge(trace, Mode.SOFT_PRIORITY), "claim:c")
        assert "inconclusive" == verdict["priority_influence"]


def about_block(block: int) -> Trace:
    """The highest claim gains a block behind the others."""
    return [about("block_cached", "claim:c", block_ids=[block], positions=[block])]


def passes_block(block: int, lowest: int) -> Trace:
    """It loses it again."""
    gone = canonical("block_evicted", block_ids=[block], lowest_priority=lowest)
    return [gone, about("claim_block_lost", "claim:c")]


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
        trace = [*ranked(), *end, quiet, *loses("claim:a")]
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


_LOWEST = st.none() | st.integers(0, 3)
_TURNS = st.tuples(st.integers(0, 5), st.integers(0, 3), st.booleans(), _LOWEST)


class Naive(Ranks):
    """Tells every pair anew, with each loss."""

    def _tell(self, claim: ClaimRun, wrong: bool, loss: View, *, rival_first: bool) -> None:
        self._told.clear()
        super()._tell(claim, wrong, loss, rival_first=rival_first)


class TestManyRanks:
    @settings(max_examples=200, deadline=None, derandomize=True, database=None)
    @given(st.lists(_TURNS, max_size=30))
    def test_naive(self, turns: list[tuple[int, int, bool, int | None]]) -> None:
        """What weighs no more than what was told changes nothing, whoever loses and comes when."""
        compiled = compile_mode(Mode.SOFT_PRIORITY, Bundle.CONTRACT)
        one, other = Stream(compiled, "run"), Stream(compiled, "run")
        other._census.ranks = Naive()
        for line, (number, rank, fresh, lowest) in enumerate(turns):
            claim = f"claim:{number}"
            predicate = "leading_prefix_at_least(1)"
            told: dict[str, Any] = {"claim_id": claim, "object_id": claim}
            known: dict[str, Any] = {"predicate": predicate, "priority": rank}
            for event in (
                Event(kind=Kind.CLAIM_REGISTERED, **told, **known),
                Event(kind=Kind.BLOCK_CACHED, **told, block_ids=(number,), positions=(0,)),
                Event(
                    kind=Kind.BLOCK_EVICTED,
                    block_ids=(number, rank),
                    lowest_priority=lowest,
                ),
            )[not fresh :]:
                for stream in (one, other):
                    stream.take(event, At("f", line))
        for name, claim_run in one.claims.items():
            assert dict(claim_run.findings()) == dict(other.claims[name].findings())

    def test_too_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Beyond so many losers nothing is concluded of ranks, and a breach that was seen stays."""
        monkeypatch.setattr("monitor.ranks.RANKED", 2)
        right = dict.fromkeys(RANKS, "inconclusive")
        assert right == found(ranked("claim:a", "claim:b", "claim:c"))
        assert right | dict.fromkeys(("claim:a", "claim:b"), "violated") == found(
            ranked("claim:b", "claim:a", "claim:c")
        )
