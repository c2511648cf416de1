"""Short streams on which one rule of docs/stream.md decides: both judges conclude the same."""

from __future__ import annotations

import pytest

from monitor.native import CHOICE, library
from spec.events.alphabet import FACTS
from tests.monitor.traces import CLAIM, Line, Trace, judge
from tests.monitor.traces_canonical import about, canonical, canonical_claim

ENDS = [about("claim_retired", by="tenant:1"), about("claim_released", by="tenant:1")]
OPENED, CLOSED = canonical("stream_opened"), canonical("stream_closed")
ARRIVES = canonical("request_arrived", request_id="q", needed=1, usable=9)
ACCEPTED = about("claim_accepted", predicate="leading_prefix_at_least(3)", footprint=4)


@pytest.fixture(autouse=True, params=["python", "native"])
def core(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test is run with either judge."""
    if request.param == "native" and library() is None:
        pytest.skip("no native core is built")
    monkeypatch.setenv(CHOICE, request.param)


def found(trace: Trace) -> tuple[list[str], list[str]]:
    """The verdicts on the claims, each judged by the mode that it states, and the breaks."""
    report = judge(trace, None)
    return [each.verdict for each in report.claims], [each.reason for each in report.breaks]


def without(*kinds: str) -> Trace:
    """The first line of a stream that does not observe these kinds of facts."""
    return [canonical("stream_opened", observes=sorted(FACTS - {*kinds}))]


class TestObserved:
    """What a stream does not observe can be neither kept nor broken."""

    @pytest.mark.parametrize("first", [[], [ACCEPTED]])
    def test_mode_stated_late(self, first: Trace) -> None:
        """Evictions are not observed, also where an acceptance without a mode comes first."""
        trace = [*without("block_evicted"), *first, *canonical_claim(), *ENDS, CLOSED]
        assert found(trace) == (["inconclusive"], [])


def numbered(*runs: Trace) -> Trace:
    """The lines of several runs, each numbered from 0."""
    return [{**line, "sequence": n} for run in runs for n, line in enumerate(run)]


class TestRuns:
    """A line that opens a stream which was closed begins another run of it."""

    RUN = (OPENED, *canonical_claim(), CLOSED)

    def test_empty_pool(self) -> None:
        """The pool is empty where a run begins, also where the numbers go on."""
        other = [{**line, "object_id": f"object:{CLAIM}"} for line in canonical_claim("claim:b")]
        trace = [*self.RUN, OPENED, *other[:3], other[4], CLOSED]
        assert found(trace) == (["kept", "violated"], ["new-run"])
        cached = [*self.RUN, OPENED, *other, CLOSED]
        assert found(cached) == (["kept", "kept"], ["new-run"])

    @pytest.mark.parametrize("first", [[], [CLOSED]])
    def test_claims_of_a_closed_run(self, first: Trace) -> None:
        """Claims keep what they came to if their run was closed, and only then."""
        second = [OPENED, *canonical_claim("claim:b"), CLOSED]
        trace = [*self.RUN[:-1], *first]
        verdicts = ["kept" if first else "inconclusive", "kept"]
        for each in ([*trace, *second], numbered(trace, second)):
            assert found(each) == (verdicts, ["new-run"])

    def test_what_is_owed(self) -> None:
        """What is owed when a run is closed was never reported."""
        trace = [OPENED, *canonical_claim()[:-1], CLOSED, *self.RUN]
        assert found(trace) == (["inconclusive", "kept"], ["new-run"])

    def test_lines_missing_between(self) -> None:
        """Lines that are missing between two runs break the first; the second is judged."""
        trace = numbered([*self.RUN, *self.RUN])
        for line in trace[len(self.RUN) :]:
            line["sequence"] += 1
        assert found(trace) == (["inconclusive", "kept"], ["lines-missing"])

    def test_after_a_break(self) -> None:
        """A run that begins is judged, whatever broke the run before it."""
        lost = canonical("request_finished", request_id="q")
        trace = [OPENED, *canonical_claim(), lost, CLOSED, *self.RUN]
        assert found(trace) == (["inconclusive", "kept"], ["request-contradicts"])

    def test_another_clock(self) -> None:
        """The clock of another run may be behind."""
        later = [{**line, "time_ns": n + 1} for n, line in enumerate(self.RUN)]
        assert found([*self.RUN, *later]) == (["kept", "kept"], ["new-run"])


class TestEnvironment:
    """Facts from outside the runtime break no promise."""

    @pytest.mark.parametrize(
        "fact",
        [
            canonical_claim()[0],
            about("load_finished", request_id="q", block_ids=[7]),
            about("block_lost", block_ids=[100]),
        ],
        ids=lambda line: str(line["kind"]),
    )
    def test_another_object(self, fact: Line) -> None:
        """A fact of the environment that names the claim and another object breaks the stream."""
        trace = [*canonical_claim(), {**fact, "object_id": "another"}]
        assert found(trace) == (["inconclusive"], ["identity-contradicts"])
        assert found([*canonical_claim(), *ENDS, trace[-1]])[1] == ["identity-contradicts"]

    def test_choice(self) -> None:
        """A block that the runtime caches for the claim and another object is its own doing."""
        fact = {**about("block_cached", block_ids=[7], positions=[0]), "object_id": "another"}
        assert found([*canonical_claim(), fact]) == (["violated"], ["identity-contradicts"])


class TestRestatement:
    """What restated events alone make due is not owed."""

    @pytest.mark.parametrize("after", [[], [CLOSED], [ARRIVES], [CLOSED, OPENED]])
    def test_ends(self, after: Trace) -> None:
        """It is not owed either where the stream ends with the last restated line."""
        stands = [{**line, "restated": True} for line in canonical_claim()[:-1]]
        trace = [canonical("block_lost"), canonical("stream_restated"), *stands, *after]
        late = [{**line, "sequence": 5 + n} for n, line in enumerate(trace)]
        (claim,) = judge(late, None).claims
        assert {"unexercised"} == {each.verdict for each in claim.obligations.values()}


class TestRequests:
    """After its end the id of a request begins another one only by what shows that."""

    FINISHED = canonical("request_finished", request_id="q")

    @pytest.mark.parametrize(
        ("kinds", "breaks"), [((), ["request-contradicts"]), (("request_arrived",), [])]
    )
    @pytest.mark.parametrize(
        "again",
        [
            about("prefix_lookup", request_id="q", held=4, asked=4),
            about("block_cached", request_id="q", block_ids=[100], positions=[0]),
            canonical("request_deferred", request_id="q", blocking_claim_ids=[]),
        ],
        ids=lambda line: str(line["kind"]),
    )
    def test_again(self, kinds: tuple[str, ...], breaks: list[str], again: Line) -> None:
        """Where arrivals are not observed, an id that comes again is another request's."""
        begins = [] if kinds else [ARRIVES]
        trace = [*without(*kinds), *canonical_claim(), *begins, self.FINISHED, again, CLOSED]
        assert found(trace)[1] == breaks
        if kinds:
            assert found([*trace[:-1], self.FINISHED, again, self.FINISHED, CLOSED])[1] == []


SECOND = 1_000_000_000


def timed(*lines: tuple[int, Line]) -> Trace:
    """Lines with the seconds at which they stand."""
    return [{**line, "time_ns": seconds * SECOND} for seconds, line in lines]


class TestDurations:
    """The duration of an entry runs from the commitment."""

    ASKED = about(
        "claim_registered",
        predicate="leading_prefix_at_least(3)",
        mode="expiring",
        owner_scope="tenant:1",
        duration="10 s",
    )
    EXPIRED = about("claim_expired", by="runtime")
    ELAPSED = about("duration_elapsed")

    @staticmethod
    def entry(*, first: Line) -> Trace:
        """The entry of a claim that is registered so; it begins at 1 s."""
        _, *rest = canonical_claim()
        return timed((0, first), *((1, line) for line in rest))

    @pytest.mark.parametrize("again", [[], [(5, ASKED)]])
    @pytest.mark.parametrize("elapsed", [[], [(11, ELAPSED)]])
    def test_registered_again(
        self, again: list[tuple[int, Line]], elapsed: list[tuple[int, Line]]
    ) -> None:
        """A registration after the commitment begins no duration."""
        trace = [*self.entry(first=self.ASKED), *timed(*again, *elapsed, (12, self.EXPIRED))]
        assert found(trace) == (["kept"], [])

    @pytest.mark.parametrize("again", [[], [(5, ASKED)]])
    def test_too_early(self, again: list[tuple[int, Line]]) -> None:
        """It does not end the entry sooner either."""
        early = [*self.entry(first=self.ASKED), *timed(*again, (10, self.ELAPSED))]
        assert found(early) == (["inconclusive"], ["duration-contradicts"])
        expired = [*self.entry(first=self.ASKED), *timed(*again, (10, self.EXPIRED))]
        assert found(expired) == (["violated"], [])

    def test_asked_for_later(self) -> None:
        """When a duration that is asked for after the commitment is over is unknown."""
        first = {name: value for name, value in self.ASKED.items() if name != "duration"}
        trace = [*self.entry(first=first), *timed((5, self.ASKED), (16, self.EXPIRED))]
        assert found(trace) == (["inconclusive"], [])

    def test_registered_twice(self) -> None:
        """Before the commitment the first registration counts."""
        trace = timed((0, self.ASKED), (5, self.ASKED), (11, self.ELAPSED))
        assert found(trace)[1] == []


class TestUntimed:
    """What a claim takes is unknown once it is unknown whether its duration is over."""

    @pytest.mark.parametrize(
        ("duration", "verdict"), [({}, "satisfied"), ({"duration": "3 s"}, "inconclusive")]
    )
    def test_beside_it(self, duration: dict[str, str], verdict: str) -> None:
        """An acceptance states a duration that the entry lacks: what conflicts is undetermined."""
        other = canonical_claim("claim:b", mode="expiring")
        trace = [
            *canonical_claim(mode="hard_protected"),
            *other[:3],
            canonical("request_arrived", request_id="q", needed=2, usable=9),
            about("claim_accepted", "claim:b", footprint=4, **duration),
            canonical("request_deferred", request_id="q", blocking_claim_ids=[CLAIM]),
            canonical("request_finished", request_id="q"),
            *ENDS,
        ]
        report = judge(trace, None)
        assert [] == report.breaks
        assert verdict == report.claims[0].obligations["blocking_claim_ids"].verdict


class TestShared:
    """One content of two objects goes by its key once that is stated of one of them."""

    @pytest.mark.parametrize("keyed", ["x", "y"])
    def test_keys_stated_late(self, keyed: str) -> None:
        """Both objects lose it by one eviction, and both losses are reported truly."""

        def of(name: str, obj: str, **more: object) -> Line:
            terms = {"predicate": "leading_prefix_at_least(1)", "cache_identity": "m"}
            more |= {"claim_id": name, "object_id": obj, "owner_scope": "tenant:1", **terms}
            return canonical("claim_registered", mode="best_effort", **more)

        held = {"block_ids": [0, 1], "positions": [0, 1]}
        trace = [
            of("a", "x"),
            canonical("block_cached", claim_id="a", **held),
            canonical("claim_materialized", claim_id="a"),
            of("b", "y"),
            canonical("block_cached", claim_id="b", found=True, **held),
            canonical("claim_materialized", claim_id="b"),
            of("c", keyed, keys=["k0", "k1"]),
            canonical("claim_materialized", claim_id="c"),
            canonical("block_evicted", block_ids=[0, 1]),
            *(canonical("claim_unmaterialized", claim_id=name) for name in "abc"),
        ]
        assert found(trace) == (["kept"] * 3, [])
