"""Compiled sources read back: what they mean, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
import z3
from hypothesis import HealthCheck, given, settings

from proofs.checks.frame.reader import Record, Refused, expression, functions, meaning
from proofs.checks.frame.space import CLAIM_FIRST, EVENTS, REQUEST_FIRST
from proofs.logic.compiled import to_python
from proofs.logic.encode import Integers, encode, variable
from spec.language.terms import Scope, Sort, Term, show
from tests.streams.strategies import OWN_SORTS, VARIABLES, terms

NUMBERS = Integers()
FIRSTS = {
    Scope.WAS: CLAIM_FIRST,
    Scope.NOW: CLAIM_FIRST,
    Scope.REQ_WAS: REQUEST_FIRST,
    Scope.REQ: REQUEST_FIRST,
}
KINDS = {kind: z3.Int("e.kind") == place for place, kind in enumerate(EVENTS)}


def named(scope: Scope, name: str, sort: Sort) -> Any:
    """The variable of this name."""
    return variable(f"{scope.value}.{name}", sort, NUMBERS)


def names() -> dict[str, Any]:
    """What expressions over a claim, a request and an event may read."""
    records = {
        scope: {name: named(scope, name, sort) for name, sort in VARIABLES[scope].items()}
        for scope in (Scope.EVENT, Scope.CLAIM)
    }
    ledgers = {
        scope.value: tuple(named(scope, name, VARIABLES[scope][name]) for name in first)
        for scope, first in FIRSTS.items()
    }
    own = tuple(named(Scope.OWN, name, sort) for name, sort in OWN_SORTS.items())
    event = {**records[Scope.EVENT], "kind": z3.Int("e.kind")}
    return {"e": Record(event), "c": Record(records[Scope.CLAIM]), "own": own, **ledgers}


def encoded(term: Term) -> Any:
    """The term by the other translation."""
    sorts = {**VARIABLES, Scope.OWN: OWN_SORTS}
    return encode(term, lambda s, n: named(s, n, sorts[s][n]), KINDS, NUMBERS)


def differ(one: Any, other: Any) -> bool:
    """Some values of the variables make two expressions differ."""
    solver = z3.Solver()
    solver.add(one != other)
    return bool(solver.check() != z3.unsat)


class TestTerms:
    """What the monitor's translation makes of terms."""

    @pytest.mark.slow
    @settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
    @given(term=terms(Sort.BOOL) | terms(Sort.INT))
    def test_agreement(self, term: Term) -> None:
        """A random term, compiled and read back, is what it is for Z3."""
        own = {(Scope.OWN, name): f"own[{place}]" for place, name in enumerate(OWN_SORTS)}
        assert not differ(encoded(term), expression(to_python(term, own), names())), show(term)


class TestMeaning:
    """Functions of the subset."""

    def given(self, source: str, *arguments: Any) -> Any:
        """What the function of a source returns."""
        return meaning(next(iter(functions(source).values())), arguments)

    def test_early_return(self) -> None:
        """The first condition that holds decides."""
        a = z3.Int("a")
        found = self.given(
            "def f(a):\n    if a < 1:\n        return 1\n    if a < 2:\n        return 2\n"
            "    return 3\n",
            a,
        )
        assert not differ(z3.If(a < 1, 1, z3.If(a < 2, 2, z3.IntVal(3))), found)

    def test_assignment(self) -> None:
        """A name that is computed twice has its last value, which may read its first."""
        a = z3.Int("a")
        found = self.given("def f(a):\n    b = a + 1\n    b = b + b\n    return b - 1\n", a)
        assert not differ(a + a + 1, found)

    def test_tuples(self) -> None:
        """Tuples are returned place by place, whichever way is taken."""
        a, t = z3.Bool("a"), (z3.Int("x"), z3.Int("y"))
        one, two = self.given(
            "def f(a, t):\n    if a:\n        return t[1], 5\n    return (t[0], -1)\n", a, t
        )
        assert not differ(z3.If(a, t[1], t[0]), one)
        assert not differ(z3.If(a, z3.IntVal(5), z3.IntVal(-1)), two)

    def test_kinds(self) -> None:
        """A kind is one of the alphabet's, by its name."""
        event = Record({"kind": z3.Int("e.kind")})
        for text in ("e.kind == 'claim_accepted'", "e.kind in {'claim_accepted'}"):
            index = EVENTS.index(next(k for k in EVENTS if k == "claim_accepted"))
            assert not differ(z3.Int("e.kind") == index, expression(text, {"e": event}))


