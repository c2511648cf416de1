"""Proves by k-induction over mathematical integers, with invariants found by Houdini.

Of the candidates of `proofs.engines.induction.templates`, Houdini keeps the largest inductive set;
the clauses are then proved by k-induction relative to it. Fresh solvers check the result again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import z3

from proofs.engines.bounded.search import RLIMIT
from proofs.engines.bounded.unrolling import value_of
from proofs.engines.explicit.state_space import machine_of
from proofs.engines.induction.templates import Candidate, candidates, holds_at, survives
from proofs.engines.invariants.recheck import Invariant, ProofResult, recheck

if TYPE_CHECKING:
    from proofs.engines.bounded.unrolling import Value
    from proofs.logic.encode import Expr
    from proofs.model.of_mode import Model

__all__ = ["Induction", "induct"]

DEEPEST = 3
_LIMIT = "the work limit was reached"


@dataclass(frozen=True)
class Induction:
    """The result of k-induction: proved or refuted with this k, or unknown up to it.

    Proved: no run of fewer than k events breaks a clause, and after k - 1 events that break none,
    out of a state of the invariants, the next one breaks none either; all checked again. Refuted:
    by a run of k events from the start. `possibly_unreachable` is a counterexample to the last
    step: the state out of which an event breaks a clause, after k - 1 events that do not. It may be
    that no run leads there, so it refutes nothing.
    """

    result: ProofResult
    k: int
    tried: int = 0
    kept: int = 0
    reason: str = ""
    possibly_unreachable: dict[str, Value] = field(default_factory=dict)


def induct(model: Model, deepest: int = DEEPEST, rlimit: int = RLIMIT) -> Induction:
    """Prove every clause for every run: k-induction for k = 1, 2, ..., relative to the invariants.

    Args:
        rlimit: resource limit of one question to the solver.
    """
    for length in range(1, deepest + 1):
        answer = _base(model, length, rlimit)
        if answer == z3.sat:
            return Induction(ProofResult.REFUTED, length)
        if answer == z3.unknown:
            return Induction(ProofResult.UNKNOWN, length, reason=_LIMIT)
    tried = candidates(model, machine_of(model))
    kept = _houdini(model, tried, rlimit)
    if kept is None:
        return Induction(ProofResult.UNKNOWN, 0, len(tried), reason=_LIMIT)
    invariant = Invariant(lambda state: z3.And([holds_at(c, state) for c in kept]))
    last: dict[str, Value] = {}
    for k in range(1, deepest + 1):
        answer, last = _step(model, invariant, k, rlimit)
        if answer == z3.unsat:
            failed = _recheck(model, invariant, k)
            result = ProofResult.UNKNOWN if failed else ProofResult.PROVED
            return Induction(result, k, len(tried), len(kept), failed and f"{failed} fails again")
        if answer == z3.unknown:
            return Induction(ProofResult.UNKNOWN, k, len(tried), len(kept), _LIMIT)
    reason = f"not inductive for k up to {deepest}"
    return Induction(ProofResult.UNKNOWN, deepest, len(tried), len(kept), reason, last)


def _houdini(model: Model, tried: list[Candidate], rlimit: int) -> list[Candidate] | None:
    """The largest inductive set of candidates."""
    state, event = model.state(""), model.event("")
    step = model.step(state, event)
    after: dict[str, Expr] = {n: step.following.get(n, v) for n, v in state.items()}
    fresh = {n: z3.FreshConst(v.sort()) for n, v in after.items()}
    starting, going = z3.Solver(), z3.Solver()
    starting.add(model.initial(state))
    going.add(step.possible, step.kept, *(fresh[n] == v for n, v in after.items()))
    kept = _surviving(starting, tried, None, state, rlimit)
    return None if kept is None else _surviving(going, kept, state, fresh, rlimit)


def _surviving(
    solver: Expr,
    tried: list[Candidate],
    before: dict[str, Expr] | None,
    after: dict[str, Expr],
    rlimit: int,
) -> list[Candidate] | None:
    """The candidates that hold `after`, assuming the survivors `before`; None at the work limit."""
    solver.set("rlimit", rlimit)
    assumed = {c: z3.Bool(f"assumed {i}") for i, c in enumerate(tried)}
    broken = {c: z3.Bool(f"broken {i}") for i, c in enumerate(tried)}
    for c in tried:
        solver.add(z3.Implies(broken[c], z3.Not(holds_at(c, after))))
        if before is not None:
            solver.add(z3.Implies(assumed[c], holds_at(c, before)))
    solver.add(z3.Or(list(broken.values())))
    kept = tried
    while True:
        answer = solver.check(*(assumed[c] for c in kept))
        if answer == z3.unknown:
            return None
        if answer == z3.unsat:
            return kept
        values = {n: value_of(solver.model(), v) for n, v in after.items()}
        solver.add(*(z3.Not(broken[c]) for c in kept if not survives(c, values)))
        kept = [c for c in kept if survives(c, values)]


def _base(model: Model, length: int, rlimit: int) -> Expr:
    """Base case: whether the last of this many events from the start can be the first to break a
    clause.
    """
    solver = z3.Solver()
    solver.set("rlimit", rlimit)
    state = model.state("@0")
    solver.add(model.initial(state))
    _unroll(model, state, length, solver)
    return solver.check()


def _step(model: Model, invariant: Invariant, k: int, rlimit: int) -> tuple[Expr, dict[str, Value]]:
    """Induction step: whether, after k - 1 events that break no clause, the next one can; and the
    state before it.
    """
    solver = z3.Solver()
    solver.set("rlimit", rlimit)
    state = model.state("@0")
    solver.add(invariant.at(state))
    last = _unroll(model, state, k, solver)
    answer = solver.check()
    if answer != z3.sat:
        return answer, {}
    found = solver.model()
    return answer, {n: value_of(found, v) for n, v in last.items()}


def _unroll(model: Model, state: dict[str, Expr], k: int, solver: Expr) -> dict[str, Expr]:
    """Asserts k events out of `state`, all sound but the last; returns the state before that."""
    for number in range(1, k + 1):
        step = model.step(state, model.event(f"@{number}"))
        solver.add(step.possible, step.kept, step.sound if number < k else z3.Not(step.sound))
        if number < k:
            state = {n: step.following.get(n, v) for n, v in state.items()}
    return state


def _recheck(model: Model, invariant: Invariant, k: int) -> str:
    """Check the parts of the proof, each with a fresh solver; returns the first that fails, or
    ''.
    """
    failed = recheck(model, invariant)
    if failed in ("initiation", "consecution"):
        return failed
    if any(_base(model, length, RLIMIT) != z3.unsat for length in range(1, k)):
        return "the base"
    return "" if _step(model, invariant, k, RLIMIT)[0] == z3.unsat else "the step"
