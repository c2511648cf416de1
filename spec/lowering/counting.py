"""Decides whether an item, an atom or an adapter counts (docs/lowering.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spec.contract.supply import Order
from spec.lowering.depths import PRECONDITIONS
from spec.lowering.obligations import RELEVANT_ORDER
from spec.lowering.vocabulary import ADEQUATE, RUNS, Basis, ClaimScope, Status

if TYPE_CHECKING:
    from spec.claims.states import Mode
    from spec.contract.supply import Atom
    from spec.lowering.depths import Precondition
    from spec.lowering.descriptor import Adapter, Anchor, Descriptor, Item
    from spec.lowering.evidence import EvidenceFile, Shown

__all__ = ["atom_observed", "counts", "evidence_shows", "lacks", "unmet"]


def counts(descriptor: Descriptor, item: Item, obligation: str, mode: Mode) -> bool:
    """Whether an item counts for an obligation of a mode, atoms apart."""
    return item.obligation == obligation and mode in item.modes and not lacks(descriptor, item)


def lacks(descriptor: Descriptor, item: Item) -> list[str]:
    """What keeps an item from counting for its own obligation, in its own modes."""
    found = []
    if item.status is not Status.SUPPORTED:
        found.append(f"its status is {item.status}")
    if item.scope not in ADEQUATE:
        found.append(f"its scope is {item.scope}")
    return found + _unpreserved(descriptor.anchor(item), RELEVANT_ORDER[item.obligation])


def atom_observed(descriptor: Descriptor, atom: Atom) -> bool:
    """Whether an atom is observed in runs under controlled pressure, joined to the claims."""
    return any(
        seen.atom is atom and not _unpreserved(descriptor.anchor(seen), Order.PRESSURE_BEFORE_LOSS)
        for seen in descriptor.observations
    )


def _unpreserved(anchor: Anchor | None, order: Order) -> list[str]:
    """What an anchor does not preserve of what a run must show."""
    if anchor is None:
        return ["it has no anchor"]
    if anchor.kind not in RUNS:
        return [f"its anchor is {anchor.kind}, not a run"]
    found = []
    if order not in anchor.order:
        found.append(f"its anchor does not preserve {order}")
    if anchor.claim is not ClaimScope.SAME_CLAIM:
        found.append(f"its anchor's claim is {anchor.claim or 'not said'}")
    if anchor.basis is not Basis.CLAIM_EVENTS:
        found.append(f"its anchor's basis is {anchor.basis or 'not said'}")
    return found


def unmet(adapter: Adapter) -> list[Precondition]:
    """The preconditions of an adapter's depth that are not shown to hold."""
    hold = {each.precondition for each in adapter.preconditions if each.anchor is not None}
    return [each for each in PRECONDITIONS[adapter.depth] if each not in hold]


def evidence_shows(evidence: EvidenceFile | None, obligation: str, mode: Mode) -> list[Shown]:
    """What evidence from traces counts for an obligation of a mode, atoms and depth apart."""
    if evidence is None or evidence.mode is not mode:
        return []
    return [
        shown
        for shown in evidence.shown
        if shown.obligation == obligation and RELEVANT_ORDER[obligation] in shown.order
    ]
