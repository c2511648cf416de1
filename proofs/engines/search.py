"""Bounded search, shortest first: one more event at a time, on an incremental solver.

Numbers are bit-vectors, so an answer speaks of runs with block counts up to a stated limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import z3

from proofs.encode import Bits, Expr

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proofs.model import Model
    from proofs.system import Step

__all__ = ["Found", "Outcome", "find_refutation", "find_witness"]

Value = bool | int
WIDTH = 6
RLIMIT = 400_000_000


@dataclass(frozen=True)
class Found:
    """A run: its events, the states before, between and after them, and the clauses that fail."""

    events: tuple[dict[str, Value], ...]
    states: tuple[dict[str, Value], ...]
    failed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """`found` is a shortest run, or None; `complete` says that every depth up to `depth` was
    decided, so None then means that there is none of up to `depth` events."""

    found: Found | None
    depth: int
    complete: bool


def find_refutation(system: Model, depth: int) -> Outcome:
    """A shortest run of at most `depth` events that keeps every obligation and breaks a clause."""
    return _search(
        system,
        depth,
        goal=lambda step: z3.Not(step.sound),
        meanwhile=lambda step: step.sound,
    )


def find_witness(system: Model, depth: int) -> Outcome:
    """A shortest run in which every obligation is exercised and satisfied and nothing is owed."""
    return _search(
        system,
        depth,
        goal=lambda step: z3.And(step.settled, *step.exercised.values(), *step.clauses.values()),
        meanwhile=lambda step: z3.BoolVal(True),
    )


def _search(system: Model, depth: int, goal, meanwhile) -> Outcome:  # type: ignore[no-untyped-def]
    solver = z3.SolverFor("QF_BV" if isinstance(system.numbers, Bits) else "QF_LIA")
    solver.set("rlimit", RLIMIT)
    state = system.state("@0")
    solver.add(system.initial(state))
    events: list[dict[str, Expr]] = []
    states, steps = [state], []
    for length in range(1, depth + 1):
        event, after = system.event(f"@{length}"), system.state(f"@{length}")
        step = system.step(state, event)
        solver.add(step.possible, step.kept)
        solver.add(*(after[name] == value for name, value in step.following.items()))
        events.append(event)
        states.append(after)
        steps.append(step)
        solver.push()
        solver.add(goal(step))
        answer = solver.check()
        if answer == z3.sat:
            return Outcome(_read(solver.model(), events, states, step), length, True)
        if answer == z3.unknown:
            return Outcome(None, length - 1, False)
        solver.pop()
        solver.add(meanwhile(step))
        state = after
    return Outcome(None, depth, True)


def _read(
    model: Expr, events: list[dict[str, Expr]], states: list[dict[str, Expr]], last: Step
) -> Found:
    def values(of: Mapping[str, Expr]) -> dict[str, Value]:
        return {name: _value(model, expr) for name, expr in of.items()}

    return Found(
        tuple(values(e) for e in events),
        tuple(values(s) for s in states),
        tuple(name for name, holds in last.clauses.items() if not _value(model, holds)),
    )


def _value(model: Expr, expr: Expr) -> Value:
    value = model.eval(expr, model_completion=True)
    if z3.is_bool(value):
        return bool(z3.is_true(value))
    return int(value.as_signed_long() if z3.is_bv_value(value) else value.as_long())
