"""Tests of tracking.placements: routed_reuse on a rank that requests are routed to, judged."""

from __future__ import annotations

import pytest

from runtime_hooks.settings.config import Drill
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.language.verdicts import Verdict
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.tiny import TinyEngine, claim, keys_of

ROUTED = Mode.ROUTED_REUSE
REPORTS = {
    Kind.ROUTE_COST_REPORTED: "route_cost_attribution",
    Kind.ROUTE_PLACEMENT_REPORTED: "placement_attribution",
    Kind.ROUTE_REUSE_REPORTED: "reuse_routing_attribution",
}


def rank(**settings: object) -> TinyEngine:
    """A rank that has a claim on 20 blocks."""
    engine = TinyEngine(**settings)
    engine.controller.note_routes(lambda entry: None)
    assert engine.serve("p", 20, claim(blocks=20, mode=ROUTED))
    assert {"claim": ""} == engine.answers[-1]
    return engine


def send(engine: TinyEngine, name: str, blocks: int = 30, cost: int = 3, **more: str) -> None:
    """A request with the prefix arrives that was routed."""
    engine.controller.routed(name, keys_of("p", blocks), cost, more.get("worker", "rank 1"))
    assert engine.serve(name, blocks, prompt="p")


def test_kept() -> None:
    """Cost, placement and hit of each route are reported: also the miss once the prefix is gone."""
    engine = rank()
    send(engine, "first", cost=7)
    send(engine, "short", 20)
    assert engine.serve("active", 80)
    send(engine, "late")
    (found,) = engine.judge(ROUTED).claims
    assert ModeVerdict.KEPT is found.verdict
    assert {Verdict.SATISFIED} == {found.findings[name].verdict for name in REPORTS.values()}
    reports = engine.kinds(*REPORTS)
    assert [7, 3, 3] == [e.cost for e in reports if e.kind is Kind.ROUTE_COST_REPORTED]
    assert {"rank 1"} == {e.worker for e in reports if e.kind is Kind.ROUTE_PLACEMENT_REPORTED}
    hits = [(e.request_id, e.hit) for e in reports if e.kind is Kind.ROUTE_REUSE_REPORTED]
    assert [("first", True), ("short", True), ("late", False)] == hits


@pytest.mark.parametrize("kind", REPORTS)
def test_sabotaged(kind: Kind) -> None:
    """Where one kind of report is missing, that obligation is violated."""
    engine = rank(drill=Drill(suppress=(kind,)))
    send(engine, "first")
    (found,) = engine.judge(ROUTED).claims
    assert ModeVerdict.VIOLATED is found.verdict
    broken = {n for n, each in found.findings.items() if each.verdict is Verdict.VIOLATED}
    assert {REPORTS[kind]} == broken


def test_not_routed() -> None:
    """Requests that were not routed for the claim have no reports: another prompt, an ended claim,
    a request that no router sent. A request that ends unserved has no hit."""
    engine = rank()
    assert engine.serve("plain", 30, prompt="p")
    engine.controller.routed("other", keys_of("q", 30), 3, "rank 1")
    assert engine.serve("other", 30, prompt="q")
    engine.controller.routed("part", keys_of("p", 19), 3, "rank 1")
    assert [] == [each for each in engine.sink.events if each.kind is Kind.REQUEST_ROUTED]
    engine.controller.routed("aborted", keys_of("p", 30), 3, "rank 1")
    engine.finish("aborted", aborted=True)
    assert "" == engine.release("claim:a", "tenant")
    send(engine, "late")
    assert ["aborted"] == [each.request_id for each in engine.kinds(Kind.REQUEST_ROUTED)]
    assert [] == engine.kinds(Kind.REUSE_SERVED)


def test_other_modes() -> None:
    """A claim of another mode is owed no report of a route; an engine alone takes no such claim."""
    engine = TinyEngine()
    engine.controller.note_routes(lambda entry: None)
    assert engine.serve("p", 20, claim(blocks=20, mode="best_effort"))
    send(engine, "first")
    assert [] == engine.kinds(Kind.REQUEST_ROUTED)
    alone = TinyEngine()
    assert alone.serve("p", 20, claim(blocks=20, mode=ROUTED))
    assert "one engine routes nothing" in alone.answers[-1]["claim"]
