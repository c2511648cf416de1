"""The runtime's strategy: which report it emits next, in each state.

Formulas over one state of a `proofs.model.system.System`; `proofs.receptiveness.check` proves that
following the strategy violates nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import z3

from proofs.receptiveness.inductive_invariant import invariant
from proofs.receptiveness.owed import Owed
from spec.contract.obligations import STATED
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proofs.logic.encode import Expr
    from proofs.model.system import System
    from spec.contract.obligation import Answer

__all__ = ["Move", "RuntimeStrategy"]

_EARLY: Final = (
    *(Kind.CLAIM_ACCEPTED, Kind.CLAIM_HARMED),
    *(Kind.CLAIM_RESTORED, Kind.CLAIM_MATERIALIZED, Kind.CLAIM_UNMATERIALIZED),
    Kind.CLAIM_BLOCK_LOST,
)
_LATE: Final = (
    *(Kind.CLAIM_EXPIRED, Kind.CLAIM_RELEASED),
    *(Kind.ROUTE_COST_REPORTED, Kind.ROUTE_PLACEMENT_REPORTED, Kind.ROUTE_REUSE_REPORTED),
)
"""Reports in the order in which the strategy makes them; those of neither list are between."""


def _first(answer: tuple[str, Answer]) -> int:
    kind = answer[1].kind
    if kind in _EARLY:
        return _EARLY.index(kind) - len(_EARLY)
    return 1 + _LATE.index(kind) if kind in _LATE else 0


@dataclass(frozen=True)
class Move:
    """A report (or the end of a request) with what it states, for states of which `when` holds."""

    name: str
    kind: Kind
    when: Expr
    here: Expr
    fields: Mapping[str, Expr] = field(default_factory=dict)
    about_claim: bool = True

    def event(self, system: System) -> dict[str, Expr]:
        """The event; fields that the move does not state have their plain value."""
        plain = {
            name: z3.BoolVal(False) if z3.is_bool(value) else system.numbers.const(0)
            for name, value in system.event("").items()
        }
        about = z3.BoolVal(self.about_claim)
        kind = system.numbers.kind(system.alphabet.index(self.kind))
        fields = {"kind": kind, "mine": about, "named": about, "here": self.here}
        return plain | fields | {"authorised": z3.BoolVal(True)} | dict(self.fields)


class RuntimeStrategy(Owed):
    """The runtime's strategy in one state of a system."""

    @cached_property
    def invariant(self) -> dict[str, Expr]:
        """The inductive invariant of unviolated states."""
        return invariant(self)

    @property
    def quiet(self) -> Expr:
        """No report about the claim is owed, so acting on a request misses no deadline."""
        return z3.Not(z3.Or([m.when for m in self.moves() if m.about_claim]))

    def moves(self) -> list[Move]:
        """The moves in order of priority: the first that applies is made.

        Reports about the claim come first; a refusal, which ends every deadline, comes after them;
        the end of the request comes last.
        """
        earlier, found = z3.BoolVal(False), []
        for move in self._wanted():
            if not z3.is_false(z3.simplify(move.when)):
                found.append(replace(move, when=z3.And(move.when, z3.Not(earlier))))
                earlier = z3.Or(earlier, move.when)
        return found

    def _wanted(self) -> list[Move]:
        stated = [(name, STATED[name]) for name in self.observers if name in STATED]
        answers = [(name, each) for name, o in stated for each in o.answers]
        reports = [self._answer(name, each) for name, each in sorted(answers, key=_first)]
        refusals = [(self.at(name, *r.states), r) for name, o in stated for r in o.refusals]
        failed = z3.Or([stands for stands, refusal in refusals if refusal.for_restore])
        here = z3.Or([self.unmet, *(stands for stands, r in refusals if r.at_request)])
        at_request, blame = z3.Or(here, self["req_was.failed"]), self._blame(failed)
        yes, end = z3.BoolVal(True), self["req_was.arrived"]
        return [
            *reports,
            Move("refuse", Kind.REQUEST_REFUSED, z3.Or(here, failed), at_request, blame, False),
            Move("end the request", Kind.REQUEST_FINISHED, end, yes, about_claim=False),
        ]

    def _answer(self, name: str, answer: Answer) -> Move:
        """The move by which a report answers what the obligation of this name owes."""
        when = self.at(name, *answer.states)
        fields = {field: self.value(term) for field, term in answer.fields.items()}
        return Move(answer.name, answer.kind, when, z3.BoolVal(answer.of_request), fields)

    def _blame(self, failed: Expr) -> dict[str, Expr]:
        """The claims that a refusal names: the one whose restore failed, or those that block the
        request.

        The others count as one claim here. Of several, taking claims out of the blame for as long
        as those left suffice ends in blame that is sufficient and irredundant.
        """
        none, rest = self.system.numbers.const(0), self["was.rest"]
        needed, usable = self["req_was.needed"], self["req_was.usable"]
        mine_suffices = needed + rest <= usable
        rest_suffices = needed + self["was.declared"] <= usable
        crowded = z3.And(self.conflict, z3.Not(failed))
        rests = z3.And(crowded, z3.Not(mine_suffices))
        mine = z3.Or(failed, z3.And(crowded, z3.Or(mine_suffices, z3.Not(rest_suffices))))
        named = z3.If(rests, rest, none)
        return {
            "blamed": mine,
            "blamed_rest": named,
            "blamed_least": named,
            "accuses": z3.Or(mine, rests),
            "restore": failed,
        }
