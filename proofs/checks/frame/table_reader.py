"""Reads the tables of the native core back as terms, as `monitor/native/src/tables.rs` reads them.

It shares no code with `monitor.native.tables`, which writes them. A table numbers its terms, and
names registers, fields and operators by numbers. Truth values are the numbers 0 and 1: a constant
is one where the operator needs one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from proofs.checks.frame.reader import CLAIM, REQUEST, Assigned, Refused, Taken, in_sequence
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
    from spec.language.machine import Observer, Register

__all__ = ["Mode", "Obligation", "Row", "RuleRow", "Table", "TableReader", "read_table"]

_T = TypeVar("_T")
_LEDGERS: Final[Mapping[str, tuple[Scope, tuple[Register, ...]]]] = {
    "Was": (Scope.WAS, CLAIM),
    "Now": (Scope.NOW, CLAIM),
    "RequestWas": (Scope.REQ_WAS, REQUEST),
    "Request": (Scope.REQ, REQUEST),
}
_COMPARED: Final = {"Less": "<", "AtMost": "<=", "Equal": "=="}
_ADDED: Final = {"Plus": "+", "Minus": "-"}
_SHAPES: Final = {
    **dict.fromkeys(("Here", "Threshold"), ()),
    **dict.fromkeys(("Field", *_LEDGERS, "Own"), (1,)),
    "Const": (-8,),
    "Not": (4,),
    "If": (4, 4, 4),
    **dict.fromkeys(("And", "Or", *_COMPARED, *_ADDED), (4, 4)),
}
"""The sizes of the operands of each operator in bytes; below 0 for a signed number."""


class _Bytes:
    """Bytes that are read from the front; raises Refused where they end too soon."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def number(self, size: int) -> int:
        part = self.content[self.at : self.at + abs(size)]
        if len(part) < abs(size):
            raise Refused("the table ends too soon")
        self.at += abs(size)
        return int.from_bytes(part, "little", signed=size < 0)

    def text(self) -> str:
        size = self.number(8)
        self.at += size
        return self.content[self.at - size : self.at].decode()

    def many(self, each: Callable[[], _T]) -> list[_T]:
        return [each() for _ in range(self.number(8))]

    def maybe(self, each: Callable[[], _T]) -> _T | None:
        return each() if self.number(1) else None


class RuleRow(NamedTuple):
    """A rule: `sources` are states by bits, the guard and what it sets are terms."""

    number: int
    sources: int
    to: int
    when: int
    sets: list[int] | None


class Row(NamedTuple):
    """What a table says of one kind of event; terms are numbers."""

    claim: list[tuple[int, int]]
    request: list[tuple[int, int]]
    own: list[tuple[int, list[RuleRow]]]
    scoped: list[tuple[int, list[RuleRow]]]
    opens: int
    assumed: list[int]


class Mode(NamedTuple):
    """A mode: its obligations, where the registers of each begin, and a row for each kind."""

    name: str
    watched: bool
    ranked: bool
    obligations: list[int]
    offsets: list[int]
    registers: list[int]
    rows: list[Row]


class Obligation(NamedTuple):
    """An obligation: the verdicts of its states, and how many registers it has."""

    name: str
    verdicts: list[int]
    registers: int
    per_request: bool


class Table(NamedTuple):
    """A table as far as it is compared; a term is an operator with its operands."""

    kinds: list[str]
    claim: list[int]
    request: list[int]
    obligations: list[Obligation]
    modes: list[Mode]
    terms: list[tuple[str, tuple[int, ...]]]
    parts: list[int]
    fields: Sequence[str]


def read_table(content: bytes, names: Mapping[str, Sequence[str]]) -> Table:
    """Read a table.

    Args:
        names: those that the core knows, by what they name; their places are their numbers.

    Raises:
        Refused: it is no table of this form.
    """
    left = _Bytes(content)
    number, many, maybe = left.number, left.many, left.maybe

    def kind() -> str:
        name = left.text()
        [number(8) for _ in range(3)]
        maybe(lambda: (number(1), left.text()))
        return name

    def rule() -> RuleRow:
        head = number(1), number(4), number(1), number(4)
        return RuleRow(*head, maybe(lambda: many(lambda: number(4))))

    def watches() -> list[tuple[int, list[RuleRow]]]:
        return many(lambda: (number(8), many(rule)))

    def row() -> Row:
        claim, request = (many(lambda: (number(1), number(4))) for _ in range(2))
        made = Row(claim, request, watches(), watches(), number(4), many(lambda: number(4)))
        number(8)
        return made

    def mode() -> Mode:
        name, watched, ranked = left.text(), bool(number(1)), bool(number(1))
        obligations, offsets = many(lambda: number(1)), many(lambda: number(8))
        return Mode(
            name, watched, ranked, obligations, offsets, many(lambda: number(-8)), many(row)
        )

    def obligation() -> Obligation:
        name, verdicts = left.text(), many(lambda: number(1))
        made = Obligation(name, verdicts, number(8), bool(number(1)))
        number(8)
        return made

    def term() -> tuple[str, tuple[int, ...]]:
        operators, place = names["operators"], number(1)
        if place >= len(operators) or operators[place] not in _SHAPES:
            raise Refused(f"no operator {place}")
        return operators[place], tuple(number(size) for size in _SHAPES[operators[place]])

    kinds = many(kind)
    [number(8) for _ in names["sets"]]
    claim, request = many(lambda: number(-8)), many(lambda: number(-8))
    [number(8) for _ in names["registers"]]
    many(lambda: number(8))
    many(left.text)
    number(4), number(1)
    many(lambda: many(lambda: maybe(lambda: number(1))))
    many(lambda: (number(8), number(1), left.text()))
    obligations = many(obligation)
    [number(8) for _ in names["modes"]]
    modes, terms, parts = many(mode), many(term), many(lambda: number(4))
    if left.at != len(content):
        raise Refused("the table does not end where its terms end")
    return Table(kinds, claim, request, obligations, modes, terms, parts, names["derived"])


