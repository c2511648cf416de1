"""Bounded search by increasing length, on an incremental solver.

Numbers are bit-vectors, so an answer covers runs with block counts up to a limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import z3

from proofs.engines.bounded.minimise import plainest
from proofs.engines.bounded.unrolling import Found, Run, read_run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from proofs.logic.encode import Expr
    from proofs.model.of_mode import Model
    from proofs.model.system import Step

__all__ = [
    "RLIMIT",
    "WIDTH",
    "Found",
    "Outcome",
    "find_refutation",
    "find_run",
    "find_witness",
    "read_run",
]

WIDTH = 6
RLIMIT = 400_000_000


@dataclass(frozen=True)
class Outcome:
    """`found` is a shortest run, or None; `complete` says that every depth up to `depth` was
    decided, so None then means that there is none of up to `depth` events.
    """

    found: Found | None
    depth: int
    complete: bool


def find_refutation(
    system: Model, depth: int, *, plain: bool = False, rlimit: int = RLIMIT
) -> Outcome:
    """A shortest run of at most `depth` events that keeps every obligation and breaks a clause.

    Args:
        plain: minimise the run; it breaks the first clause that can be broken.
        rlimit: resource limit of one question to the solver.
    """
    return _search(
        system,
        depth,
        goal=lambda step, _: z3.Not(step.sound),
        meanwhile=lambda step: step.sound,
        plain=plain,
        rlimit=rlimit,
    )


def find_witness(system: Model, depth: int, *, plain: bool = False) -> Outcome:
    """A shortest run in which every obligation is exercised and satisfied and nothing is owed.

    Args:
        plain: minimise the run.
    """
    return find_run(system, depth, _witness, plain=plain)


def _witness(step: Step, _: Mapping[str, Expr]) -> Expr:
    return z3.And(step.settled, *step.exercised.values(), *step.clauses.values())


def find_run(
    system: Model,
    depth: int,
    goal: Callable[[Step, Mapping[str, Expr]], Expr],
    *,
    plain: bool = False,
) -> Outcome:
    """A shortest run that keeps every obligation and ends as `goal` says.

    Args:
        goal: a predicate over the last step and the state before it.
        plain: minimise the run.
    """
    return _search(system, depth, goal, meanwhile=lambda step: z3.BoolVal(True), plain=plain)


def _search(
    system: Model,
    depth: int,
    goal: Callable[[Step, Mapping[str, Expr]], Expr],
    meanwhile: Callable[[Step], Expr],
    *,
    plain: bool,
    rlimit: int = RLIMIT,
) -> Outcome:
    run = Run.of(system, rlimit)
    for length in range(1, depth + 1):
        step = run.extend()
        sought = z3.Bool(f"sought@{length}")  # not pushed: learned clauses stay
        run.solver.add(z3.Implies(sought, goal(step, run.states[-2])))
        answer = run.solver.check(sought)
        if answer == z3.sat:
            found = plainest(run, sought) if plain else run.read(run.solver.model())
            return Outcome(found, length, True)
        if answer == z3.unknown:
            return Outcome(None, length - 1, False)
        run.solver.add(meanwhile(step))
    return Outcome(None, depth, True)
