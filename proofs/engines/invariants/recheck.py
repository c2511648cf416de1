"""Checks an invariant by plain Z3: initiation, consecution and implication.

Whatever found the invariant is not trusted; "proved" is reported only after this check.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import z3

if TYPE_CHECKING:
    from collections.abc import Callable

    from proofs.logic.encode import Expr
    from proofs.model.of_mode import Model

__all__ = ["Invariant", "Proof", "ProofResult", "recheck"]

RLIMIT = 2_000_000_000


class ProofResult(StrEnum):
    """`bounded`: no run within stated limits breaks a clause, and nothing is known beyond them."""

    PROVED = "proved"
    REFUTED = "refuted"
    BOUNDED = "bounded"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Invariant:
    """A predicate over a system's state, as a function of its variables."""

    at: Callable[[dict[str, Expr]], Expr]


@dataclass(frozen=True)
class Proof:
    """`proved` only with an invariant that was checked again without Spacer."""

    result: ProofResult
    reason: str = ""
    invariant: Invariant | None = field(default=None, compare=False)


def recheck(system: Model, invariant: Invariant) -> str:
    """Initiation, consecution and implication by a plain solver; the first that fails, or ''."""
    state, event = system.state(""), system.event("")
    step = system.step(state, event)
    holds = invariant.at(state)
    after = invariant.at({n: step.following.get(n, v) for n, v in state.items()})
    run = [holds, step.possible, step.kept]
    questions = {
        "initiation": [system.initial(state), z3.Not(holds)],
        "consecution": [*run, z3.Not(after)],
        "implication": [*run, z3.Not(step.sound)],
    }
    for name, question in questions.items():
        solver = z3.SimpleSolver()
        solver.set("rlimit", RLIMIT)
        solver.add(*question)
        if solver.check() != z3.unsat:
            return name
    return ""
