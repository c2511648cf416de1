"""Finds a shortest run for each scenario of a mode."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import z3

from proofs.engines.bounded.search import find_witness
from proofs.logic.encode import Bits
from proofs.model.instrumented import Instrumented, Mark
from proofs.model.of_mode import model_of
from proofs.model.theorems import Clause
from proofs.traces.narrative import Line, tell
from proofs.traces.replay import to_events
from proofs.traces.scenarios import SCENARIOS
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.events.canonical import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from proofs.logic.encode import Expr
    from proofs.model.of_mode import Model
    from proofs.model.system import Step
    from proofs.traces.scenarios import Scenario

__all__ = ["FoundScenario", "find_scenarios"]

DEPTH = 20
WIDTH = 7
_EPISODE = "episode "


class FoundScenario(msgspec.Struct, frozen=True):
    """The result of a scenario search. `found`: a shortest run contains every episode, keeps and
    settles every obligation, and (if `whole`) exercises each. `not found`: there is none of up to
    `depth` events. `unknown`: the work limit was reached.
    """

    story: str
    whole: bool
    episodes: dict[str, str]
    result: str
    depth: int
    trace: list[Event]
    lines: list[Line]
    seconds: float


def find_scenarios(mode: Mode, depth: int = DEPTH) -> list[FoundScenario]:
    """Find a shortest run for each scenario of a mode's contract."""
    return [_found(mode, story, depth) for story in SCENARIOS[mode]]


def _found(mode: Mode, story: Scenario, depth: int) -> FoundScenario:
    started = time.perf_counter()
    model = model_of(mode, Bundle.CONTRACT, Bits(WIDTH), replay=True)
    outcome = find_witness(_watched(model, story), depth)
    found = outcome.found
    missing = "not found" if outcome.complete else "unknown"
    episodes = {e.name: e.says for e in story.episodes} or {story.name: "both claims lose blocks"}
    return FoundScenario(
        story=story.name,
        whole=story.whole,
        episodes=episodes,
        result="found" if found else missing,
        depth=outcome.depth,
        trace=to_events(model, found) if found else [],
        lines=tell(model, found) if found else [],
        seconds=round(time.perf_counter() - started, 3),
    )


def _watched(model: Model, story: Scenario) -> Model:
    """The model with a mark for each episode; a witness of it contains the scenario."""
    if model.mode is Mode.SOFT_PRIORITY:
        return Instrumented(model, (Mark(story.name, _both_lose),))
    episodes = tuple(Clause(_EPISODE + e.name, e.says, e.when) for e in story.episodes)
    model.clauses = (*model.clauses, *episodes)

    def watched(state: Mapping[str, Expr], event: Mapping[str, Expr], step: Step) -> Step:
        clauses = {n: c for n, c in step.clauses.items() if not n.startswith(_EPISODE)}
        return replace(step, clauses=clauses, exercised=step.exercised if story.whole else {})

    marks = tuple(Mark(e.name, _episode(e.name), e.after) for e in story.episodes)
    return Instrumented(model, marks, watched)


def _episode(name: str) -> Callable[[Step], Expr]:
    return lambda step: step.clauses[_EPISODE + name]


def _both_lose(step: Step) -> Expr:
    return z3.And(step.following["A/lost"], step.following["B/lost"])