class TestRefused:
    """What is not of the subset is refused, and not passed over."""

    @pytest.mark.parametrize(
        ("source", "why"),
        [
            ("x = 1\n", "not a function"),
            ("def f(a):\n    return (\n", "line 2"),
            ("def f(a=1):\n    return a\n", "not a plain function"),
            ("def f(*a):\n    return a\n", "not a plain function"),
            ("def f(a) -> int:\n    return a\n", "not a plain function"),
            ("@staticmethod\ndef f(a):\n    return a\n", "not a plain function"),
            ("def f(a, b):\n    return a\ndef f(a, b):\n    return b\n", "not a plain function"),
            ("async def f(a):\n    return a\n", "not a function"),
            ("import os\n", "not a function"),
        ],
    )
    def test_sources(self, source: str, why: str) -> None:
        """A source has plain functions alone."""
        with pytest.raises(Refused, match=why):
            functions(source)

    @pytest.mark.parametrize(
        "body",
        [
            "pass",
            "return",
            "b = a",
            "if a < 1:\n        return 1",
            "if a < 1:\n        return 1\n    else:\n        return 2",
            "while a < 1:\n        return 1\n    return 2",
            "a += 1\n    return a",
            "b = c = a\n    return b",
            "b, c = t\n    return b",
            "t[0] = 1\n    return a",
            "a < 1\n    return a",
            "if a < 1:\n        return 1\n    return a < 1",
            "if a < 1:\n        return 1, 2\n    return 1",
            "return unknown",
            "return e.unknown",
            "return a.lead",
            "return t[2]",
            "return t[-1]",
            "return t[True]",
            "return t[a]",
            "return a[0]",
            "return t + t",
            "return a * a",
            "return a // 2",
            "return -a",
            "return not a",
            "return a and a",
            "return a if a else 0",
            "return p + 1",
            "return p < 1",
            "return p == 1",
            "return a > 1",
            "return a >= 1",
            "return 0 < a < 1",
            "return a in (1, 2)",
            "return a not in {1, 2}",
            "return a is 1",
            "return 1.0",
            "return 'x'",
            "return None",
            "return e.kind == 'no_such_kind'",
            "return e.kind in {'claim_accepted', 'no_such_kind'}",
            "return e.kind == a",
            "return e.kind < 1",
            "return e.kind + 1",
            "return (lambda: a)()",
            "return max(a, 1)",
            "return [a][0]",
            "return (b := a)",
            "return f'{a}'",
            "return a if p else p",
        ],
    )
    def test_bodies(self, body: str) -> None:
        """Statements and expressions are of the subset, and of the right sorts."""
        (function,) = functions(f"def f(a, p, t, e):\n    {body}\n").values()
        event = Record({"kind": z3.Int("e.kind"), "lead": z3.Int("e.lead")})
        arguments = (z3.Int("a"), z3.Bool("p"), (z3.Int("x"), z3.Int("y")), event)
        with pytest.raises(Refused):
            meaning(function, arguments)

    def test_arguments(self) -> None:
        """A function takes as many arguments as it is given."""
        (function,) = functions("def f(a):\n    return a\n").values()
        with pytest.raises(Refused, match="takes 1 arguments"):
            meaning(function, ())

    @pytest.mark.parametrize("text", ["a +", "a; a", "unknown"])
    def test_expressions(self, text: str) -> None:
        """An expression is one, and knows its names."""
        with pytest.raises(Refused):
            expression(text, {"a": z3.Int("a")})
