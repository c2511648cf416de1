"""Evaluates the Z3 relation on concrete descriptors and rows."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from proofs.lowering.encoding import Relation
from proofs.lowering.program import Program
from proofs.lowering.symbols import ABSENT, any_descriptor, any_row
from spec.contract.modes import Bundle, Depth
from spec.contract.obligations import OBLIGATIONS
from spec.lowering.obligations import RELEVANT_ORDER
from spec.lowering.vocabulary import Label, Order, Subtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proofs.lowering.program import Point
    from spec.claims.states import Mode
    from spec.lowering.descriptor import Anchor, Descriptor, Item
    from spec.lowering.evidence import EvidenceFile

__all__ = ["ALONE", "Answer", "Asked", "Oracle", "put_anchor", "put_item", "put_seen"]

ALONE = Depth.NONE, "claim_identity"
"""The cell at which one item is asked by itself; no cell differs in what it asks of an item."""


class Asked(NamedTuple):
    """A row to label."""

    descriptor: Descriptor
    mode: Mode
    bundle: Bundle
    depth: Depth
    evidence: EvidenceFile | None = None


class Answer(NamedTuple):
    """The label of a row, its subtype if it is sound with an adapter, and what it lacks.

    There is exactly one label and at most one subtype, unless the relation is broken.
    """

    labels: tuple[Label, ...]
    subtypes: tuple[Subtype, ...]
    missing: frozenset[str]


class Oracle:
    """The Z3 relation, evaluated on concrete descriptors."""

    def __init__(self, kind: type[Relation] = Relation) -> None:
        self.relation = kind(any_descriptor(), any_row())

    def answers(self, rows: Sequence[Asked]) -> list[Answer]:
        """The answer of the relation for each row."""
        sets = iter(self._rows.run([self.point(row) for row in rows]))
        labels = [(label, next(sets)) for label in Label]
        subtypes = [(subtype, next(sets)) for subtype in Subtype]
        missing = [(name, next(sets)) for name in OBLIGATIONS]
        result = []
        for number in range(len(rows)):
            of_row = tuple(label for label, members in labels if members >> number & 1)
            sound = Label.SOUND_WITH_ADAPTER in of_row
            kinds = tuple(each for each, members in subtypes if sound and members >> number & 1)
            lacks = frozenset(name for name, members in missing if members >> number & 1)
            result.append(Answer(of_row, kinds, lacks))
        return result

    def point(self, row: Asked) -> Point:
        """The constants of any descriptor and any row, as this row has them."""
        stated: Point = {
            "mode": f"Mode.{row.mode}",
            "contract": row.bundle is Bundle.CONTRACT,
            "depth": f"Depth.{row.depth}",
        }
        found = row.descriptor
        self._put_items(stated, row, Depth.NONE, found.native)
        for adapter in found.adapters:
            stated[f"{adapter.depth}.offered"] = True
            self._put_items(stated, row, adapter.depth, adapter.evidence)
            for each in adapter.preconditions:
                put_seen(stated, f"{adapter.depth}/{each.precondition}", each.anchor)
        for shows in found.signals:
            put_seen(stated, shows.signal, shows.anchor)
            stated[f"{shows.signal}.status"] = f"Status.{shows.status}"
        for seen in found.observations:
            put_anchor(stated, seen.atom, found.anchor(seen), Order.PRESSURE_BEFORE_LOSS)
        for forbidden in found.forbidden:
            if forbidden.mode is row.mode:
                stated[f"{forbidden.up_to}.forbidden"] = True
        if row.evidence is not None:
            stated["evidence.taken"] = row.evidence.mode is row.mode
            for shown in row.evidence.shown:
                if RELEVANT_ORDER[shown.obligation] in shown.order:
                    stated[f"{shown.obligation}.shown"] = True
        return stated

    def _put_items(self, point: Point, row: Asked, place: Depth, items: Sequence[Item]) -> None:
        """The first item about an obligation, and a summary of the others."""
        met: set[str] = set()
        for item in items:
            name, anchor = f"{place}/{item.obligation}", row.descriptor.anchor(item)
            if name not in met:
                met.add(name)
                put_item(point, name, row.mode, item, anchor)
                continue
            alone: Point = {}
            put_item(alone, "/".join(ALONE), row.mode, item, anchor)
            counts, relates = self.alone.run([alone])
            point[f"{name}.others_count"] = bool(point.get(f"{name}.others_count") or counts)
            point[f"{name}.others_relate"] = bool(point.get(f"{name}.others_relate") or relates)

    @cached_property
    def _rows(self) -> Program:
        ask = self.relation
        return Program(
            [
                *(ask.is_label(label) for label in Label),
                *(ask.is_subtype(subtype) for subtype in Subtype),
                *(ask.missing(name) for name in OBLIGATIONS),
            ]
        )

    @cached_property
    def alone(self) -> Program:
        """Whether the item at `ALONE` counts, atoms apart, and whether it is related."""
        item = self.relation.described.items[ALONE]
        return Program([self.relation.counts(item), self.relation.partly(*ALONE)])


def put_item(point: Point, name: str, mode: Mode, item: Item, anchor: Anchor | None) -> None:
    """The constants of one item, as a row of this mode sees them."""
    point[f"{name}.there"] = True
    point[f"{name}.named"] = mode in item.modes
    point[f"{name}.status"] = f"Status.{item.status}"
    point[f"{name}.scope"] = f"Scope.{item.scope}"
    put_anchor(point, name, anchor, RELEVANT_ORDER[item.obligation])


def put_anchor(point: Point, name: str, anchor: Anchor | None, order: Order) -> None:
    """The constants of the anchor of something to which this order matters."""
    if anchor is not None:
        point[f"{name}.anchored"] = True
        point[f"{name}.kind"] = f"AnchorKind.{anchor.kind}"
        point[f"{name}.order"] = order in anchor.order
        point[f"{name}.claim"] = f"ClaimScope.{anchor.claim or ABSENT}"
        point[f"{name}.basis"] = f"Basis.{anchor.basis or ABSENT}"


def put_seen(point: Point, name: str, anchor: str | None) -> None:
    """The constants of a signal or a precondition."""
    point[f"{name}.there"] = True
    point[f"{name}.anchored"] = anchor is not None
