"""Short streams on which one rule of docs/stream.md decides: both judges conclude the same."""

from __future__ import annotations

import pytest

from monitor.native import CHOICE, library
from spec.events.alphabet import FACTS
from tests.monitor.traces import Trace, judge
from tests.monitor.traces_canonical import about, canonical, canonical_claim

ENDS = [about("claim_retired", by="tenant:1"), about("claim_released", by="tenant:1")]
CLOSED = canonical("stream_closed")
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
