"""Computes invariants of the reachable states of the ledgers and one observer.

Candidates about the observer are generated from its guards; Houdini keeps the inductive ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import z3

from proofs.checks.frame.candidates import Situation, candidates
from proofs.mutation.equivalence.inductive import named, preserved
from spec.contract.modes import MODES
from spec.language.terms import Scope, Sort

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from proofs.logic.encode import Expr
    from proofs.model.of_mode import Model
    from spec.claims.states import Mode
    from spec.language.machine import Observer

__all__ = ["inside"]


def inside(model: Model, mode: Mode, observer: Observer, known: Sequence[Expr]) -> tuple[Expr, ...]:
    """The candidates about an observer that are invariants of a model.

    Args:
        known: invariants of the ledgers.
    """
    state, event = model.state(""), model.event("")
    step = model.step(state, event)
    after = {name: step.following.get(name, value) for name, value in state.items()}
    scope = "request" if observer.per_request else "claim"
    about = [c for c in candidates(observer) if {where for where, _ in c.about} == {scope}]
    about = [c for c in about if "the claim's is" not in c.says]
    now, then = (
        [c.holds(_situation(each, mode, observer)) for c in about] for each in (state, after)
    )
    numbers = [list(_numbers(each, observer)) for each in (state, after)]
    now, then = now + numbers[0], then + numbers[1]
    kept = preserved(model.initial(state), z3.And(step.possible, *known), now, then)
    last = len(observer.states) - 1
    here = state[f"state.{observer.name}"]
    return (here >= 0, here <= last, *(now[i] for i in kept or ()))


def _numbers(state: Mapping[str, Expr], observer: Observer) -> Iterator[Expr]:
    """What a numeric register may be, in each state of the observer: of the numbers that its rules
    name, those that it is not, and the bounds that they give.
    """
    here = state[f"state.{observer.name}"]
    numbers = named(observer)
    for register in observer.registers:
        if register.sort is Sort.INT and numbers:
            value = state[f"own.{observer.name}.{register.name}"]
            yield from (value >= numbers[0], value <= numbers[-1])
            for place in range(len(observer.states)):
                yield from (z3.Implies(here == place, value != number) for number in numbers)


def _situation(state: Mapping[str, Expr], mode: Mode, observer: Observer) -> Situation:
    constants = {name: z3.BoolVal(value) for name, value in MODES[mode].constants.items()}
    registers: dict[Scope, Mapping[str, Expr]] = {
        Scope.CLAIM: {**constants, "threshold": state["c.threshold"]}
    }
    for scope in (Scope.WAS, Scope.REQ_WAS):
        prefix = f"{scope.value}."
        registers[scope] = {
            name.removeprefix(prefix): value
            for name, value in state.items()
            if name.startswith(prefix)
        }
    own = f"own.{observer.name}."
    standing = {
        "state": state[f"state.{observer.name}"],
        **{n.removeprefix(own): value for n, value in state.items() if n.startswith(own)},
    }
    return Situation(registers, {"claim": standing, "request": standing})
