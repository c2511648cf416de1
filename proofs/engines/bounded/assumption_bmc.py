"""Assumption-based BMC: many bounded searches over one unrolling, selected by assumptions.

The unrolling is built once on an incremental solver, which keeps learned clauses; each query is a
set of assumptions about switches (`proofs.model.system.switch`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import z3

from proofs.engines.bounded.minimise import plainest
from proofs.engines.bounded.search import RLIMIT
from proofs.engines.bounded.unrolling import Found, Run
from proofs.logic.encode import Bits, Expr
from proofs.model.of_mode import model_of
from proofs.model.system import REPLAY, switch
from spec.contract.modes import Bundle
from spec.language.machine import Guard
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Set

    from proofs.model.system import Step
    from spec.claims.states import Mode
    from spec.language.machine import Observer

__all__ = ["WIDTH", "AssumptionBmc", "guards_of"]

WIDTH = 5
"""Bits for the numbers of these runs: room for what they need, at half the work of one bit more."""
_NONE: frozenset[str] = frozenset()


def guards_of(observer: Observer) -> tuple[str, ...]:
    """The binding rules of an obligation: those that make it pending or violated."""
    return tuple(
        f"{observer.name}.{rule.name}"
        for rule in observer.rules
        if rule.guard is Guard.OWED or observer.state(rule.to).verdict is Verdict.VIOLATED
    )


class AssumptionBmc:
    """Runs of the most general runtime under less than a mode's contract.

    Counterexamples are minimised (`proofs.engines.bounded.minimise`).

    Args:
        plain: also minimise runs without an obligation or rule; that takes longer than finding
        them.
        rests: a core of each clause; without other obligations the clause still holds.
    """

    def __init__(
        self,
        mode: Mode,
        *,
        plain: bool = False,
        rests: Mapping[str, Set[str]] | None = None,
        rlimit: int = RLIMIT,
    ) -> None:
        self._plain, self.rests = plain, rests or {}
        self.model = model_of(mode, Bundle.CONTRACT, Bits(WIDTH), replay=True, switched=True)
        self.obligations = tuple(o.name for o in self.model.observers)
        self.guards = tuple(g for o in self.model.observers for g in guards_of(o))
        self._run = Run.of(self.model, rlimit)
        self._literals: dict[tuple[str, int], Expr] = {}
        for o in self.model.observers:
            rest = {f"{o.name}.{rule.name}" for rule in o.rules} - set(self.guards)
            self._run.solver.add(*(switch(name) for name in sorted(rest)))

    def breaks(
        self, length: int, off: frozenset[str], clauses: Iterable[str], *, replay: bool
    ) -> Found | None:
        """A run of exactly this length that breaks one of the clauses at its last event."""
        names = sorted(clauses)
        goal = z3.Or([z3.Not(self._step(length).clauses[name]) for name in names])
        assumed = self._assumed(length, f"breaks {names}", goal, off, replay=replay)
        if self._run.solver.check(*assumed) != z3.sat:
            return None
        return self._read(length, assumed, plain=True)

    def breaks_without(
        self, length: int, among: Iterable[str], *, replay: bool
    ) -> tuple[str, Found] | None:
        """One of these obligations or rules, and a run of this length that breaks a clause without
        it.
        """
        names = tuple(among)
        goal = z3.And(
            self._broken(length, names), z3.PbEq([(z3.Not(switch(name)), 1) for name in names], 1)
        )
        assumed = self._assumed(
            length, f"without {names}", goal, replay=replay, free=frozenset(names)
        )
        if self._run.solver.check(*assumed) != z3.sat:
            return None
        answer = self._run.solver.model()
        off = next(name for name in names if not z3.is_true(answer.eval(switch(name), True)))
        return off, self._read(length, [*assumed, z3.Not(switch(off))], plain=self._plain)

    def _broken(self, length: int, names: tuple[str, ...]) -> Expr:
        """Some clause is broken that may depend on one of these."""
        broken = []
        for clause, holds in self._step(length).clauses.items():
            rests = self.rests.get(clause, names)
            off = [z3.Not(switch(name)) for name in names if name in rests]
            broken.append(z3.And(z3.Not(holds), z3.Or(off)))
        return z3.Or(broken)

    def fails(self, clause: str, off: Set[str], depth: int) -> bool:
        """Whether a run of up to `depth` events breaks a clause without these."""
        for length in range(1, depth + 1):
            goal = z3.Not(self._step(length).clauses[clause])
            assumed = self._assumed(length, f"breaks {clause}", goal, off, replay=False)
            if self._run.solver.check(*assumed) == z3.sat:
                return True
        return False

    def _assumed(
        self,
        length: int,
        name: str,
        goal: Expr,
        off: Set[str] = _NONE,
        *,
        replay: bool = True,
        free: frozenset[str] = _NONE,
    ) -> list[Expr]:
        assumed = [self._literal(name, length, goal)]
        assumed += [self._literal("happens", at, self._happens(at)) for at in range(1, length + 1)]
        assumed.append(switch(REPLAY) if replay else z3.Not(switch(REPLAY)))
        for each in (*self.obligations, *self.guards):
            if each not in free:
                assumed.append(z3.Not(switch(each)) if each in off else switch(each))
        return assumed

    def _literal(self, name: str, length: int, means: Expr) -> Expr:
        """An activation literal: assuming it asserts the formula."""
        known = self._literals.get((name, length))
        if known is None:
            known = self._literals[name, length] = z3.Bool(f"{name}@{length}")
            self._run.solver.add(z3.Implies(known, means))
        return known

    def _happens(self, at: int) -> Expr:
        step = self._step(at)
        return z3.And(step.possible, step.kept)

    def _step(self, length: int) -> Step:
        while len(self._run.steps) < length:
            self._run.happen()
        return self._run.steps[length - 1]

    def _read(self, length: int, assumed: list[Expr], *, plain: bool) -> Found:
        whole = self._run
        run = replace(
            whole,
            states=whole.states[: length + 1],
            events=whole.events[:length],
            steps=whole.steps[:length],
        )
        found = run.read(run.solver.model())
        return (plainest(run, *assumed) or found) if plain else found
