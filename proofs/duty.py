"""How a runtime does its part: what it says next, and the states from which that works.

Formulas over one state of a `proofs.system.System`; `proofs.receptive` proves what they are for.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import z3

from proofs.region import region
from spec.alphabet import Kind
from spec.obligations.ends import STAGES
from spec.states import ClaimState
from spec.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proofs.encode import Expr
    from proofs.system import System

__all__ = ["Duty", "Move"]

_ROUTES = ("route_cost_attribution", "placement_attribution", "reuse_routing_attribution")
_ACCEPT, _HARM, _RISE = "explicit_acceptance", "claim_harm_attribution", "claim_materialized_event"
_TELEMETRY, _BOUNDARY = "claim_scoped_telemetry", "claim_expired_boundary"
_ORDER, _ACTION = "ordered_lifecycle_events", "explicit_conflict_action"
_FAILURE, _RESTORE = "restoration_failure_outcome", "offload_restorability"
_STAGE = f"own.{_ORDER}.stage"


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


class Duty:
    """One state of a system, read for what is owed in it.

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
        return z3.Or([now == const(index[s]) for s in states])

    @property
    def staged(self) -> bool:
        """The bundle follows the lifecycle."""
        return _STAGE in self._state

    def stage(self, *stages: ClaimState) -> Expr:
        """The bundle follows the lifecycle, and the claim is in one of these stages."""
        if not self.staged:
            return z3.BoolVal(False)
        const = self.system.numbers.const
        return z3.Or([self[_STAGE] == const(STAGES.index(s)) for s in stages])

    def _having(self, verdict: Verdict) -> list[Expr]:
        return [
            self.at(name, *(s.name for s in o.states if s.verdict is verdict))
            for name, o in self.observers.items()
        ]

    @property
    def unviolated(self) -> Expr:
        return z3.Not(z3.Or(self._having(Verdict.VIOLATED)))

    @property
    def settled(self) -> Expr:
        return z3.Not(z3.Or(self._having(Verdict.PENDING)))

    @property
    def held(self) -> Expr:
        """The predicate holds of the blocks on the GPU."""
        return self["c.threshold"] <= self["was.lead"]

    @property
    def live(self) -> Expr:
        """News of the claim is owed."""
        return self.system.live(self._state)

    @property
    def conflict(self) -> Expr:
        """The request in hand does not fit beside this claim and the others, as declared."""
        request, resident = self["req_was.needed"], self["was.declared"] + self["was.rest"]
        usable = self["req_was.usable"]
        here = [self["was.responsible"], self["req_was.arrived"]]
        return z3.And(*here, request <= usable, usable < resident + request)

    @property
    def _unmet(self) -> Expr:
        """A conflict in which the request may not end yet."""
        acted = self.at(_ACTION, "acted", "noted")
        acts = z3.And(z3.BoolVal(_ACTION in self.observers), z3.Not(acted))
        return z3.And(self.conflict, z3.Or(acts, self.at("blocking_claim_ids", "unnamed")))

    @property
    def debt(self) -> Expr:
        """How much is left to do; 0 where nothing is owed and no request is in hand."""
        parts = [*self._having(Verdict.PENDING), self["req_was.arrived"], self._unmet]
        parts.append(z3.And(self.at(_RISE, "owed"), self.stage(ClaimState.RESTORING)))
        parts.append(self.at(_ACCEPT, "owed"))  # twice: accepting may bring a conflict to light
        counted = [z3.If(part, z3.IntVal(1), z3.IntVal(0)) for part in parts]
        if _HARM in self.observers:
            untold = self[f"own.{_HARM}.untold"]
            counted.append(z3.If(self.at(_HARM, "owed"), untold, z3.IntVal(0)))
        return z3.Sum(counted)

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
        at, rise = self.at, self.at(_RISE, "owed")
        restoring = z3.And(rise, self.stage(ClaimState.RESTORING))
        fallen, thinned = at(_TELEMETRY, "fallen"), at(_TELEMETRY, "thinned")
        cost, worker, hit = (at(route, "owed") for route in _ROUTES)
        answers = at(_FAILURE, "owed", "refusing", "harming")
        failed = z3.Or(answers, at(_HARM, "failed"))
        here = z3.Or(self._unmet, answers, at(_RESTORE, "owed"))
        at_request = z3.Or(here, self["req_was.failed"])
        said = {"footprint": self["was.footprint"]}
        priced, placed = {"cost": self["req_was.cost"]}, {"worker": self["req_was.worker"]}
        served, blame = {"hit": self["req_was.hit"]}, self._blame(failed)
        breaks = {"breaks": z3.Not(self.held), "unsaid": self["was.unsaid"]}
        end = self["req_was.arrived"]
        return [
            Move("accept", Kind.CLAIM_ACCEPTED, at(_ACCEPT, "owed"), no, said),
            Move("tell the harm", Kind.CLAIM_HARMED, at(_HARM, "owed"), no),
            Move("tell the restore", Kind.CLAIM_RESTORED, restoring, no, {"from_tier": yes}),
            Move("tell the rise", Kind.CLAIM_MATERIALIZED, rise, no),
            Move("tell the fall", Kind.CLAIM_UNMATERIALIZED, fallen, no),
            Move("tell the lost block", Kind.CLAIM_BLOCK_LOST, thinned, no, breaks),
            Move("tell the boundary", Kind.CLAIM_EXPIRED, at(_BOUNDARY, "owed"), no),
            Move("tell the end", Kind.CLAIM_RELEASED, at(_ORDER, "owed"), no),
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
