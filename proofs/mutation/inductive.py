"""Two observers that agree by an invariant that needs no search: the simplest are tried at once.

Of a fixed list of candidates plain Z3 keeps those that hold at first and that every event
preserves; where these show that the verdicts agree, no engine is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import z3

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from proofs.encode import Expr
    from proofs.model import Model
    from spec.machine import Observer

__all__ = ["agree", "always"]

RLIMIT = 5_000_000


def agree(
    model: Model, pairs: Sequence[tuple[Observer, Observer]], known: Sequence[Expr] = ()
) -> bool:
    """Whether the candidates show that the clauses of a model hold in every run.

    Args:
        model: its state is that of the observers, alone or with that of the ledgers.
        pairs: the observers that are compared.
        known: what is known of every state that a run can come to.
    """
    state, event = model.state(""), model.event("")
    step = model.step(state, event)
    wrong = z3.Or([z3.Not(holds) for holds in step.clauses.values()])
    solver = z3.Solver()
    solver.add(step.possible, *known)
    if solver.check(wrong) == z3.unsat:
        return True
    after = {name: step.following.get(name, value) for name, value in state.items()}
    now, then = list(_candidates(state, pairs)), list(_candidates(after, pairs))
    kept = _both(model.initial(state), solver, now, then) if now else None
    return kept is not None and bool(solver.check(wrong, *(now[i] for i in kept)) == z3.unsat)


def always(model: Model) -> tuple[Expr, ...]:
    """Candidates about the ledgers that hold in every state that a run of a model can come to."""
    state, event = model.state(""), model.event("")
    step = model.step(state, event)
    after = {name: step.following.get(name, value) for name, value in state.items()}
    now, then = list(_of_ledgers(state)), list(_of_ledgers(after))
    solver = z3.Solver()
    solver.add(step.possible)
    kept = _both(model.initial(state), solver, now, then)
    return () if kept is None else tuple(now[i] for i in kept)


def _both(
    initial: Expr, going: Expr, now: Sequence[Expr], then: Sequence[Expr]
) -> list[int] | None:
    """Those that hold at first and that every event preserves together."""
    first = z3.Solver()
    first.add(initial)
    kept = _surviving(first, now, [], list(range(len(now))))
    return None if kept is None else _surviving(going, then, now, kept)


def _surviving(
    solver: Expr, tried: Sequence[Expr], assumed: Sequence[Expr], kept: list[int]
) -> list[int] | None:
    """Those of the candidates tried that hold where those that survive are assumed; None where
    the solver does not say."""
    solver.set("rlimit", RLIMIT)
    while True:
        broken = z3.Or([z3.Not(tried[i]) for i in kept])
        answer = solver.check(broken, *(assumed[i] for i in (kept if assumed else ())))
        if answer == z3.unknown:
            return None
        if answer == z3.unsat:
            return kept
        told = solver.model()
        kept = [i for i in kept if z3.is_true(told.eval(tried[i], model_completion=True))]


def _candidates(
    state: Mapping[str, Expr], pairs: Sequence[tuple[Observer, Observer]]
) -> Iterator[Expr]:
    flags = _flags(state)
    yield from _of_ledgers(state)
    for one, other in pairs:
        for number in range(len(one.states) if flags else 0):
            here = state[f"state.{one.name}"] == number
            yield from (z3.Implies(here, z3.Not(flag)) for flag in flags)
            yield from (z3.Implies(here, flag) for flag in flags)
        at = {o.name: state[f"state.{o.name}"] for o in (one, other)}
        yield at[one.name] == at[other.name]
        for o in (one, other):
            yield z3.And(at[o.name] >= 0, at[o.name] < len(o.states))
            yield from (at[o.name] != number for number in range(len(o.states)))
        for register in one.registers:
            left, right = (state[f"own.{o.name}.{register.name}"] for o in (one, other))
            yield left == right
            for number in range(len(one.states)):
                yield z3.Implies(at[one.name] == number, left == right)
            for o, value in ((one, left), (other, right)):
                for number in range(len(o.states)):
                    for simple in (value == register.initial, value >= 1):
                        yield z3.Implies(at[o.name] == number, simple)


def _of_ledgers(state: Mapping[str, Expr]) -> Iterator[Expr]:
    flags = _flags(state)
    yield from (z3.Implies(a, b) for a in flags for b in flags if a is not b)
    for name, value in state.items() if flags else ():
        if name == "c.threshold" or (_is_ledger(name) and not z3.is_bool(value)):
            yield value >= (1 if name == "c.threshold" else 0)
            yield from (z3.Implies(z3.Not(flag), value == 0) for flag in flags)


def _flags(state: Mapping[str, Expr]) -> list[Expr]:
    """What is true or false of the ledgers of a state; none where it has no ledgers."""
    if "was.lead" not in state:
        return []
    found = [value for name, value in state.items() if _is_ledger(name) and z3.is_bool(value)]
    return [*found, state["c.threshold"] <= state["was.lead"]]


def _is_ledger(name: str) -> bool:
    return name.startswith(("was.", "req_was.", "believed."))
