"""Proves that the compiled Python equals the terms: sources are read back and compared by Z3.

Arguments may be any value of their sort: nothing is assumed of states or events. For each rule of
an observer three things are compared: when the rule is taken, its next state, and the registers
after it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

import z3

from proofs.checks.frame.counterexample import Unknown
from proofs.checks.frame.reader import Record, Refused, expression, functions, meaning
from proofs.checks.frame.space import (
    CLAIM_FIRST,
    CLAIM_LEDGERS,
    EVENTS,
    NUMBERS,
    REQUEST_FIRST,
    REQUEST_LEDGERS,
    View,
    constant,
    registers,
)
from proofs.checks.frame.statements import ASSUMED, LEDGERS, RULES, TERMS
from proofs.checks.frame.verification_conditions import Question
from proofs.logic.encode import variable
from spec.contract.facts import FACTS_ARE_FACTS
from spec.contract.vocabulary import CONSTANTS, EVENT_FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from proofs.checks.frame.reader import Function, Value
    from proofs.logic.encode import Expr
    from spec.language.machine import Ledger, Observer
    from spec.language.terms import Term

__all__ = ["Arguments", "Source", "term_question"]

_CLAIM: Final = ("e", "c", "was")
_REQUEST: Final = ("e", "c", "was", "now", "req_was")
_OBSERVER: Final = ("state", "own", "e", "c", "was", "now", "req_was", "req")


class Arguments:
    """The arguments of compiled functions, as variables.

    Args:
        observer: the observer whose function is read, if it is one.
    """

    given: Sequence[Expr] = ()

    def __init__(self, observer: Observer | None = None) -> None:
        self.event = {
            name: variable(f"e.{name}", sort, NUMBERS) for name, (sort, _) in EVENT_FIELDS.items()
        }
        self.kind = self.event["kind"] = z3.Int("e.kind")
        self.constants = {
            name: variable(f"c.{name}", sort, NUMBERS) for name, (sort, _) in CONSTANTS.items()
        }
        self.ledgers = {
            scope: registers(first, scope)
            for scope, first in (
                ("was", CLAIM_FIRST),
                ("now", CLAIM_FIRST),
                ("req_was", REQUEST_FIRST),
                ("req", REQUEST_FIRST),
            )
        }
        self.owes, self.state = z3.Bool("stands.owes"), z3.Int("state")
        own = observer.registers if observer is not None else ()
        self.own = {r.name: variable(f"own.{r.name}", r.sort, NUMBERS) for r in own}
        self._states = tuple(s.name for s in observer.states) if observer is not None else ()

    def unknowns(self) -> list[Unknown]:
        """Every variable."""
        found = [Unknown("kind", self.kind, constant(0), True, EVENTS)]
        if self._states:
            found.append(Unknown("state", self.state, constant(0), names=self._states))
        for prefix, values in {"e": self.event, "c": self.constants, **self.ledgers}.items():
            for name, value in values.items():
                if name != "kind":
                    plain = constant(False if z3.is_bool(value) else 0)
                    label = name if prefix == "e" else f"{prefix}.{name}"
                    found.append(Unknown(label, value, plain, prefix == "e"))
        return found

    def view(self, *known: str) -> View:
        """The values that terms read: of the ledgers after the event, only those in `known`."""
        now, req = (self.ledgers[s] if s in known else None for s in ("now", "req"))
        was, req_was = self.ledgers["was"], self.ledgers["req_was"]
        return View(was, req_was, self.event, self.constants, self.owes, now=now, req=req)

    def values(self, names: Sequence[str]) -> list[Value]:
        """The arguments of these names, as compiled functions take them."""
        every = {
            "state": self.state,
            "own": tuple(self.own.values()),
            "e": Record(self.event),
            "c": Record(self.constants),
            "stands": Record({"owes": self.owes}),
            **{scope: tuple(ledger.values()) for scope, ledger in self.ledgers.items()},
        }
        return [every[name] for name in names]


@dataclass(frozen=True)
class Source:
    """The compiled functions of some observers, as text.

    Args:
        of: what it is the source of, for people.
        text: the Python.
        observers: in the order of the functions.
        ledgers: whether there are functions of the ledgers, too.
    """

    of: str
    text: str
    observers: tuple[Observer, ...]
    ledgers: bool = True
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        there = ("claim", "request") if self.ledgers else ()
        last = ("contradicts",) if self.ledgers else ()
        names = (*there, *(f"observe_{place}" for place in range(len(self.observers))), *last)
        object.__setattr__(self, "names", names)

    @cached_property
    def read(self) -> dict[str, Function]:
        """Its functions.

        Raises:
            Refused: they are not the expected ones, or are outside the subset.
        """
        found = functions(self.text)
        if tuple(found) != self.names:
            raise Refused(f"has {', '.join(found)} where {', '.join(self.names)} are needed")
        observers = [_OBSERVER] * len(self.observers)
        expected = [_CLAIM, _REQUEST, *observers, _CLAIM] if self.ledgers else observers
        for function, names in zip(found.values(), expected, strict=True):
            if function.arguments != names:
                raise Refused(f"{function.name} does not take {', '.join(names)}")
        return found

    def ledger_questions(self, arguments: Arguments) -> Iterator[Question]:
        """The questions whether the ledgers' functions equal their terms; raises Refused."""
        found = self.read
        for name, ledgers, known in (
            ("claim", CLAIM_LEDGERS, ()),
            ("request", REQUEST_LEDGERS, ("now",)),
        ):
            function = found[name]
            made = meaning(function, arguments.values(function.arguments))
            expected = _following(ledgers, arguments.view(*known))
            _same_length(made, expected, f"{name} returns")
            for value, (register, term) in zip(made, expected.items(), strict=True):
                yield _equal(LEDGERS, self.of, f"{name}: {register}", term, value)

    def assumption_questions(self, arguments: Arguments) -> Iterator[Question]:
        """The questions whether the assumptions' function names the first broken one; raises
        Refused.
        """
        function, view = self.read["contradicts"], arguments.view()
        made = meaning(function, arguments.values(function.arguments))
        before = z3.BoolVal(True)
        for number, assumption in enumerate(FACTS_ARE_FACTS):
            holds = view.term(assumption.holds)
            first, before = z3.And(before, z3.Not(holds)), z3.And(before, holds)
            yield _equal(ASSUMED, self.of, assumption.name, first, made == constant(number))
        yield _equal(ASSUMED, self.of, "none", before, made == constant(-1))

    def observer_questions(self, place: int, arguments: Arguments) -> Iterator[Question]:
        """The questions whether the function at a place equals that observer; raises Refused."""
        observer, function = self.observers[place], self.read[f"observe_{place}"]
        made = meaning(function, arguments.values(function.arguments))
        if not (isinstance(made, tuple) and len(made) == 3 and isinstance(made[1], tuple)):
            raise Refused(f"{function.name} does not return a state, registers and a rule")
        state, own, taken = made
        _same_length(own, arguments.own, f"{function.name} leaves")
        view = arguments.view("now", "req")
        index = {s.name: i for i, s in enumerate(observer.states)}
        before, earlier = arguments.own, z3.BoolVal(False)
        for number, rule in enumerate(observer.rules):
            source = [arguments.state == constant(index[s]) for s in observer.sources(rule)]
            applies = z3.And(z3.Or(source), view.term(rule.when, before))
            first, earlier = z3.And(applies, z3.Not(earlier)), z3.Or(earlier, applies)
            says = f"{observer.name}.{rule.name}"
            yield _equal(RULES, self.of, says, first, taken == constant(number))
            then = constant(index[rule.to])
            yield _equal(RULES, self.of, f"{says}, state", then, state, first)
            for name, value in zip(before, own, strict=True):
                term = view.term(rule.sets[name], before) if name in rule.sets else before[name]
                yield _equal(RULES, self.of, f"{says}, {name}", term, value, first)
        none = z3.Not(earlier)
        says = f"{observer.name}, no rule"
        yield _equal(RULES, self.of, says, none, taken == constant(-1))
        yield _equal(RULES, self.of, f"{says}, state", arguments.state, state, none)
        for name, value in zip(before, own, strict=True):
            yield _equal(RULES, self.of, f"{says}, {name}", before[name], value, none)


def term_question(of: str, part: str, text: str, term: Term, arguments: Arguments) -> Question:
    """The question whether a compiled term equals the term; raises Refused."""
    names = (*_REQUEST, "req", "stands")
    value = expression(text, dict(zip(names, arguments.values(names), strict=True)))
    return _equal(TERMS, of, part, arguments.view("now", "req").term(term), value)


def _following(ledgers: Sequence[Ledger], view: View) -> dict[str, Expr]:
    return {
        r.name: view.term(ledger.following[r.name]) for ledger in ledgers for r in ledger.registers
    }


def _same_length(made: Value, expected: Mapping[str, Expr], what: str) -> None:
    if not isinstance(made, tuple) or len(made) != len(expected):
        raise Refused(f"{what} other registers than {', '.join(expected) or 'none'}")


def _equal(lemma: str, of: str, part: str, expected: Expr, found: Value, *given: Expr) -> Question:
    if not isinstance(found, z3.ExprRef) or found.sort() != expected.sort():
        raise Refused(f"{part} is not of the right sort")
    changes = {part: (expected, found)}
    return Question(lemma, of, part, given, expected == found, changes, may_be_empty=True)
