"""Computes the label of a row: backend + adapter + evidence |= mode (docs/lowering.md)."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import NoneType
from typing import TYPE_CHECKING

from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle, Depth
from spec.language.given import require
from spec.lowering.counting import atom_observed, counts, evidence_shows, unmet
from spec.lowering.depths import LADDER, MAY_SUPPLY, reaches
from spec.lowering.descriptor import Descriptor
from spec.lowering.evidence import EvidenceFile, Shown
from spec.lowering.obligations import REJECTED_WITHOUT
from spec.lowering.signals import TEMPTS
from spec.lowering.strict import only_shown
from spec.lowering.vocabulary import ATOMS_FOR, Label, Rests, Status, Subtype

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from spec.lowering.descriptor import Forbidden, Item, Shows

__all__ = ["Row", "Supply", "lower", "related"]

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
    found = {o: next(_supplies(counted, mode, depth, o, evidence), None) for o in asked}
    supplied = tuple(supply for supply in found.values() if supply is not None)
    missing = tuple(o for o, supply in found.items() if supply is None)
    forbidden = tuple(f for f in descriptor.forbidden if f.mode is mode and reaches(f.up_to, depth))
    if forbidden:
        rule, label = 1, Label.REJECTED
    elif not missing:
        native = all(supply.depth is Depth.NONE for supply in supplied)
        rule, label = (2, Label.NATIVE_SOUND) if native else (3, Label.SOUND_WITH_ADAPTER)
    elif not _by_adapter(supplied) and not related(counted, mode, depth, asked):
        rule, label = 4, Label.UNKNOWN
    elif REJECTED_WITHOUT[mode] & set(missing):
        rule, label = 5, Label.REJECTED
    else:
        rule, label = 6, Label.APPROXIMATE
    return Row(
        descriptor=descriptor,
        mode=mode,
        bundle=bundle,
        depth=depth,
        evidence=evidence,
        rule=rule,
        label=label,
        subtype=_subtype(supplied) if label is Label.SOUND_WITH_ADAPTER else None,
        missing=missing,
        forbidden=forbidden,
        supplied=supplied,
        counted=counted,
        only_shown=require_evidence,
        nowhere=lost,
    )


def _supplies(
    descriptor: Descriptor,
    mode: Mode,
    depth: Depth,
    obligation: str,
    evidence: EvidenceFile | None,
) -> Iterator[Supply]:
    """What supplies an obligation: native first, then the adapters from shallow to deep.

    At one depth, what a trace shows comes before what is declared.
    """
    if not all(atom_observed(descriptor, atom) for atom in ATOMS_FOR.get(obligation, ())):
        return
    for item in descriptor.native:
        if counts(descriptor, item, obligation, mode):
            yield Supply(obligation, Depth.NONE, item)
    for below in LADDER:
        adapter = descriptor.adapter(below)
        if adapter is None or not reaches(depth, below):
            continue
        if obligation not in MAY_SUPPLY[below] or unmet(adapter):
            continue
        for shown in evidence_shows(evidence, obligation, mode):
            yield Supply(obligation, below, shown)
        for item in adapter.evidence:
            if counts(descriptor, item, obligation, mode):
                yield Supply(obligation, below, item)


def _by_adapter(supplied: tuple[Supply, ...]) -> bool:
    return any(supply.depth is not Depth.NONE for supply in supplied)


def related(descriptor: Descriptor, mode: Mode, depth: Depth, asked: tuple[str, ...]) -> bool:
    """Whether a descriptor shows a signal for the mode, or states something of its bundle."""
    stated = [*descriptor.native]
    for adapter in descriptor.adapters:
        if reaches(depth, adapter.depth):
            stated += adapter.evidence
    return any(_is_shown(s) and mode in TEMPTS[s.signal] for s in descriptor.signals) or any(
        _is_shown(item) and item.obligation in asked and mode in item.modes for item in stated
    )


def _is_shown(said: Item | Shows) -> bool:
    return said.status in _STATED and said.anchor is not None


def _subtype(supplied: tuple[Supply, ...]) -> Subtype:
    deepest = max((supply.depth for supply in supplied), key=LADDER.index)
    if deepest is Depth.BACKEND_PATCH:
        return Subtype.PATCH
    if any(supply.obligation in ATOMS_FOR for supply in supplied):
        return Subtype.POLICY
    return Subtype.OBSERVATIONAL if deepest is Depth.TELEMETRY_JOIN else Subtype.HOOK
