"""The mutation operators for terms: small mistakes that a person makes in writing one.

These operators ignore the role of a part; `proofs.mutation.mutants.parts` distinguishes parts that
make a guard hold from parts that prevent it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from proofs.mutation.mutants.parts import neighbour
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
    children,
    conj,
    disj,
    show,
)

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

__all__ = ["INSIDE", "SLIPS", "Slip", "parts_of", "slips", "slips_within"]

SLIPS: dict[str, str] = {
    "lack": "a condition or a case is left out",
    "affirm": "a negation is left out",
    "compare": "another comparison: < for <=, <= for < or ==, and the other way round",
    "swap": "two operands change places",
    "sum": "a sum becomes a difference, and the other way round",
    "constant": "a number is one more or one less",
    "tense": "before and after the event change places",
    "fewer": "a kind of event is left out of a set of kinds",
    "more": "a set of kinds has one more: the next of its role in the alphabet",
    "branch": "a choice is made the same way always",
}
"""Each slip with what becomes of the term."""

_TENSE = {Scope.WAS: Scope.NOW, Scope.REQ_WAS: Scope.REQ, Scope.BELIEVED: Scope.BELIEVES}
_TENSE |= {after: before for before, after in _TENSE.items()}
INSIDE = frozenset({"compare", "swap", "sum", "constant", "tense"})
"""Those that touch no condition, case or kind, which mutants of rules have operators of their own
for."""


class Slip(NamedTuple):
    """A kind of slip, the part in which it was made, and the whole term after it."""

    operator: str
    part: str
    term: Term


def slips(term: Term, whole: Container[Term] = ()) -> Iterator[Slip]:
    """Every slip of the list, at every place of a term, but inside the terms of `whole`."""
    if term in whole:
        return
    for operator, changed in _here(term):
        yield Slip(operator, show(term), changed)
    for number, child in enumerate(children(term)):
        for slip in slips(child, whole):
            yield slip._replace(term=_with(term, number, slip.term))


def slips_within(term: Term, whole: Container[Term] = ()) -> Iterator[Slip]:
    """The slips that leave a term's conditions, cases and kinds as they are."""
    return (slip for slip in slips(term, whole) if slip.operator in INSIDE)


def _with(term: Term, number: int, other: Term) -> Term:
    """A term with another part at a place, counted from 0."""
    match term:
        case Not():
            return ~other
        case And(args) | Or(args):
            return _join(term, (*args[:number], other, *args[number + 1 :]))
        case Compare(op, left, right):
            return Compare(op, *((other, right) if number == 0 else (left, other)))
        case Arith(op, left, right):
            return Arith(op, *((other, right) if number == 0 else (left, other)))
        case Ite():
            parts = [*children(term)]
            parts[number] = other
            return Ite(*parts)
    raise TypeError(f"no part of {term!r}")


def _here(term: Term) -> Iterator[tuple[str, Term]]:
    """The slips that can be made in the outermost part of a term."""
    match term:
        case Not(arg):
            yield "affirm", arg
        case And(args) | Or(args):
            for number in range(len(args)):
                yield "lack", _join(term, (*args[:number], *args[number + 1 :]))
        case Compare(op, left, right):
            yield from (("compare", other) for other in _comparisons(op, left, right))
            if op != "==":
                yield "swap", Compare(op, right, left)
        case Arith(op, left, right):
            yield "sum", Arith("-" if op == "+" else "+", left, right)
            if op == "-":
                yield "swap", Arith(op, right, left)
        case Const(value) if not isinstance(value, bool):
            yield "constant", Const(value + 1)
            yield "constant", Const(value - 1)
        case Var(scope, name, sort) if scope in _TENSE:
            yield "tense", Var(_TENSE[scope], name, sort)
        case KindIn(kinds):
            for kind in sorted(kinds) if len(kinds) > 1 else ():
                yield "fewer", KindIn(kinds - {kind})
            near = neighbour(kinds)
            if near is not None:
                yield "more", KindIn(kinds | {near})
        case Ite(_, then, otherwise):
            yield "branch", then
            yield "branch", otherwise


def _comparisons(op: str, left: Term, right: Term) -> Iterator[Term]:
    if op != "==":
        yield Compare("<=" if op == "<" else "<", left, right)
    elif left.sort is Sort.INT:
        yield Compare("<=", left, right)
        yield Compare("<=", right, left)
    else:
        yield left.implies(right)
        yield right.implies(left)


def _join(term: And | Or, args: tuple[Term, ...]) -> Term:
    return conj(*args) if isinstance(term, And) else disj(*args)


def parts_of(term: Term, part: Term, other: Term) -> Term:
    """The term with `other` wherever it has `part`, be it among the parts of a larger whole."""

    def go(t: Term) -> Term:
        if t == part:
            return other
        match t:
            case Not(arg):
                return ~go(arg)
            case And(args) | Or(args):
                return _within(t, tuple(map(go, args)))
            case Compare(op, left, right):
                return Compare(op, go(left), go(right))
            case Arith(op, left, right):
                return Arith(op, go(left), go(right))
            case Ite(cond, then, otherwise):
                return Ite(go(cond), go(then), go(otherwise))
        return t

    def _within(whole: And | Or, args: tuple[Term, ...]) -> Term:
        if isinstance(part, And | Or) and type(part) is type(whole):
            size = len(part.args)
            for start in range(len(args) - size + 1):
                if args[start : start + size] == part.args:
                    return _join(whole, (*args[:start], other, *args[start + size :]))
        return whole if args == whole.args else _join(whole, args)

    return go(term)
