"""Finds a shortest run for each scenario of a mode."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec
import z3

from proofs.engines.bounded.search import find_witness
from proofs.logic.encode import Bits
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

    from proofs.logic.encode import Expr, Numbers
    from proofs.model.of_mode import Model
    from proofs.model.system import Step
    from proofs.traces.scenarios import Scenario
    from spec.events.alphabet import Kind
    from spec.language.machine import Observer

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
        return _Marked(model, (_Mark(story.name, _both_lose),), whole=True)
    episodes = tuple(Clause(_EPISODE + e.name, e.says, e.when) for e in story.episodes)
    model.clauses = (*model.clauses, *episodes)
    marks = tuple(_Mark(e.name, _episode(e.name), e.after) for e in story.episodes)
    return _Marked(model, marks, whole=story.whole)


def _episode(name: str) -> Callable[[Step], Expr]:
    return lambda step: step.clauses[_EPISODE + name]


def _both_lose(step: Step) -> Expr:
    return z3.And(step.following["A/lost"], step.following["B/lost"])


@dataclass(frozen=True)
class _Mark:
    """Set by an event of which `when` holds and before which the marks of `after` were set."""

    name: str
    when: Callable[[Step], Expr]
    after: tuple[str, ...] = ()


class _Marked:
    """A model with marks: booleans that an event sets permanently, each of which is a clause.

    Args:
        whole: a witness exercises every obligation, too.
    """

    def __init__(self, model: Model, marks: tuple[_Mark, ...], *, whole: bool) -> None:
        self._model, self._marks, self._whole = model, marks, whole
        self.mode: Mode = model.mode
        self.numbers: Numbers = model.numbers
        self.alphabet: tuple[Kind, ...] = model.alphabet
        self.observers: tuple[Observer, ...] = model.observers
        self.clauses: tuple[Clause, ...] = model.clauses
        self.sides: Mapping[str, str] = model.sides

    def mine(self, side: str) -> str:
        """The event field that says whether an event concerns the claim."""
        return self._model.mine(side)

    def state(self, suffix: str) -> dict[str, Expr]:
        """Fresh variables for a state."""
        marks = {_key(m.name): z3.Bool(f"{_key(m.name)}{suffix}") for m in self._marks}
        return self._model.state(suffix) | marks

    def event(self, suffix: str) -> dict[str, Expr]:
        """Fresh variables for an event."""
        return self._model.event(suffix)

    def initial(self, state: Mapping[str, Expr]) -> Expr:
        """The constraint on the state before any event."""
        unset = [z3.Not(state[_key(m.name)]) for m in self._marks]
        return z3.And(self._model.initial(state), *unset)

    def step(self, state: Mapping[str, Expr], event: Mapping[str, Expr]) -> Step:
        """One event from a state, as formulas over both."""
        step = self._model.step(state, event)
        marks = {
            _key(m.name): z3.Or(
                state[_key(m.name)], z3.And(m.when(step), *(state[_key(a)] for a in m.after))
            )
            for m in self._marks
        }
        clauses = {n: c for n, c in step.clauses.items() if not n.startswith(_EPISODE)}
        return replace(
            step,
            following=step.following | marks,
            clauses=clauses | marks,
            exercised=step.exercised if self._whole else {},
        )


def _key(mark: str) -> str:
    return f"mark.{mark}"
