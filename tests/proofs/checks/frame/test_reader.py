"""Generated functions and tables read back: what they mean, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import z3
from hypothesis import HealthCheck, given, settings

from monitor.native.tables import _Table
from proofs.checks.frame.reader import Reader, Refused, Taken
from proofs.checks.frame.table_reader import _SHAPES, Table, TableReader
from proofs.logic.encode import Integers, encode, variable
from spec.contract.modes import Bundle
from spec.contract.vocabulary import EVENT_FIELDS
from spec.events.alphabet import Kind
from spec.language.machine import Observer, Register, State
from spec.language.partial_evaluation import specialize
from spec.language.terms import Compare, Const, Not, Scope, Sort, Term, Var, show, variables
from spec.language.verdicts import Verdict
from spec.stream.generate import own_places, source
from tests.streams.strategies import OWN_SORTS, terms

NUMBERS = Integers()
OWN = Observer(
    "own",
    "O",
    "",
    "",
    (State("first", Verdict.UNEXERCISED, ""),),
    (),
    tuple(Register(name, sort, 0) for name, sort in OWN_SORTS.items()),
)
ARGUMENTS = "e, here, t, w, n, r, q, o"
MINE = Var(Scope.EVENT, "mine", Sort.BOOL)
LEAD = Var(Scope.EVENT, "lead", Sort.INT)
CONSTANTS = {(Scope.CLAIM, name): Const(True) for name in ("lapses", "tiered", "watched", "ranked")}
PLAIN, THREE = Reader(observer=OWN), Reader(three=True, observer=OWN)


def function(*lines: str) -> str:
    """The text of a function with these lines."""
    return "\n".join((f"def f({ARGUMENTS}):", *(f"    {line}" for line in lines)))


def equal(one: Term, other: Term) -> bool:
    """Whether two terms have one value for all values of their variables."""

    def encoded(term: Term) -> Any:
        sorts = {(var.scope, var.name): var.sort for var in variables(term)}

        def resolve(scope: Scope, name: str) -> Any:
            return variable(f"{scope.value}.{name}", sorts[scope, name], NUMBERS)

        return encode(term, resolve, {}, NUMBERS)

    solver = z3.Solver()
    solver.add(encoded(one) != encoded(other))
    return bool(solver.check() == z3.unsat)


NAMES = {
    "operators": [*_SHAPES],
    "derived": [*EVENT_FIELDS],
    "fields": [],
    "kinds": [],
}


def table_reader(terms: list[Any], parts: Sequence[int] = ()) -> TableReader:
    """A reader of a table with these terms."""
    return TableReader(Table([], [], [], [], [], terms, list(parts), [*EVENT_FIELDS]), OWN)


def written_and_read(term: Term) -> Term:
    """A term as a table has it, read back."""
    made = _Table(Bundle.CONTRACT, NAMES)
    number = made._node(term, [*OWN_SORTS])
    terms = []
    for key in made._nodes:
        name, at = NAMES["operators"][key[0]], 1
        operands = []
        for size in _SHAPES[name]:
            part = key[at : at + abs(size)]
            operands.append(int.from_bytes(part, "little", signed=size < 0))
            at += abs(size)
        terms.append((name, tuple(operands)))
    return table_reader(terms, made._parts).term(number, term.sort)


class TestTerms:
    """Random terms for one kind of event."""

    @pytest.mark.slow
    @settings(max_examples=200, suppress_health_check=list(HealthCheck))
    @given(whole=terms(Sort.BOOL) | terms(Sort.INT))
    def test_agreement(self, whole: Term) -> None:
        """A term that is generated, in two values or three, or written to a table, reads back."""
        term = specialize(whole, Kind.BLOCK_CACHED, CONSTANTS)
        for reader in (PLAIN, THREE):
            text = function(f"return {source(term, own_places(OWN), three=reader.three)}")
            assert equal(term, reader.term(text)), show(term)
        assert equal(term, written_and_read(term)), show(term)


class TestFunctions:
    """The three forms of generated functions."""

    def test_ledger(self) -> None:
        """Registers are assigned in sequence, each by its place."""
        text = function("n = w.copy()", "n[0] = (not w[0])", "n[1] = n[0]", "return n")
        (one, first), (other, second) = PLAIN.ledger(text, "w", "n")
        assert first == Not(Var(Scope.WAS, one, Sort.BOOL))
        assert second == Var(Scope.NOW, one, Sort.BOOL)
        assert one != other

    def test_step(self) -> None:
        """Each rule has its number, its states, its guard and what it sets."""
        text = function(
            "s, o = o",
            "if s in {0, 2} and e['mine']:",
            "    return 3, 1, o",
            "if s in {1} and True:",
            "    return 4, 0, (o[0], -1,)",
            "return None",
        )
        own = Var(Scope.OWN, OWN.registers[0].name, OWN.registers[0].sort)
        assert PLAIN.rules(text) == (
            Taken(3, frozenset({0, 2}), 1, MINE, None),
            Taken(4, frozenset({1}), 0, Const(True), (own, Const(-1))),
        )


class TestRefused:
    """What is not of the subset is refused, and not ignored."""

    @pytest.mark.parametrize(
        "text",
        [
            "x = 1\n",
            "import os\n" + function("return True"),
            "def f(e):\n    return True",
            f"def g({ARGUMENTS}):\n    return True",
            f"def f({ARGUMENTS}=1):\n    return True",
            f"@cache\ndef f({ARGUMENTS}):\n    return True",
            f"def f({ARGUMENTS}) -> bool:\n    return True",
            f"async def f({ARGUMENTS}):\n    return True",
            function("return ("),
            function("return"),
            function("pass"),
            function("x = True", "return True"),
        ],
    )
    def test_texts(self, text: str) -> None:
        """A text is one function of the usual arguments, and this one an expression."""
        with pytest.raises(Refused):
            PLAIN.term(text)

    @pytest.mark.parametrize(
        "text",
        [
            "unknown",
            "e",
            "e.mine",
            "e['unknown']",
            "e['here']",
            "e[0]",
            "w[99]",
            "w[-1]",
            "w[True]",
            "w[t]",
            "w['lead']",
            "o[99]",
            "s",
            "1.0",
            "'x'",
            "None",
            "(not t)",
            "-t",
            "(e['mine'] and t)",
            "(e['mine'] + 1)",
            "(e['mine'] < 1)",
            "(e['mine'] == 1)",
            "(t > 1)",
            "(t >= 1)",
            "(t != 1)",
            "(t * t)",
            "(0 < t < 1)",
            "(t in {1, 2})",
            "(t is 1)",
            "(1 if t else 0)",
            "(t if e['mine'] else e['mine'])",
            "max(t, 1)",
            "(lambda: t)()",
            "[t][0]",
            "(x := t)",
            "_not(e['mine'])",
        ],
    )
    def test_two_values(self, text: str) -> None:
        """Expressions in two values are plain, and of the right sorts."""
        with pytest.raises(Refused):
            PLAIN.term(function(f"return {text}"))

    @pytest.mark.parametrize(
        "text",
        [
            "(not e['mine'])",
            "(e['mine'] and here)",
            "(t + 1)",
            "(t < 1)",
            "(1 if here else t)",
            "_not(t)",
            "_not(here, here)",
            "_and()",
            "_and(*o)",
            f"_and({', '.join(['here'] * 11)})",
            "_and(here, t)",
            "_xor(here, here)",
            "_apply(_lt, t)",
            "_apply(_mul, t, t)",
            "_apply(_lt, here, t)",
            "_choose(t, t, t)",
            "_choose(here, t, here)",
            "_choose(here, t, otherwise=t)",
        ],
    )
    def test_three_values(self, text: str) -> None:
        """Expressions in three values are calls of connectives alone."""
        with pytest.raises(Refused):
            THREE.term(function(f"return {text}"))

    @pytest.mark.parametrize(
        "lines",
        [
            ("n = w", "n[0] = True", "return n"),
            ("n[0] = True", "return n"),
            ("n = w.copy()", "n[0] = True", "return w"),
            ("n = w.copy()", "n[0] = True", "n[0] = False", "return n"),
            ("n = w.copy()", "n[1] = n[0]", "n[0] = True", "return n"),
            ("n = w.copy()", "w[0] = True", "return n"),
            ("n = w.copy()", "n[0] = n[1] = True", "return n"),
            ("n = w.copy()", "n[99] = True", "return n"),
            ("n = w.copy()", "if here:", "    n[0] = True", "return n"),
            ("return w",),
        ],
    )
    def test_ledgers(self, lines: tuple[str, ...]) -> None:
        """A ledger's function assigns each register once, before it is read."""
        with pytest.raises(Refused):
            PLAIN.ledger(function(*lines), "w", "n")

    @pytest.mark.parametrize(
        "lines",
        [
            ("if s in {0} and True:", "    return 0, 0, o", "return None"),
            ("s, o = o", "if s in {0} and True:", "    return 0, 0, o", "return 0, s, o"),
            ("s, o = o", "if s in {0}:", "    return 0, 0, o", "return None"),
            ("s, o = o", "if s in {0} or True:", "    return 0, 0, o", "return None"),
            ("s, o = o", "if s in {0} and True and True:", "    return 0, 0, o", "return None"),
            ("s, o = o", "if t in {0} and True:", "    return 0, 0, o", "return None"),
            ("s, o = o", "if s in {0} and True:", "    return 0, t, o", "return None"),
            ("s, o = o", "if s in {0} and True:", "    return 0, 0, w", "return None"),
            ("s, o = o", "if s in {0} and True:", "    return 0, 0", "return None"),
            ("s, o = o", "if s in {0} and True:", "    s = 1", "return None"),
        ],
    )
    def test_steps(self, lines: tuple[str, ...]) -> None:
        """A step tries rules, and returns what each leads to."""
        with pytest.raises(Refused):
            PLAIN.rules(function(*lines))

    @pytest.mark.parametrize(
        "term",
        [
            ("Was", (99,)),
            ("Own", (99,)),
            ("Field", (99,)),
            ("Not", (99,)),
            ("Not", (1,)),
            ("And", (0, 3)),
            ("Less", (2, 2)),
            ("Plus", (1, 2)),
            ("If", (1, 1, 1)),
            ("Threshold", ()),
        ],
    )
    def test_tables(self, term: tuple[str, tuple[int, ...]]) -> None:
        """A term of a table has operands that are there, and of the right sorts."""
        terms = [term, ("Threshold", ()), ("Here", ())]
        with pytest.raises(Refused):
            table_reader(terms, [2, 2]).term(0, Sort.BOOL)

    def test_constants(self) -> None:
        """A constant is of the sort that is needed."""
        terms: list[Any] = [("Const", (1,)), ("Here", ()), ("Equal", (1, 0)), ("Equal", (0, 0))]
        here = Var(Scope.EVENT, "here", Sort.BOOL)
        assert table_reader(terms).truth(2) == Compare("==", here, Const(True))
        assert table_reader(terms).truth(3) == Compare("==", Const(1), Const(1))
