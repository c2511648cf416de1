"""Defines the term language in which all guards are written.

A term is a small typed expression over the fields of an event, the registers of a ledger before and
after that event, an observer's own registers and the constants of a claim. It has three
translations: to Z3 (`proofs.logic.encode`), to Python source (`spec.stream.generate`) and to tables
(`monitor.native.tables`). Nothing here evaluates a term. `python -m proofs check frame` proves that
what was generated equals the terms.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spec.events.alphabet import Kind

__all__ = [
    "FALSE",
    "TRUE",
    "And",
    "Arith",
    "Compare",
    "Const",
    "Ite",
    "KindIn",
    "Not",
    "Or",
    "Scope",
    "Sort",
    "Term",
    "Var",
    "conj",
    "disj",
    "number",
    "parts",
    "show",
    "variables",
]


class Sort(Enum):
    """The two sorts of the language; integers are mathematical and count blocks or order
    priorities.
    """

    BOOL = "bool"
    INT = "int"

    __hash__ = object.__hash__  # members are single, and hashed with every term


class Scope(Enum):
    """Where a variable lives; the value is the prefix under which it is shown."""

    EVENT = "e"  # a field of the event in hand, as this claim sees it
    CLAIM = "c"  # a constant of the claim or of the mode
    WAS = "was"  # the claim's fact ledger before the event
    NOW = "now"  # the same after the event
    REQ_WAS = "req_was"  # the request's fact ledger before the event
    REQ = "req"  # the same after the event
    OWN = "own"  # a register of the observer that the term belongs to
    STANDS = "stands"  # what is derived of where the claim stands before the event
    BELIEVED = "believed"  # what an auditor believed before the event
    BELIEVES = "believes"  # the same after the event

    __hash__ = object.__hash__  # as of `Sort`


class Term(Struct, frozen=True):
    """A typed expression. Combine with `& | ~ < <= > >= + -`, `.eq`, `.ne`, `.implies`, `.ite`."""

    @property
    def sort(self) -> Sort:
        """The sort of the term's value."""
        return Sort.BOOL

    def __and__(self, other: Term) -> Term:
        return conj(self, other)

    def __or__(self, other: Term) -> Term:
        return disj(self, other)

    def __invert__(self) -> Term:
        _expect(self, Sort.BOOL)
        if isinstance(self, Const):
            return Const(not self.value)
        return self.arg if isinstance(self, Not) else Not(self)

    def __lt__(self, other: Term | int) -> Term:
        return Compare("<", self, number(other))

    def __le__(self, other: Term | int) -> Term:
        return Compare("<=", self, number(other))

    def __gt__(self, other: Term | int) -> Term:
        return Compare("<", number(other), self)

    def __ge__(self, other: Term | int) -> Term:
        return Compare("<=", number(other), self)

    def __add__(self, other: Term | int) -> Term:
        return Arith("+", self, number(other))

    def __sub__(self, other: Term | int) -> Term:
        return Arith("-", self, number(other))

    def eq(self, other: Term | int) -> Term:
        """Equality of two integers, or of two booleans."""
        return Compare("==", self, number(other))

    def ne(self, other: Term | int) -> Term:
        """Inequality of two integers, or of two booleans."""
        return ~self.eq(other)

    def implies(self, other: Term) -> Term:
        """Implication of two boolean terms."""
        return ~self | other

    def ite(self, then: Term | int, otherwise: Term | int) -> Term:
        """`then` where this term is true, `otherwise` elsewhere."""
        return Ite(self, number(then), number(otherwise))


class Const(Term, frozen=True):
    """A constant."""

    value: bool | int

    @property
    def sort(self) -> Sort:
        """The sort of the constant."""
        return Sort.BOOL if isinstance(self.value, bool) else Sort.INT


class Var(Term, frozen=True):
    """A variable of some scope."""

    scope: Scope
    name: str
    of: Sort

    @property
    def sort(self) -> Sort:
        """The declared sort of the variable."""
        return self.of


class KindIn(Term, frozen=True):
    """The event's kind is one of these: the only membership test that guards need."""

    kinds: frozenset[Kind]


class Not(Term, frozen=True):
    """Negation."""

    arg: Term


class And(Term, frozen=True):
    """Conjunction."""

    args: tuple[Term, ...]


class Or(Term, frozen=True):
    """Disjunction."""

    args: tuple[Term, ...]


