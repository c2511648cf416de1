"""Tests of controller.arbitration: requests that are sent to another rank, judged."""

from __future__ import annotations

from typing import Any

import pytest

from runtime_hooks.settings.config import Drill
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.tiny import NS, TinyEngine, claim

MOVED, REFUSED = Kind.REQUEST_ROUTED_ELSEWHERE, Kind.REQUEST_REFUSED


def rank(**settings: Any) -> TinyEngine:
    """A rank with a claim on 60 of 80 blocks."""
    engine = TinyEngine(**settings)
    assert engine.serve("resident", 60, claim())
    return engine


def test_moved() -> None:
    """A request that does not fit is reported as routed elsewhere, with the claims and the sum; one
    that fits runs."""
    engine = rank()
    assert engine.serve("small", 20, elsewhere=True)
    assert not engine.serve("active", 70, elsewhere=True)
    (refusal,) = engine.refusals
    assert (True, ("claim:a",)) == (refusal.elsewhere, refusal.blocking_claim_ids)
    assert ModeVerdict.KEPT is engine.judge(Mode.HARD_PROTECTED).verdict
    (report,) = engine.kinds(MOVED, REFUSED)
    assert report.proof is not None
    assert (MOVED, ("claim:a",), 50) == (
        report.kind,
        report.blocking_claim_ids,
        report.proof.shortfall,
    )


def test_waits_first() -> None:
    """With a wait it is routed elsewhere once the wait is over."""
    engine = rank(defer_s=2)
    assert not engine.serve("active", 70, elsewhere=True)
    assert [] == engine.refusals
    engine.now += 3 * NS
    _, (refusal,) = engine.begin_step()
    assert refusal.elsewhere
    engine.finish("active")
    assert [Kind.REQUEST_DEFERRED, MOVED] == [
        each.kind for each in engine.kinds(Kind.REQUEST_DEFERRED, MOVED, REFUSED)
    ]


@pytest.mark.parametrize("more", [{"release": {"claim_id": "x"}}, {"pin": {"job_id": "j"}}])
def test_asks(more: dict[str, Any]) -> None:
    """A request that asks for something stays: what it asks for is answered here."""
    engine = rank()
    assert not engine.serve("active", 70, elsewhere=True, **more)
    assert [False] == [each.elsewhere for each in engine.refusals]
    assert [REFUSED] == [each.kind for each in engine.kinds(MOVED, REFUSED)]


def test_sabotaged() -> None:
    """Where the report is missing, or names another claim, the claim is violated."""
    for drill in (Drill(suppress=(MOVED,)), Drill(misattribute={MOVED: "claim:x"})):
        engine = rank(drill=drill)
        assert not engine.serve("active", 70, elsewhere=True)
        assert ModeVerdict.VIOLATED is engine.judge(Mode.HARD_PROTECTED).verdict
