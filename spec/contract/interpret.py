"""Interprets terms where some fields may have one of several values.

What is known exactly has one value. What is not has a value at each *corner*, an end of what it may
be. A number has its value at each corner; a truth is surely or possibly so. Comparisons of counts
only grow or only shrink from one corner to the other, so what holds at all corners holds between
them as well; equality holds between them unless both sides are apart everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Final, TypeAlias

from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.events.alphabet import Kind
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
    conj,
    disj,
)

__all__ = [
    "Look",
    "Truth",
    "Value",
    "at_kind",
    "claim_after",
    "count",
    "evaluate",
    "in_mode",
    "request_after",
    "value_of",
]

Value: TypeAlias = bool | int
Truth: TypeAlias = tuple[bool, bool]
"""Whether something is surely so, and whether it is possibly so."""

Numbers: TypeAlias = tuple[int, ...]

Look: TypeAlias = Callable[[Scope, str], tuple[Value, ...]]
"""The values of a variable at the corners; one value where it is the same at all."""

_TRUE: Final = (True, True)
_FALSE: Final = (False, False)
_MAYBE: Final = (False, True)


def at_kind(term: Term, kind: Kind) -> Term:
    """The term as it reads on events of this kind; `FALSE` or `TRUE` where that decides it."""
    return _with(term, lambda leaf: Const(kind in leaf.kinds) if isinstance(leaf, KindIn) else leaf)


def in_mode(term: Term, constants: Mapping[str, bool]) -> Term:
    """The term as it reads in a mode that fixes these constants, decided where they decide it."""

    def value(leaf: Term) -> Term:
        if isinstance(leaf, Var) and leaf.scope is Scope.CLAIM and leaf.name in constants:
            return Const(constants[leaf.name])
        return leaf

    return _with(term, value)


def _with(term: Term, leaf: Callable[[Term], Term]) -> Term:
    match term:
        case Not(arg):
            return ~_with(arg, leaf)
        case And(args):
            return conj(*(_with(arg, leaf) for arg in args))
        case Or(args):
            return disj(*(_with(arg, leaf) for arg in args))
        case Compare(op, left, right):
            return Compare(op, _with(left, leaf), _with(right, leaf))
        case Arith(op, left, right):
            return Arith(op, _with(left, leaf), _with(right, leaf))
        case Ite(cond, then, otherwise):
            decided = _with(cond, leaf)
            if isinstance(decided, Const):
                return _with(then if decided.value else otherwise, leaf)
            return Ite(decided, _with(then, leaf), _with(otherwise, leaf))
    return leaf(term)


def evaluate(term: Term, look: Look) -> Truth:
    """Whether a boolean term holds, by `at_kind`, where `look` gives variables."""
    match term:
        case Var(scope, name, _):
            found = look(scope, name)
            return all(found), any(found)
        case And(args):
            truth = _TRUE
            for arg in args:
                surely, possibly = evaluate(arg, look)
                if not possibly:
                    return _FALSE
                truth = truth if surely else _MAYBE
            return truth
        case Or(args):
            truth = _FALSE
            for arg in args:
                surely, possibly = evaluate(arg, look)
                if surely:
                    return _TRUE
                truth = _MAYBE if possibly else truth
            return truth
        case Not(arg):
            surely, possibly = evaluate(arg, look)
            return not possibly, not surely
        case Compare(op, left, right) if left.sort is Sort.INT:
            return _compare(op, count(left, look), count(right, look))
        case Compare(_, left, right):
            one, other = evaluate(left, look), evaluate(right, look)
            sure = one != _MAYBE and other != _MAYBE
            return (one == other, one == other) if sure else _MAYBE
        case Ite(cond, then, otherwise):
            surely, possibly = evaluate(cond, look)
            if surely or not possibly:
                return evaluate(then if surely else otherwise, look)
            both = evaluate(then, look), evaluate(otherwise, look)
            return both[0][0] and both[1][0], both[0][1] or both[1][1]
        case Const(value):
            return _TRUE if value else _FALSE
    raise TypeError(f"not a boolean term of one kind of event: {term!r}")


def count(term: Term, look: Look) -> Numbers:
    """The value of an integer term at each corner.

    Raises:
        TypeError: it depends on a condition that is unknown.
    """
    match term:
        case Const(value):
            return (int(value),)
        case Var(scope, name, _):
            return look(scope, name)
        case Arith(op, left, right):
            sign = 1 if op == "+" else -1
            pairs = _pairs(count(left, look), count(right, look))
            return tuple(one + sign * other for one, other in pairs)
        case Ite(cond, then, otherwise):
            surely, possibly = evaluate(cond, look)
            if surely == possibly:
                return count(then if surely else otherwise, look)
    raise TypeError(f"not a number that can be told: {term!r}")


def _pairs(one: Numbers, other: Numbers) -> list[tuple[int, int]]:
    """The values that two have at the same corner."""
    most = max(len(one), len(other))
    wide = (side * most if len(side) == 1 else side for side in (one, other))
    return list(zip(*wide, strict=True))


def _compare(op: str, left: Numbers, right: Numbers) -> Truth:
    apart = [one - other for one, other in _pairs(left, right)]
    if op == "==":
        return not any(apart), min(apart) <= 0 <= max(apart)
    found = [each < 0 if op == "<" else each <= 0 for each in apart]
    return all(found), any(found)


def value_of(term: Term, look: Look) -> Value:
    """The value of a term where all that it reads is known."""
    return (evaluate if term.sort is Sort.BOOL else count)(term, look)[0]


# Ledgers.


@cache
def _of_claim(kind: Kind) -> dict[str, Term]:
    following = {**CLAIM_FACTS.following, **DECLARED.following}
    return {name: at_kind(term, kind) for name, term in following.items()}


@cache
def _of_request(kind: Kind) -> dict[str, Term]:
    return {name: at_kind(term, kind) for name, term in REQUEST_FACTS.following.items()}


def claim_after(kind: Kind, look: Look, only: Iterable[str] | None = None) -> dict[str, Value]:
    """A claim's registers, or only those of these names, after an event of this kind."""
    return _follow(_of_claim(kind), Scope.NOW, look, only)


def request_after(kind: Kind, look: Look, only: Iterable[str] | None = None) -> dict[str, Value]:
    """The registers of a request after an event of this kind, to one claim."""
    return _follow(_of_request(kind), Scope.REQ, look, only)


def _follow(
    following: Mapping[str, Term], after: Scope, look: Look, only: Iterable[str] | None
) -> dict[str, Value]:
    """Each register worked out when it is first asked for."""
    found: dict[str, Value] = {}

    def register(name: str) -> Value:
        if name not in found:
            found[name] = value_of(following[name], inner)
        return found[name]

    def inner(scope: Scope, name: str) -> tuple[Value, ...]:
        return (register(name),) if scope is after else look(scope, name)

    return {name: register(name) for name in (following if only is None else only)}
