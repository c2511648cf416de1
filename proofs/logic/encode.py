"""Translates terms to Z3: one of the two translations of the term language.

Integers become mathematical integers (`Integers`, for statements about all sizes) or bit-vectors of
a fixed width (`Bits`, for fast bounded search; the world keeps every value small enough that no sum
overflows, see `proofs.model.environment`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import z3

from proofs.logic.connectives import all_of, any_of, choice, equal, negation
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
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spec.events.alphabet import Kind

__all__ = ["Bits", "Expr", "Integers", "Numbers", "encode"]

Expr = Any  # z3 has no types
_KINDS = 7  # bits for the number of a kind, however few there are for other numbers


class Integers:
    """Mathematical integers."""

    limit: None = None
    """The largest value that a field may take: any."""

    def var(self, name: str) -> Expr:
        """A fresh integer variable."""
        return z3.Int(name)

    def const(self, value: int) -> Expr:
        """An integer constant."""
        return z3.IntVal(value)

    def kind(self, index: int) -> Expr:
        """The number of a kind of event as a constant."""
        return z3.IntVal(index)

    def kind_var(self, name: str) -> Expr:
        """A variable for the number of a kind of event."""
        return z3.Int(name)


class Bits:
    """Signed bit-vectors of `width` bits; fields stay below 2**(width - 3), so sums of four fit."""

    def __init__(self, width: int) -> None:
        self.width = width

    @property
    def limit(self) -> int:
        """The largest value that a field may take."""
        return (1 << (self.width - 3)) - 1

    def var(self, name: str) -> Expr:
        """A fresh integer variable."""
        return z3.BitVec(name, self.width)

    def const(self, value: int) -> Expr:
        """An integer constant."""
        return z3.BitVecVal(value, self.width)

    def kind(self, index: int) -> Expr:
        """The number of a kind of event as a constant."""
        return z3.BitVecVal(index, _KINDS)

    def kind_var(self, name: str) -> Expr:
        """A variable for the number of a kind of event."""
        return z3.BitVec(name, _KINDS)


Numbers: TypeAlias = "Integers | Bits"
"""How integers are represented."""


def encode(
    term: Term,
    resolve: Callable[[Scope, str], Expr],
    kinds: Mapping[Kind, Expr],
    numbers: Numbers,
) -> Expr:
    """A term as a Z3 expression.

    Args:
        resolve: the expression that stands for a variable.
        kinds: for each kind in the alphabet of the mode, the condition that the event has that
        kind; other kinds never occur.
    """

    def go(t: Term) -> Expr:
        match t:
            case Const(value):
                return z3.BoolVal(value) if isinstance(value, bool) else numbers.const(value)
            case Var(scope, name, _):
                return resolve(scope, name)
            case KindIn(members):
                return any_of([kinds[k] for k in sorted(members) if k in kinds])
            case Not(arg):
                return negation(go(arg))
            case And(args):
                return all_of([go(a) for a in args])
            case Or(args):
                return any_of([go(a) for a in args])
            case Compare(op, left, right):
                a, b = go(left), go(right)
                return equal(a, b) if op == "==" else (a < b if op == "<" else a <= b)
            case Arith(op, left, right):
                a, b = go(left), go(right)
                return a + b if op == "+" else a - b
            case Ite(cond, then, otherwise):
                return choice(go(cond), go(then), go(otherwise))
        raise TypeError(f"not a term: {t!r}")

    return go(term)


def variable(name: str, sort: Sort, numbers: Numbers) -> Expr:
    """A fresh constant of the given sort."""
    return z3.Bool(name) if sort is Sort.BOOL else numbers.var(name)
