"""Reads the tables of the native core back as terms, as `monitor/native/src/tables.rs` reads them.

It shares no code with `monitor.native.tables`, which writes them. A register is named, and the core
keeps it at the place that the list of registers gives it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from proofs.checks.frame.reader import Assigned, Refused, Taken, in_sequence
from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.contract.vocabulary import CONSTANTS, EVENT_FIELDS
from spec.language.terms import (
    And,
    Arith,
    Compare,
    Const,
    Ite,
    Not,
    Or,
    Scope,
    Sort,
    Term,
    Var,
)

if TYPE_CHECKING:
    from spec.language.machine import Observer

__all__ = ["TableReader"]

_SCOPES: Final = {
    "w": Scope.WAS,
    "n": Scope.NOW,
    "r": Scope.REQ_WAS,
    "q": Scope.REQ,
    "o": Scope.OWN,
}
_CLAIM: Final = {r.name: r.sort for r in (*CLAIM_FACTS.registers, *DECLARED.registers)}
_REQUEST: Final = {r.name: r.sort for r in REQUEST_FACTS.registers}


@dataclass(frozen=True)
class TableReader:
    """Reads terms of a table.

    Args:
        observer: the observer whose registers are read, if it is one.
    """

    observer: Observer | None = None

    def term(self, value: Any) -> Term:
        """A constant, the name of a variable, or a list of an operator and its operands."""
        match value:
            case bool() | int():
                return Const(value)
            case str():
                return self._variable(value)
            case [str(operator), *operands]:
                return self._applied(operator, [*map(self.term, operands)])
        raise Refused(f"{value!r} is not a term")

    def truth(self, value: Any) -> Term:
        """The same of a term that is true or false."""
        return _truth(self.term(value))

    def ledger(self, rows: Sequence[Any], after: Scope) -> Assigned:
        """The registers that are assigned, in their order."""
        found = []
        registers = _CLAIM if after is Scope.NOW else _REQUEST
        for row in rows:
            match row:
                case [str(name), value] if name in registers:
                    found.append((name, self.term(value)))
                case _:
                    raise Refused(f"{row!r} does not assign a register")
        return in_sequence(found, after)

    def rules(self, rows: Sequence[Any]) -> tuple[Taken, ...]:
        """The rules of an observer: the first that applies is taken."""
        found = []
        for row in rows:
            match row:
                case [int(number), [*sources], int(to), when, sets]:
                    terms = None if sets is None else tuple(map(self.term, sets))
                    found.append(Taken(number, frozenset(sources), to, self.truth(when), terms))
                case _:
                    raise Refused(f"{row!r} is not a rule")
        return tuple(found)

    def _applied(self, operator: str, operands: list[Term]) -> Term:
        try:
            match operator, operands:
                case "not", [one]:
                    return Not(_truth(one))
                case "and", parts:
                    return And(tuple(map(_truth, parts)))
                case "or", parts:
                    return Or(tuple(map(_truth, parts)))
                case (("<" | "<=" | "=="), [left, right]):
                    return Compare(operator, left, right)
                case (("+" | "-"), [left, right]):
                    return Arith(operator, left, right)
                case "if", [cond, then, otherwise]:
                    return Ite(_truth(cond), then, otherwise)
        except TypeError as error:
            raise Refused(f"{operator} has other sorts: {error}") from None
        raise Refused(f"no operator {operator!r} of {len(operands)}")

    def _variable(self, name: str) -> Var:
        scope, _, rest = name.partition(".")
        if name == "here":
            return Var(Scope.EVENT, "here", Sort.BOOL)
        if name == "threshold":
            return Var(Scope.CLAIM, "threshold", CONSTANTS["threshold"][0])
        if scope == "e" and rest in EVENT_FIELDS and rest != "here":
            return Var(Scope.EVENT, rest, EVENT_FIELDS[rest][0])
        own = () if self.observer is None else self.observer.registers
        registers: Mapping[str, Sort] = {
            "w": _CLAIM,
            "n": _CLAIM,
            "r": _REQUEST,
            "q": _REQUEST,
            "o": {r.name: r.sort for r in own},
        }.get(scope, {})
        if rest not in registers:
            raise Refused(f"no variable {name}")
        return Var(_SCOPES[scope], rest, registers[rest])


def _truth(term: Term) -> Term:
    if term.sort is not Sort.BOOL:
        raise Refused("a number stands for a truth value")
    return term
