"""Supplies known invariants: the inductive parts of `proofs.receptiveness.inductive_invariant`.

They are written by hand and not trusted: plain Z3 first drops those that are not inductive. They
only shorten a search: an invariant found with their help contains them, and is checked again as a
whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import z3

from proofs.model.system import System
from proofs.receptiveness.strategy import RuntimeStrategy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proofs.logic.encode import Expr
    from proofs.model.system import Step

__all__ = ["known"]

RLIMIT = 20_000_000


def known(system: object, state: Mapping[str, Expr], step: Step) -> Expr:
    """A known invariant of a system, as a formula over `state`; true for other models."""
    if not isinstance(system, System):
        return z3.BoolVal(True)
    after = {name: step.following.get(name, value) for name, value in state.items()}
    now, then = RuntimeStrategy(system, state).invariant, RuntimeStrategy(system, after).invariant
    left = [name for name, holds in now.items() if not _may(system.initial(state), z3.Not(holds))]
    while True:
        solver = z3.Solver()
        solver.set("rlimit", RLIMIT)
        solver.add(step.possible, step.kept, *(now[name] for name in left))
        stay = [name for name in left if not _may(z3.Not(then[name]), solver=solver)]
        if stay == left:
            return z3.And([now[name] for name in left])
        left = stay


def _may(*given: Expr, solver: Expr | None = None) -> bool:
    """Whether it may hold: plain Z3 did not prove that it cannot."""
    asked = z3.Solver() if solver is None else solver
    asked.push()
    asked.add(*given)
    answer = asked.check()
    asked.pop()
    return bool(answer != z3.unsat)
