"""States the rules of `docs/lowering.md`, each as an answer at every point of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spec.contract.supply import Atom, Depth
from spec.lowering.depths import LADDER, MAY_SUPPLY
from spec.lowering.signals import TEMPTS
from spec.lowering.vocabulary import (
    ADEQUATE,
    ATOMS_FOR,
    RUNS,
    AnchorKind,
    Basis,
    ClaimScope,
    Label,
    Scope,
    Status,
    Subtype,
)

if TYPE_CHECKING:
    from spec.claims.states import Mode
    from spec.lowering.signals import Signal

__all__ = [
    "ABSENT",
    "COUNTS",
    "READY",
    "RELATES",
    "UNREADY",
    "Facts",
    "Run",
    "forbids",
    "item",
    "label",
    "observed",
    "ready",
    "several",
    "shows",
    "subtype",
    "supplies",
    "tempts",
]

RELATES, COUNTS = 1, 2
"""The classes of an item: it resembles its mode; it counts."""

ABSENT, UNREADY, READY = 0, 1, 2
"""What an adapter can be."""

_SHOWN = (Status.SUPPORTED, Status.PARTIAL)


class Run(NamedTuple):
    """What the relation reads of an anchor; `order` is whether the one that matters is kept."""

    kind: AnchorKind
    order: bool = False
    claim: ClaimScope | None = None
    basis: Basis | None = None


class Facts(NamedTuple):
    """What the label of a row depends on.

    `critical` is whether something in `REJECTED_WITHOUT` is missing.
    """

    forbidden: bool
    related: bool
    missing: bool
    critical: bool
    by_adapter: bool


def item(status: Status, scope: Scope, anchor: Run | None, named: bool) -> int:
    """Whether an item counts (points 1 to 5), and whether it is related."""
    supported = status is Status.SUPPORTED and scope in ADEQUATE and observed(None, anchor)
    related = status in _SHOWN and anchor is not None
    return (COUNTS * supported | RELATES * related) if named else 0


def several(*items: tuple[Status, Scope, Run | None, bool]) -> int:
    """One item that counts is enough, whatever others say (no-contradiction-rule); so is one that
    is related.
    """
    classes = [item(*each) for each in items]
    return COUNTS * any(each & COUNTS for each in classes) | RELATES * any(classes)


def observed(_: Atom | None, anchor: Run | None) -> bool:
    """Points 4 and 5, of an item, and 6, of an atom."""
    return (
        anchor is not None
        and anchor.kind in RUNS
        and anchor[1:] == (True, ClaimScope.SAME_CLAIM, Basis.CLAIM_EVENTS)
    )


def ready(_: Depth, holds: tuple[int, ...]) -> int:
    """Whether every precondition is stated with an anchor."""
    return READY if all(each == 2 for each in holds) else UNREADY


def tempts(mode: Mode, signal: Signal, status: Status, anchored: bool) -> bool:
    """Whether a signal resembles the mode."""
    return mode in TEMPTS[signal] and status in _SHOWN and anchored


def forbids(same_mode: bool, depth: Depth, up_to: Depth) -> bool:
    """Line 1: whether `up_to` is the depth of the row or deeper."""
    return same_mode and LADDER.index(up_to) >= LADDER.index(depth)


def shows(same_mode: bool, same_obligation: bool, ordered: bool) -> bool:
    """Whether something shown in evidence counts, atoms apart."""
    return same_mode and same_obligation and ordered


def supplies(
    name: str, place: Depth, items: int, adapter: int, shown: bool, atoms: frozenset[Atom]
) -> bool:
    """Whether an obligation is supplied at one depth."""
    if not atoms >= ATOMS_FOR.get(name, frozenset()):
        return False
    if place is Depth.NONE:
        return items & COUNTS != 0
    return adapter == READY and name in MAY_SUPPLY[place] and (shown or items & COUNTS != 0)


def label(forbidden: bool, related: bool, missing: bool, critical: bool, by_adapter: bool) -> Label:
    """The first line that applies."""
    lines = (
        (forbidden, Label.REJECTED),
        (not missing and not by_adapter, Label.NATIVE_SOUND),
        (not missing, Label.SOUND_WITH_ADAPTER),
        (not related and not by_adapter, Label.UNKNOWN),
        (critical, Label.REJECTED),
        (True, Label.APPROXIMATE),
    )
    return next(label for applies, label in lines if applies)


def subtype(deepest: Depth, pressed: bool) -> Subtype | None:
    """The subtype by the deepest adapter that a row needs; none where it needs none."""
    if deepest is Depth.NONE:
        return None
    if deepest is Depth.BACKEND_PATCH:
        return Subtype.PATCH
    if pressed:
        return Subtype.POLICY
    return Subtype.OBSERVATIONAL if deepest is Depth.TELEMETRY_JOIN else Subtype.HOOK
