"""Extracts the proof core of a clause: the lemmas, obligations and rules that its proof uses.

Each question of a proof (is the clause implied, is this lemma preserved?) takes the lemmas,
obligations and rules as assumptions. The unsat core gives those used; the lemmas in it are asked
about in turn, until every used lemma is preserved by used lemmas.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import z3

from proofs.engines.bounded.assumption_bmc import guards_of
from proofs.engines.bounded.search import RLIMIT
from proofs.engines.invariants.houdini import conjuncts
from proofs.logic.connectives import substituted
from proofs.logic.encode import Integers
from proofs.model.of_mode import model_of
from proofs.model.system import switch
from spec.contract.modes import Bundle

if TYPE_CHECKING:
    from collections.abc import Iterable

    from proofs.engines.invariants.recheck import Invariant
    from proofs.logic.encode import Expr
    from spec.claims.states import Mode
    from spec.language.machine import Observer

__all__ = ["ProofCore", "ProofCores"]


@dataclass(frozen=True)
class ProofCore:
    """Obligations that suffice for a clause, and the binding rules that the proof uses. There may
    be other such sets.
    """

    obligations: frozenset[str]
    rules: frozenset[str]

    @property
    def names(self) -> frozenset[str]:
        """The obligations and the rules."""
        return self.obligations | self.rules


class ProofCores:
    """Extracts proof cores for the contract of a mode, given an invariant.

    Args:
        without: obligations that were removed when the invariant was found.
    """

    def __init__(
        self, mode: Mode, invariant: Invariant, without: frozenset[str] = frozenset()
    ) -> None:
        model = model_of(mode, Bundle.CONTRACT, Integers(), without=without, switched=True)
        self._state, event = model.state(""), model.event("")
        self._step = model.step(self._state, event)
        self._lemmas: list[Expr] = conjuncts(z3.simplify(invariant.at(self._state)))
        self._solver = z3.Solver()
        self._solver.set("rlimit", RLIMIT)
        self._solver.set("core.minimize", True)
        self._solver.add(self._step.possible, self._step.kept)
        self._assumed = [switch(name) for o in model.observers for name in (o.name, *guards_of(o))]
        for o in model.observers:
            rest = {f"{o.name}.{rule.name}" for rule in o.rules} - set(guards_of(o))
            self._solver.add(*map(switch, sorted(rest)))
            self._solver.add(z3.Or(switch(o.name), self._at_rest(o, model.sides.values())))
        self._stands = [z3.Bool(f"lemma {n}") for n in range(len(self._lemmas))]
        self._number = {stands.decl().name(): n for n, stands in enumerate(self._stands)}
        self._known: dict[int, set[str] | None] = {}
        for stands, lemma in zip(self._stands, self._lemmas, strict=True):
            self._solver.add(z3.Implies(stands, lemma))

    def _at_rest(self, o: Observer, sides: Iterable[str]) -> Expr:
        """An inactive observer is in its initial state."""
        parts = []
        for side in sides:
            parts.append(self._state[f"{side}state.{o.name}"] == 0)
            for r in o.registers:
                parts.append(self._state[f"{side}own.{o.name}.{r.name}"] == r.initial)
        return z3.And(parts)

    def of(self, clause: str) -> ProofCore | None:
        """The core of a clause; None at the work limit, or if it is not proved."""
        core = self._core(self._step.clauses[clause])
        todo, seen, used = [core], set[int](), set[str]()
        while todo:
            core = todo.pop()
            if core is None:
                return None
            lemmas = {self._number[name] for name in core if name in self._number}
            used |= core - set(self._number)
            todo += [self._preserved(number) for number in sorted(lemmas - seen)]
            seen |= lemmas
        names = frozenset(name.removeprefix("on ") for name in used)
        rules = frozenset(name for name in names if "." in name)
        return ProofCore(names - rules, rules)

    def _preserved(self, number: int) -> set[str] | None:
        """The assumptions that preserve a lemma."""
        if number not in self._known:
            self._known[number] = self._core(self._renewed(number))
        return self._known[number]

    def _core(self, goal: Expr) -> set[str] | None:
        self._solver.push()
        self._solver.add(z3.Not(goal))
        answer = self._solver.check(*self._assumed, *self._stands)
        core = None
        if answer == z3.unsat:
            core = {each.decl().name() for each in self._solver.unsat_core()}
        self._solver.pop()
        return core

    def _renewed(self, number: int) -> Expr:
        """A lemma after the event."""
        following = self._step.following
        pairs = [(v, following[n]) for n, v in self._state.items() if n in following]
        return substituted(self._lemmas[number], pairs)