class Compare(Term, frozen=True):
    """Comparison of two terms of one sort."""

    op: str  # "<", "<=" on integers, "==" on either sort
    left: Term
    right: Term

    def __post_init__(self) -> None:
        if self.left.sort is not self.right.sort:
            raise TypeError(f"cannot compare {show(self.left)} with {show(self.right)}")
        if self.op != "==":
            _expect(self.left, Sort.INT)


class Arith(Term, frozen=True):
    """Sum or difference of two integers."""

    op: str  # "+" or "-"
    left: Term
    right: Term

    def __post_init__(self) -> None:
        _expect(self.left, Sort.INT)
        _expect(self.right, Sort.INT)

    @property
    def sort(self) -> Sort:
        """Integer."""
        return Sort.INT


class Ite(Term, frozen=True):
    """One of two terms of one sort, selected by a condition."""

    cond: Term
    then: Term
    otherwise: Term

    def __post_init__(self) -> None:
        _expect(self.cond, Sort.BOOL)
        if self.then.sort is not self.otherwise.sort:
            raise TypeError(f"branches differ: {show(self.then)}, {show(self.otherwise)}")

    @property
    def sort(self) -> Sort:
        """The sort of both branches."""
        return self.then.sort


TRUE = Const(True)
FALSE = Const(False)


def number(value: Term | int) -> Term:
    """The term itself, or a Python constant as a term."""
    return value if isinstance(value, Term) else Const(value)


def conj(*terms: Term) -> Term:
    """All of these; `TRUE` for none. Flattens and drops what is constantly true."""
    return _join(And, terms, neutral=TRUE, absorbing=FALSE)


def disj(*terms: Term) -> Term:
    """Any of these; `FALSE` for none. Flattens and drops what is constantly false."""
    return _join(Or, terms, neutral=FALSE, absorbing=TRUE)


def _join(
    node: type[And] | type[Or], terms: Iterable[Term], neutral: Term, absorbing: Term
) -> Term:
    flat: list[Term] = []
    for term in terms:
        _expect(term, Sort.BOOL)
        if term == absorbing:
            return absorbing
        if isinstance(term, node):
            flat.extend(term.args)
        elif term != neutral:
            flat.append(term)
    if not flat:
        return neutral
    return flat[0] if len(flat) == 1 else node(tuple(flat))


def _expect(term: Term, sort: Sort) -> None:
    if term.sort is not sort:
        raise TypeError(f"{show(term)} is {term.sort.value}, expected {sort.value}")


def children(term: Term) -> tuple[Term, ...]:
    """The direct parts of a term, in order."""
    match term:
        case Not(arg):
            return (arg,)
        case And(args) | Or(args):
            return args
        case Compare(_, left, right) | Arith(_, left, right):
            return (left, right)
        case Ite(cond, then, otherwise):
            return (cond, then, otherwise)
        case _:
            return ()


def parts(term: Term) -> Iterator[Term]:
    """The term and every part of it."""
    yield term
    for child in children(term):
        yield from parts(child)


def variables(term: Term) -> Iterator[Var]:
    """Every variable of a term, with repetitions."""
    return (part for part in parts(term) if isinstance(part, Var))


def show(term: Term) -> str:
    """The term as people read it: `e.mine and was.lead < c.threshold`."""
    match term:
        case Const(value):
            return str(value).lower() if isinstance(value, bool) else str(value)
        case Var(scope, name, _):
            return f"{scope.value}.{name}"
        case KindIn(kinds):
            return "e.kind in {" + ", ".join(sorted(kinds)) + "}"
        case Not(arg):
            return f"not {_wrapped(arg)}"
        case And(args):
            return " and ".join(_wrapped(a) for a in args)
        case Or(args):
            return " or ".join(_wrapped(a) for a in args)
        case Compare(op, left, right) | Arith(op, left, right):
            return f"{_operand(left)} {op} {_operand(right)}"
        case Ite(cond, then, otherwise):
            return f"{_wrapped(then)} if {_wrapped(cond)} else {_wrapped(otherwise)}"
    raise TypeError(f"not a term: {term!r}")


def _operand(term: Term) -> str:
    return f"({show(term)})" if isinstance(term, Not | KindIn) else _wrapped(term)


def _wrapped(term: Term) -> str:
    text = show(term)
    return f"({text})" if isinstance(term, And | Or | Compare | Arith | Ite) else text
