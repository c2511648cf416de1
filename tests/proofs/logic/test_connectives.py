"""Conjunctions, equations and the like, built without the checks of z3."""

from __future__ import annotations

import pytest
import z3

from proofs.logic.connectives import all_of, any_of, choice, equal, negation, substituted

PARTS = [z3.Bool("a"), z3.Int("x") <= 3, z3.BoolVal(False), z3.Not(z3.Bool("b"))]


class TestSame:
    """The formulas are those of z3."""

    @pytest.mark.parametrize("count", range(len(PARTS) + 1))
    def test_junctions(self, count: int) -> None:
        """None, one or several parts: the same formula, of the same class."""
        parts = PARTS[:count]
        for ours, theirs in (
            (all_of(parts), z3.And(parts)),
            (any_of(parts), z3.Or(parts)),
        ):
            assert theirs.eq(ours)
            assert type(theirs) is type(ours)

    @pytest.mark.parametrize("part", PARTS, ids=str)
    def test_negation(self, part: z3.BoolRef) -> None:
        """A negation is not simplified, not even one of a negation."""
        assert z3.Not(part).eq(negation(part))

    @pytest.mark.parametrize(
        "pair",
        [
            (z3.Bool("a"), z3.BoolVal(True)),
            (z3.Int("x"), z3.IntVal(3)),
            (z3.IntVal(3), z3.Int("x")),
            (z3.BitVec("x", 6), z3.BitVecVal(3, 6)),
            (z3.BitVecVal(3, 6), z3.BitVec("x", 6)),
        ],
        ids=str,
    )
    def test_of_each_sort(self, pair: tuple[z3.ExprRef, z3.ExprRef]) -> None:
        """Equations and choices are of the classes that z3 gives them, with their operators."""
        assert (pair[0] == pair[1]).eq(equal(*pair))
        theirs, ours = z3.If(z3.Bool("c"), *pair), choice(z3.Bool("c"), *pair)
        assert theirs.eq(ours)
        assert type(theirs) is type(ours)

    def test_substituted(self) -> None:
        """Each variable is replaced at once, as by z3, which replaces none in what it put there."""
        a, b, x, y = z3.Bool("a"), z3.Bool("b"), z3.Int("x"), z3.Int("y")
        formula, pairs = z3.And(a, z3.Not(b), x < y + 1), [(a, b), (b, a), (x, y + 2), (y, x)]
        assert z3.substitute(formula, *pairs).eq(substituted(formula, pairs))
        assert z3.And(b, z3.Not(a), y + 2 < x + 1).eq(substituted(formula, pairs))

    def test_context(self) -> None:
        """A formula is of the context of its parts."""
        context = z3.Context()
        part = z3.Bool("a", context)
        for each in (
            *(all_of([part, part]), any_of([part]), negation(part)),
            *(equal(part, part), choice(part, part, part)),
        ):
            assert context == each.ctx
