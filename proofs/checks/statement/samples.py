"""Compares what Z3 makes of each term with the specification's interpreter, kind by kind.

The other checks encode the terms by `proofs.logic.encode`, as the system does, and so share its
mistakes.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

import z3

from proofs.logic.connectives import substituted
from proofs.model.environment import faithful
from proofs.model.theorems import CLAUSES
from spec.contract.modes import MODES
from spec.events.alphabet import Kind
from spec.language.partial_evaluation import reading_of
from spec.language.terms import And, Scope, Term

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from proofs.checks.statement.reading import Questions, Reading
    from spec.language.partial_evaluation import Look, Value

__all__ = ["sampled"]

_LARGE: Final = 1_000
_SMALL: Final = 3  # numbers below it are often equal, and by one apart


def sampled(reading: Reading) -> Questions:
    """Z3 evaluates each term of the statement as the interpreter does."""
    terms = [*_terms(reading)]
    encoded = [reading.term(term, own) for term, own in terms]
    read = [(reading_of(term), own) for term, own in terms]
    after = reading.following
    names = [*after]
    pack = z3.Function("all", *(e.sort() for e in (*encoded, *after.values())), z3.BoolSort())
    whole = pack(*encoded, *after.values())
    variables = {**reading.state, **{f"e.{name}": value for name, value in reading.event.items()}}
    chance = random.Random(0)
    for number, kind in enumerate(sorted(Kind)):
        values = {name: _value(variable, chance) for name, variable in variables.items()}
        values["e.kind"] = number
        pairs = [(variable, _constant(values[name])) for name, variable in variables.items()]
        found = z3.simplify(substituted(whole, pairs)).children()
        then = dict(zip(names, found[len(terms) :], strict=True))
        due = (_constant(term(_look(reading, own, kind, values, then))) for term, own in read)
        yield z3.BoolVal(any(not value.eq(at) for value, at in zip(found, due, strict=False)))


def _terms(reading: Reading) -> Iterator[tuple[Term, str]]:
    """Each term of the statement, with the observer whose registers it may read."""
    world = faithful()
    for part in world.args if isinstance(world, And) else [world]:
        yield part, ""
    for _, term in reading.ledger_terms():
        yield term, ""
    for observer in reading.bound:
        for rule in observer.rules:
            yield rule.when, observer.name
            yield from ((term, observer.name) for term in rule.sets.values())
    for clause in CLAUSES.get(reading.system.mode, ()):
        yield clause.holds, ""
        yield from ((where, "") for _, where in clause.tested)


def _value(variable: Any, chance: random.Random) -> bool | int:
    small = range(_SMALL)
    values = [False, True] if z3.is_bool(variable) else [*small, *small, _LARGE]
    return chance.choice(values)


def _constant(value: bool | int) -> Any:
    return z3.BoolVal(value) if isinstance(value, bool) else z3.IntVal(value)


def _look(
    reading: Reading,
    own: str,
    kind: Kind,
    values: Mapping[str, bool | int],
    then: Mapping[str, Any],
) -> Look:
    """What the interpreter reads; registers after the event are as Z3 computed them."""

    def look(scope: Scope, name: str) -> Value:
        if scope is Scope.CLAIM:
            constants = MODES[reading.system.mode].constants
            return values["c.threshold"] if name == "threshold" else constants[name]
        if scope is Scope.EVENT:
            if name == "kind":
                return kind
            return values["was.rest"] if name == "rest" else values[f"e.{name}"]
        if scope is Scope.OWN:
            return values[f"own.{own}.{name}"]
        if (before := reading.before(scope)) is not None:
            found = then[f"{before.value}.{name}"]
            return z3.is_true(found) if z3.is_bool(found) else int(found.as_long())
        return values[f"{scope.value}.{name}"]

    return look
