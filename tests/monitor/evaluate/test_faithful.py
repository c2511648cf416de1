"""The compiled observers against the specification, rule by rule, with nothing left to chance.

What a guard can tell apart is finite: the kind of the event, the boolean fields and registers that
it reads, and which of its comparisons hold. Every combination that some numbers allow is tried in
every state, so the comparison is exhaustive over observers. The ledgers, the stream and the order
of events are beyond it; `test_reference` compares those on streams that tell stories.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import Any

import pytest
import z3

from monitor.evaluate.compile import CLAIM_REGISTERS, REQUEST_REGISTERS, compile_mode
from monitor.evaluate.constants import Constants
from monitor.evaluate.event_view import EventView
from monitor.input.records import at_line
from proofs.logic.encode import Integers, encode, variable
from spec.claims.claim import Mode
from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.contract.modes import MODES, Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.events.alphabet import Kind
from spec.language.machine import Observer
from spec.language.terms import (
    And,
    Arith,
    Compare,
    Const,
    Ite,
    KindIn,
    Not,
    Or,
    Scope,
    Sort,
    Term,
    Var,
    children,
)
from tests.monitor.reference import Value

# For each mode: pairs of a state and a valuation that were compared, and the transitions (a rule
# in one of the states in which it may apply) that were taken by both in some of them.
COMPARED = {
    Mode.BEST_EFFORT: (64_474, 33),
    Mode.SOFT_PRIORITY: (19_044, 30),
    Mode.HARD_PROTECTED: (1_713_727, 127),
    Mode.DEMOTABLE: (11_175, 82),
    Mode.EXPIRING: (11_232, 81),
    Mode.OFFLOADABLE: (43_644, 188),
    Mode.ROUTED_REUSE: (25_402, 53),
}

MANY = 1_000_000
"""A mode with more pairs is compared with the slow tests."""

Valuation = dict[tuple[Scope, str], Value]
_INITIAL = {
    Scope.WAS: {r.name: r.initial for ledger in (CLAIM_FACTS, DECLARED) for r in ledger.registers},
    Scope.REQ_WAS: {r.name: r.initial for r in REQUEST_FACTS.registers},
}
_INITIAL |= {Scope.NOW: _INITIAL[Scope.WAS], Scope.REQ: _INITIAL[Scope.REQ_WAS]}


def fixed(term: Term, kind: Kind, constants: dict[str, bool]) -> Term:
    """The term where the kind of the event and the constants of the mode are known."""

    def go(part: Term) -> Term:
        match part:
            case KindIn(kinds):
                return Const(kind in kinds)
            case Var(Scope.CLAIM, name, _) if name in constants:
                return Const(constants[name])
            case Compare(op, left, right):
                return Compare(op, go(left), go(right))
            case Arith(op, left, right):
                return Arith(op, go(left), go(right))
            case Ite(cond, then, otherwise):
                chosen = go(cond)
                if isinstance(chosen, Const):
                    return go(then if chosen.value else otherwise)
                return Ite(chosen, go(then), go(otherwise))
            case _:
                return rebuilt(part, [go(child) for child in children(part)])

    return go(term)


def rebuilt(term: Term, parts: list[Term]) -> Term:
    """A connective over other parts, simplified where one of them is constant."""
    match type(term).__name__:
        case "Not":
            return ~parts[0]
        case "And":
            whole = parts[0]
            for part in parts[1:]:
                whole = whole & part
            return whole
        case "Or":
            whole = parts[0]
            for part in parts[1:]:
                whole = whole | part
            return whole
        case _:
            return term


def comparisons(term: Term) -> Iterator[Compare]:
    """The comparisons of numbers in a term."""
    if isinstance(term, Compare) and term.left.sort is Sort.INT:
        yield term
    for child in children(term):
        yield from comparisons(child)


def free(term: Term) -> Iterator[Var]:
    """The variables that a term reads."""
    if isinstance(term, Var):
        yield term
    for child in children(term):
        yield from free(child)


def valuations(terms: list[Term]) -> Iterator[Valuation]:
    """For each combination of the atoms of these terms that some numbers allow, such numbers."""
    atoms = list(dict.fromkeys(c for term in terms for c in comparisons(term)))
    read = dict.fromkeys(v for term in terms for v in free(term))
    truths = [v for v in read if v.sort is Sort.BOOL]
    inside = {v for atom in atoms for v in free(atom)}
    numbers = [v for v in read if v.sort is Sort.INT]
    bound, loose = [v for v in truths if v in inside], [v for v in truths if v not in inside]
    for known in feasible(tuple(atoms), tuple(bound), tuple(numbers)):
        for values in product((False, True), repeat=len(loose)):
            found = {(v.scope, v.name): value for v, value in zip(loose, values, strict=True)}
            yield known | found


@cache
def feasible(
    atoms: tuple[Compare, ...], truths: tuple[Var, ...], numbers: tuple[Var, ...]
) -> list[Valuation]:
    """Each combination of comparisons and of the truths inside them, with numbers that have it."""
    ints = Integers()
    names = {
        (v.scope, v.name): variable(f"{v.scope}.{v.name}", v.sort, ints) for v in truths + numbers
    }
    encoded = [encode(atom, lambda s, n: names[s, n], {}, ints) for atom in atoms]
    encoded += [names[v.scope, v.name] for v in truths]
    solver, found = z3.Solver(), []
    while solver.check() == z3.sat:
        model = solver.model()
        values = {key: model.eval(x, model_completion=True) for key, x in names.items()}
        found.append(
            {k: z3.is_true(v) if z3.is_bool(v) else v.as_long() for k, v in values.items()}
        )
        differs = [e != model.eval(e, model_completion=True) for e in encoded]
        solver.add(z3.Or(differs))
    return found


_NAMES = {
    Scope.WAS: CLAIM_REGISTERS,
    Scope.NOW: CLAIM_REGISTERS,
    Scope.REQ_WAS: REQUEST_REGISTERS,
    Scope.REQ: REQUEST_REGISTERS,
}


def reader(term: Term) -> Callable[[Valuation], Value]:
    """The value of a term of which the kind and the constants are known, as nested functions."""
    match term:
        case Const(constant):
            return lambda _: constant
        case Var(scope, name, _):
            key = (scope, name)
            return lambda v: v[key]
        case Ite(cond, then, otherwise):
            chosen, yes, no = reader(cond), reader(then), reader(otherwise)
            return lambda v: yes(v) if chosen(v) else no(v)
    parts = [reader(child) for child in children(term)]
    if isinstance(term, Not):
        return lambda v: not parts[0](v)
    if isinstance(term, And):
        return lambda v: all(part(v) for part in parts)
    if isinstance(term, Or):
        return lambda v: any(part(v) for part in parts)
    assert isinstance(term, Compare | Arith), term
    apply, (left, right) = _OPERATORS[term.op], parts
    return lambda v: apply(left(v), right(v))


_OPERATORS: dict[str, Callable[[Any, Any], Value]] = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    "+": operator.add,
    "-": operator.sub,
}


class Placed:
    """Valuations as the arguments of a compiled observer."""

    def __init__(self, observer: Observer, kind: Kind, constants: dict[str, bool]) -> None:
        self.view = EventView(kind, at_line("product", 1))
        self.constants = Constants(1, **constants)
        self.registers = {s: [_INITIAL[s][n] for n in names] for s, names in _NAMES.items()}
        self.own = [r.initial for r in observer.registers]
        self.names = {**_NAMES, Scope.OWN: tuple(r.name for r in observer.registers)}

    def place(self, values: Valuation) -> tuple[Any, ...]:
        """Each valuation of one kind gives the same variables, so nothing is left of the last."""
        for (scope, name), value in values.items():
            if scope is Scope.EVENT:
                setattr(self.view, name, value)
            elif scope is Scope.CLAIM:
                self.constants.threshold = int(value)
            else:
                found = self.own if scope is Scope.OWN else self.registers[scope]
                found[self.names[scope].index(name)] = value
        known = (tuple(found) for found in self.registers.values())
        return tuple(self.own), self.view, self.constants, *known


def read_by(name: str, constants: dict[str, bool]) -> frozenset[tuple[str, bool]]:
    """The constants of a mode, those that the observer does not read being plainly false."""
    read = {v.name for rule in OBLIGATIONS[name].rules for v in free(rule.when)}
    return frozenset(
        (constant, value and constant in read) for constant, value in constants.items()
    )


@cache
def compared(name: str, constants: frozenset[tuple[str, bool]]) -> tuple[int, frozenset[Any]]:
    """How many pairs of state and valuation agree, and the transitions taken, of one observer."""
    observer, known = OBLIGATIONS[name], dict(constants)
    mode = next(mode for mode, spec in MODES.items() if observer in spec.bundle())
    compiled, taken, pairs = compile_mode(mode, Bundle.CONTRACT), set(), 0
    step = compiled.steps[compiled.observers.index(observer)]
    for kind in Kind:
        terms = [fixed(rule.when, kind, known) for rule in observer.rules]
        sets = [
            {r: fixed(term, kind, known) for r, term in rule.sets.items()}
            for rule in observer.rules
        ]
        guards = [reader(term) for term in terms]
        updates = [{r: reader(term) for r, term in rule.items()} for rule in sets]
        sources = [observer.sources(rule) for rule in observer.rules]
        placed = Placed(observer, kind, known)
        values = [t for rule in sets for t in rule.values()]
        for valuation in valuations([*terms, *values]):
            arguments = placed.place(valuation)
            holds = [n for n, guard in enumerate(guards) if guard(valuation)]
            for number, state in enumerate(observer.states):
                expected = (number, arguments[0], -1)
                for place in holds:
                    rule = observer.rules[place]
                    if state.name in sources[place]:
                        own = tuple(
                            updates[place][r.name](valuation) if r.name in sets[place] else value
                            for r, value in zip(observer.registers, arguments[0], strict=True)
                        )
                        to = [s.name for s in observer.states].index(rule.to)
                        expected = (to, own, place)
                        taken.add((name, state.name, rule.name))
                        break
                assert expected == step(number, *arguments), (name, kind, state.name, valuation)
                pairs += 1
    return pairs, frozenset(taken)


class TestFaithful:
    """The product of states and valuations."""

    @pytest.mark.parametrize(
        "mode",
        [
            pytest.param(mode, marks=[pytest.mark.slow] * (COMPARED[mode][0] > MANY))
            for mode in Mode
        ],
    )
    def test_product(self, mode: Mode) -> None:
        """In every state and valuation the compiled observer takes the rule that is specified."""
        constants = MODES[mode].constants

        found = [compared(name, read_by(name, constants)) for name in MODES[mode].names()]

        assert COMPARED[mode] == (
            sum(pairs for pairs, _ in found),
            sum(len(taken) for _, taken in found),
        )
