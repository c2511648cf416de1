"""Weakens an invariant after obligations were removed: drops the lemmas that no longer hold.

Of its lemmas the inductive part is kept (Houdini); that it still implies the clauses is checked
from scratch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import z3

from proofs.engines.bounded.search import RLIMIT
from proofs.engines.inductive_part import inductive_part, starting
from proofs.engines.invariants.recheck import Invariant, Proof, ProofResult, recheck

if TYPE_CHECKING:
    from proofs.logic.encode import Expr
    from proofs.model.of_mode import Model

__all__ = ["conjuncts", "houdini", "idle"]


def houdini(system: Model, invariant: Invariant, of: Model) -> Proof:
    """A proof for `system` from an invariant `of` the same mode under more obligations.

    Unknown if the remaining lemmas do not suffice; never a refutation.
    """
    at_rest = idle(system, of)

    def lemmas(state: dict[str, Expr]) -> list[Expr]:
        return conjuncts(z3.simplify(invariant.at({**at_rest, **state})))

    state, event = system.state(""), system.event("")
    step = system.step(state, event)
    before = lemmas(state)
    renewed = [(v, step.following[n]) for n, v in state.items() if n in step.following]
    after = [z3.substitute(lemma, *renewed) for lemma in before]
    solver = z3.Solver()
    solver.set("rlimit", RLIMIT)
    solver.add(step.possible, step.kept)
    first = z3.Solver()
    first.add(system.initial(state))
    left = starting(first, before)
    part = inductive_part(solver, [before[n] for n in left], [after[n] for n in left])
    kept = [before[left[place]] for place in part or []]
    rest = Invariant(lambda at: z3.And(_at(kept, state, at)))
    if part is not None and recheck(system, rest) == "":
        return Proof(ProofResult.PROVED, invariant=rest)
    return Proof(ProofResult.UNKNOWN, "the lemmas that are left do not suffice")


def _at(lemmas: list[Expr], state: dict[str, Expr], at: dict[str, Expr]) -> list[Expr]:
    renamed = [(variable, at[name]) for name, variable in state.items()]
    return [z3.substitute(lemma, *renamed) for lemma in lemmas]


def idle(system: Model, of: Model) -> dict[str, Expr]:
    """The removed obligations, in their initial state."""
    found, numbers = {}, system.numbers
    remaining = {o.name for o in system.observers}
    for prefix in of.sides.values():
        for o in of.observers:
            if o.name not in remaining:
                found[f"{prefix}state.{o.name}"] = numbers.const(0)
                for r in o.registers:
                    value = r.initial
                    found[f"{prefix}own.{o.name}.{r.name}"] = (
                        z3.BoolVal(value) if isinstance(value, bool) else numbers.const(value)
                    )
    return found


def conjuncts(formula: Expr) -> list[Expr]:
    """The conjuncts of a simplified invariant."""
    if z3.is_and(formula):
        return [part for child in formula.children() for part in conjuncts(child)]
    if z3.is_not(formula) and z3.is_or(formula.arg(0)):
        return [part for child in formula.arg(0).children() for part in conjuncts(z3.Not(child))]
    return [formula]
