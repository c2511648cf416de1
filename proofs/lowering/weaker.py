"""Weakens a symbolic descriptor: the same constants except those that are weakened.

Every function returns the weaker descriptor and the constraints that relate it to the given one;
any number of statements may be weaker at once, including the summarised items.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

import z3

from proofs.lowering.logic import Expr, conj, disj, equal, implies
from proofs.lowering.symbols import (
    CELLS,
    Anchor,
    Described,
    Item,
    Row,
    Seen,
    is_in,
    unknown,
    value,
)
from spec.contract.modes import Depth
from spec.lowering.depths import LADDER
from spec.lowering.vocabulary import RUNS, AnchorKind, Basis, ClaimScope, Scope, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from enum import StrEnum

__all__ = [
    "Weaker",
    "fewer_anchors",
    "fewer_preconditions",
    "fewer_statements",
    "other_evidence",
    "other_signals",
    "shallower",
    "weaker_runs",
    "weaker_scopes",
    "weaker_statuses",
]

Weaker: TypeAlias = tuple[Described, Expr]

_STATUSES: Final = tuple(Status)  # strong to weak
_SCOPES: Final = tuple(reversed(Scope))


def fewer_anchors(of: Described) -> Weaker:
    """Items, preconditions, signals and observations may name no anchor any more."""

    def bare(anchor: Anchor, name: str) -> Anchor:
        return replace(anchor, there=_less(anchor.there, f"{name}.anchored"))

    def unanchored(seen: Seen, name: str) -> Seen:
        return replace(seen, anchored=_less(seen.anchored, f"{name}.anchored"))

    changed = replace(
        _with_items(of, lambda i, n: replace(i, anchor=bare(i.anchor, n))),
        holds={key: unanchored(s, f"{key[0]}/{key[1]}") for key, s in of.holds.items()},
        signals={key: unanchored(s, key) for key, s in of.signals.items()},
        atoms={key: bare(a, key) for key, a in of.atoms.items()},
    )
    return changed, changed.admitted()


def weaker_statuses(of: Described) -> Weaker:
    """Items and signals may be shown less."""
    ties: list[Expr] = []

    def weaker(status: Expr, name: str) -> Expr:
        return _down(status, Status, _STATUSES, f"{name}.status", ties)

    changed = replace(
        _with_items(of, lambda i, n: replace(i, status=weaker(i.status, n))),
        signals={k: replace(s, status=weaker(s.status, k)) for k, s in of.signals.items()},
    )
    return changed, conj(changed.admitted(), *ties)


def weaker_scopes(of: Described) -> Weaker:
    """Items may rest on less."""
    ties: list[Expr] = []

    def weaker(item: Item, name: str) -> Item:
        return replace(item, scope=_down(item.scope, Scope, _SCOPES, f"{name}.scope", ties))

    changed = _with_items(of, weaker)
    return changed, conj(changed.admitted(), *ties)


def weaker_runs(of: Described) -> Weaker:
    """Anchors may preserve less: no run, no order, another claim, another basis."""
    ties: list[Expr] = []

    def lose(expr: Expr, kind: type[StrEnum], good: Sequence[str], name: str) -> Expr:
        after = unknown(name, kind)
        ties.append(implies(is_in(after, kind, good), is_in(expr, kind, good)))
        return after

    def weaker(anchor: Anchor, name: str) -> Anchor:
        return Anchor(
            there=anchor.there,
            kind=lose(anchor.kind, AnchorKind, sorted(RUNS), f"{name}.weaker.kind"),
            order=_less(anchor.order, f"{name}.order"),
            claim=lose(anchor.claim, ClaimScope, [ClaimScope.SAME_CLAIM], f"{name}.weaker.claim"),
            basis=lose(anchor.basis, Basis, [Basis.CLAIM_EVENTS], f"{name}.weaker.basis"),
        )

    changed = replace(
        _with_items(of, lambda i, n: replace(i, anchor=weaker(i.anchor, n))),
        atoms={key: weaker(a, key) for key, a in of.atoms.items()},
    )
    return changed, conj(changed.admitted(), *ties)


def fewer_preconditions(of: Described) -> Weaker:
    """Adapters may state fewer preconditions."""
    holds = {
        key: replace(seen, there=_less(seen.there, f"{key[0]}/{key[1]}.there"))
        for key, seen in of.holds.items()
    }
    return replace(of, holds=holds), z3.BoolVal(True)


def fewer_statements(of: Described) -> Weaker:
    """Items, signals, observations and what the evidence shows may be gone, or whole adapters."""
    bare = _with_items(of, lambda i, n: replace(i, there=_less(i.there, f"{n}.there")))
    changed = replace(
        bare,
        offered={b: _less(offered, f"{b}.offered") for b, offered in of.offered.items()},
        holds={
            key: replace(seen, there=_less(seen.there, f"{key[0]}/{key[1]}.kept"))
            for key, seen in of.holds.items()
        },
        signals={k: replace(s, there=_less(s.there, f"{k}.there")) for k, s in of.signals.items()},
        atoms={k: replace(a, there=_less(a.there, f"{k}.kept")) for k, a in of.atoms.items()},
        taken=_less(of.taken, "evidence.taken"),
        shown={k: _less(shown, f"{k}.shown") for k, shown in of.shown.items()},
    )
    return changed, changed.admitted()


def shallower(row: Row) -> tuple[Row, Expr]:
    """The same row at this depth or a lesser one."""
    ties: list[Expr] = []
    depth = _down(row.depth, Depth, tuple(reversed(LADDER)), "depth", ties)
    return replace(row, depth=depth), conj(*ties)


def other_signals(of: Described) -> Weaker:
    """Any other signals instead, more or fewer."""
    signals = {
        key: Seen(
            z3.Bool(f"{key}.other.there"),
            z3.Bool(f"{key}.other.anchored"),
            unknown(f"{key}.other.status", Status),
        )
        for key in of.signals
    }
    return replace(of, signals=signals), z3.BoolVal(True)


def other_evidence(of: Described) -> Weaker:
    """Any other evidence from traces instead, more or less."""
    shown = {key: z3.Bool(f"{key}.other.shown") for key in of.shown}
    return replace(of, taken=z3.Bool("evidence.other.taken"), shown=shown), z3.BoolVal(True)


def _with_items(of: Described, change: Callable[[Item, str], Item]) -> Described:
    counts, relates = {}, {}
    for cell in CELLS:
        name = f"{cell[0]}/{cell[1]}"
        counts[cell] = _less(of.others_count[cell], f"{name}.others_count")
        less = _less(of.others_relate[cell], f"{name}.others_relate")
        relates[cell] = disj(counts[cell], less)
    items = {cell: change(item, f"{cell[0]}/{cell[1]}") for cell, item in of.items.items()}
    return replace(of, items=items, others_count=counts, others_relate=relates)


def _less(expr: Expr, name: str) -> Expr:
    return conj(expr, z3.Bool(f"{name}.left"))


def _down(
    expr: Expr, kind: type[StrEnum], ladder: Sequence[str], name: str, ties: list[Expr]
) -> Expr:
    """A value as strong as `expr` or weaker; `ladder` is strong to weak."""
    after = unknown(f"{name}.weaker", kind)
    for place, member in enumerate(ladder):
        ties.append(implies(equal(expr, value(kind, member)), is_in(after, kind, ladder[place:])))
    return after
