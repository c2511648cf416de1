"""Proves that two observers agree, by an invariant from a fixed list of candidates.

Plain Z3 keeps the inductive part of a fixed list of candidates; if it implies that the verdicts
agree, no engine is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import z3

from proofs.engines.inductive_part import inductive_part
from spec.language.terms import Const, Sort, children

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from proofs.logic.encode import Expr
    from proofs.model.of_mode import Model
    from spec.language.machine import Observer

__all__ = ["agree", "always", "named", "preserved"]

RLIMIT = 5_000_000


def agree(
    model: Model, pairs: Sequence[tuple[Observer, Observer]], known: Sequence[Expr] = ()
) -> bool:
    """Whether the candidates show that the clauses of a model hold in every run.

    Args:
        model: a model of the observers, alone or with the ledgers.
        pairs: the observers that are compared.
        known: invariants of the reachable states.
    """
    state, event = model.state(""), model.event("")
    step = model.step(state, event)
    wrong = z3.Or([z3.Not(holds) for holds in step.clauses.values()])
    solver = z3.Solver()
    solver.add(step.possible, *known)
    if solver.check(wrong) == z3.unsat:
        return True
    after = {name: step.following.get(name, value) for name, value in state.items()}
    now, then = ([*_candidates(s, pairs), *_of_copies(s, pairs)] for s in (state, after))
    possible = z3.And(step.possible, *known)
    kept = preserved(model.initial(state), possible, now, then) if now else None
    return kept is not None and bool(solver.check(wrong, *(now[i] for i in kept)) == z3.unsat)


def always(model: Model) -> tuple[Expr, ...]:
    """Candidates about the ledgers that are invariants of a model."""
    state, event = model.state(""), model.event("")
    step = model.step(state, event)
    moving = {name: value for name, value in state.items() if name in step.following}
    threshold = {"c.threshold": state["c.threshold"]}
    after = {name: step.following[name] for name in moving}
    now, then = list(_of_ledgers(moving | threshold)), list(_of_ledgers(after | threshold))
    kept = preserved(model.initial(state), step.possible, now, then)
    return () if kept is None else tuple(now[i] for i in kept)


def preserved(
    initial: Expr, possible: Expr, now: Sequence[Expr], then: Sequence[Expr]
) -> list[int] | None:
    """The largest inductive set of candidates; None if the solver does not decide.

    Args:
        now: each candidate over the state before an event.
        then: each candidate over the state after it.
    """
    first = z3.Solver()
    first.add(initial)
    left = [i for i, each in enumerate(now) if first.check(z3.Not(each)) == z3.unsat]
    solver = z3.SolverFor("QF_LIA")
    solver.set("rlimit", RLIMIT)
    solver.add(possible)
    kept = inductive_part(solver, [now[i] for i in left], [then[i] for i in left])
    return None if kept is None else [left[place] for place in kept]


def _candidates(
    state: Mapping[str, Expr], pairs: Sequence[tuple[Observer, Observer]]
) -> Iterator[Expr]:
    for one, other in pairs:
        at = {o.name: state[f"state.{o.name}"] for o in (one, other)}
        yield at[one.name] == at[other.name]
        for o in (one, other):
            yield z3.And(at[o.name] >= 0, at[o.name] < len(o.states))
            yield from (at[o.name] != number for number in range(len(o.states)))
        for register in one.registers:
            left, right = (state[f"own.{o.name}.{register.name}"] for o in (one, other))
            yield left == right
            if register.sort is Sort.INT:
                yield from _together(left, right, sorted({*named(one), *named(other)}))
            for number in range(len(one.states)):
                yield z3.Implies(at[one.name] == number, left == right)
            for o, value in ((one, left), (other, right)):
                more = value >= 1 if register.sort is Sort.INT else value
                for number in range(len(o.states)):
                    for simple in (value == register.initial, more):
                        yield z3.Implies(at[o.name] == number, simple)


def named(observer: Observer) -> list[int]:
    """The numbers that the rules of an observer name, the smallest first."""
    todo = [term for rule in observer.rules for term in (rule.when, *rule.sets.values())]
    found: set[int] = set()
    while todo:
        term = todo.pop()
        todo += children(term)
        if isinstance(term, Const) and not isinstance(term.value, bool):
            found.add(term.value)
    return sorted(found)


def _together(left: Expr, right: Expr, numbers: Sequence[int]) -> Iterator[Expr]:
    """The values of two registers among these numbers, and that both never hold at once."""
    for value in (left, right):
        yield z3.Or([value == number for number in numbers])
    yield from (z3.Or(left != a, right != b) for a in numbers for b in numbers if a != b)


def _of_copies(
    state: Mapping[str, Expr], pairs: Sequence[tuple[Observer, Observer]]
) -> Iterator[Expr]:
    """Of registers of the ledgers and what they became: where they are the same, and where plain;
    somewhere at all, under a flag, or in a state of an observer that is compared.
    """
    flags = {n: v for n, v in state.items() if _is_ledger(n) and z3.is_bool(v)}
    at = [state[f"state.{one.name}"] == n for one, _ in pairs for n in range(len(one.states))]
    for name, value in state.items():
        other = state.get(f"{name}'") if _is_ledger(name) else None
        if other is None:
            continue
        same, plain = value == other, z3.Not(value) if z3.is_bool(value) else value == 0
        yield same
        for says in (same, plain):
            yield from (z3.Implies(flag, says) for flag in flags.values())
            yield from (z3.Implies(here, says) for here in at)
            yield from (z3.Implies(z3.And(h, f), says) for h in at for f in flags.values())


def _of_ledgers(state: Mapping[str, Expr]) -> Iterator[Expr]:
    """Candidates about facts and about beliefs, separately."""
    if "was.lead" not in state:
        return
    threshold, seen = state["c.threshold"], state["req_was.seen"]
    yield threshold >= 1
    for beliefs in (False, True):
        about = {
            name: value
            for name, value in state.items()
            if _is_ledger(name) and name.startswith("believed.") is beliefs
        }
        flags = [value for value in about.values() if z3.is_bool(value)]
        flags += [] if beliefs else [threshold <= state["was.lead"]]
        yield from (z3.Implies(a, b) for a in flags for b in flags if a is not b)
        yield from (z3.Implies(flag, seen) for flag in flags if beliefs)
        for value in about.values():
            if not z3.is_bool(value):
                yield value >= 0
                yield from (z3.Implies(z3.Not(flag), value == 0) for flag in flags)


def _is_ledger(name: str) -> bool:
    return name.startswith(("was.", "req_was.", "believed."))
