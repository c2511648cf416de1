"""Tests of spec.language.partial_evaluation: the value of a term, and what is left of one."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spec.contract.ledgers import kind, was
from spec.contract.vocabulary import c, e
from spec.events.alphabet import Kind
from spec.language.partial_evaluation import Value, specialize, value_of
from spec.language.terms import FALSE, TRUE, Arith, Compare, Const, Scope, Sort, Term
from tests.streams.strategies import assignments, terms

Values = dict[Scope, dict[str, bool | int]]


class TestKinds:
    """Terms as they read on one kind of event."""

    def test_decided(self) -> None:
        """Membership is decided, and with it all that depends on it."""
        lost = kind(Kind.BLOCK_LOST)
        assert TRUE == specialize(lost, Kind.BLOCK_LOST, {})
        assert FALSE == specialize(e.mine & lost, Kind.BLOCK_CACHED, {})
        assert e.mine == specialize(e.mine | ~lost, Kind.BLOCK_LOST, {})
        assert e.lead == specialize(lost.ite(e.lead, was.lead), Kind.BLOCK_LOST, {})


class TestNumbers:
    """Terms of a number and a count that is not known."""

    @pytest.mark.parametrize("number", [0, 1, 2])
    @pytest.mark.parametrize("op", ["+", "-", "<", "<=", "=="])
    def test_kept(self, op: str, number: int) -> None:
        """What is left has the same value for each count."""
        make: Any = Arith if op in "+-" else Compare
        for term in (make(op, e.lead, Const(number)), make(op, Const(number), e.lead)):
            left = specialize(term, None, {})
            for count in range(4):
                assert value_of(left, lambda *_, n=count: n) == value_of(
                    term, lambda *_, n=count: n
                )


class TestValues:
    """Terms of which everything is known."""

    def test_values(self) -> None:
        """A term of either sort has its plain value."""
        values: dict[str, Value] = {"lead": 4, "threshold": 5}
        look = lambda scope, name: values[name]  # noqa: E731
        assert 7 == value_of(e.lead + 3, look)
        assert value_of(e.lead < c.threshold, look) is True
        lost = kind(Kind.BLOCK_LOST)
        values["kind"] = Kind.BLOCK_LOST
        assert value_of(lost & (e.lead < 9), look) is True
        values["kind"] = Kind.BLOCK_CACHED
        assert value_of(lost, look) is False

    def test_no_term(self) -> None:
        """What is no term has no value."""
        with pytest.raises(TypeError, match="not a term"):
            value_of(Term(), lambda scope, name: 0)

    @settings(max_examples=150)
    @given(terms(Sort.BOOL) | terms(Sort.INT), assignments(least=0))
    def test_same_meaning(self, term: Term, given_: tuple[Kind, Values]) -> None:
        """A term has the value that is left of it once its kind and its variables are known."""
        of, values = given_
        known = {(s, name): Const(v) for s, each in values.items() for name, v in each.items()}
        left = specialize(term, of, known)
        assert isinstance(left, Const)
        values[Scope.EVENT]["kind"] = of  # type: ignore[assignment]
        assert left.value == value_of(term, lambda scope, name: values[scope][name])

    @settings(max_examples=300)
    @given(terms(Sort.BOOL) | terms(Sort.INT), assignments(least=0), st.randoms())
    def test_partly_known(self, term: Term, given_: tuple[Kind, Values], chance: Random) -> None:
        """What is left of a term has the term's value, whichever variables were known before."""
        of, values = given_
        every = [(s, name) for s, each in values.items() for name in each]
        known = {(s, n): Const(values[s][n]) for s, n in every if chance.random() < 0.5}
        left = specialize(term, of, known)
        values[Scope.EVENT]["kind"] = of  # type: ignore[assignment]
        look = lambda scope, name: values[scope][name]  # noqa: E731
        assert value_of(left, look) == value_of(term, look)
