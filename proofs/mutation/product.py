"""Is a mutant the same obligation in other words? Observers and their mutants, side by side.

All see every event of every faithful stream (`proofs.mutation.world`), whatever the runtime does
and says.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

import z3

from proofs.encode import Bits, Expr, Integers, Numbers, encode
from proofs.engines.search import find_refutation
from proofs.engines.spacer import ProofResult, prove
from proofs.mutation.runs import write_run
from proofs.mutation.world import well_formed
from proofs.system import Step, System
from spec.alphabet import Kind
from spec.modes import Bundle
from spec.terms import Scope
from spec.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spec.claims import Mode
    from spec.machine import Observer

__all__ = ["Compared", "compare", "difference", "same_step"]

RLIMIT = 60_000_000
WIDTH = 7  # room for the number of every kind
DEEPEST = 12
_BELIEVED = f"{Scope.BELIEVED.value}."  # read by no observer and no fact: they may stand still
_KINDS = tuple(sorted(Kind))


class Compared(StrEnum):
    """How a mutant compares with its original; the first two show it equivalent."""

    STEP = "from every state each event leads both to the same state"
    RUN = "in no run of any length do their verdicts differ (Spacer, its invariant re-checked)"
    DIFFERENT = "in some run their verdicts differ"
    UNKNOWN = "the solver's work limit was reached"


class _Beside(System):
    """An observer and some mutants of it; the one clause says that all verdicts agree."""

    def __init__(
        self, mode: Mode, original: Observer, mutants: Sequence[Observer], numbers: Numbers
    ) -> None:
        super().__init__(mode, Bundle.CONTRACT, numbers)
        self.original = original
        self.mutants = [replace(m, name=f"{m.name}'{i}") for i, m in enumerate(mutants)]
        self.observers = (original, *self.mutants)
        self.alphabet = _KINDS
        self.clauses = ()

    def step(self, state: Mapping[str, Expr], event: Mapping[str, Expr]) -> Step:
        made = super().step(state, event)
        kinds = {k: event["kind"] == self.numbers.const(i) for i, k in enumerate(_KINDS)}
        formed = encode(well_formed(), lambda _, name: event[name], kinds, self.numbers)
        following = {n: v for n, v in made.following.items() if not n.startswith(_BELIEVED)}
        same = [
            self._in(self.original, made.following[f"state.{self.original.name}"], verdict)
            == self._in(mutant, made.following[f"state.{mutant.name}"], verdict)
            for mutant in self.mutants
            for verdict in Verdict
        ]
        return replace(
            made,
            possible=z3.And(made.possible, formed),
            following=following,
            clauses={"same verdict": z3.And(same)},
            keeps={},
        )


def same_step(mode: Mode, original: Observer, mutants: Sequence[Observer]) -> list[bool]:
    """Of each mutant: from every state, reachable or not, each event leads it where it leads the
    original. False where the solver does not say so."""
    both = _Beside(mode, original, mutants, Integers())
    state, event = both.state(""), both.event("")
    step = both.step(state, event)
    solver = z3.Solver()
    solver.set("rlimit", RLIMIT)
    parts = ["state.{}", *(f"own.{{}}.{register.name}" for register in original.registers)]
    here = state[parts[0].format(original.name)]
    solver.add(step.possible, here >= 0, here < len(original.states), state["c.threshold"] >= 1)
    found = []
    for mutant in both.mutants:
        pairs = [(part.format(original.name), part.format(mutant.name)) for part in parts]
        solver.push()
        solver.add(*(state[a] == state[b] for a, b in pairs))
        solver.add(z3.Or([step.following[a] != step.following[b] for a, b in pairs]))
        found.append(bool(solver.check() == z3.unsat))
        solver.pop()
    return found


def compare(mode: Mode, original: Observer, mutant: Observer) -> Compared:
    """Whether some faithful stream of the mode is judged otherwise by the mutant."""
    match prove(_Beside(mode, original, [mutant], Integers()), RLIMIT).result:
        case ProofResult.PROVED:
            return Compared.RUN
        case ProofResult.REFUTED:
            return Compared.DIFFERENT
    return Compared.UNKNOWN


def difference(
    mode: Mode, original: Observer, mutant: Observer, depth: int = DEEPEST
) -> str | None:
    """A shortest run, as a line of `runs.txt`, that the mutant judges otherwise, or None where
    none of up to `depth` events was found."""
    both = _Beside(mode, original, [mutant], Bits(WIDTH))
    found = find_refutation(both, depth, plain=True).found
    if found is None:
        return None
    events = [
        (_KINDS[int(event["kind"])], {**event, "rest": was["was.rest"]})
        for event, was in zip(found.events, found.states, strict=False)
    ]
    return write_run(int(found.states[0]["c.threshold"]), events)
