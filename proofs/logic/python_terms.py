"""Translates terms to Python expressions.

One of the two translations of terms; the other is `proofs.logic.encode`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
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
    Term,
    Var,
    variables,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from spec.events.alphabet import Kind
    from spec.language.machine import Ledger

__all__ = ["CLAIM_REGISTERS", "REQUEST_REGISTERS", "in_order", "to_python"]

CLAIM_REGISTERS: tuple[str, ...] = tuple(
    r.name for ledger in (CLAIM_FACTS, DECLARED) for r in ledger.registers
)
REQUEST_REGISTERS: tuple[str, ...] = tuple(r.name for r in REQUEST_FACTS.registers)

_PLACES = {
    Scope.WAS: ("was", CLAIM_REGISTERS),
    Scope.NOW: ("now", CLAIM_REGISTERS),
    Scope.REQ_WAS: ("req_was", REQUEST_REGISTERS),
    Scope.REQ: ("req", REQUEST_REGISTERS),
}


def to_python(term: Term, names: Mapping[tuple[Scope, str], str] | None = None) -> str:
    """A term as a Python expression over `e`, `c`, `was`, `now`, `req_was` and `req`.

    Args:
        names: expressions for variables that live elsewhere, such as an observer's own registers.
    """
    known = names or {}

    def go(t: Term) -> str:
        match t:
            case Const(value):
                return repr(value)
            case Var(scope, name, _) if (scope, name) in known:
                return known[scope, name]
            case Var(Scope.EVENT, name, _):
                return f"e.{name}"
            case Var(Scope.CLAIM, name, _):
                return f"c.{name}"
            case Var(scope, name, _):
                place, registers = _PLACES[scope]
                return f"{place}[{registers.index(name)}]"
            case KindIn(kinds):
                return _kinds(kinds)
            case Not(arg):
                return f"(not {go(arg)})"
            case And(args):
                return "(" + " and ".join(map(go, args)) + ")"
            case Or(args):
                return "(" + " or ".join(map(go, args)) + ")"
            case Compare(op, left, right) | Arith(op, left, right):
                return f"({go(left)} {op} {go(right)})"
            case Ite(cond, then, otherwise):
                return f"({go(then)} if {go(cond)} else {go(otherwise)})"
        raise TypeError(f"not a term: {t!r}")

    return go(term)


def _kinds(kinds: frozenset[Kind]) -> str:
    names = sorted(str(k) for k in kinds)
    return f"(e.kind == {names[0]!r})" if len(names) == 1 else f"(e.kind in {{{str(names)[1:-1]}}})"


def in_order(ledgers: tuple[Ledger, ...], after: Scope) -> Iterator[tuple[str, Term]]:
    """The registers of ledgers with their terms, in an order in which none is read before it is
    known.

    Raises:
        ValueError: they depend on each other in a circle.
    """
    terms = {r.name: ledger.following[r.name] for ledger in ledgers for r in ledger.registers}
    known = set[str]()
    while len(known) < len(terms):
        ready = [
            register
            for register, term in terms.items()
            if register not in known
            and all(v.name in known for v in variables(term) if v.scope is after)
        ]
        if not ready:
            raise ValueError(f"{', '.join(terms)}: registers depend on each other in a circle")
        yield from ((register, terms[register]) for register in ready)
        known.update(ready)
