"""Models one claim and one request at one event symbolically: ledgers, an observer in two scopes.

In the scope of the claim itself the event has nothing `here` and the request's registers have their
initial values; in the scope of the request it is unchanged. Both share the claim's ledgers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import z3

from proofs.checks.frame.counterexample import Unknown
from proofs.logic.connectives import all_of, any_of, choice, equal
from proofs.logic.encode import Expr, Integers, encode, variable
from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.contract.modes import MODES
from spec.contract.vocabulary import CONSTANTS, EVENT_FIELDS
from spec.events.alphabet import Kind
from spec.language.terms import Scope
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spec.claims.states import Mode
    from spec.language.machine import Ledger, Observer
    from spec.language.terms import Term

__all__ = [
    "CLAIM_FIRST",
    "CLAIM_LEDGERS",
    "EVENTS",
    "NUMBERS",
    "REQUEST_FIRST",
    "REQUEST_LEDGERS",
    "SCOPES",
    "Space",
    "View",
    "constant",
    "constants_of",
    "same",
    "solver_of",
]

NUMBERS: Final = Integers()
EVENTS: Final = tuple(Kind)
"""Every kind; an event's kind is its place in this tuple."""
_ARRIVED: Final = EVENTS.index(Kind.REQUEST_ARRIVED)
CLAIM_LEDGERS: Final[tuple[Ledger, ...]] = (CLAIM_FACTS, DECLARED)
REQUEST_LEDGERS: Final[tuple[Ledger, ...]] = (REQUEST_FACTS,)
SCOPES: Final = ("claim", "request")
"""The scope of the claim itself, and that of one request."""
CLAIM_FIRST: Final = {r.name: r.initial for ledger in CLAIM_LEDGERS for r in ledger.registers}
REQUEST_FIRST: Final = {r.name: r.initial for ledger in REQUEST_LEDGERS for r in ledger.registers}
_SORTS: Final = {
    r.name: r.sort for ledger in (*CLAIM_LEDGERS, *REQUEST_LEDGERS) for r in ledger.registers
}
_FOLLOWING: Final = {
    Scope.NOW: {n: t for ledger in CLAIM_LEDGERS for n, t in ledger.following.items()},
    Scope.REQ: {n: t for ledger in REQUEST_LEDGERS for n, t in ledger.following.items()},
}


def constant(value: bool | int) -> Expr:
    """A Python value for Z3: True is not 1."""
    return z3.BoolVal(value) if isinstance(value, bool) else NUMBERS.const(value)


def constants_of(values: Mapping[str, bool | int]) -> dict[str, Expr]:
    """Python values for Z3, by name."""
    return {name: constant(value) for name, value in values.items()}


def solver_of(rlimit: int, *given: Expr) -> Expr:
    """A solver for questions about one event, each bounded by `rlimit`."""
    solver = z3.SolverFor("QF_LIA")
    solver.set("rlimit", rlimit)
    solver.add(*given)
    return solver


def registers(first: Mapping[str, bool | int], prefix: str) -> dict[str, Expr]:
    """A fresh variable for each register of a ledger."""
    return {name: variable(f"{prefix}.{name}", _SORTS[name], NUMBERS) for name in first}


class View:
    """What the terms of one scope read at one event.

    Args:
        was: the claim's registers before the event.
        req_was: the request's registers before the event; None in the scope of the claim itself.
        event: the fields of the event, with `kind`.
        constants: of the claim.
        owes: whether something is owed in the scope of the claim itself.
    """

    def __init__(
        self,
        was: Mapping[str, Expr],
        req_was: Mapping[str, Expr] | None,
        event: Mapping[str, Expr],
        constants: Mapping[str, Expr],
        owes: Expr,
        at_arrival: Expr | None = None,
    ) -> None:
        first = constants_of(REQUEST_FIRST)
        self.event = dict(event) if req_was is not None else {**event, "here": z3.BoolVal(False)}
        self._kinds = {k: equal(event["kind"], NUMBERS.const(i)) for i, k in enumerate(EVENTS)}
        self._values: dict[Scope, dict[str, Expr]] = {
            Scope.EVENT: self.event,
            Scope.CLAIM: dict(constants),
            Scope.WAS: dict(was),
            Scope.REQ_WAS: first if req_was is None else dict(req_was),
            Scope.NOW: {},
            Scope.REQ: first if req_was is None else {},
            Scope.STANDS: {
                "owes": owes,
                "responsible_at_arrival": z3.BoolVal(False) if at_arrival is None else at_arrival,
            },
        }

    def term(self, term: Term, own: Mapping[str, Expr] | None = None) -> Expr:
        """A term in this scope; `own` are the registers of the observer that it belongs to."""

        def resolve(scope: Scope, name: str) -> Expr:
            if scope is Scope.OWN:
                return (own or {})[name]
            values = self._values[scope]
            if name not in values:
                values[name] = z3.simplify(self.term(_FOLLOWING[scope][name]))
            return values[name]

        return encode(term, resolve, self._kinds, NUMBERS)

    def now(self) -> dict[str, Expr]:
        """The claim's registers after the event."""
        return {name: self.term(term) for name, term in _FOLLOWING[Scope.NOW].items()}

    def req(self) -> dict[str, Expr]:
        """The request's registers after the event."""
        return {name: self.term(term) for name, term in _FOLLOWING[Scope.REQ].items()}

    def step(self, observer: Observer, before: Mapping[str, Expr]) -> dict[str, Expr]:
        """An observer's `state` and registers after the event: the first rule that applies
        decides.
        """
        index = {s.name: i for i, s in enumerate(observer.states)}
        own = {name: value for name, value in before.items() if name != "state"}
        after = dict(before)
        for rule in reversed(observer.rules):
            source = [equal(before["state"], constant(index[s])) for s in observer.sources(rule)]
            fires = all_of([any_of(source), self.term(rule.when, own)])
            after["state"] = choice(fires, constant(index[rule.to]), after["state"])
            for name, kept in own.items():
                value = self.term(rule.sets[name], own) if name in rule.sets else kept
                after[name] = choice(fires, value, after[name])
        return after


