"""Tests of spec.contract.interpret and spec.machines: terms as they stand, and automata."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings

from spec.contract.interpret import (
    KINDS_IN_ORDER,
    Truth,
    Value,
    at_kind,
    count,
    evaluate,
    value_of,
)
from spec.contract.ledgers import kind, was
from spec.contract.obligations import OBLIGATIONS
from spec.contract.vocabulary import c, e
from spec.events.alphabet import Kind
from spec.language.machine import Guard, Observer, Register, Rule, State
from spec.language.terms import FALSE, TRUE, Const, Scope, Sort, Term, Var
from spec.language.verdicts import Verdict
from spec.machines import Automaton
from tests.streams.strategies import assignments, terms

SURE, NOT, MAYBE = (True, True), (False, False), (False, True)


def looking(**values: Value | tuple[Value, ...]) -> Callable[[Scope, str], tuple[Value, ...]]:
    """Variables by their names, each with one value or with one at each corner."""

    def look(scope: Scope, name: str) -> tuple[Value, ...]:
        value = values[name]
        return value if isinstance(value, tuple) else (value,)

    return look


def truth(term: Term, **values: Value | tuple[Value, ...]) -> Truth:
    return evaluate(at_kind(term, Kind.BLOCK_LOST), looking(**values))


class TestKinds:
    """Terms as they read on one kind of event."""

    def test_decided(self) -> None:
        """Membership is decided, and with it all that hangs on it."""
        lost = kind(Kind.BLOCK_LOST)
        assert (TRUE, FALSE) == (at_kind(lost, Kind.BLOCK_LOST), at_kind(lost, Kind.BLOCK_CACHED))
        assert FALSE == at_kind(e.mine & lost, Kind.BLOCK_CACHED)
        assert e.mine == at_kind(e.mine | ~lost, Kind.BLOCK_LOST)
        assert e.lead == at_kind(lost.ite(e.lead, was.lead), Kind.BLOCK_LOST)

    def test_by_number(self) -> None:
        """A term has the value of `at_kind` where the kind of the event is looked up."""
        term, known = (e.mine & kind(Kind.BLOCK_LOST)).ite(e.lead, e.needed), (True, 3, 7)
        values: dict[str, Value] = dict(zip(("mine", "lead", "needed"), known, strict=True))
        for number, of in enumerate(KINDS_IN_ORDER):
            found = value_of(term, looking(kind=number, **values))
            assert found == value_of(at_kind(term, of), looking(**values))
            assert found == (3 if of is Kind.BLOCK_LOST else 7)

    @settings(max_examples=80, deadline=None)
    @given(terms(Sort.BOOL), assignments())
    def test_same_meaning(
        self, term: Term, given_: tuple[Kind, dict[Scope, dict[str, Value]]]
    ) -> None:
        """A term that is decided by its kind means what the whole of it means."""
        of, values = given_
        look = lambda scope, name: (values[scope][name],)  # noqa: E731
        surely, possibly = evaluate(at_kind(term, of), look)
        assert surely == possibly
        twice = evaluate(at_kind(at_kind(term, of), of), look)
        assert (surely, possibly) == twice


class TestCorners:
    """What holds at all corners holds; what holds at some may hold."""

    @pytest.mark.parametrize(
        ("lead", "expected"), [((1, 2), SURE), ((4, 5), NOT), ((2, 4), MAYBE), ((3, 3), NOT)]
    )
    def test_order(self, lead: tuple[int, int], expected: Truth) -> None:
        """A comparison holds, does not, or may."""
        assert expected == truth(e.lead < 3, lead=lead)

    def test_equality(self) -> None:
        """Between corners on both sides of a number the number itself may be."""
        assert MAYBE == truth(e.lead.eq(3), lead=(2, 4))
        assert NOT == truth(e.lead.eq(5), lead=(2, 4))
        assert SURE == truth(e.lead.eq(3), lead=(3, 3))

    def test_together(self) -> None:
        """Two numbers have their values at the same corner."""
        both = {"lead": (2, 4), "needed": (3, 5)}
        assert SURE == truth(e.lead < e.needed, **both)
        assert MAYBE == truth(e.lead < e.needed, lead=(2, 4), needed=3)
        assert (1, 1) == count(e.needed - e.lead, looking(**both))

    def test_truths(self) -> None:
        """Truths that are not known leave open what rests on them alone."""
        unsure = {"mine": (False, True), "named": True, "here": False}
        assert MAYBE == truth(e.mine & e.named, **unsure)
        assert (NOT, SURE) == (truth(e.mine & e.here, **unsure), truth(e.mine | e.named, **unsure))
        assert MAYBE == truth(e.mine.eq(e.named), **unsure)
        assert MAYBE == truth(e.mine.ite(e.named, e.here), **unsure)
        assert SURE == truth(e.mine.ite(e.named, e.named), **unsure)

    def test_hanging(self) -> None:
        """A number that hangs on what is not known is none."""
        assert (5,) == count(e.mine.ite(1, 5), looking(mine=False))
        with pytest.raises(TypeError, match="not a number that can be told"):
            count(e.mine.ite(1, 5), looking(mine=(False, True)))

    def test_no_term(self) -> None:
        """What is no term has no value."""
        with pytest.raises(TypeError, match="not a boolean"):
            evaluate(Term(), looking())
        with pytest.raises(TypeError, match="not a number"):
            count(Term(), looking())

    def test_values(self) -> None:
        """A term of either sort has its plain value where all is known."""
        assert (7, True) == (
            value_of(e.lead + 3, looking(lead=4)),
            value_of(e.lead < c.threshold, looking(lead=4, threshold=5)),
        )


class TestAutomata:
    """Observers as `transitions` machines."""

    COUNTED = Var(Scope.OWN, "counted", Sort.INT)
    OBSERVER = Observer(
        name="sample",
        code="S",
        reason="",
        source="",
        registers=(Register("counted", Sort.INT, 0),),
        states=(
            State("idle", Verdict.UNEXERCISED, "nothing"),
            State("owed", Verdict.PENDING, "owed"),
            State("violated", Verdict.VIOLATED, "broken"),
        ),
        rules=(
            Rule(Guard.FORBIDDEN, "broke", e.mine & (COUNTED >= 2), "violated", why="twice"),
            Rule(
                Guard.OWED,
                "owes",
                e.mine,
                "owed",
                why="once",
                source=("idle", "owed"),
                sets={"counted": COUNTED + 1},
            ),
            Rule(Guard.MOOT, "later", kind(Kind.BLOCK_LOST), "idle", why="", source=("owed",)),
        ),
    )

    def steps(self, state: str, counted: int, mine: Value | tuple[Value, ...]) -> list[object]:
        automaton = Automaton(self.OBSERVER)
        found = automaton.steps(state, {"counted": counted}, looking(mine=mine), Kind.BLOCK_CACHED)
        return [(s.rule.name if s.rule else None, s.state, s.own["counted"]) for s in found]

    def test_first_rule(self) -> None:
        """The first rule that applies is taken, and sets registers from their old values."""
        assert [("owes", "owed", 1)] == self.steps("idle", 0, True)
        assert [("broke", "violated", 2)] == self.steps("owed", 2, True)
        assert [(None, "idle", 0)] == self.steps("idle", 0, False)

    def test_for_good(self) -> None:
        """Nothing leads out of a violated state."""
        assert [(None, "violated", 2)] == self.steps("violated", 2, True)

    def test_unsure(self) -> None:
        """Where a guard may hold and may not, both ways are open."""
        expected = [("owes", "owed", 1), (None, "idle", 0)]
        assert expected == self.steps("idle", 0, (False, True))

    def test_rules_of_a_kind(self) -> None:
        """Rules that no event of a kind can take are not tried."""
        automaton = Automaton(self.OBSERVER)
        assert ["broke", "owes"] == [r.rule.name for r in automaton.rules(Kind.BLOCK_CACHED)]
        assert 3 == len(automaton.rules(Kind.BLOCK_LOST))
        assert {"counted": 0} == automaton.first

    @pytest.mark.parametrize("name", OBLIGATIONS)
    def test_all_observers(self, name: str) -> None:
        """Every observer makes a machine with its states, and a trigger for each of its rules."""
        observer = OBLIGATIONS[name]
        automaton = Automaton(observer)
        for rule in observer.rules:
            able = {s.name for s in observer.states if automaton._move(s.name, rule) is not None}
            assert set(observer.sources(rule)) == able
        assert Const(False) not in {r.guard for k in Kind for r in automaton.rules(k)}
