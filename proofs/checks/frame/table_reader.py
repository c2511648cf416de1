"""Reads the tables of the native core back as terms, as `monitor/native/src/tables.rs` reads them.

It shares no code with `monitor.native.tables`, which writes them. A term is a graph of steps, which
read and write a row of numbers. Truth values are the numbers 0 and 1: a constant is one where the
operator needs one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from proofs.checks.frame.reader import CLAIM, REQUEST, Assigned, Refused, Taken, in_sequence
from spec.contract.vocabulary import CONSTANTS, EVENT_FIELDS
from spec.language.terms import (
    Arith,
    Compare,
    Const,
    Ite,
    Scope,
    Sort,
    Term,
    Var,
)

if TYPE_CHECKING:
    from spec.language.machine import Observer, Register

__all__ = ["Mode", "Obligation", "Row", "RuleRow", "Table", "TableReader", "read_table"]

_T = TypeVar("_T")
_REGISTERS: Final[Mapping[Scope, tuple[Register, ...]]] = {
    Scope.WAS: CLAIM,
    Scope.NOW: CLAIM,
    Scope.REQ_WAS: REQUEST,
    Scope.REQ: REQUEST,
}
_SLOTS: Final = {
    "was": Scope.WAS,
    "now": Scope.NOW,
    "request_was": Scope.REQ_WAS,
    "request": Scope.REQ,
}
_COMPARED: Final = {"Less": "<", "AtMost": "<=", "Equal": "=="}
_ADDED: Final = {"Plus": "+", "Minus": "-"}
_SHAPES: Final = {
    "Give": (1,),
    "Holds": (1, 2, 2),
    **dict.fromkeys(_COMPARED, (1, 1, 2, 2)),
    **dict.fromkeys(_ADDED, (1, 1, 1, 2)),
    "Value": (1, 2, 2),
}
"""The sizes of the operands of each operator in bytes: places in the row, then steps."""


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
    """What a table says of one kind of event; a term is the number of its first step."""

    claim: list[tuple[int, int]]
    request: list[tuple[int, int]]
    own: list[tuple[int, list[RuleRow]]]
    scoped: list[tuple[int, list[RuleRow]]]
    opens: int
    assumed: list[int | None]


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
    """A table as far as it is compared; a step is an operator with its operands."""

    kinds: list[str]
    claim: list[int]
    request: list[int]
    obligations: list[Obligation]
    modes: list[Mode]
    slots: dict[str, int]
    constants: list[tuple[int, int]]
    steps: list[tuple[str, tuple[int, ...]]]
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
        head = number(1), number(4), number(1), number(2)
        return RuleRow(*head, maybe(lambda: many(lambda: number(2))))

    def watches() -> list[tuple[int, list[RuleRow]]]:
        return many(lambda: (number(8), many(rule)))

    def row() -> Row:
        claim, request = (many(lambda: (number(1), number(2))) for _ in range(2))
        rest = watches(), watches(), number(2), many(lambda: maybe(lambda: number(2)))
        made = Row(claim, request, *rest)
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

    def step() -> tuple[str, tuple[int, ...]]:
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
    modes, slots = many(mode), {name: number(8) for name in names["slots"]}
    constants, steps = many(lambda: (number(1), number(-8))), many(step)
    if left.at != len(content):
        raise Refused("the table does not end where its steps end")
    return Table(
        kinds, claim, request, obligations, modes, slots, constants, steps, names["derived"]
    )


@dataclass(frozen=True)
class TableReader:
    """Reads terms of a table.

    Args:
        observer: the observer whose registers are read, if it is one.
        unset: variables that have no value, or an earlier one, where the term is evaluated.
    """

    table: Table
    observer: Observer | None = None
    unset: frozenset[tuple[Scope, str]] = frozenset()

    def term(self, start: int, sort: Sort) -> Term:
        """The term that begins at a step, where one of this sort is needed."""
        return self._from(start, sort, {}, {})

    def truth(self, start: int) -> Term:
        """The same of a term that is true or false."""
        return self.term(start, Sort.BOOL)

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

    def _from(
        self, start: int, sort: Sort, made: Mapping[int, Term], ever: dict[int, Term]
    ) -> Term:
        """What steps give from one of them on.

        Args:
            made: the numbers that the steps before it made, by their places.
            ever: those that any step of the term made. A place has one number, as steps of both
                sides of a choice may run.
        """
        operator, operands = _at(self.table.steps, start)
        *slots, last = operands

        def follow(step: int, made: Mapping[int, Term] = made, sort: Sort = sort) -> Term:
            if step >= start:
                raise Refused(f"step {start} leads to a later one")
            return self._from(step, sort, made, ever)

        def value(slot: int, sort: Sort) -> Term:
            return self._value(slot, sort, made)

        def go_on(to: int, term: Term) -> Term:
            if to in self._places or ever.setdefault(to, term) != term:
                raise Refused(f"step {start} makes another number of place {to}")
            return follow(last, {**made, to: term})

        match operator, slots:
            case "Give", []:
                return value(last, sort)
            case "Holds", [one, then]:
                return Ite(value(one, Sort.BOOL), follow(then), follow(last))
            case _, [left, right, then] if operator in _COMPARED:
                numbers = value(left, Sort.INT), value(right, Sort.INT)
                return Ite(Compare(_COMPARED[operator], *numbers), follow(then), follow(last))
            case _, [to, left, right] if operator in _ADDED:
                numbers = value(left, Sort.INT), value(right, Sort.INT)
                return go_on(to, Arith(_ADDED[operator], *numbers))
            case "Value", [to, of]:
                return go_on(to, follow(of, {}, Sort.INT))
        raise Refused(f"no operator {operator}")

    def _value(self, slot: int, sort: Sort, made: Mapping[int, Term]) -> Term:
        """The number at a place of the row."""
        found = made.get(slot) or self._places.get(slot)
        if found is None:
            raise Refused(f"place {slot} has no value")
        if isinstance(found, Const) and sort is Sort.BOOL:
            return Const(bool(found.value))
        if found.sort is not sort:
            raise Refused(f"place {slot} is of another sort")
        if isinstance(found, Var) and (found.scope, found.name) in self.unset:
            raise Refused(f"{found.name} is read before it is set")
        return found

    @cached_property
    def _places(self) -> Mapping[int, Term | None]:
        """What the row has before steps make numbers; None at places that are for others."""
        table, found = self.table, dict[int, Term | None]()

        def put(slot: int, term: Term | None) -> None:
            if slot in found:
                raise Refused(f"place {slot} is for two things")
            found[slot] = term

        for slot, name in enumerate(table.fields):
            known = name in EVENT_FIELDS and name != "here"
            put(slot, Var(Scope.EVENT, name, EVENT_FIELDS[name][0]) if known else None)
        put(table.slots["here"], Var(Scope.EVENT, "here", Sort.BOOL))
        threshold = Var(Scope.CLAIM, "threshold", CONSTANTS["threshold"][0])
        put(table.slots["threshold"], threshold)
        for name, scope in _SLOTS.items():
            for place, each in enumerate(_REGISTERS[scope]):
                put(table.slots[name] + place, Var(scope, each.name, each.sort))
        own = () if self.observer is None else self.observer.registers
        most = max((each.registers for each in table.obligations), default=len(own))
        for place in range(most):
            has = place < len(own)
            term = Var(Scope.OWN, own[place].name, own[place].sort) if has else None
            put(table.slots["own"] + place, term)
        for slot, number in table.constants:
            put(slot, Const(number))
        return found


def _at(items: Sequence[_T], place: int) -> _T:
    if place >= len(items):
        raise Refused(f"{place} is past the end of a list")
    return items[place]
