"""What an event costs, in steps of observers: nothing here is timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from monitor.evaluate import claim as claim_module
from monitor.evaluate.claim import ClaimRun
from monitor.evaluate.compile import compile_mode
from monitor.evaluate.partial_observation import POOL
from monitor.input.records import at_line
from monitor.pool import blocks, holders
from monitor.pool.blocks import Blocks, Held
from monitor.requests import ledger as requests
from monitor.stream.projection import Stream
from spec.claims.claim import Mode
from spec.contract.modes import Bundle
from spec.events.alphabet import Kind
from spec.events.canonical import Event

CLAIMS = [f"claim:{number}" for number in range(12)]
REQUESTS = [f"request:{number}" for number in range(9)]
USABLE = 2 * len(CLAIMS) + 5


class Counted:
    """A stream that counts the steps of its observers."""

    def __init__(self, mode: Mode) -> None:
        compiled = compile_mode(mode, Bundle.CONTRACT)
        self.steps = 0
        self.width = len(compiled.observers)
        counted = tuple(self._counting(step) for step in compiled.steps)
        self.stream = Stream(replace(compiled, steps=counted), "run")
        self.line = 0

    def _counting(self, step: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            self.steps += 1
            return step(*arguments)

        return counted

    def take(self, kind: Kind, **fields: Any) -> int:
        """One event; how many steps it took."""
        before, self.line = self.steps, self.line + 1
        self.stream.take(Event(kind=kind, **fields), at_line("f", self.line))
        return self.steps - before

    def crowd(self) -> dict[str, Any]:
        """Claims of two blocks each, all on one object; what names that object."""
        about = {"object_id": "o", "cache_identity": "m"}
        for claim in CLAIMS:
            predicate = "leading_prefix_at_least(1)"
            self.take(Kind.CLAIM_REGISTERED, claim_id=claim, **about, predicate=predicate)
            self.take(Kind.CLAIM_COMMITTED, claim_id=claim, footprint=2)
            self.take(Kind.CLAIM_ACCEPTED, claim_id=claim, footprint=2)
        return about

    def fill(self, **fields: Any) -> None:
        """Claims of two blocks each, all there and all told."""
        for number, claim in enumerate(CLAIMS):
            about: dict[str, Any] = {"claim_id": claim, "object_id": claim}
            predicate = "leading_prefix_at_least(1)"
            self.take(Kind.CLAIM_REGISTERED, **about, predicate=predicate, **fields)
            self.take(Kind.CLAIM_COMMITTED, **about, footprint=2)
            self.take(Kind.CLAIM_ACCEPTED, **about, footprint=2)
            blocks = (2 * number, 2 * number + 1)
            self.take(Kind.BLOCK_CACHED, **about, block_ids=blocks, positions=(0, 1))
            self.take(Kind.CLAIM_MATERIALIZED, **about)

    def arrive(self, request: str, needed: int) -> int:
        arrived = Kind.REQUEST_ARRIVED
        return self.take(arrived, request_id=request, needed=needed, usable=USABLE)

    def finish(self, request: str) -> int:
        return self.take(Kind.REQUEST_FINISHED, request_id=request)


class Sought(dict[str, ClaimRun]):
    """Claims that are sought by their ids, and never gone through."""

    def __iter__(self) -> Iterator[str]:
        raise AssertionError

    keys = values = items = __iter__  # type: ignore[assignment]


class TestCost:
    def test_a_request_that_fits(self) -> None:
        """A request that fits beside all claims costs no step of a claim that owes nothing."""
        run = Counted(Mode.HARD_PROTECTED)
        run.fill()
        assert [0] * len(REQUESTS) == [run.arrive(name, 5) for name in REQUESTS]
        assert [0] * len(REQUESTS) == [run.finish(name) for name in REQUESTS]

    def test_after_a_missing_line(self) -> None:
        """After a missing line a request that fits beside all claims moves none, and is in hand of
        none; the first one alone throws doubt on each claim, once.
        """
        run = Counted(Mode.HARD_PROTECTED)
        run.stream.lose(at_line("f", 1), "a line is missing")
        run.fill()
        moved: list[ClaimRun] = []
        run.stream.watch(moved)
        for name in REQUESTS:
            run.arrive(name, 5)
            run.finish(name)
        assert [] == moved
        assert [0] * len(CLAIMS) == [len(claim.requests) for claim in run.stream.claims.values()]
        assert all(POOL <= claim.unknown for claim in run.stream.claims.values())

    def test_new_claims_after_a_missing_line(self) -> None:
        """Each request after a missing line throws doubt on those that came since the last one."""
        run = Counted(Mode.HARD_PROTECTED)
        run.stream.lose(at_line("f", 1), "a line is missing")
        for number, claim in enumerate(CLAIMS):
            about = {"claim_id": claim, "object_id": claim}
            run.take(Kind.CLAIM_REGISTERED, **about, predicate="leading_prefix_at_least(1)")
            run.arrive(f"request:{number}", 5)  # nothing is committed to yet
            run.take(Kind.CLAIM_COMMITTED, **about, footprint=2)
            assert not POOL <= run.stream.claims[claim].unknown
            run.finish(f"request:{number}")
            assert POOL <= run.stream.claims[claim].unknown

    def test_needs_that_are_not_stated(self) -> None:
        """Where a request does not state what it needs, it is not asked what the claims share."""
        run = Counted(Mode.HARD_PROTECTED)
        run.fill()
        run.take(Kind.REQUEST_ARRIVED, request_id="request")
        run.finish("request")
        assert run.stream.store.room._ends is None

    def test_claims_that_are_not_concerned(self) -> None:
        """What is said of a request is looked up among the claims, who are not gone through, also
        where it names one that is not there."""
        run = Counted(Mode.HARD_PROTECTED)
        run.fill()
        run.stream._store.claims = Sought(run.stream.claims)
        run.arrive("request:1", 5)
        run.take(Kind.REQUEST_REFUSED, request_id="request:1", blocking_claim_ids=("claim:no",))
        run.finish("request:1")
        with pytest.raises(AssertionError):
            run.stream.claims.keys()

    def test_a_claim_that_owes(self) -> None:
        """Its end is told to the one claim that owes something by then."""
        run = Counted(Mode.HARD_PROTECTED)
        run.fill()
        run.arrive("request:1", 5)
        run.take(Kind.BLOCK_LOST, block_ids=(0,))
        assert 0 < run.finish("request:1") <= 3 * run.width

    def test_open_requests(self) -> None:
        """What one conflicting request costs does not grow with the others that are open."""
        apart, together = Counted(Mode.HARD_PROTECTED), Counted(Mode.HARD_PROTECTED)
        apart.fill()
        together.fill()
        one = [(apart.arrive(name, 6), apart.finish(name)) for name in REQUESTS]
        arrivals = [together.arrive(name, 6) for name in REQUESTS]
        ends = [together.finish(name) for name in REQUESTS]
        assert one == list(zip(arrivals, ends, strict=True))

    @pytest.mark.interpreted
    def test_nameless_loads(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A load that names nothing throws doubt on claims that the last one did not."""
        doubted: list[str] = []
        distrust = ClaimRun.distrust

        def counted(claim: ClaimRun, *arguments: Any) -> None:
            doubted.append(claim.claim_id)
            distrust(claim, *arguments)

        monkeypatch.setattr(ClaimRun, "distrust", counted)
        run = Counted(Mode.OFFLOADABLE)
        run.fill()
        for request in REQUESTS:
            run.take(Kind.LOAD_FINISHED, request_id=request)
        assert CLAIMS == doubted
        run.take(Kind.CLAIM_REGISTERED, claim_id="claim:new")
        for request in REQUESTS:
            run.take(Kind.LOAD_FINISHED, request_id=request)
        assert [*CLAIMS, "claim:new"] == doubted

    @pytest.mark.interpreted
    def test_open_conflicts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """So many requests are tracked for claims; of those with more nothing is concluded."""
        monkeypatch.setattr(requests, "PAIRS", 30)
        run = Counted(Mode.HARD_PROTECTED)
        run.fill()
        for name in REQUESTS:
            run.arrive(name, 6)
        followed = [len(claim.requests) for claim in run.stream.claims.values()]
        assert 30 >= sum(followed)
        left = [claim.taint for claim in run.stream.claims.values() if claim.taint is not None]
        assert [claim.taint is None for claim in run.stream.claims.values()] == [
            number > 0 for number in followed
        ]
        assert {"claims have 30 unfinished requests, and no more are tracked"} == {
            w for _, w in left
        }

    @pytest.mark.interpreted
    def test_named_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Which are tracked of many that an action names is the same in every run."""
        monkeypatch.setattr(requests, "PAIRS", len(CLAIMS) // 2)
        run = Counted(Mode.HARD_PROTECTED)
        run.fill()
        run.take(Kind.REQUEST_DEFERRED, request_id="request", blocking_claim_ids=tuple(CLAIMS))
        followed = [claim.claim_id for claim in run.stream.claims.values() if claim.requests]
        assert CLAIMS[: len(CLAIMS) // 2] == followed

    @pytest.mark.parametrize(("ways", "tainted"), [(3, CLAIMS[:1]), (8, [])])
    def test_requests_of_one_claim(
        self, monkeypatch: pytest.MonkeyPatch, ways: int, tainted: list[str]
    ) -> None:
        """Of one claim whose requests stand in too many ways nothing is concluded either; how many
        requests stand alike does not matter.
        """
        monkeypatch.setattr(claim_module, "WAYS", ways)
        run = Counted(Mode.HARD_PROTECTED)
        run.fill()
        for number, name in enumerate(REQUESTS):
            run.arrive(name, 1 + number % 4)
            run.take(Kind.PREFIX_LOOKUP, claim_id=CLAIMS[0], request_id=name, held=9)
        run.take(Kind.CLAIM_MATERIALIZED, claim_id=CLAIMS[0])
        assert tainted == [c.claim_id for c in run.stream.claims.values() if c.taint]

    def test_requests_that_stand_alike(self) -> None:
        """What an event about a claim costs does not grow with the requests it moves nothing in."""
        costs = []
        for count in (2, len(REQUESTS)):
            run = Counted(Mode.HARD_PROTECTED)
            run.fill()
            for name in REQUESTS[:count]:
                run.arrive(name, 6)
            run.take(Kind.CLAIM_MATERIALIZED, claim_id=CLAIMS[0])
            costs.append(run.take(Kind.CLAIM_MATERIALIZED, claim_id=CLAIMS[0]))
        assert costs[0] == costs[1]

    def test_blocks_of_an_object(self) -> None:
        """What is said of an object each claim on it hears once."""
        run = Counted(Mode.HARD_PROTECTED)
        about = run.crowd()
        cached = run.take(Kind.BLOCK_CACHED, **about, block_ids=(1, 2), positions=(0, 1))
        assert len(CLAIMS) * run.width == cached

    @pytest.mark.interpreted
    def test_starts_of_an_object(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Blocks of an object whose places are stated are given once to all claims on it, whatever
        these begin with, and once to each.
        """
        asked: list[int] = []
        hold = blocks.Blocks.hold

        def counted(
            held: Blocks, event: Event, claim: ClaimRun, kin: Sequence[ClaimRun], **more: bool
        ) -> Held:
            asked.append(len(kin))
            return hold(held, event, claim, kin, **more)

        monkeypatch.setattr(blocks.Blocks, "hold", counted)
        run = Counted(Mode.HARD_PROTECTED)
        about = {"object_id": "o", "cache_identity": "m"}
        for number, claim in enumerate(CLAIMS):
            predicate = f"contiguous_range({number}, 1)"
            run.take(Kind.CLAIM_REGISTERED, claim_id=claim, **about, predicate=predicate)
            run.take(Kind.CLAIM_COMMITTED, claim_id=claim, footprint=20)
        run.take(Kind.BLOCK_CACHED, **about, block_ids=(1, 2), positions=(0, 1))
        assert 2 * len(CLAIMS) - 1 == sum(asked)

    @pytest.mark.interpreted
    def test_shared_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Claims share so many blocks; of those alive where there are more nothing is concluded."""
        monkeypatch.setattr(holders, "SHARES", 2 * len(CLAIMS) - 4)
        run = Counted(Mode.HARD_PROTECTED)
        about = run.crowd()
        alive = run.stream.claims.values()
        for block in range(4):  # what is lost is shared no more
            run.take(Kind.BLOCK_CACHED, **about, block_ids=(block,), positions=(0,))
            assert all(claim.taint is None for claim in alive)
            run.take(Kind.BLOCK_LOST, block_ids=(block,))
        run.take(Kind.BLOCK_CACHED, **about, block_ids=(4, 5), positions=(0, 1))
        assert all(claim.taint is not None for claim in alive)

    def test_evictions(self) -> None:
        """An eviction among ranked claims is told to those that owe news of theirs."""
        run = Counted(Mode.SOFT_PRIORITY)
        run.fill(priority=1)
        costs = [run.take(Kind.BLOCK_EVICTED, block_ids=(2 * n + 1,)) for n in range(6)]
        assert [run.width] + [2 * run.width] * 5 == costs
