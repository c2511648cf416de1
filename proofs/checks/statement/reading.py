"""Reads the terms of a mode once more, beside the step that `proofs.model.system` makes of them.

Each check yields formulas, none of which may be satisfiable: the ways in which the system could
differ from this reading, in any state and on any event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

import z3

from proofs.checks.statement import page
from proofs.logic.encode import Expr, Integers, encode
from proofs.model.auditor import BELIEFS
from proofs.model.environment import POOL, faithful, replayable
from proofs.model.system import System
from proofs.model.theorems import CLAUSES
from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.contract.modes import MODES
from spec.contract.vocabulary import EVENT_FIELDS
from spec.events.alphabet import Kind
from spec.language.terms import Scope, Sort, Term
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from proofs.model.system import Step
    from spec.contract.modes import Bundle
    from spec.language.machine import Ledger, Observer, Register

__all__ = ["Questions", "Reading", "Values", "differ", "distinct", "whole"]

_BEFORE: Final[dict[Scope, tuple[Ledger, ...]]] = {
    Scope.WAS: (CLAIM_FACTS, DECLARED, POOL),
    Scope.REQ_WAS: (REQUEST_FACTS,),
    Scope.BELIEVED: (BELIEFS,),
}
_AFTER: Final = {
    Scope.NOW: Scope.WAS,
    Scope.REQ: Scope.REQ_WAS,
    Scope.BELIEVES: Scope.BELIEVED,
}

Values: TypeAlias = Mapping[str, Expr]
"""The variables of a state or of an event, by name."""

Questions: TypeAlias = Iterator[Expr]
"""Formulas, none of which may be satisfiable."""


def differ(one: Expr, other: Expr) -> Expr:
    """That two expressions have different values."""
    return one != other


@dataclass(frozen=True)
class Reading:
    """One step of a system beside the terms that it is made of."""

    system: System
    bundle: Bundle
    state: Values
    event: Values
    step: Step

    @classmethod
    def of(cls, system: System, bundle: Bundle) -> Reading:
        """The step from any state by any event."""
        state, event = system.state(""), system.event("")
        return cls(system, bundle, state, event, system.step(state, event))

    @cached_property
    def kinds(self) -> dict[Kind, Expr]:
        """That the event is of a kind, for each kind of the mode's environment."""
        return {kind: self.event["kind"] == number for number, kind in enumerate(sorted(Kind))}

    def term(self, term: Term, own: str = "") -> Expr:
        """A term over the step; `own` names the observer whose registers it may read."""
        constants = MODES[self.system.mode].constants

        def resolve(scope: Scope, name: str) -> Expr:
            if scope is Scope.OWN:
                return self.state[f"own.{own}.{name}"]
            if scope is Scope.CLAIM:
                return (
                    self.state["c.threshold"]
                    if name == "threshold"
                    else z3.BoolVal(constants[name])
                )
            if scope is Scope.EVENT:
                return self.state["was.rest"] if name == "rest" else self.event[name]
            if scope in _AFTER:
                return self.following[f"{_AFTER[scope].value}.{name}"]
            return self.state[f"{scope.value}.{name}"]

        return encode(term, resolve, self.kinds, Integers())

    @staticmethod
    def before(scope: Scope) -> Scope | None:
        """The scope of the same registers before an event; None if this is none after one."""
        return _AFTER.get(scope)

    @staticmethod
    def ledger_terms() -> Iterator[tuple[str, Term]]:
        """Each register of facts, declarations and beliefs, with its value after an event."""
        for scope, ledgers in _BEFORE.items():
            for ledger in ledgers:
                for name, term in ledger.following.items():
                    yield f"{scope.value}.{name}", term

    @property
    def bound(self) -> tuple[Observer, ...]:
        """The observers of the bundle."""
        return MODES[self.system.mode].bundle(self.bundle)

    @property
    def following(self) -> Values:
        """The state after the event."""
        return self.step.following

    @property
    def expected(self) -> Expr:
        """The event is faithful."""
        return self.term(faithful())

    # The checks. Each formula is a way in which the system could differ.

    def initial(self) -> Questions:
        """Every threshold has the initial state that the registers state, and no other."""
        first = self.system.initial(self.state)
        due = [self.state["c.threshold"] >= 1]
        for scope, ledgers in _BEFORE.items():
            for register in (r for ledger in ledgers for r in ledger.registers):
                due.append(_is(self.state[f"{scope.value}.{register.name}"], register))
        for observer in self.bound:
            due.append(self.state[f"state.{observer.name}"] == 0)
            for register in observer.registers:
                due.append(_is(self.state[f"own.{observer.name}.{register.name}"], register))
        yield differ(first, z3.And(due))

    def alphabet(self) -> Questions:
        """The kinds are all that there are, as the page states; each has a number of its own, and
        each field and register a variable.
        """
        yield z3.BoolVal(self.system.alphabet != tuple(sorted(Kind)))
        yield z3.BoolVal({*self.event} != {*EVENT_FIELDS} - {"rest"} | {"kind"})
        yield z3.BoolVal(not distinct(self.state, self.event))

    def events(self) -> Questions:
        """An event is possible exactly where it is of some kind and faithful, and in runs that are
        written as traces where a line can state it besides.
        """
        known = z3.Or([*self.kinds.values()])
        yield differ(self.step.possible, z3.And(known, self.expected))
        mode, names = self.system.mode, {o.name for o in self.bound}
        written = System(mode, self.bundle, Integers(), replay=True).step(self.state, self.event)
        readable = self.term(replayable(identity="claim_identity" in names))
        proven = z3.BoolVal("footprint_accounting" in names)
        due = z3.And(self.step.possible, readable, z3.Implies(self.event["proof"], proven))
        yield differ(written.possible, due)

    def registers(self) -> Questions:
        """Each register has the value of its term after the event; the system has no others."""
        due = {name: self.term(term) for name, term in self.ledger_terms()}
        for name, value in due.items():
            yield differ(self.following[name], value)
        others = {f"state.{o.name}" for o in self.bound}
        others |= {f"own.{o.name}.{r.name}" for o in self.bound for r in o.registers}
        yield z3.BoolVal({*self.following} != {*due} | others)

    def observers(self) -> Questions:
        """The first rule that applies decides where an observer stands; without one it stays."""
        for observer in self.bound:
            index = {state.name: number for number, state in enumerate(observer.states)}
            at, after = (each[f"state.{observer.name}"] for each in (self.state, self.following))
            own = [f"own.{observer.name}.{r.name}" for r in observer.registers]
            earlier: list[Expr] = []
            for rule in observer.rules:
                source = z3.Or([at == index[name] for name in observer.sources(rule)])
                applies = z3.And(source, self.term(rule.when, observer.name))
                first = z3.And(applies, z3.Not(z3.Or(earlier)))
                yield z3.And(first, after != index[rule.to])
                for register, name in zip(observer.registers, own, strict=True):
                    value = self.state[name]
                    if register.name in rule.sets:
                        value = self.term(rule.sets[register.name], observer.name)
                    yield z3.And(first, differ(self.following[name], value))
                earlier.append(applies)
            stays = z3.Not(z3.Or(earlier))
            for name in (f"state.{observer.name}", *own):
                yield z3.And(stays, differ(self.following[name], self.state[name]))

    def verdicts(self) -> Questions:
        """What is kept, owed and satisfied is what the states after the event say."""
        step, names = self.step, {o.name for o in self.bound}
        for made in (step.keeps, step.owing, step.exercised):
            yield z3.BoolVal({*made} != names)
        for o in self.bound:
            yield differ(step.keeps[o.name], z3.Not(self.says(o, Verdict.VIOLATED)))
            yield differ(step.owing[o.name], self.says(o, Verdict.PENDING))
            yield differ(step.exercised[o.name], self.says(o, Verdict.SATISFIED))

    def says(self, observer: Observer, verdict: Verdict) -> Expr:
        """After the event the observer is in a state of this verdict."""
        after = self.following[f"state.{observer.name}"]
        states = enumerate(observer.states)
        return z3.Or([after == number for number, each in states if each.verdict is verdict])

    def clauses(self) -> Questions:
        """The clauses are those of the page. Each must hold unless what it waits for is owed, and
        is compared in its situations.
        """
        stated = page.CLAUSES[self.system.mode]
        terms = {clause.name: clause for clause in CLAUSES.get(self.system.mode, ())}
        situations = {(name, where) for name, each in stated.items() for where in each.situations}
        other = [*self.step.clauses] != [*stated] or {*self.step.compared} != situations
        yield z3.BoolVal(other)
        if other:
            return
        owes = {o.name: self.says(o, Verdict.PENDING) for o in self.bound}
        for name, clause in stated.items():
            waits = z3.Or([owes[each] for each in clause.waits if each in owes])
            expected = z3.Or(waits, self.term(terms[name].holds))
            yield differ(self.step.clauses[name], expected)
            for where, term in terms[name].tested:
                expected = z3.And(z3.Not(waits), self.term(term))
                yield differ(self.step.compared[name, where], expected)


def whole(step: Step) -> Questions:
    """Kept and sound are conjunctions of all, and settled is that no report is owed."""
    yield differ(step.kept, z3.And([*step.keeps.values()]))
    yield differ(step.sound, z3.And([*step.clauses.values()]))
    yield differ(step.settled, z3.Not(z3.Or([*step.owing.values()])))
    yield from (z3.And(step.sound, z3.Not(clause)) for clause in step.clauses.values())


def distinct(*named: Values) -> bool:
    """Whether each name stands for a variable of its own."""
    variables = [value for values in named for value in values.values()]
    return len({value.get_id() for value in variables}) == len(variables)


def _is(value: Expr, register: Register) -> Expr:
    """That a register has its initial value."""
    initial = register.initial
    return value == (z3.BoolVal(initial) if register.sort is Sort.BOOL else initial)
