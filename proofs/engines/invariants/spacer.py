"""Proves by Spacer for runs of every length; plain Z3 checks the invariant again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import z3

from proofs.engines.invariants.recheck import Invariant, Proof, ProofResult, recheck
from proofs.engines.invariants.strengthen import known

if TYPE_CHECKING:
    from proofs.logic.encode import Expr
    from proofs.model.of_mode import Model

__all__ = ["RLIMIT", "prove"]

RLIMIT = 2_000_000_000


def prove(system: Model, rlimit: int = RLIMIT) -> Proof:
    """Whether every clause holds in every run, however long, that keeps every obligation."""
    state, event = system.state(""), system.event("")
    names = list(state)
    step = system.step(state, event)
    beforehand = known(system, state, step)
    inv = z3.Function("Inv", *[state[n].sort() for n in names], z3.BoolSort())
    bad = z3.Function("Bad", z3.BoolSort())
    engine = z3.Fixedpoint()
    engine.set(engine="spacer", rlimit=rlimit)
    engine.set("spacer.logic", "QF_LIA")  # a quarter to a third faster than without
    engine.register_relation(inv, bad)
    engine.declare_var(*state.values(), *event.values())
    here = inv(*[state[n] for n in names])
    engine.rule(here, system.initial(state))
    engine.rule(
        inv(*[step.following.get(n, state[n]) for n in names]),
        [here, beforehand, step.possible, step.kept],
    )
    engine.rule(bad(), [here, beforehand, step.possible, step.kept, z3.Not(step.sound)])
    try:
        answer = engine.query(bad())
    except z3.Z3Exception as error:  # the resource limit is also reported this way
        return Proof(ProofResult.UNKNOWN, str(error))
    if answer == z3.sat:
        return Proof(ProofResult.REFUTED)
    if answer == z3.unknown:
        return Proof(ProofResult.UNKNOWN, engine.reason_unknown())
    found = _invariant(engine.get_answer(), inv, names)
    invariant = None if found is None else _both(found, beforehand, state)
    if invariant is None:
        return Proof(ProofResult.UNKNOWN, "no invariant could be read from the answer")
    failed = recheck(system, invariant)
    if failed:
        return Proof(ProofResult.UNKNOWN, f"the invariant fails {failed}")
    return Proof(ProofResult.PROVED, invariant=invariant)


def _both(found: Invariant, beforehand: Expr, state: dict[str, Expr]) -> Invariant:
    """The conjunction of the invariant found and the known invariants."""

    def at(values: dict[str, Expr]) -> Expr:
        pairs = [(variable, values[name]) for name, variable in state.items()]
        return z3.And(found.at(values), z3.substitute(beforehand, *pairs))

    return Invariant(at)


def _invariant(answer: Expr, inv: Expr, names: list[str]) -> Invariant | None:
    """The definition of `inv` inside Spacer's answer: `forall x. inv(x) = body(x)`."""
    parts = answer.children() if z3.is_and(answer) else [answer]
    for part in parts:
        if not z3.is_quantifier(part) or not z3.is_eq(part.body()):
            continue
        head, body = part.body().children()
        if head.decl().name() != inv.name():
            continue
        slots = [z3.get_var_index(arg) for arg in head.children()]

        def at(state: dict[str, Expr], body: Expr = body, slots: list[int] = slots) -> Expr:
            values: list[Expr] = [None] * len(slots)
            for slot, name in zip(slots, names, strict=True):
                values[slot] = state[name]
            return z3.substitute_vars(body, *values)

        return Invariant(at)
    return None
