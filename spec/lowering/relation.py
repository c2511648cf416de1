"""Computes the label of a row: backend + adapter + evidence |= mode (docs/lowering.md)."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from types import NoneType
from typing import TYPE_CHECKING

from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from spec.contract.supply import Depth
from spec.language.errors import require
from spec.lowering.counting import atom_observed, counts, evidence_shows, unmet
from spec.lowering.depths import LADDER, MAY_SUPPLY, reaches
from spec.lowering.descriptor import Descriptor
from spec.lowering.evidence import EvidenceFile, Shown
from spec.lowering.obligations import REJECTED_WITHOUT
from spec.lowering.signals import TEMPTS
from spec.lowering.strict import only_shown
from spec.lowering.vocabulary import ATOMS_FOR, Label, Rests, Status, Subtype

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spec.lowering.descriptor import Forbidden, Item, Shows

__all__ = [
    "Row",
    "Supply",
    "forbids",
    "judge",
    "lower",
    "related",
    "relates",
    "subtype_of",
    "supply",
    "supply_at",
    "tempts",
]

_STATED = frozenset({Status.SUPPORTED, Status.PARTIAL})


@dataclass(frozen=True, slots=True)
class Supply:
    """What supplies an obligation: at `none` natively, otherwise an adapter at that depth."""

    obligation: str
    depth: Depth
    by: Item | Shown

    @property
    def rests_on(self) -> Rests:
        """Whether the descriptor says so, or a trace that was judged here."""
        return Rests.SHOWN if isinstance(self.by, Shown) else Rests.DECLARED


@dataclass(frozen=True, slots=True)
class Row:
    """The label of a descriptor, a mode and a depth, and what it was decided by.

    `rule` is the line of the table in docs/lowering.md that decided, from 1. `counted` is as much
    of the descriptor as counts: all of it, or what is left where only what traces show does.
    `nowhere` are the anchors that lead nowhere, by name, and why.
    """

    descriptor: Descriptor
    mode: Mode
    bundle: Bundle
    depth: Depth
    evidence: EvidenceFile | None
    rule: int
    label: Label
    subtype: Subtype | None
    missing: tuple[str, ...]
    forbidden: tuple[Forbidden, ...]
    supplied: tuple[Supply, ...]
    counted: Descriptor
    only_shown: bool = False
    nowhere: Mapping[str, str] = field(default_factory=dict)


def lower(
    descriptor: Descriptor,
    mode: Mode,
    depth: Depth,
    bundle: Bundle = Bundle.CONTRACT,
    evidence: EvidenceFile | None = None,
    *,
    require_evidence: bool = False,
    nowhere: Mapping[str, str] | None = None,
) -> Row:
    """Label one row.

    Args:
        require_evidence: count nothing but what traces show.
        nowhere: the anchors of the descriptor that lead nowhere, by name, and why.

    Raises:
        SpecError: an argument is of another type, such as the name of a mode.
    """
    require(descriptor, Descriptor, "descriptor", "a Descriptor, such as read_descriptor returns")
    for what, given, kind in (("mode", mode, Mode), ("depth", depth, Depth)):
        require(given, kind, what, f"a {kind.__name__}")  # a name would be equal to one, not be it
    require(bundle, Bundle, "bundle", "a Bundle")
    require(evidence, (EvidenceFile, NoneType), "evidence", "what read_evidence returns, or None")
    asked, lost = MODES[mode].names(bundle), nowhere or {}
    counted = only_shown(descriptor, lost) if require_evidence else descriptor
    found = {o: supply(counted, mode, depth, o, evidence) for o in asked}
    forbidden = tuple(f for f in descriptor.forbidden if forbids(f, mode, depth))
    near = related(counted, mode, depth, asked)
    rule, label, subtype = judge(mode, found, forbidden=bool(forbidden), related=near)
    return Row(
        descriptor=descriptor,
        mode=mode,
        bundle=bundle,
        depth=depth,
        evidence=evidence,
        rule=rule,
        label=label,
        subtype=subtype,
        missing=tuple(o for o, by in found.items() if by is None),
        forbidden=forbidden,
        supplied=tuple(by for by in found.values() if by is not None),
        counted=counted,
        only_shown=require_evidence,
        nowhere=lost,
    )


def judge(
    mode: Mode, found: Mapping[str, Supply | None], *, forbidden: bool, related: bool
) -> tuple[int, Label, Subtype | None]:
    """The rule, the label and the subtype of a row, from what supplies each obligation."""
    supplied = [by for by in found.values() if by is not None]
    missing = {o for o, by in found.items() if by is None}
    by_adapter = any(by.depth is not Depth.NONE for by in supplied)
    if forbidden:
        return 1, Label.REJECTED, None
    if not missing and not by_adapter:
        return 2, Label.NATIVE_SOUND, None
    if not missing:
        deepest = max((by.depth for by in supplied), key=LADDER.index)
        pressed = any(by.obligation in ATOMS_FOR for by in supplied)
        return 3, Label.SOUND_WITH_ADAPTER, subtype_of(deepest, under_pressure=pressed)
    if not by_adapter and not related:
        return 4, Label.UNKNOWN, None
    if REJECTED_WITHOUT[mode] & missing:
        return 5, Label.REJECTED, None
    return 6, Label.APPROXIMATE, None


def supply(
    descriptor: Descriptor,
    mode: Mode,
    depth: Depth,
    obligation: str,
    evidence: EvidenceFile | None,
) -> Supply | None:
    """What supplies an obligation: natively if anything does, else at the least depth."""
    places = (place for place in LADDER if reaches(depth, place))
    found = (supply_at(descriptor, mode, place, obligation, evidence) for place in places)
    return next((by for by in found if by is not None), None)


def supply_at(
    descriptor: Descriptor,
    mode: Mode,
    place: Depth,
    obligation: str,
    evidence: EvidenceFile | None,
) -> Supply | None:
    """What supplies an obligation at one depth, `none` for natively.

    What a trace shows comes before what is declared.
    """
    if not all(atom_observed(descriptor, atom) for atom in ATOMS_FOR.get(obligation, ())):
        return None
    adapter = descriptor.adapter(place)
    declared, shown = descriptor.native, list[Shown]()
    if place is not Depth.NONE:
        if adapter is None or obligation not in MAY_SUPPLY[place] or unmet(adapter):
            return None
        declared, shown = adapter.evidence, evidence_shows(evidence, obligation, mode)
    by_trace = (Supply(obligation, place, each) for each in shown)
    by_word = (
        Supply(obligation, place, item)
        for item in declared
        if counts(descriptor, item, obligation, mode)
    )
    return next(chain(by_trace, by_word), None)


def related(descriptor: Descriptor, mode: Mode, depth: Depth, asked: tuple[str, ...]) -> bool:
    """Whether a descriptor shows a signal for the mode, or states something of its bundle."""
    stated = [*descriptor.native]
    for adapter in descriptor.adapters:
        if reaches(depth, adapter.depth):
            stated += adapter.evidence
    return any(tempts(signal, mode) for signal in descriptor.signals) or any(
        relates(item, mode) and item.obligation in asked for item in stated
    )


def forbids(forbidden: Forbidden, mode: Mode, depth: Depth) -> bool:
    """Whether a forbidden mapping rejects a row of this mode at this depth."""
    return forbidden.mode is mode and reaches(forbidden.up_to, depth)


def tempts(signal: Shows, mode: Mode) -> bool:
    """Whether a signal for a mode is shown."""
    return mode in TEMPTS[signal.signal] and _is_shown(signal)


def relates(item: Item, mode: Mode) -> bool:
    """Whether an item states something of its obligation for a mode."""
    return mode in item.modes and _is_shown(item)


def _is_shown(statement: Item | Shows) -> bool:
    return statement.status in _STATED and statement.anchor is not None


def subtype_of(deepest: Depth, *, under_pressure: bool) -> Subtype:
    """The subtype of a row by the deepest adapter that it needs."""
    if deepest is Depth.BACKEND_PATCH:
        return Subtype.PATCH
    if under_pressure:
        return Subtype.POLICY
    return Subtype.OBSERVATIONAL if deepest is Depth.TELEMETRY_JOIN else Subtype.HOOK
