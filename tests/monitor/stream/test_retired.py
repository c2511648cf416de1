"""Requests that are over: what is reported of a claim later is judged for them, too."""

from __future__ import annotations

import pytest

from monitor.engine import Monitor
from monitor.evaluate.claim import ENDED_KEPT, WAYS
from monitor.stream.keep import Keep
from spec.claims.claim import Mode
from tests.differential.compare import compare, heard, record
from tests.monitor.traces import CLAIM, Trace
from tests.monitor.traces_canonical import about, canonical, canonical_claim, lines_of

AWAY = (
    *canonical_claim(mode="offloadable"),
    about("store_finished", held=4),
    about("claim_offloaded"),
    canonical("block_evicted", block_ids=[100, 101, 102, 103]),
)
HARMED = about("claim_harmed")
ENDED = [about("claim_retired", by="tenant:1"), about("claim_released", by="tenant:1")]


def answered(name: str, outcome: str = "demotion") -> Trace:
    """A restore of the claim fails for a request, which has this outcome, and the request ends."""
    failed = about(
        "claim_restoration_failed", request_id=name, outcome=outcome, outcome_claim_id=CLAIM
    )
    return [
        canonical("request_arrived", request_id=name, needed=1, usable=80),
        about("prefix_lookup", request_id=name, held=3, asked=3),
        about("load_failed", request_id=name),
        failed,
        canonical("request_finished", request_id=name),
    ]


def passing(name: str) -> Trace:
    """A request comes, asks for the claim, and goes."""
    return [
        canonical("request_arrived", request_id=name, needed=1, usable=80),
        about("prefix_lookup", request_id=name, held=3, asked=3),
        canonical("request_finished", request_id=name),
    ]


def harm_of(trace: Trace, keep: Keep | None = None) -> tuple[str, int | None]:
    """What became of `claim_harm_attribution`, and where; the reference says so, too."""
    compare(lines_of(trace), Mode.OFFLOADABLE)
    verdict, line = heard(lines_of(trace), Mode.OFFLOADABLE, keep).end[CLAIM][
        "claim_harm_attribution"
    ]
    return verdict.value, line


@pytest.mark.slow
@pytest.mark.parametrize("later", [0, 1, ENDED_KEPT, 3 * ENDED_KEPT])
@pytest.mark.parametrize("again", [False, True])
def test_harm_after_another_outcome(later: int, again: bool) -> None:
    """Harm of a claim whose failed restore was said to be demotion is invented, however many
    requests ended since, and whether or not the id of that request is used again."""
    others = [line for i in range(later) for line in passing("q" if again else f"q{i}")]
    trace = [*AWAY, *answered("q"), *others]
    assert ("satisfied", None) == harm_of(trace)
    assert ("violated", len(trace) + 1) == harm_of([*trace, HARMED])


@pytest.mark.parametrize("later", [0, 1, ENDED_KEPT, 3 * ENDED_KEPT])
def test_harm_is_repeated(later: int) -> None:
    """Harm that was stated as the outcome may be reported once more, and not a third time."""
    others = [line for i in range(later) for line in passing(f"q{i}")]
    trace = [*AWAY, *answered("q", "harm"), *others, HARMED]
    assert ("satisfied", None) == harm_of(trace)
    assert ("violated", len(trace) + 1) == harm_of([*trace, HARMED])


def test_forgotten() -> None:
    """A claim that was forgotten has not been kept if harm of it is invented afterwards."""
    others = [line for i in range(ENDED_KEPT) for line in passing(f"q{i}")]
    trace = [*AWAY, *answered("q"), *others, *ENDED]
    assert ("satisfied", None) == harm_of(trace)
    assert ("violated", len(trace) + 1) == harm_of([*trace, HARMED])
    assert "satisfied" != harm_of([*trace, HARMED], Keep(ended=0))[0]


def test_many_alike() -> None:
    """Of many requests that stand alike at their end one is followed."""
    monitor = Monitor(Mode.OFFLOADABLE)
    for line in lines_of([*AWAY, *(x for i in range(WAYS) for x in answered(f"q{i}"))]):
        monitor.take(record(line))
    (claim,) = monitor.claims()
    assert claim.taint is None
    assert 1 == len(claim.retired)