class Space:
    """A state and an event, of any claim under any of some modes.

    `was`, `req_was`, `claim` and `request` are the ledgers and the observer's state and registers
    in the two scopes before the event. `given` says what holds of all of them: thresholds are
    positive, constants are those of one of the modes, a state is a state.

    Args:
        modes: the modes whose constants are allowed.
        observer: the observer that is followed; None for ledgers only.
    """

    def __init__(self, modes: Iterable[Mode], observer: Observer | None = None) -> None:
        self.observer = observer
        self.constants = {
            name: variable(f"c.{name}", sort, NUMBERS) for name, (sort, _) in CONSTANTS.items()
        }
        self.event = {
            name: variable(f"e.{name}", sort, NUMBERS) for name, (sort, _) in EVENT_FIELDS.items()
        }
        self.event["kind"] = z3.Int("e.kind")
        self.was = registers(CLAIM_FIRST, "was")
        self.req_was = registers(REQUEST_FIRST, "req_was")
        self.claim, self.request = (self.standing(scope) for scope in SCOPES)
        fixed = {tuple(sorted(MODES[mode].constants.items())) for mode in modes}
        self.given: list[Expr] = [
            self.constants["threshold"] >= 1,
            z3.Or([z3.And([self.constants[n] == v for n, v in each]) for each in sorted(fixed)]),
            *(self._in_range(standing) for standing in (self.claim, self.request)),
        ]
        self.at_arrival = z3.Bool("stands.responsible_at_arrival")
        self.owes = z3.Bool("stands.owes of another observer")
        if observer is not None:
            self.owes = z3.Or(self.owes, self.having(self.claim, Verdict.PENDING))

    def standing(self, scope: str) -> dict[str, Expr]:
        """Fresh variables for the observer's state and registers in a scope."""
        if self.observer is None:
            return {}
        own = {r.name: r.sort for r in self.observer.registers}
        return {
            "state": z3.Int(f"{scope}.state"),
            **{name: variable(f"{scope}.{name}", sort, NUMBERS) for name, sort in own.items()},
        }

    @property
    def first(self) -> dict[str, Expr]:
        """The observer's state and registers before any event."""
        if self.observer is None:
            return {}
        own = {r.name: constant(r.initial) for r in self.observer.registers}
        return {"state": constant(0), **own}

    def _in_range(self, standing: Mapping[str, Expr]) -> Expr:
        if self.observer is None:
            return z3.BoolVal(True)
        last = len(self.observer.states) - 1
        return z3.And(standing["state"] >= 0, standing["state"] <= last)

    def having(self, standing: Mapping[str, Expr], verdict: Verdict) -> Expr:
        """The observer is in a state with this verdict."""
        states = self.observer.states if self.observer is not None else ()
        places = [i for i, state in enumerate(states) if state.verdict is verdict]
        return z3.Or([standing["state"] == constant(i) for i in places])

    @property
    def kind(self) -> Expr:
        """The kind of the event, as its place in `EVENTS`."""
        return self.event["kind"]

    def unknowns(self) -> list[Unknown]:
        """Every variable, with its default value."""
        found = [Unknown("kind", self.kind, constant(0), True, EVENTS)]
        for name, value in self.event.items():
            if name != "kind":
                found.append(Unknown(name, value, _plain(value), True))
        found.append(Unknown("stands.responsible_at_arrival", self.at_arrival, constant(False)))
        for name, value in self.constants.items():
            found.append(Unknown(f"c.{name}", value, _plain(value, 1)))
        for scope, values, first in (
            ("was", self.was, CLAIM_FIRST),
            ("req_was", self.req_was, REQUEST_FIRST),
        ):
            found += [Unknown(f"{scope}.{n}", v, constant(first[n])) for n, v in values.items()]
        states = tuple(s.name for s in self.observer.states) if self.observer is not None else ()
        for scope, standing in zip(SCOPES, (self.claim, self.request), strict=True):
            for name, value in standing.items():
                words = states if name == "state" else ()
                found.append(Unknown(f"{scope}.{name}", value, self.first[name], names=words))
        return found

    def view(
        self,
        scope: str,
        *,
        req_was: Mapping[str, Expr] | None = None,
        event: Mapping[str, Expr] | None = None,
    ) -> View:
        """The view of a scope, with other request registers or another event if given."""
        request = None if scope == "claim" else (req_was or self.req_was)
        return View(
            self.was, request, event or self.event, self.constants, self.owes, self.at_arrival
        )

    def at_arrival_after(self, now: Mapping[str, Expr], event: Mapping[str, Expr]) -> Expr:
        """`stands.responsible_at_arrival` after an event, by its definition."""
        arrives = z3.And(event["here"], event["kind"] == constant(_ARRIVED))
        begins = z3.And(now["responsible"], z3.Not(self.was["responsible"]))
        return z3.Or(arrives, z3.And(self.at_arrival, z3.Not(begins)))


def _plain(value: Expr, number: int = 0) -> Expr:
    return constant(False if z3.is_bool(value) else number)


def same(one: Mapping[str, Expr], other: Mapping[str, Expr]) -> Expr:
    """Two sets of values are equal, name by name."""
    return z3.And([value == other[name] for name, value in one.items()])
