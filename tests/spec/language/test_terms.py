"""Tests of spec.language.terms."""

from collections.abc import Callable

import pytest

from spec.contract.ledgers import kind, now, was
from spec.contract.vocabulary import c, e
from spec.events.alphabet import Kind
from spec.language.terms import (
    FALSE,
    TRUE,
    And,
    Const,
    Not,
    Or,
    Sort,
    Term,
    conj,
    disj,
    number,
    show,
    variables,
)

P, Q, R = e.mine, e.named, e.here
X, Y = was.lead, c.threshold


class TestSorts:
    """What may be combined with what."""

    @pytest.mark.parametrize(
        "build",
        [
            lambda: X & P,
            lambda: P | X,
            lambda: ~X,
            lambda: P < Q,
            lambda: P + 1,
            lambda: X.eq(P),
            lambda: X.ite(1, 2),
            lambda: P.ite(1, Q),
            lambda: P.implies(X),
            lambda: conj(P, number(1)),
        ],
    )
    def test_errors(self, build: Callable[[], Term]) -> None:
        """A term of the wrong sort is refused where it is built, with its text."""
        with pytest.raises(TypeError, match=r"lead|mine|1"):
            build()

    @pytest.mark.parametrize(
        ("term", "sort"),
        [
            (P & Q, Sort.BOOL),
            (X < Y, Sort.BOOL),
            (P.eq(Q), Sort.BOOL),
            (X + Y, Sort.INT),
            (P.ite(X, Y), Sort.INT),
            (P.ite(Q, R), Sort.BOOL),
            (number(True), Sort.BOOL),
            (number(1), Sort.INT),
        ],
    )
    def test_sorts(self, term: Term, sort: Sort) -> None:
        """Each way of combining terms has the sort that it should."""
        assert sort is term.sort

    def test_misspelt(self) -> None:
        """A field or a register that is not declared cannot be named."""
        with pytest.raises(AttributeError):
            e.mien  # noqa: B018
        with pytest.raises(AttributeError):
            was.leed  # noqa: B018


class TestSimplification:
    """What is dropped when terms are joined."""

    def test_units(self) -> None:
        """Constants that decide nothing vanish, and those that decide everything stay alone."""
        assert conj(P, TRUE) == P == disj(P, FALSE)
        assert FALSE == (P & FALSE)
        assert TRUE == (P | TRUE)
        assert (TRUE, FALSE) == (conj(), disj())

    def test_flat(self) -> None:
        """Joins of joins are flat, in order, and those of the other kind are kept whole."""
        assert And((P, Q, R)) == ((P & Q) & R) == (P & (Q & R))
        assert Or((P, Q, R)) == (P | (Q | R))
        assert And((P, Or((Q, R)))) == (P & (Q | R))

    def test_negation(self) -> None:
        """Negating twice gives the term back, and constants are negated at once."""
        assert Not(P) == ~P
        assert ~~P == P
        assert (FALSE, TRUE) == (~TRUE, ~FALSE)

    def test_turned(self) -> None:
        """Greater is less, turned round."""
        assert (Y < X) == (X > Y)
        assert (Y <= X) == (X >= Y)

    def test_implication(self) -> None:
        """Implication and inequality are put in simpler words."""
        assert (~P | Q) == P.implies(Q)
        assert ~X.eq(Y) == X.ne(Y)


class TestShow:
    """How terms are read."""

    @pytest.mark.parametrize(
        ("term", "text"),
        [
            (P & Q | R, "(e.mine and e.named) or e.here"),
            (P & ~Q, "e.mine and not e.named"),
            (~(P & Q), "not (e.mine and e.named)"),
            (X + 1 <= Y, "(was.lead + 1) <= c.threshold"),
            (X - 1, "was.lead - 1"),
            (P.ite(X, 0), "was.lead if e.mine else 0"),
            (TRUE, "true"),
            (now.lead.eq(3), "now.lead == 3"),
            (kind(Kind.LOAD_FAILED, Kind.BLOCK_LOST), "e.kind in {block_lost, load_failed}"),
        ],
    )
    def test_show(self, term: Term, text: str) -> None:
        """Each sort of term has its text, with parentheses where parts are joined."""
        assert text == show(term)

    def test_variables(self) -> None:
        """The variables of a term come in order, with repetitions."""
        assert [P, X, Y, X] == list(variables(P.ite(X + Y, X)))
        assert [] == list(variables(Const(1)))
