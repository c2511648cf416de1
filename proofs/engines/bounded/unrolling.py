"""Unrolls a system event by event on an incremental solver, and reads runs from models."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import z3

from proofs.logic.connectives import equal, substituted
from proofs.logic.encode import Bits, Expr
from proofs.model.system import Step

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from proofs.model.of_mode import Model

__all__ = [
    "Found",
    "Run",
    "Stepper",
    "Value",
    "evaluated",
    "expressions",
    "first_state",
    "reach",
    "read_run",
    "value_of",
]

Value = bool | int


@dataclass(frozen=True)
class Found:
    """A run: its events, the states before, between and after them, and the clauses that fail."""

    events: tuple[dict[str, Value], ...]
    states: tuple[dict[str, Value], ...]
    failed: tuple[str, ...] = ()


class Stepper:
    """A system's step, encoded once and copied for each event: encoding takes far longer."""

    def __init__(self, system: Model) -> None:
        self._state, self._event = system.state("@before"), system.event("@event")
        self._step = step = system.step(self._state, self._event)
        parts = [step.possible]
        for named in self._named:
            parts += named.values()
        pack = z3.Function("step", *(part.sort() for part in parts), z3.BoolSort())
        self._whole = pack(*parts)

    def of(self, state: Mapping[str, Expr], event: Mapping[str, Expr]) -> Step:
        """What `system.step` gives."""
        pairs = [(variable, state[name]) for name, variable in self._state.items()]
        pairs += [(variable, event[name]) for name, variable in self._event.items()]
        possible, *parts = substituted(self._whole, pairs).children()
        rest = iter(parts)
        return Step(possible, *({name: next(rest) for name in named} for named in self._named))

    @property
    def _named(self) -> tuple[dict[Any, Expr], ...]:
        """What a step has besides its possibility, in the order in which `Step` takes it."""
        of = self._step
        return (of.following, of.clauses, of.keeps, of.exercised, of.owing, of.compared)


@dataclass
class Run:
    """Every run of `len(steps)` events, as variables of `solver`.

    `rlimit` is the work that one question to the solver may take.
    """

    system: Model
    stepper: Stepper
    solver: Expr
    states: list[dict[str, Expr]]
    events: list[dict[str, Expr]] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    rlimit: int = 400_000_000

    @classmethod
    def of(cls, system: Model, rlimit: int) -> Run:
        """The run without events."""
        solver = z3.SolverFor("QF_BV" if isinstance(system.numbers, Bits) else "QF_LIA")
        solver.set("rlimit", rlimit)
        state = system.state("@0")
        solver.add(system.initial(state))
        return cls(system, Stepper(system), solver, [state], rlimit=rlimit)

    def extend(self) -> Step:
        """Append an event that is possible and keeps every obligation."""
        step = self.happen()
        self.solver.add(step.possible, step.kept)
        return step

    def happen(self) -> Step:
        """Append an event, without assumptions."""
        number = len(self.events) + 1
        event, after = self.system.event(f"@{number}"), self.system.state(f"@{number}")
        step = self.stepper.of(self.states[-1], event)
        self.solver.add(*(equal(after[name], value) for name, value in step.following.items()))
        self.events.append(event)
        self.states.append(after)
        self.steps.append(step)
        return step

    def read(self, answer: Expr) -> Found:
        """The run that an answer of the solver describes."""
        return read_run(answer, self.events, self.states, self.steps[-1])


def reach(solver: Expr, goals: Mapping[str, Expr]) -> tuple[set[str], Expr]:
    """The goals of which each holds in some model of the solver, and its answer on the rest.

    One model decides many goals. The answer is `sat` where none is left.
    """
    left, answer = dict(goals), z3.sat
    while left:
        answer = solver.check(z3.Or([left[name] for name in sorted(left)]))
        if answer != z3.sat:
            break
        found = solver.model()
        left = {
            name: goal
            for name, goal in left.items()
            if not z3.is_true(found.eval(goal, model_completion=True))
        }
    return set(goals) - set(left), answer


def expressions(values: Mapping[str, Value]) -> dict[str, Expr]:
    """Values as constants, by the names of their variables."""
    return {
        name: z3.BoolVal(value) if isinstance(value, bool) else z3.IntVal(value)
        for name, value in values.items()
    }


def evaluated(expression: Expr) -> Value:
    """The value of an expression without variables."""
    value = z3.simplify(expression)
    return bool(z3.is_true(value)) if z3.is_bool(value) else int(value.as_long())


def first_state(model: Model, constants: Mapping[str, int]) -> dict[str, Value]:
    """The values of the state before any event, with these constants of the claims.

    Raises:
        ValueError: no run begins with these.
    """
    state, solver = model.state(""), z3.SolverFor("QF_LIA")
    solver.add(model.initial(state), *(state[name] == value for name, value in constants.items()))
    if solver.check() != z3.sat:
        raise ValueError("no run begins with these constants")
    return {name: value_of(solver.model(), variable) for name, variable in state.items()}


def read_run(
    answer: Expr,
    events: Sequence[Mapping[str, Expr]],
    states: Sequence[Mapping[str, Expr]],
    last: Step,
) -> Found:
    """The run that a model of a solver describes."""

    def values(of: Mapping[str, Expr]) -> dict[str, Value]:
        return {name: value_of(answer, expr) for name, expr in of.items()}

    return Found(
        tuple(values(event) for event in events),
        tuple(values(state) for state in states),
        tuple(name for name, holds in last.clauses.items() if not value_of(answer, holds)),
    )


def value_of(answer: Expr, expr: Expr) -> Value:
    """The value of `expr` in a model; variables without a value get the default."""
    value = answer.eval(expr, model_completion=True)
    if z3.is_bool(value):
        return bool(z3.is_true(value))
    return int(value.as_signed_long() if z3.is_bv_value(value) else value.as_long())
