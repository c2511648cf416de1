"""Evaluates terms: whole, or partially for a known kind of event or known registers.

What a partial evaluation leaves shows which variables a question can depend on.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

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

__all__ = ["Known", "Look", "Value", "reading_of", "specialize", "value_of"]

Known: TypeAlias = Mapping[tuple[Scope, str], Term]
"""Variables that are known, with what they are."""

Value: TypeAlias = "bool | int | Kind"
Look: TypeAlias = Callable[[Scope, str], Value]
"""The value of a variable; the kind of the event is the variable `kind` of the event."""

_OPERATORS = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    "+": operator.add,
    "-": operator.sub,
}


def value_of(term: Term, look: Look) -> bool | int:
    """The value of a term of which `look` gives each variable."""
    found: bool | int = reading_of(term)(look)
    return found


def reading_of(term: Term) -> Callable[[Look], Any]:
    """What `value_of` applies: the term taken apart once, to be read many times."""
    match term:
        case Const(value):
            return lambda look: value
        case Var(scope, name, _):
            return lambda look: look(scope, name)
        case KindIn(kinds):
            return lambda look: look(Scope.EVENT, "kind") in kinds
        case Not(arg):
            one = reading_of(arg)
            return lambda look: not one(look)
        case And(args):
            every = [reading_of(each) for each in args]
            return lambda look: all(each(look) for each in every)
        case Or(args):
            some = [reading_of(each) for each in args]
            return lambda look: any(each(look) for each in some)
        case Compare(op, left, right) | Arith(op, left, right):
            a, b, apply = reading_of(left), reading_of(right), _OPERATORS[op]
            return lambda look: apply(a(look), b(look))
        case Ite(cond, then, otherwise):
            which, yes, no = reading_of(cond), reading_of(then), reading_of(otherwise)
            return lambda look: yes(look) if which(look) else no(look)
    raise TypeError(f"not a term: {term!r}")


def specialize(term: Term, kind: Kind | None, known: Known) -> Term:
    """The term for an event of this kind (None: of no kind), with `known` variables replaced, and
    simplified.

    Every integer variable is a count, so it is assumed to be at least 0.
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
    if op == "<=" and left == Const(0) and isinstance(right, Var):
        return TRUE
    if op == "<" and right == Const(0) and isinstance(left, Var):
        return FALSE
    return Compare(op, left, right)


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
