"""The two translations of the term language mean the same."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import z3
from hypothesis import HealthCheck, given, settings

from proofs.checks.recorded.functions import CLAIM_REGISTERS, REQUEST_REGISTERS, expression
from proofs.logic.encode import Bits, Integers, Numbers, encode, variable
from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.contract.obligations import OBLIGATIONS
from spec.events.alphabet import Kind
from spec.language.terms import Const, KindIn, Scope, Sort, Term, children, show, variables
from tests.streams.strategies import OWN_SORTS, VARIABLES, assignments, terms

Value = bool | int
Assignment = tuple[Kind, dict[Scope, dict[str, Value]]]
Sorts = dict[str, Sort]

SPEC: list[tuple[str, Term, Sorts]] = [
    (f"{o.name}.{rule.name}.{what}", term, {r.name: r.sort for r in o.registers})
    for o in OBLIGATIONS.values()
    for rule in o.rules
    for what, term in {"when": rule.when, **rule.sets}.items()
] + [
    (f"{ledger.name}.{name}", term, {})
    for ledger in (CLAIM_FACTS, DECLARED, REQUEST_FACTS)
    for name, term in ledger.following.items()
]
"""Every guard, every assignment to a register of an observer, every register of a ledger."""

TRUTH = {value: z3.BoolVal(value) for value in (False, True)}
TRIES = 40  # random assignments for each term
OWN: Sorts = {r.name: r.sort for o in OBLIGATIONS.values() for r in o.registers}
"""The registers of all observers: no two of them give one name two sorts."""


def parts(term: Term) -> Iterator[Term]:
    """The term and everything in it."""
    yield term
    for child in children(term):
        yield from parts(child)


def in_python(term: Term, own: Sorts) -> Callable[[Assignment], Value]:
    """The compiled term as a function of an assignment."""
    names = {(Scope.OWN, name): f"o[{place}]" for place, name in enumerate(own)}
    code = compile(expression(term, names), "<term>", "eval")

    def value(assignment: Assignment) -> Value:
        kind, values = assignment
        registers = {
            "w": tuple(values[Scope.WAS][n] for n in CLAIM_REGISTERS),
            "n": tuple(values[Scope.NOW][n] for n in CLAIM_REGISTERS),
            "r": tuple(values[Scope.REQ_WAS][n] for n in REQUEST_REGISTERS),
            "q": tuple(values[Scope.REQ][n] for n in REQUEST_REGISTERS),
            "o": tuple(values[Scope.OWN][n] for n in own),
            "e": {"kind": kind, **values[Scope.EVENT]},
            "c": values[Scope.CLAIM],
        }
        found: Value = eval(code, registers)
        return found

    return value


def in_z3(term: Term, own: Sorts, numbers: Numbers) -> Callable[[Assignment], Value]:
    """The encoded term as a function of an assignment: Z3 substitutes and simplifies."""
    sorts = {**VARIABLES, Scope.OWN: own}
    named = {kind for part in parts(term) if isinstance(part, KindIn) for kind in part.kinds}
    kinds = {kind: z3.Bool(f"kind is {kind}") for kind in sorted(named)}

    def resolve(scope: Scope, name: str) -> Any:
        return variable(f"{scope.value}.{name}", sorts[scope][name], numbers)

    expression = encode(term, resolve, kinds, numbers)
    places = {(var.scope, var.name) for var in variables(term)}
    read = {place: resolve(*place) for place in places}

    def value(assignment: Assignment) -> Value:
        kind, values = assignment
        pairs = [(flag, TRUTH[member is kind]) for member, flag in kinds.items()]
        for (scope, name), var in read.items():
            given_value = values[scope][name]
            is_truth = isinstance(given_value, bool)
            pairs.append((var, TRUTH[given_value] if is_truth else numbers.const(given_value)))
        found = z3.simplify(z3.substitute(expression, *pairs))
        if z3.is_bool(found):
            assert z3.is_true(found) or z3.is_false(found)
            return bool(z3.is_true(found))
        number: int = found.as_signed_long() if z3.is_bv(found) else found.as_long()
        return number

    return value


def same(one: Value, other: Value) -> bool:
    """The same value of the same sort: True is not 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


both = pytest.mark.parametrize("numbers", [Integers(), Bits(12)], ids=["Integers", "Bits(12)"])


class TestRandomTerms:
    """Terms over every node and every scope."""

    @pytest.mark.slow
    @both
    @settings(max_examples=120, suppress_health_check=list(HealthCheck))
    @given(term=terms(Sort.BOOL) | terms(Sort.INT), assignment=assignments())
    def test_agreement(self, numbers: Numbers, term: Term, assignment: Assignment) -> None:
        """Python and Z3 give a random term the same value under a random assignment."""
        expected = in_z3(term, OWN_SORTS, numbers)(assignment)
        assert same(expected, in_python(term, OWN_SORTS)(assignment)), show(term)

    def test_reach(self) -> None:
        """The strategy builds every kind of node, and reads every scope that a guard may read."""
        nodes: set[str] = set()
        scopes: set[Scope] = set()

        @settings(
            max_examples=150,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(terms(Sort.BOOL) | terms(Sort.INT))
        def build(term: Term) -> None:
            nodes.update(type(part).__name__ for part in parts(term))
            scopes.update(var.scope for var in variables(term))

        build()
        assert {t.__name__ for t in Term.__subclasses__()} == nodes
        assert set(VARIABLES) == scopes


def likely(term: Term, rng: random.Random) -> Assignment:
    """A random assignment under which a guard has a fair chance: small counts, its own kinds."""
    kinds = sorted(
        {kind for part in parts(term) if isinstance(part, KindIn) for kind in part.kinds}
    )
    chance = rng.choice((0.2, 0.5, 0.8))
    values: dict[Scope, dict[str, Value]] = {
        scope: {
            name: rng.random() < chance if sort is Sort.BOOL else rng.randrange(-1, 4)
            for name, sort in {**names, **(OWN if scope is Scope.OWN else {})}.items()
        }
        for scope, names in VARIABLES.items()
    }
    return rng.choice([*kinds, *kinds, rng.choice(tuple(Kind))]), values


class TestSpecification:
    """Every term that the specification has."""

    @pytest.mark.slow
    @both
    def test_agreement(self, numbers: Numbers) -> None:
        """Python and Z3 give each guard and register the same value; no other term is constant."""
        rng = random.Random(1)
        for name, term, own in SPEC:
            python, solver = in_python(term, own), in_z3(term, own, numbers)
            seen: Counter[Value] = Counter()
            values = 1 if isinstance(term, Const) else 2
            while seen.total() < TRIES or (len(seen) < values and seen.total() < 50 * TRIES):
                assignment = likely(term, rng)
                expected = solver(assignment)
                assert same(expected, python(assignment)), name
                seen[expected] += 1
            assert len(seen) >= values, name

    def test_no_other_variables(self) -> None:
        """The specification's terms read nothing but what random assignments fill."""
        for name, term, own in SPEC:
            sorts = {**VARIABLES, Scope.OWN: own}
            for var in variables(term):
                assert var.sort is sorts[var.scope][var.name], name
