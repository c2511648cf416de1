"""Formulas over one state of a system: what is owed in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import z3

from proofs.logic.connectives import any_of, equal
from spec.claims.states import ClaimState
from spec.contract.obligations.ends import STAGES
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proofs.logic.encode import Expr
    from proofs.model.system import System
    from spec.language.terms import Term

__all__ = ["Owed"]

_ACCEPT, _HARM = "explicit_acceptance", "claim_harm_attribution"
_ACTION, _STAGE = "explicit_conflict_action", "own.ordered_lifecycle_events.stage"


class Owed:
    """Formulas over one state of a system about what is owed in it.

    Args:
        state: the system's variables, or what they become after an event.
    """

    def __init__(self, system: System, state: Mapping[str, Expr]) -> None:
        self.system, self._state = system, state
        self.observers = {o.name: o for o in system.observers}

    def __getitem__(self, name: str) -> Expr:
        return self._state[name]

    def at(self, observer: str, *states: str) -> Expr:
        """The obligation is in the bundle, and in one of these states."""
        o = self.observers.get(observer)
        if o is None:
            return z3.BoolVal(False)
        index = {s.name: i for i, s in enumerate(o.states)}
        now, const = self[f"state.{observer}"], self.system.numbers.const
        return any_of([equal(now, const(index[s])) for s in states])

    def value(self, term: Term) -> Expr:
        """A term over the constants and the facts before an event."""
        return self.system.value(term, self._state)

    @property
    def staged(self) -> bool:
        """The bundle follows the lifecycle."""
        return _STAGE in self._state

    def stage(self, *stages: ClaimState) -> Expr:
        """The bundle follows the lifecycle, and the claim is in one of these states."""
        if not self.staged:
            return z3.BoolVal(False)
        const = self.system.numbers.const
        return any_of([equal(self[_STAGE], const(STAGES.index(s))) for s in stages])

    def _having(self, verdict: Verdict) -> list[Expr]:
        return [
            self.at(name, *(s.name for s in o.states if s.verdict is verdict))
            for name, o in self.observers.items()
        ]

    @property
    def unviolated(self) -> Expr:
        """No obligation is violated."""
        return z3.Not(z3.Or(self._having(Verdict.VIOLATED)))

    @property
    def pending(self) -> Expr:
        """Some obligation is pending."""
        return z3.Or(self._having(Verdict.PENDING))

    @property
    def held(self) -> Expr:
        """The predicate holds of the blocks on the GPU."""
        return self["c.threshold"] <= self["was.lead"]

    @property
    def live(self) -> Expr:
        """Whether reports about the claim are owed."""
        return self.system.live(self._state)

    @property
    def conflict(self) -> Expr:
        """The request in hand does not fit together with the declared blocks of all claims."""
        request, resident = self["req_was.needed"], self["was.declared"] + self["was.rest"]
        usable = self["req_was.usable"]
        here = [self["was.responsible"], self["req_was.arrived"]]
        return z3.And(*here, request <= usable, usable < resident + request)

    @property
    def unmet(self) -> Expr:
        """A conflict in which the request may not end yet."""
        acted = self.at(_ACTION, "acted", "noted")
        acts = z3.And(z3.BoolVal(_ACTION in self.observers), z3.Not(acted))
        return z3.And(self.conflict, z3.Or(acts, self.at("blocking_claim_ids", "unnamed")))

    @property
    def debt(self) -> Expr:
        """The ranking function: remaining moves; 0 where nothing is owed and no request is in
        hand.
        """
        parts = [*self._having(Verdict.PENDING), self["req_was.arrived"], self.unmet]
        parts.append(self.at(_ACCEPT, "owed"))  # twice: accepting may reveal a conflict
        counted = [z3.If(part, z3.IntVal(1), z3.IntVal(0)) for part in parts]
        if _HARM in self.observers:
            unreported = self[f"own.{_HARM}.harms_owed"]
            counted.append(z3.If(self.at(_HARM, "owed"), unreported, z3.IntVal(0)))
        return z3.Sum(counted)
