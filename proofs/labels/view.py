"""The published form of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from spec import __version__
from spec.contract.modes import Bundle
from spec.contract.supply import Depth
from spec.digest import spec_digest
from spec.lowering.descriptor import Item, Observed
from spec.lowering.places import elsewhere
from spec.lowering.reasons import decided_by, upgrade, why_missing
from spec.lowering.relation import lower
from spec.lowering.vocabulary import ATOMS_FOR, Rests

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from spec.lowering.descriptor import Anchor, Descriptor, Holds
    from spec.lowering.relation import Row, Supply

__all__ = [
    "SCHEMA",
    "Anchors",
    "Change",
    "Changes",
    "Cited",
    "Condition",
    "Lacking",
    "Lost",
    "Otherwise",
    "RowView",
    "Rows",
    "cite",
    "rows_schema",
    "view",
    "view_all",
]

SCHEMA: Final = "resident-claims/lowering/1"


class Cited(msgspec.Struct, frozen=True):
    """The evidence for an obligation; `depth` is none if it is native.

    `rests_on` is declared (by the descriptor) or shown (by a trace that was judged here);
    `nowhere`: the anchor does not exist.
    """

    obligation: str
    anchor: str
    depth: str
    scope: str
    rests_on: str = Rests.DECLARED
    nowhere: bool = False


class Condition(msgspec.Struct, frozen=True):
    """A precondition or an atom without which a supplied obligation of the row would not count.

    Each is declared: no trace shows it. The atoms have no `depth` of their own, but none.
    """

    condition: str
    anchor: str
    depth: str
    nowhere: bool = False


class Lost(msgspec.Struct, frozen=True):
    """An anchor into the descriptor's own tree that does not exist there."""

    descriptor: str
    anchor: str
    path: str
    why: str


class Anchors(msgspec.Struct, frozen=True):
    """The anchors of a descriptor: `opened` in its own tree, or `elsewhere` and not opened."""

    descriptor: str
    opened: list[str]
    elsewhere: list[str]


class Lacking(msgspec.Struct, frozen=True):
    """An obligation that is not supplied: the reason, and what would supply it."""

    obligation: str
    why: str
    upgrade: str


class Otherwise(msgspec.Struct, frozen=True):
    """The label under the other bundle, where it differs."""

    bundle: str
    label: str
    missing: list[str]


class RowView(msgspec.Struct, frozen=True):
    """A row. `decided` says which rule of docs/lowering.md decided.

    `missing` is in the order of the bundle; `subtype` is null unless sound_with_adapter. The
    obligations that are not missing are `declared` or `shown`, by what they rest on; `nowhere` are
    the anchors, among those that they and their `conditions` rest on, that lead nowhere.
    """

    descriptor: str
    mode: str
    bundle: str
    depth: str
    label: str
    subtype: str | None
    missing: list[str]
    forbidden: list[str]
    evidence: list[Cited]
    decided: str
    lacking: list[Lacking]
    otherwise: Otherwise | None
    declared: list[str] = []
    shown: list[str] = []
    conditions: list[Condition] = []
    nowhere: list[str] = []


class Change(msgspec.Struct, frozen=True):
    """A row that changed. `way`: upgrade, downgrade, changed, new, gone.

    A `gone` row was requested again and is missing; if it was positive it is a downgrade.
    """

    way: str
    descriptor: str
    mode: str
    bundle: str
    depth: str
    before: str | None
    after: str | None
    lost: list[str]
    gained: list[str]


class Changes(msgspec.Struct, frozen=True):
    """The changes from an earlier output, and the number of its rows that were not requested.

    `other_spec` is the digest of its specification, if that differs; then a label may have changed
    because the obligations did.
    """

    rows: list[Change]
    not_asked: int
    other_spec: str | None

    @property
    def worse(self) -> bool:
        """Whether any row is a downgrade."""
        return any(change.way == "downgrade" for change in self.rows)


class Rows(msgspec.Struct, frozen=True):
    """What `lower --format json` prints; `spec` is the digest of the specification.

    `changes` is there where an earlier labelling was given. With `require_evidence` only what
    traces show counted. `nowhere` has every anchor that does not exist, `anchors` all others.
    """

    schema: str
    version: str
    spec: str
    rows: list[RowView]
    changes: Changes | msgspec.UnsetType = msgspec.UNSET
    require_evidence: bool = False
    nowhere: list[Lost] = []
    anchors: list[Anchors] = []


