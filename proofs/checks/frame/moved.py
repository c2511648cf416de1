"""Models any claim, any of its requests and any observers at any event, and what they must do.

It is the setting in which the functions for one kind of event are compared with the terms.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import z3

from proofs.checks.frame.counterexample import Unknown
from proofs.checks.frame.space import (
    CLAIM_FIRST,
    EVENTS,
    NUMBERS,
    REQUEST_FIRST,
    View,
    constant,
    registers,
)
from proofs.logic.connectives import all_of, any_of, choice, equal
from proofs.logic.encode import variable
from spec.contract.facts import FACTS_ARE_FACTS
from spec.contract.vocabulary import CONSTANTS, EVENT_FIELDS
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proofs.logic.encode import Expr
    from spec.language.machine import Observer

__all__ = ["Moved", "Step"]


@dataclass(frozen=True)
class Step:
    """What an observer must do at an event: when a rule applies, and what it leaves."""

    fires: Expr
    state: Expr
    own: tuple[Expr, ...]
    rule: Expr
    pending: Expr
    kept: Expr
    owing: Expr


class Moved:
    """Any state of a claim, of one of its requests and of some observers, and any event.

    It is the setting of the questions: `given` holds of every one.
    """

    def __init__(self, observers: Sequence[Observer]) -> None:
        self.observers = tuple(observers)
        self.event = {
            name: variable(f"e.{name}", sort, NUMBERS) for name, (sort, _) in EVENT_FIELDS.items()
        }
        self.kind = self.event["kind"] = z3.Int("e.kind")
        self.constants = {
            name: variable(f"c.{name}", sort, NUMBERS) for name, (sort, _) in CONSTANTS.items()
        }
        self.was = registers(CLAIM_FIRST, "was")
        self.req_was = registers(REQUEST_FIRST, "req_was")
        self.standing = {o.name: _standing(o) for o in observers}
        self._steps: dict[tuple[str, bool], Step] = {}

    @property
    def given(self) -> list[Expr]:
        """States are states."""
        return [
            z3.And(state >= 0, state < len(o.states))
            for o in self.observers
            for state, _ in (self.standing[o.name],)
        ]

    @cached_property
    def _views(self) -> dict[bool, View]:
        owes = z3.Bool("stands.owes")
        return {
            scoped: View(
                self.was, self.req_was if scoped else None, self.event, self.constants, owes
            )
            for scoped in (False, True)
        }

    @cached_property
    def now(self) -> dict[str, Expr]:
        """The claim's registers after the event."""
        return self._views[False].now()

    @cached_property
    def req(self) -> dict[str, Expr]:
        """The request's registers after the event."""
        return self._views[True].req()

    @cached_property
    def broken(self) -> list[Expr]:
        """For each assumption whether it is the first that the event breaks."""
        view, before = self._views[True], z3.BoolVal(True)
        found: list[Expr] = []
        for assumption in FACTS_ARE_FACTS:
            holds = view.term(assumption.holds)
            found.append(z3.And(before, z3.Not(holds)))
            before = z3.And(before, holds)
        return found

    @cached_property
    def changed(self) -> Expr:
        """Whether the event changes a register of the request."""
        return z3.Or([self.req_was[name] != value for name, value in self.req.items()])

    def step(self, o: Observer, *, scoped: bool) -> Step:
        """What an observer must do, in the scope of the request or of the claim itself."""
        if (o.name, scoped) not in self._steps:
            self._steps[o.name, scoped] = self._step(o, self._views[scoped])
        return self._steps[o.name, scoped]

    def _step(self, o: Observer, view: View) -> Step:
        state, own = self.standing[o.name]
        names = dict(zip((r.name for r in o.registers), own, strict=True))
        index = {s.name: i for i, s in enumerate(o.states)}
        fires, to, leaves, rule = z3.BoolVal(False), state, list(own), constant(-1)
        for number, each in reversed(list(enumerate(o.rules))):
            source = any_of([equal(state, constant(index[s])) for s in o.sources(each)])
            applies = all_of([source, view.term(each.when, names)])
            fires = any_of([fires, applies])
            to = choice(applies, constant(index[each.to]), to)
            rule = choice(applies, constant(number), rule)
            values = [
                view.term(each.sets[n], names) if n in each.sets else v for n, v in names.items()
            ]
            leaves = [choice(applies, a, b) for a, b in zip(values, leaves, strict=True)]

        def having(where: Expr, verdict: Verdict) -> Expr:
            places = [i for i, s in enumerate(o.states) if s.verdict is verdict]
            return any_of([equal(where, constant(i)) for i in places])

        pending = having(state, Verdict.PENDING)
        kept = z3.And(fires, to != state, having(state, Verdict.SATISFIED))
        owing = z3.And(fires, z3.Or(pending, having(to, Verdict.PENDING)))
        return Step(fires, to, tuple(leaves), rule, pending, kept, owing)

    def unknowns(self) -> list[Unknown]:
        """Every variable."""
        found = [Unknown("kind", self.kind, constant(0), True, EVENTS)]
        for prefix, values in {
            "e": self.event,
            "c": self.constants,
            "was": self.was,
            "req_was": self.req_was,
        }.items():
            for name, value in values.items():
                if name != "kind":
                    plain = constant(False if z3.is_bool(value) else 0)
                    label = name if prefix == "e" else f"{prefix}.{name}"
                    found.append(Unknown(label, value, plain, prefix == "e"))
        for o in self.observers:
            state, _ = self.standing[o.name]
            found.append(
                Unknown(f"{o.name}.state", state, constant(0), names=[s.name for s in o.states])
            )
        return found


def _standing(o: Observer) -> tuple[Expr, tuple[Expr, ...]]:
    own = (variable(f"{o.name}.{r.name}", r.sort, NUMBERS) for r in o.registers)
    return z3.Int(f"{o.name}.state"), tuple(own)
