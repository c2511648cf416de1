"""Generated functions and tables read back: what they mean, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
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
from spec.language.terms import Const, Not, Scope, Sort, Term, Var, show, variables
from spec.language.verdicts import Verdict
from spec.stream.generate import CLAIM, own_places, source
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
SLOTS = _Table(Bundle.CONTRACT, NAMES)._slots
USED = SLOTS["own"] + len(OWN_SORTS)
"""The place behind those for inputs."""


def table_reader(steps: list[Any], constants: Sequence[tuple[int, int]] = ()) -> TableReader:
    """A reader of a table with these steps."""
    made = Table([], [], [], [], [], SLOTS, [*constants], steps, [*EVENT_FIELDS])
    return TableReader(made, OWN)


def written_and_read(term: Term) -> Term:
    """A term as a table has it, read back."""
    made = _Table(Bundle.CONTRACT, NAMES)
    made._used = USED
    number = made._start(term, [*OWN_SORTS])
    steps = []
    for key in made._steps:
        name, at = NAMES["operators"][key[0]], 1
        operands = []
        for size in _SHAPES[name]:
            operands.append(int.from_bytes(key[at : at + size], "little"))
            at += size
        steps.append((name, tuple(operands)))
    constants = [(slot, value) for value, slot in made._places.items() if isinstance(value, int)]
    return table_reader(steps, constants).term(number, term.sort)


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
        "steps",
        [
            [("Give", (SLOTS["threshold"],))],
            [("Give", (USED,))],
            [("Give", (255,))],
            [("Give", ([*EVENT_FIELDS].index("here"),))],
            [("Holds", (SLOTS["threshold"], 0, 0))],
            [("Holds", (SLOTS["here"], 2, 0))],
            [("Holds", (SLOTS["here"], 1, 0))],
            [("Less", (SLOTS["here"], SLOTS["threshold"], 0, 0))],
            [("Plus", (USED, SLOTS["here"], SLOTS["threshold"], 0))],
            [("Plus", (SLOTS["was"], SLOTS["threshold"], SLOTS["threshold"], 0))],
            [("Plus", (USED + 1, SLOTS["threshold"], SLOTS["threshold"], 0))],
            [("Value", (USED, 0, 0))],
            [("Value", (USED, 2, 0))],
            [("Give", (SLOTS["threshold"],)), ("Value", (USED, 2, 0))],
        ],
    )
    def test_tables(self, steps: list[tuple[str, tuple[int, ...]]]) -> None:
        """A step of a table has operands that are there, and of the right sorts; it leads to one
        before it, and makes a number where there is none.
        """
        read = table_reader([("Give", (SLOTS["here"],)), *steps], [(USED + 1, 7)])
        with pytest.raises(Refused):
            read.truth(len(steps))

    def test_one_number(self) -> None:
        """A place has one number, whichever steps run."""
        here, threshold = SLOTS["here"], SLOTS["threshold"]
        steps = [
            ("AtMost", (USED, threshold, 0, 0)),
            ("Plus", (USED, threshold, threshold, 1)),
            ("Minus", (USED, threshold, threshold, 1)),
            ("Holds", (here, 2, 2)),
            ("Holds", (here, 2, 3)),
        ]
        read = table_reader([("Give", (here,)), *steps])
        read.truth(4)
        for start in (1, 5):
            with pytest.raises(Refused):
                read.truth(start)

    def test_unset(self) -> None:
        """A register that has no value yet is not read."""
        steps = [("Give", (SLOTS["now"],))]
        read = table_reader(steps)
        assert read.truth(0) == Var(Scope.NOW, CLAIM[0].name, Sort.BOOL)
        with pytest.raises(Refused):
            replace(read, unset=frozenset({(Scope.NOW, CLAIM[0].name)})).truth(0)

    def test_two_things(self) -> None:
        """A place is for one thing."""
        with pytest.raises(Refused):
            table_reader([("Give", (USED,))], [(USED, 0), (USED, 1)]).truth(0)

    def test_constants(self) -> None:
        """A constant is of the sort that is needed."""
        read = table_reader([("Give", (USED,))], [(USED, 1)])
        assert Const(True) == read.truth(0)
        assert Const(1) == read.term(0, Sort.INT)
