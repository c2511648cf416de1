"""Terms read as they stand: their values where some fields may have one of several values.

What is known exactly has one value. What is not has a value at each *corner*, an end of what it may
be. A number has its value at each corner; a truth is surely or possibly so. Comparisons of counts
only grow or only shrink from one corner to the other, so what holds at all corners holds between
them as well; equality holds between them unless both sides are apart everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Final, TypeAlias

from spec.alphabet import Kind
from spec.machine import Ledger
from spec.terms import And, Arith, Compare, Const, Ite, KindIn, Not, Or, Scope, Sort, Term, Var

__all__ = [
    "MUCH",
    "Look",
    "Loose",
    "Truth",
    "Value",
    "count",
    "evaluate",
    "follow",
    "may_hold",
    "value_of",
]

Value: TypeAlias = bool | int
Truth: TypeAlias = tuple[bool, bool]
"""Whether something is surely so, and whether it is possibly so."""

Numbers: TypeAlias = tuple[int, ...]


class Loose(tuple[int, ...]):
    """Values that a number may have at any corner."""


Look: TypeAlias = Callable[[Scope, str], tuple[Value, ...]]
"""The values of a variable at the corners; one value where it is the same at all."""

MUCH: Final = 2**62
"""More than anything that is counted in blocks."""

_TRUE: Final = (True, True)
_FALSE: Final = (False, False)
_MAYBE: Final = (False, True)


def evaluate(term: Term, look: Look, kind: Kind) -> Truth:
    """Whether a boolean term holds where `look` gives variables and the event is of this kind."""
    match term:
        case Const(value):
            return _TRUE if value else _FALSE
        case Var(scope, name, _):
            found = look(scope, name)
            return all(found), any(found)
        case KindIn(kinds):
            return _TRUE if kind in kinds else _FALSE
        case Not(arg):
            surely, possibly = evaluate(arg, look, kind)
            return not possibly, not surely
        case And(args):
            truth = _TRUE
            for arg in args:
                surely, possibly = evaluate(arg, look, kind)
                if not possibly:
                    return _FALSE
                truth = truth if surely else _MAYBE
            return truth
        case Or(args):
            truth = _FALSE
            for arg in args:
                surely, possibly = evaluate(arg, look, kind)
                if surely:
                    return _TRUE
                truth = _MAYBE if possibly else truth
            return truth
        case Compare(op, left, right) if left.sort is Sort.INT:
            return _compare(op, count(left, look, kind), count(right, look, kind))
        case Compare(_, left, right):
            one, other = evaluate(left, look, kind), evaluate(right, look, kind)
            sure = one != _MAYBE and other != _MAYBE
            return (one == other, one == other) if sure else _MAYBE
        case Ite(cond, then, otherwise):
            surely, possibly = evaluate(cond, look, kind)
            if surely or not possibly:
                return evaluate(then if surely else otherwise, look, kind)
            both = evaluate(then, look, kind), evaluate(otherwise, look, kind)
            return both[0][0] and both[1][0], both[0][1] or both[1][1]
    raise TypeError(f"not a boolean term: {term!r}")


def count(term: Term, look: Look, kind: Kind) -> Numbers:
    """The value of an integer term at each corner, or `Loose` values."""
    match term:
        case Const(value):
            return (int(value),)
        case Var(scope, name, _):
            return look(scope, name)
        case Arith(op, left, right):
            sign = 1 if op == "+" else -1
            parts = count(left, look, kind), count(right, look, kind)
            loose = any(isinstance(part, Loose) for part in parts)
            found = (one + sign * other for one, other in _pairs(*parts))
            return Loose(found) if loose else tuple(found)
        case Ite(cond, then, otherwise):
            surely, possibly = evaluate(cond, look, kind)
            if surely == possibly:
                return count(then if surely else otherwise, look, kind)
            return Loose(count(then, look, kind) + count(otherwise, look, kind))
    raise TypeError(f"not a number: {term!r}")


def _pairs(one: Numbers, other: Numbers) -> list[tuple[int, int]]:
    """The values that two may have together: at the same corner, or any two if they are loose."""
    loose = isinstance(one, Loose) or isinstance(other, Loose) or 1 in (len(one), len(other))
    return list(product(one, other) if loose else zip(one, other, strict=True))


def _compare(op: str, left: Numbers, right: Numbers) -> Truth:
    apart = [one - other for one, other in _pairs(left, right)]
    if op == "==":
        return not any(apart), min(apart) <= 0 <= max(apart)
    found = [each < 0 if op == "<" else each <= 0 for each in apart]
    return all(found), any(found)


def value_of(term: Term, look: Look, kind: Kind) -> Value:
    """The value of a term where all that it reads is known."""
    return (evaluate if term.sort is Sort.BOOL else count)(term, look, kind)[0]


def follow(ledgers: tuple[Ledger, ...], after: Scope, look: Look, kind: Kind) -> dict[str, Value]:
    """The registers of the ledgers after an event, each worked out when it is first asked for."""
    following = {name: term for ledger in ledgers for name, term in ledger.following.items()}
    found: dict[str, Value] = {}

    def register(name: str) -> Value:
        if name not in found:
            found[name] = value_of(following[name], inner, kind)
        return found[name]

    def inner(scope: Scope, name: str) -> tuple[Value, ...]:
        return (register(name),) if scope is after else look(scope, name)

    return {name: register(name) for name in following}


def may_hold(term: Term, kind: Kind) -> Truth:
    """Whether a term holds on events of this kind, whatever else is true of them."""
    match term:
        case KindIn() | Const():
            return evaluate(term, _nothing, kind)
        case Not(arg):
            surely, possibly = may_hold(arg, kind)
            return not possibly, not surely
        case And(args) | Or(args):
            parts = [may_hold(arg, kind) for arg in args]
            join = all if isinstance(term, And) else any
            return join(part[0] for part in parts), join(part[1] for part in parts)
        case Ite(cond, then, otherwise) if may_hold(cond, kind) != _MAYBE:
            return may_hold(then if may_hold(cond, kind)[0] else otherwise, kind)
        case _:
            return _MAYBE


def _nothing(scope: Scope, name: str) -> tuple[Value, ...]:
    raise TypeError(f"{scope.value}.{name} is not known")
