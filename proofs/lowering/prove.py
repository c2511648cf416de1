"""Proves the theorems of the lowering relation with Z3, under a resource limit."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import z3

from proofs.lowering.results import Proof
from proofs.lowering.written import counterexample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proofs.lowering.logic import Expr
    from proofs.lowering.theorems import Theorem
    from spec.contract.modes import Depth

__all__ = ["RLIMIT", "prove"]

RLIMIT: Final = 50_000_000
"""Work that Z3 may spend on one question, in its own units."""

_SHOWN: Final = {"sat": "shown", "unsat": "none", "unknown": "unknown"}


def prove(theorem: Theorem, rlimit: int = RLIMIT) -> Proof:
    """Prove a theorem and its non-vacuity; if it fails, with a small counterexample."""
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
    """A minimal model; `solver` has just found one."""
    model = _without(solver, solver.model(), _parts(theorem))
    there = [
        cell for cell, item in theorem.before.described.items.items() if _is(model, item.there)
    ]
    return _without(solver, model, _changes(theorem, there))


def _without(solver: Expr, model: Expr, parts: Iterator[Expr]) -> Expr:
    """A model with as few of these parts as leaving out one after the other gives."""
    for part in parts:
        if _is(model, part):
            out = z3.FreshBool("out")
            solver.add(z3.Implies(out, z3.Not(part)))
            if solver.check(out) != z3.sat:
                continue
            model = solver.model()
        solver.add(z3.Not(part))
    return model


def _is(model: Expr, part: Expr) -> bool:
    return bool(z3.is_true(model.eval(part, model_completion=True)))


def _parts(theorem: Theorem) -> Iterator[Expr]:
    """The removable parts of a descriptor, the larger ones first."""
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


def _changes(theorem: Theorem, cells: list[tuple[Depth, str]]) -> Iterator[Expr]:
    """What differs between the two rows in the items of these cells."""
    if theorem.after is None:
        return
    for cell in cells:
        item, other = theorem.before.described.items[cell], theorem.after.described.items[cell]
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
