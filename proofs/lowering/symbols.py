"""A symbolic descriptor as Z3 constants; `admitted` states the constraints of the schema.

A place is an adapter's depth, or `none` for native evidence. The relation only asks whether some
item about an obligation at a place has a property, so one item is fully symbolic and all others are
two booleans: whether one of them counts (apart from the atoms), and whether one is related.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import z3

from proofs.lowering.logic import Expr, conj, disj, equal, implies, no
from spec.claims.states import Mode
from spec.contract.modes import Depth
from spec.contract.obligations import OBLIGATIONS
from spec.lowering.depths import LADDER, PRECONDITIONS, Precondition
from spec.lowering.signals import Signal
from spec.lowering.vocabulary import RUNS, AnchorKind, Atom, Basis, ClaimScope, Scope, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from enum import StrEnum

__all__ = [
    "ABSENT",
    "ADAPTERS",
    "CELLS",
    "Anchor",
    "Described",
    "Item",
    "Row",
    "Seen",
    "any_descriptor",
    "any_row",
    "is_in",
    "unknown",
    "value",
]


ADAPTERS: Final = LADDER[1:]
"""The depths at which an adapter can be offered."""

CELLS: Final = tuple((place, name) for place in LADDER for name in OBLIGATIONS)
"""Each place with each obligation that an item there can be about."""

ABSENT: Final = "absent"
"""The claim scope or the basis of an anchor that names none."""

_OPTIONAL: Final[tuple[type[StrEnum], ...]] = (ClaimScope, Basis)


@cache
def _sort(kind: type[StrEnum]) -> tuple[Expr, dict[str, Expr]]:
    names = [str(member) for member in kind] + ([ABSENT] if kind in _OPTIONAL else [])
    sort, members = z3.EnumSort(f"Lowering{kind.__name__}", [f"{kind.__name__}.{n}" for n in names])
    return sort, dict(zip(names, members, strict=True))


def unknown(name: str, kind: type[StrEnum]) -> Expr:
    """An unconstrained constant of an enumeration."""
    return z3.Const(name, _sort(kind)[0])


def value(kind: type[StrEnum], member: str | None) -> Expr:
    """The Z3 value of a member of an enumeration; None is what an anchor does not name."""
    return _sort(kind)[1][ABSENT if member is None else str(member)]


def is_in(expr: Expr, kind: type[StrEnum], members: Iterable[str]) -> Expr:
    """Whether a term of an enumeration is one of these members."""
    return disj(*[equal(expr, value(kind, member)) for member in sorted(members)])


@dataclass(frozen=True, slots=True)
class Anchor:
    """A symbolic anchor; `order`: the order that the citing statement needs is preserved."""

    there: Expr
    kind: Expr
    order: Expr
    claim: Expr
    basis: Expr

    def admitted(self) -> Expr:
        """Only what ran preserves anything."""
        bare = [equal(self.claim, value(ClaimScope, None)), equal(self.basis, value(Basis, None))]
        return disj(is_in(self.kind, AnchorKind, RUNS), conj(no(self.order), *bare))


@dataclass(frozen=True, slots=True)
class Item:
    """A statement about one obligation; `named`: the mode of the row is among its modes."""

    there: Expr
    named: Expr
    status: Expr
    scope: Expr
    anchor: Anchor


@dataclass(frozen=True, slots=True)
class Seen:
    """A signal, or a precondition (which has no status): whether it is stated, and anchored."""

    there: Expr
    anchored: Expr
    status: Expr = None


@dataclass(frozen=True, slots=True)
class Described:
    """A descriptor and an evidence file, as one row of one mode sees them.

    `forbidden` says for each depth whether a lowering to the mode is forbidden up to just there;
    `taken` that the evidence was taken for the mode, `shown` that it shows an obligation, in the
    order that matters.
    """

    items: dict[tuple[Depth, str], Item]
    others_count: dict[tuple[Depth, str], Expr]
    others_relate: dict[tuple[Depth, str], Expr]
    offered: dict[Depth, Expr]
    holds: dict[tuple[Depth, Precondition], Seen]
    signals: dict[Signal, Seen]
    atoms: dict[Atom, Anchor]
    forbidden: dict[Depth, Expr]
    taken: Expr
    shown: dict[str, Expr]

    def admitted(self) -> Expr:
        """What the schema of descriptors, and the meaning of the two booleans, demand."""
        return conj(*self._demands())

    def _demands(self) -> Iterator[Expr]:
        for cell in CELLS:
            yield self.items[cell].anchor.admitted()
            yield implies(self.others_count[cell], self.others_relate[cell])
            if cell[0] is not Depth.NONE:
                there = disj(self.items[cell].there, self.others_relate[cell])
                yield implies(there, self.offered[cell[0]])
        for (depth, _), seen in self.holds.items():
            yield implies(seen.there, self.offered[depth])
        for anchor in self.atoms.values():
            yield anchor.admitted()


@dataclass(frozen=True, slots=True)
class Row:
    """The row to label: mode, bundle and depth."""

    mode: Expr
    contract: Expr
    depth: Expr


def _anchor(name: str) -> Anchor:
    return Anchor(
        there=z3.Bool(f"{name}.anchored"),
        kind=unknown(f"{name}.kind", AnchorKind),
        order=z3.Bool(f"{name}.order"),
        claim=unknown(f"{name}.claim", ClaimScope),
        basis=unknown(f"{name}.basis", Basis),
    )


def _item(name: str) -> Item:
    return Item(
        there=z3.Bool(f"{name}.there"),
        named=z3.Bool(f"{name}.named"),
        status=unknown(f"{name}.status", Status),
        scope=unknown(f"{name}.scope", Scope),
        anchor=_anchor(name),
    )


def any_descriptor() -> Described:
    """An unconstrained descriptor and evidence file."""
    return Described(
        items={cell: _item(f"{cell[0]}/{cell[1]}") for cell in CELLS},
        others_count={cell: z3.Bool(f"{cell[0]}/{cell[1]}.others_count") for cell in CELLS},
        others_relate={cell: z3.Bool(f"{cell[0]}/{cell[1]}.others_relate") for cell in CELLS},
        offered={depth: z3.Bool(f"{depth}.offered") for depth in ADAPTERS},
        holds={
            (depth, each): Seen(
                z3.Bool(f"{depth}/{each}.there"), z3.Bool(f"{depth}/{each}.anchored")
            )
            for depth in ADAPTERS
            for each in PRECONDITIONS[depth]
        },
        signals={
            signal: Seen(
                z3.Bool(f"{signal}.there"),
                z3.Bool(f"{signal}.anchored"),
                unknown(f"{signal}.status", Status),
            )
            for signal in Signal
        },
        atoms={atom: _anchor(atom) for atom in Atom},
        forbidden={depth: z3.Bool(f"{depth}.forbidden") for depth in LADDER},
        taken=z3.Bool("evidence.taken"),
        shown={name: z3.Bool(f"{name}.shown") for name in OBLIGATIONS},
    )


def any_row() -> Row:
    """Any mode, bundle and depth."""
    return Row(unknown("mode", Mode), z3.Bool("contract"), unknown("depth", Depth))
