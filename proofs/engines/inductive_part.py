"""Finds the inductive part of a list of candidate invariants (Houdini).

Candidates that one event can break, while all the others hold before it, are dropped until none is
left to drop. The rest is the largest inductive subset.

Flanagan and Leino, "Houdini, an annotation assistant for ESC/Java", FME 2001.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import z3

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proofs.logic.encode import Expr

__all__ = ["inductive_part", "possible", "starting"]


def possible(solver: Expr, *given: Expr) -> bool:
    """Whether these may hold: the solver, which is left as it was, did not prove the opposite."""
    solver.push()
    solver.add(*given)
    answer = solver.check()
    solver.pop()
    return bool(answer != z3.unsat)


def starting(first: Expr, candidates: Sequence[Expr]) -> list[int]:
    """The places of the candidates that hold before any event, by a solver that has that state."""
    return [n for n, holds in enumerate(candidates) if not possible(first, z3.Not(holds))]


def inductive_part(solver: Expr, before: Sequence[Expr], after: Sequence[Expr]) -> list[int] | None:
    """The places of the candidates that no event breaks; None if the solver does not decide.

    Args:
        solver: one that has what is known of an event. It is not left as it was.
        before: each candidate, over the state before the event.
        after: each candidate, over the state after it.
    """
    holds = [z3.Bool(f"holds {n}") for n in range(len(before))]
    breaks = [z3.Bool(f"breaks {n}") for n in range(len(after))]
    for n, (here, there) in enumerate(zip(before, after, strict=True)):
        solver.add(z3.Implies(holds[n], here), breaks[n] == z3.Not(there))
    wrong = [z3.Bool(f"wrong {n}") for n in range(len(after))]  # broken, and not dropped
    solver.add(z3.Or(wrong), *map(z3.Implies, wrong, breaks))
    named = [name.decl() for name in breaks]
    left = list(range(len(before)))
    while left:
        answer = solver.check([holds[n] for n in left])
        if answer != z3.sat:
            return left if answer == z3.unsat else None
        model = solver.model()
        broken = {n for n in left if _is_true_in(model, named[n])}
        if not broken:
            return None
        solver.add([z3.Not(wrong[n]) for n in broken])
        left = [n for n in left if n not in broken]
    return left


def _is_true_in(model: Expr, constant: Expr) -> bool:
    """Whether a model makes a Boolean constant true.

    Asks the library itself: `model.eval` takes ten times as long, and is asked for thousands.
    """
    value = z3.Z3_model_get_const_interp(model.ctx.ref(), model.model, constant.ast)
    return bool(value) and z3.Z3_get_bool_value(model.ctx.ref(), value) == z3.Z3_L_TRUE
