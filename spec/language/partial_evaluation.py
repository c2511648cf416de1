"""Evaluates terms partially, for a known kind of event or known registers.

The result shows which variables a question can depend on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from spec.language.terms import (
    FALSE,
    TRUE,
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
    conj,
    disj,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spec.events.alphabet import Kind

__all__ = ["Known", "specialize", "substitute"]

Known: TypeAlias = Mapping[tuple[Scope, str], Term]
"""Variables that are known, with what they are."""

_SIGNED = {(Scope.EVENT, "rival")}


def specialize(term: Term, kind: Kind | None, known: Known) -> Term:
    """The term for an event of this kind (None: of no kind), with `known` variables replaced, and
    simplified.

    Every integer except `rival` is a count, so it is assumed to be at least 0.
    """

    def go(t: Term) -> Term:
        match t:
            case Var(scope, name, _):
                return known.get((scope, name), t)
            case KindIn(kinds):
                return TRUE if kind in kinds else FALSE
            case Not(arg):
                return ~go(arg)
            case And(args):
                return _decided(conj(*until(FALSE, args)), FALSE)
            case Or(args):
                return _decided(disj(*until(TRUE, args)), TRUE)
            case Compare(op, left, right):
                return _compare(op, go(left), go(right))
            case Arith(op, left, right):
                return _arith(op, go(left), go(right))
            case Ite(cond, then, otherwise):
                return _choose(go(cond), go(then), go(otherwise))
        return t

    def until(absorbing: Term, args: tuple[Term, ...]) -> Iterator[Term]:
        """The parts, up to the first that decides all."""
        for arg in args:
            part = go(arg)
            yield part
            if part == absorbing:
                return

    return go(term)


def substitute(term: Term, known: Known) -> Term:
    """The term with variables replaced, and otherwise as it is."""

    def go(t: Term) -> Term:
        match t:
            case Var(scope, name, _):
                return known.get((scope, name), t)
            case Not(arg):
                return Not(go(arg))
            case And(args):
                return And(tuple(map(go, args)))
            case Or(args):
                return Or(tuple(map(go, args)))
            case Compare(op, left, right):
                return Compare(op, go(left), go(right))
            case Arith(op, left, right):
                return Arith(op, go(left), go(right))
            case Ite(cond, then, otherwise):
                return Ite(go(cond), go(then), go(otherwise))
        return t

    return go(term)


def _decided(term: Term, absorbing: Term) -> Term:
    """A conjunction or disjunction, which a part together with its negation decides."""
    if isinstance(term, And | Or):
        negated = {part.arg for part in term.args if isinstance(part, Not)}
        if not negated.isdisjoint(term.args):
            return absorbing
    return term


def _compare(op: str, left: Term, right: Term) -> Term:
    if left == right:
        return Const(op != "<")
    if isinstance(left, Const) and isinstance(right, Const):
        a, b = left.value, right.value
        return Const(a == b if op == "==" else a < b if op == "<" else a <= b)
    if left.sort is Sort.BOOL:
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Const):
                return other if one.value else ~other
    if op == "<=" and left == Const(0) and _counts(right):
        return TRUE
    if op == "<" and right == Const(0) and _counts(left):
        return FALSE
    return Compare(op, left, right)


def _counts(term: Term) -> bool:
    return isinstance(term, Var) and (term.scope, term.name) not in _SIGNED


def _arith(op: str, left: Term, right: Term) -> Term:
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(left.value + right.value if op == "+" else left.value - right.value)
    if right == Const(0):
        return left
    return right if left == Const(0) and op == "+" else Arith(op, left, right)


def _choose(cond: Term, then: Term, otherwise: Term) -> Term:
    if isinstance(cond, Const):
        return then if cond.value else otherwise
    return then if then == otherwise else Ite(cond, then, otherwise)