def view(row: Row) -> RowView:
    """A row, with its label under the other bundle."""
    other = lower(
        row.descriptor,
        row.mode,
        row.depth,
        _other(row.bundle),
        row.evidence,
        require_evidence=row.only_shown,
        nowhere=row.nowhere,
    )
    conditions = list(_conditions(row))
    return RowView(
        descriptor=row.descriptor.name,
        mode=row.mode,
        bundle=row.bundle,
        depth=row.depth,
        label=row.label,
        subtype=row.subtype,
        missing=list(row.missing),
        forbidden=[str(f) for f in row.forbidden],
        evidence=[_cited(row, supply) for supply in row.supplied],
        decided=decided_by(row),
        lacking=[Lacking(o, why_missing(row, o), upgrade(row, o)) for o in row.missing],
        otherwise=None
        if other.label is row.label
        else Otherwise(other.bundle, other.label, list(other.missing)),
        declared=[s.obligation for s in row.supplied if s.rests_on is Rests.DECLARED],
        shown=[s.obligation for s in row.supplied if s.rests_on is Rests.SHOWN],
        conditions=[_condition(row, *each) for each in conditions],
        nowhere=list(_leading_nowhere(row, [statement for statement, _ in conditions])),
    )


def view_all(
    rows: Sequence[Row],
    found: Sequence[Descriptor],
    nowhere: Mapping[str, Mapping[str, str]],
    *,
    require_evidence: bool = False,
) -> Rows:
    """The published rows, with the anchors of their descriptors.

    Args:
        nowhere: the anchors of each descriptor that do not exist, with the reason.
    """
    outside = {each.name: elsewhere(each) for each in found}
    return Rows(
        SCHEMA,
        __version__,
        spec_digest(),
        [view(row) for row in rows],
        require_evidence=require_evidence,
        nowhere=[
            Lost(each.name, name, each.anchors[name].path or "", why)
            for each in found
            for name, why in nowhere[each.name].items()
        ],
        anchors=[
            Anchors(
                each.name,
                [a for a in each.anchors if a not in {*outside[each.name], *nowhere[each.name]}],
                list(outside[each.name]),
            )
            for each in found
        ],
    )


def rows_schema() -> dict[str, Any]:
    """The JSON Schema of what `lower --format json` prints."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA,
        **msgspec.json.schema(Rows),
    }


def _other(bundle: Bundle) -> Bundle:
    return Bundle.PAPER if bundle is Bundle.CONTRACT else Bundle.CONTRACT


def _cited(row: Row, supply: Supply) -> Cited:
    by, rests = supply.by, supply.rests_on
    if isinstance(by, Item):
        place = _place(row.descriptor, by)
        lost = by.anchor in row.nowhere
        return Cited(supply.obligation, place, supply.depth, by.scope, rests, lost)
    trace = row.evidence.files[by.file] if row.evidence is not None else None
    events = ", ".join(str(n) for n in by.sequences[:8]) + (
        ", ..." if len(by.sequences) > 8 else ""
    )
    where = "" if trace is None else f"{trace.path} (sha256 {trace.sha256[:12]})"
    text = f"{where}, events {events}"
    return Cited(supply.obligation, text, supply.depth, "conformance_trace", rests)


def _conditions(row: Row) -> Iterator[tuple[Holds | Observed, Depth]]:
    """The preconditions and the atoms on which the supplied obligations of a row depend."""
    used = {supply.depth for supply in row.supplied}
    for adapter in row.descriptor.adapters:
        if adapter.depth in used:
            for holds in adapter.preconditions:
                yield holds, adapter.depth
    needed = {atom for s in row.supplied for atom in ATOMS_FOR.get(s.obligation, ())}
    for seen in row.descriptor.observations:
        if seen.atom in needed:
            yield seen, Depth.NONE


def _condition(row: Row, statement: Holds | Observed, depth: Depth) -> Condition:
    name = statement.atom if isinstance(statement, Observed) else statement.precondition
    return Condition(
        name, _place(row.descriptor, statement), depth, statement.anchor in row.nowhere
    )


def _leading_nowhere(row: Row, conditions: Sequence[Holds | Observed]) -> dict[str, None]:
    """The anchors that a row uses and that do not exist, in order."""
    items = [supply.by for supply in row.supplied if isinstance(supply.by, Item)]
    return {
        statement.anchor: None
        for statement in (*items, *conditions)
        if statement.anchor is not None and statement.anchor in row.nowhere
    }


def _place(descriptor: Descriptor, statement: Item | Holds | Observed) -> str:
    anchor = descriptor.anchor(statement)
    return "" if anchor is None else cite(anchor)


def cite(anchor: Anchor) -> str:
    """The location of an anchor, on one line."""
    if anchor.path is None:
        return str(anchor.source)
    return anchor.path if anchor.source is None else f"{anchor.path} ({anchor.source})"