@dataclass(frozen=True)
class TableReader:
    """Reads terms of a table.

    Args:
        observer: the observer whose registers are read, if it is one.
    """

    table: Table
    observer: Observer | None = None

    def term(self, number: int, sort: Sort) -> Term:
        """The term of this number, where one of this sort is needed."""
        operator, operands = self._at(number)
        if operator == "Const":
            return Const(bool(operands[0]) if sort is Sort.BOOL else operands[0])
        found = self._made(operator, operands, sort)
        if found.sort is not sort:
            raise Refused(f"term {number} is of another sort")
        return found

    def truth(self, number: int) -> Term:
        """The same of a term that is true or false."""
        return self.term(number, Sort.BOOL)

    def ledger(self, rows: Sequence[tuple[int, int]], after: Scope) -> Assigned:
        """The registers that are assigned, in their order."""
        registers = CLAIM if after is Scope.NOW else REQUEST
        found = []
        for place, number in rows:
            register = _at(registers, place)
            found.append((register.name, self.term(number, register.sort)))
        return in_sequence(found, after)

    def rules(self, rows: Sequence[RuleRow]) -> tuple[Taken, ...]:
        """The rules of an observer: the first that applies is taken."""
        registers = () if self.observer is None else self.observer.registers
        found = []
        for row in rows:
            sources = frozenset(place for place in range(32) if row.sources >> place & 1)
            sets = None
            if row.sets is not None:
                pairs = zip(row.sets, [r.sort for r in registers], strict=False)
                sets = tuple(self.term(number, sort) for number, sort in pairs)
                if len(row.sets) != len(registers):
                    raise Refused("a rule sets other registers")
            found.append(Taken(row.number, sources, row.to, self.truth(row.when), sets))
        return tuple(found)

    def _made(self, operator: str, operands: tuple[int, ...], sort: Sort) -> Term:
        match operator, operands:
            case "Not", (one,):
                return Not(self.truth(one))
            case (("And" | "Or"), (start, count)):
                parts = tuple(
                    self.truth(_at(self.table.parts, start + place)) for place in range(count)
                )
                return And(parts) if operator == "And" else Or(parts)
            case "If", (cond, then, otherwise):
                return Ite(self.truth(cond), self.term(then, sort), self.term(otherwise, sort))
            case _, (left, right) if operator in _COMPARED:
                of = self._sort(left) or self._sort(right) if operator == "Equal" else Sort.INT
                of = of or Sort.INT
                return Compare(_COMPARED[operator], self.term(left, of), self.term(right, of))
            case _, (left, right) if operator in _ADDED:
                terms = self.term(left, Sort.INT), self.term(right, Sort.INT)
                return Arith(_ADDED[operator], *terms)
        return self._variable(operator, operands)

    def _variable(self, operator: str, operands: tuple[int, ...]) -> Var:
        if operator == "Here":
            return Var(Scope.EVENT, "here", Sort.BOOL)
        if operator == "Threshold":
            return Var(Scope.CLAIM, "threshold", CONSTANTS["threshold"][0])
        if operator == "Field":
            name = _at(self.table.fields, operands[0])
            if name == "here" or name not in EVENT_FIELDS:
                raise Refused(f"no field {name}")
            return Var(Scope.EVENT, name, EVENT_FIELDS[name][0])
        own = () if self.observer is None else self.observer.registers
        scope, registers = _LEDGERS.get(operator, (Scope.OWN, own))
        register = _at(registers, operands[0])
        return Var(scope, register.name, register.sort)

    def _sort(self, number: int) -> Sort | None:
        """The sort of a term; None of a constant, which is of the sort that is needed."""
        operator, operands = self._at(number)
        if operator == "Const":
            return None
        if operator == "If":
            return self._sort(operands[1]) or self._sort(operands[2])
        if operator in ("Not", "And", "Or", *_COMPARED):
            return Sort.BOOL
        return Sort.INT if operator in _ADDED else self._variable(operator, operands).sort

    def _at(self, number: int) -> tuple[str, tuple[int, ...]]:
        return _at(self.table.terms, number)


def _at(items: Sequence[_T], place: int) -> _T:
    if place >= len(items):
        raise Refused(f"{place} is past the end of a list")
    return items[place]
