"""Theorems to answers: Z3, bounded by work and not by the clock."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import z3

from proofs.lowering.results import Proof
from proofs.lowering.written import counterexample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proofs.lowering.symbols import Expr
    from proofs.lowering.theorems import Theorem

__all__ = ["RLIMIT", "prove"]

RLIMIT: Final = 50_000_000
"""Work that Z3 may spend on one question, in its own units."""

_SHOWN: Final = {"sat": "shown", "unsat": "none", "unknown": "unknown"}


def prove(theorem: Theorem, rlimit: int = RLIMIT) -> Proof:
    """Whether a theorem holds, and of something; where it does not, a small row that shows it."""
    started = time.perf_counter()
    solver = _solver(rlimit, theorem.premise, z3.Not(theorem.conclusion))
    answer = str(solver.check())
    witnesses = {
        name: _SHOWN[str(_solver(rlimit, theorem.premise, witness).check())]
        for name, witness in theorem.witnesses.items()
    }
    found = counterexample(theorem, _smallest(solver, theorem)) if answer == "sat" else None
    seen = set(witnesses.values())
    return Proof(
        name=theorem.name,
        says=theorem.says,
        result="refuted"
        if found
        else "unknown"
        if answer == "unknown" or "unknown" in seen
        else "vacuous"
        if "none" in seen
        else "proved",
        witnesses=witnesses,
        seconds=round(time.perf_counter() - started, 3),
        counterexample=found,
    )


def _solver(rlimit: int, *parts: Expr) -> Expr:
    solver = z3.SolverFor("QF_FD")
    solver.set("rlimit", rlimit)
    solver.add(*parts)
    return solver


def _smallest(solver: Expr, theorem: Theorem) -> Expr:
    """A model in which nothing can be left out; `solver` has just found one."""
    model = solver.model()
    out: list[Expr] = []
    for part in _parts(theorem):
        if z3.is_false(model.eval(part, model_completion=True)):
            out.append(z3.Not(part))
        elif solver.check(*out, z3.Not(part)) == z3.sat:
            model = solver.model()
            out.append(z3.Not(part))
    return model


def _parts(theorem: Theorem) -> Iterator[Expr]:
    """What a descriptor can do without, the larger things first, and last what was changed."""
    described = theorem.before.described
    yield from described.forbidden.values()
    yield from described.offered.values()
    yield described.taken
    for cell, item in described.items.items():
        yield item.there
        yield described.others_relate[cell]
        yield described.others_count[cell]
    for seen in (*described.signals.values(), *described.holds.values()):
        yield seen.there
    for anchor in described.atoms.values():
        yield anchor.there
    yield from described.shown.values()
    if theorem.after is not None:
        yield from _changes(theorem)


def _changes(theorem: Theorem) -> Iterator[Expr]:
    assert theorem.after is not None
    before, after = theorem.before.described, theorem.after.described
    for cell, item in before.items.items():
        other = after.items[cell]
        pairs = (
            (item.there, other.there),
            (item.status, other.status),
            (item.scope, other.scope),
            (item.anchor.there, other.anchor.there),
            (item.anchor.kind, other.anchor.kind),
            (item.anchor.order, other.anchor.order),
            (item.anchor.claim, other.anchor.claim),
            (item.anchor.basis, other.anchor.basis),
        )
        yield from (one != two for one, two in pairs if not one.eq(two))
