"""Mutants of the tables that define what adapters may supply and which evidence counts."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from spec.claims.states import Mode
from spec.contract.modes import MODES, Depth
from spec.contract.obligations import OBLIGATIONS
from spec.lowering import depths, obligations, signals, vocabulary
from spec.lowering.obligations import NEVER_BY_TELEMETRY
from spec.lowering.vocabulary import (
    AnchorKind,
    Atom,
    Order,
    Scope,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


__all__ = ["PART", "TableChange", "table_changes"]

PART: Final = "lowering"
_HOOKS: Final = frozenset(
    {"victim_exclusion_before_violation", "explicit_conflict_action", "blocking_claim_ids"}
)


@dataclass(frozen=True)
class TableChange:
    """One change of a table: an entry of a mapping, or the whole of a set or sequence.

    `theorems` are those of the lowering relation about what was changed.
    """

    name: str
    operator: str
    says: str
    table: str
    key: Any
    value: Any
    theorems: tuple[str, ...] = ()
    part: str = PART

    @contextmanager
    def made(self) -> Iterator[None]:
        """The change is in force."""
        if self.key is not None:
            table: Any = _table(self.table)
            old = table.get(self.key)
            table[self.key] = self.value
            try:
                yield
            finally:
                if old is None:
                    del table[self.key]
                else:
                    table[self.key] = old
            return
        users, old = _users(self.table), _table(self.table)
        for place in users:
            setattr(place, self.table, self.value)
        try:
            yield
        finally:
            for place in users:
                setattr(place, self.table, old)


def _table(name: str) -> Any:
    return next(
        getattr(m, name) for m in (depths, obligations, signals, vocabulary) if hasattr(m, name)
    )


def _users(name: str) -> list[Any]:
    """The modules that have a table under its name."""
    table = _table(name)
    return [
        module
        for key, module in list(sys.modules.items())
        if key.startswith(("spec.lowering", "proofs.lowering"))
        and getattr(module, name, None) is table
    ]


@cache
def table_changes() -> tuple[TableChange, ...]:
    """Every change of a table."""
    return tuple(
        change
        for made in (_may_supply, _preconditions, _ladder, _evidence, _rejected, _tempts)
        for change in made()
    )


def _entry(
    table: str, key: Any, before: frozenset[Any], each: Any, about: tuple[str, ...] = ()
) -> TableChange:
    there = each in before
    operator = "fewer" if there else "more"
    says = f"{table}, {key}: {'without' if there else 'with'} {each}"
    name = f"{table}.{key}:{operator}-{each}"
    return TableChange(name, operator, says, table, key, before ^ {each}, about)


def _may_supply() -> Iterator[TableChange]:
    for depth, names in depths.MAY_SUPPLY.items():
        for name in OBLIGATIONS if depth is not Depth.NONE else ():
            about: tuple[str, ...] = ()
            if name not in names and depth is Depth.TELEMETRY_JOIN and name in NEVER_BY_TELEMETRY:
                about = ("telemetry",)
            if name not in names and name in _HOOKS and depth is not Depth.BACKEND_PATCH:
                about += ("scheduler alone", "allocator alone")
            yield _entry("MAY_SUPPLY", depth, names, name, about)


def _preconditions() -> Iterator[TableChange]:
    for depth, needed in depths.PRECONDITIONS.items():
        for each in needed:
            rest = tuple(other for other in needed if other is not each)
            says = f"PRECONDITIONS, {depth}: without {each}"
            name = f"PRECONDITIONS.{depth}:fewer-{each}"
            yield TableChange(name, "fewer", says, "PRECONDITIONS", depth, rest)


def _ladder() -> Iterator[TableChange]:
    ladder = depths.LADDER
    for at, (one, other) in enumerate(pairwise(ladder)):
        changed = (*ladder[:at], other, one, *ladder[at + 2 :])
        says = f"LADDER: {one} and {other} change places"
        yield TableChange(f"LADDER:swap-{one}", "swap", says, "LADDER", None, changed)


def _evidence() -> Iterator[TableChange]:
    for name, order in obligations.RELEVANT_ORDER.items():
        for other in Order:
            if other is not order:
                says = f"RELEVANT_ORDER, {name}: {other}"
                called = f"RELEVANT_ORDER.{name}:instead-{other}"
                yield TableChange(called, "instead", says, "RELEVANT_ORDER", name, other)
    for table, values in (("ADEQUATE", tuple(Scope)), ("RUNS", tuple(AnchorKind))):
        before = _table(table)
        for each in values:
            operator = "fewer" if each in before else "more"
            says = f"{table}: {'without' if each in before else 'with'} {each}"
            called = f"{table}:{operator}-{each}"
            yield TableChange(called, operator, says, table, None, before ^ {each})
    for name in OBLIGATIONS:
        atoms = vocabulary.ATOMS_FOR.get(name, frozenset())
        for atom in Atom:
            about = ("pressure is observed",) if atom in atoms else ()
            yield _entry("ATOMS_FOR", name, atoms, atom, about)


def _rejected() -> Iterator[TableChange]:
    for mode, names in obligations.REJECTED_WITHOUT.items():
        for name in MODES[mode].names():
            yield _entry("REJECTED_WITHOUT", mode, names, name)


def _tempts() -> Iterator[TableChange]:
    for signal, modes in signals.TEMPTS.items():
        for mode in Mode:
            yield _entry("TEMPTS", signal, modes, mode)
