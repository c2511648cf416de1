"""Interprets terms where some fields may have one of several values.

What is known exactly has one value. What is not has a value at each *corner*, an end of what it may
be. A number has its value at each corner; a truth is surely or possibly so. Comparisons of counts
only grow or only shrink from one corner to the other, so what holds at all corners holds between
them as well; equality holds between them unless both sides are apart everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Final, TypeAlias, TypeVar

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
    "KINDS_IN_ORDER",
    "Look",
    "Truth",
    "Value",
    "at_kind",
    "claim_after",
    "count",
    "evaluate",
    "in_mode",
    "number_of",
    "reading_of",
    "request_after",
    "truth_of",
    "value_of",
]

Value: TypeAlias = bool | int
Truth: TypeAlias = tuple[bool, bool]
"""Whether something is surely so, and whether it is possibly so."""

Numbers: TypeAlias = tuple[int, ...]

Look: TypeAlias = Callable[[Scope, str], tuple[Value, ...]]
"""The values of a variable at the corners; one value where it is the same at all.

The kind of the event is a number, its place in `KINDS_IN_ORDER`; terms by `at_kind` do not ask it.
"""

Truths: TypeAlias = Callable[[Look], Truth]
Counts: TypeAlias = Callable[[Look], Numbers]

KINDS_IN_ORDER: Final = tuple(sorted(Kind))

_T = TypeVar("_T")
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
    """Whether a boolean term holds, where `look` gives variables."""
    return truth_of(term)(look)


def count(term: Term, look: Look) -> Numbers:
    """The value of an integer term at each corner.

    Raises:
        TypeError: it depends on a condition that is unknown.
    """
    return number_of(term)(look)


def value_of(term: Term, look: Look) -> Value:
    """The value of a term where all that it reads is known."""
    return reading_of(term)(look)[0]


# A term is taken apart once, into the functions that are its meaning, and read many times.


def reading_of(term: Term) -> Callable[[Look], tuple[Value, ...]]:
    """What `value_of` applies, by the sort of the term."""
    return truth_of(term) if term.sort is Sort.BOOL else number_of(term)


def truth_of(term: Term) -> Truths:
    """What `evaluate` applies.

    Raises:
        TypeError: it is not a boolean term.
    """
    match term:
        case Var(scope, name, _):
            return partial(_variable, scope, name)
        case And(args):
            return partial(_all, [truth_of(arg) for arg in args])
        case Or(args):
            return partial(_any, [truth_of(arg) for arg in args])
        case Not(arg):
            return partial(_not, truth_of(arg))
        case Compare(op, left, right) if left.sort is Sort.INT:
            return partial(_compare, op, number_of(left), number_of(right))
        case Compare(_, left, right):
            return partial(_alike, truth_of(left), truth_of(right))
        case Ite(cond, then, otherwise):
            return partial(_choose, truth_of(cond), truth_of(then), truth_of(otherwise))
        case Const(value):
            return partial(_constant, _TRUE if value else _FALSE)
        case KindIn(kinds):
            return partial(_is_one_of, frozenset(map(KINDS_IN_ORDER.index, kinds)))
    raise TypeError(f"not a boolean term: {term!r}")


def number_of(term: Term) -> Counts:
    """What `count` applies.

    Raises:
        TypeError: it is not an integer term.
    """
    match term:
        case Const(value):
            return partial(_constant, (int(value),))
        case Var(scope, name, _):
            return partial(_look, scope, name)
        case Arith(op, left, right):
            return partial(_add, 1 if op == "+" else -1, number_of(left), number_of(right))
        case Ite(cond, then, otherwise):
            return partial(_pick, term, truth_of(cond), number_of(then), number_of(otherwise))
    raise TypeError(f"not a number that can be told: {term!r}")


def _constant(value: _T, look: Look) -> _T:
    return value


def _look(scope: Scope, name: str, look: Look) -> Numbers:
    return look(scope, name)


def _is_one_of(kinds: frozenset[int], look: Look) -> Truth:
    return _TRUE if look(Scope.EVENT, "kind")[0] in kinds else _FALSE


def _variable(scope: Scope, name: str, look: Look) -> Truth:
    found = look(scope, name)
    if len(found) == 1:
        return _TRUE if found[0] else _FALSE
    return all(found), any(found)


def _all(args: Sequence[Truths], look: Look) -> Truth:
    truth = _TRUE
    for arg in args:
        surely, possibly = arg(look)
        if not possibly:
            return _FALSE
        truth = truth if surely else _MAYBE
    return truth


def _any(args: Sequence[Truths], look: Look) -> Truth:
    truth = _FALSE
    for arg in args:
        surely, possibly = arg(look)
        if surely:
            return _TRUE
        truth = _MAYBE if possibly else truth
    return truth


def _not(arg: Truths, look: Look) -> Truth:
    surely, possibly = arg(look)
    return not possibly, not surely


def _alike(left: Truths, right: Truths, look: Look) -> Truth:
    one, other = left(look), right(look)
    sure = one != _MAYBE and other != _MAYBE
    return (one == other, one == other) if sure else _MAYBE


def _choose(cond: Truths, then: Truths, otherwise: Truths, look: Look) -> Truth:
    surely, possibly = cond(look)
    if surely == possibly:
        return (then if surely else otherwise)(look)
    both = then(look), otherwise(look)
    return both[0][0] and both[1][0], both[0][1] or both[1][1]


def _pick(term: Term, cond: Truths, then: Counts, otherwise: Counts, look: Look) -> Numbers:
    surely, possibly = cond(look)
    if surely != possibly:
        raise TypeError(f"not a number that can be told: {term!r}")
    return (then if surely else otherwise)(look)


def _add(sign: int, left: Counts, right: Counts, look: Look) -> Numbers:
    return tuple([one + sign * other for one, other in _pairs(left(look), right(look))])


def _compare(op: str, left: Counts, right: Counts, look: Look) -> Truth:
    apart = [one - other for one, other in _pairs(left(look), right(look))]
    if op == "==":
        return not any(apart), min(apart) <= 0 <= max(apart)
    found = [each < 0 if op == "<" else each <= 0 for each in apart]
    return all(found), any(found)


def _pairs(one: Numbers, other: Numbers) -> Iterable[tuple[int, int]]:
    """The values that two have at the same corner."""
    if len(one) == len(other):
        return zip(one, other, strict=True)
    most = max(len(one), len(other))
    wide = (side * most if len(side) == 1 else side for side in (one, other))
    return zip(*wide, strict=True)


# Ledgers.


@cache
def _of_claim(kind: Kind) -> dict[str, Callable[[Look], tuple[Value, ...]]]:
    following = {**CLAIM_FACTS.following, **DECLARED.following}
    return {name: reading_of(at_kind(term, kind)) for name, term in following.items()}


@cache
def _of_request(kind: Kind) -> dict[str, Callable[[Look], tuple[Value, ...]]]:
    following = REQUEST_FACTS.following
    return {name: reading_of(at_kind(term, kind)) for name, term in following.items()}


def claim_after(kind: Kind, look: Look, only: Iterable[str] | None = None) -> dict[str, Value]:
    """A claim's registers, or only those of these names, after an event of this kind."""
    return _follow(_of_claim(kind), Scope.NOW, look, only)


def request_after(kind: Kind, look: Look, only: Iterable[str] | None = None) -> dict[str, Value]:
    """The registers of a request after an event of this kind, to one claim."""
    return _follow(_of_request(kind), Scope.REQ, look, only)


def _follow(
    following: Mapping[str, Callable[[Look], tuple[Value, ...]]],
    after: Scope,
    look: Look,
    only: Iterable[str] | None,
) -> dict[str, Value]:
    """Each register worked out when it is first asked for."""
    found: dict[str, Value] = {}

    def register(name: str) -> Value:
        if name not in found:
            found[name] = following[name](inner)[0]
        return found[name]

    def inner(scope: Scope, name: str) -> tuple[Value, ...]:
        return (register(name),) if scope is after else look(scope, name)

    return {name: register(name) for name in (following if only is None else only)}
