"""How a runtime does its part: what it says next, and the states from which that works.

Formulas over one state of a `proofs.model.system.System`; `proofs.checks.receptiveness` proves what
they are for.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import z3

from proofs.model.inductive_invariant import region
from proofs.model.owed import ACCEPT, HARM, ORDER, RISE, Owed
from spec.claims.states import ClaimState
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proofs.logic.encode import Expr
    from proofs.model.system import System

__all__ = ["Duty", "Move"]

_ROUTES = ("route_cost_attribution", "placement_attribution", "reuse_routing_attribution")
_TELEMETRY, _BOUNDARY = "claim_scoped_telemetry", "claim_expired_boundary"
_FAILURE, _RESTORE = "restoration_failure_outcome", "offload_restorability"


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
        said = {"kind": kind, "mine": about, "named": about, "here": self.here}
        return plain | said | {"authorised": z3.BoolVal(True)} | dict(self.fields)


class Duty(Owed):
    """One state of a system, and what a runtime that does its part says in it."""

    @cached_property
    def region(self) -> dict[str, Expr]:
        """What is true of every unviolated state."""
        return region(self)

    @property
    def quiet(self) -> Expr:
        """No report about the claim is owed, so acting on a request closes no window."""
        return z3.Not(z3.Or([m.when for m in self.moves() if m.about_claim]))

    def moves(self) -> list[Move]:
        """What a runtime that does its part says next: of each state, the first that applies.

        Reports about the claim come first; a refusal, which closes every window, only after them;
        and the end of the request last.
        """
        earlier, found = z3.BoolVal(False), []
        for move in self._wanted():
            if not z3.is_false(z3.simplify(move.when)):
                found.append(replace(move, when=z3.And(move.when, z3.Not(earlier))))
                earlier = z3.Or(earlier, move.when)
        return found

    def _wanted(self) -> list[Move]:
        yes, no = z3.BoolVal(True), z3.BoolVal(False)
        at, rise = self.at, self.at(RISE, "owed")
        restoring = z3.And(rise, self.stage(ClaimState.RESTORING))
        fallen, thinned = at(_TELEMETRY, "fallen"), at(_TELEMETRY, "thinned")
        cost, worker, hit = (at(route, "owed") for route in _ROUTES)
        answers = at(_FAILURE, "owed", "refusing", "harming")
        failed = z3.Or(answers, at(HARM, "failed"))
        here = z3.Or(self.unmet, answers, at(_RESTORE, "owed"))
        at_request = z3.Or(here, self["req_was.failed"])
        said = {"footprint": self["was.footprint"]}
        priced, placed = {"cost": self["req_was.cost"]}, {"worker": self["req_was.worker"]}
        served, blame = {"hit": self["req_was.hit"]}, self._blame(failed)
        breaks = {"breaks": z3.Not(self.held), "unsaid": self["was.unsaid"]}
        end = self["req_was.arrived"]
        return [
            Move("accept", Kind.CLAIM_ACCEPTED, at(ACCEPT, "owed"), no, said),
            Move("tell the harm", Kind.CLAIM_HARMED, at(HARM, "owed"), no),
            Move("tell the restore", Kind.CLAIM_RESTORED, restoring, no, {"from_tier": yes}),
            Move("tell the rise", Kind.CLAIM_MATERIALIZED, rise, no),
            Move("tell the fall", Kind.CLAIM_UNMATERIALIZED, fallen, no),
            Move("tell the lost block", Kind.CLAIM_BLOCK_LOST, thinned, no, breaks),
            Move("tell the boundary", Kind.CLAIM_EXPIRED, at(_BOUNDARY, "owed"), no),
            Move("tell the end", Kind.CLAIM_RELEASED, at(ORDER, "owed"), no),
            Move("tell the cost", Kind.ROUTE_COST_REPORTED, cost, yes, priced),
            Move("tell the placement", Kind.ROUTE_PLACEMENT_REPORTED, worker, yes, placed),
            Move("tell the reuse", Kind.ROUTE_REUSE_REPORTED, hit, yes, served),
            Move("refuse", Kind.REQUEST_REFUSED, z3.Or(here, failed), at_request, blame, False),
            Move("end the request", Kind.REQUEST_FINISHED, end, yes, about_claim=False),
        ]

    def _blame(self, failed: Expr) -> dict[str, Expr]:
        """Whom a refusal names: the claim whose restore failed, or those that are in the way.

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
