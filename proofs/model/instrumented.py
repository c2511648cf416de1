"""Instruments a model for another question: the same runs, with marks or another goal.

Engines get a plain `Model`. The wrapper may add marks (booleans that an event sets permanently) and
may change the steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import z3

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from proofs.logic.encode import Expr, Numbers
    from proofs.model.of_mode import Model
    from proofs.model.system import Step
    from proofs.model.theorems import Clause
    from spec.claims.states import Mode
    from spec.events.alphabet import Kind
    from spec.language.machine import Observer

    Change = Callable[[Mapping[str, Expr], Mapping[str, Expr], Step], Step]

__all__ = ["Instrumented", "Mark", "unchanged"]


@dataclass(frozen=True)
class Mark:
    """Set by an event of which `when` holds and before which the marks of `after` were set."""

    name: str
    when: Callable[[Step], Expr]
    after: tuple[str, ...] = ()


def unchanged(state: Mapping[str, Expr], event: Mapping[str, Expr], step: Step) -> Step:
    """The step of the model, unchanged."""
    return step


class Instrumented:
    """A model with marks, each of which is also a clause, and with changed steps.

    Args:
        change: maps a state, an event and the step between them to the step that engines get.
    """

    def __init__(
        self, model: Model, marks: tuple[Mark, ...] = (), change: Change = unchanged
    ) -> None:
        self._model, self._marks, self._change = model, marks, change
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
        step = replace(step, following=step.following | marks, clauses=step.clauses | marks)
        return self._change(state, event, step)


def _key(mark: str) -> str:
    return f"mark.{mark}"
