"""Rows as they are published."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from spec import __version__
from spec.digest import spec_digest
from spec.lowering.descriptor import Item
from spec.lowering.reasons import decided_by, upgrade, why_missing
from spec.lowering.relation import lower
from spec.modes import Bundle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spec.lowering.descriptor import Anchor, Descriptor
    from spec.lowering.evidence import EvidenceFile
    from spec.lowering.relation import Row, Supply

__all__ = [
    "SCHEMA",
    "Change",
    "Changes",
    "Cited",
    "Lacking",
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
    """What supplies an obligation: `depth` is none where it is native."""

    obligation: str
    anchor: str
    depth: str
    scope: str


class Lacking(msgspec.Struct, frozen=True):
    """Why an obligation is not supplied, and what would supply it."""

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

    `missing` is in the order of the bundle; `subtype` is null unless sound_with_adapter.
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


class Change(msgspec.Struct, frozen=True):
    """A row that is not what it was. `way`: upgrade, downgrade, changed, new, gone.

    A `gone` row was asked for again and is not there; if it was positive it is a downgrade.
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
    """What changed since an earlier labelling, and how many of its rows were not asked for.

    `other_spec` is the digest of the specification that it was made by, where that is another one;
    then a label may have changed because what is asked for has.
    """

    rows: list[Change]
    not_asked: int
    other_spec: str | None

    @property
    def worse(self) -> bool:
        return any(change.way == "downgrade" for change in self.rows)


class Rows(msgspec.Struct, frozen=True):
    """What `lower --format json` prints; `spec` is the digest of the specification.

    `changes` is there where an earlier labelling was given.
    """

    schema: str
    version: str
    spec: str
    rows: list[RowView]
    changes: Changes | msgspec.UnsetType = msgspec.UNSET


def view(row: Row) -> RowView:
    """A row, with what it would be under the other bundle."""
    other = lower(row.descriptor, row.mode, row.depth, _other(row.bundle), row.evidence)
    return RowView(
        descriptor=row.descriptor.name,
        mode=row.mode,
        bundle=row.bundle,
        depth=row.depth,
        label=row.label,
        subtype=row.subtype,
        missing=list(row.missing),
        forbidden=[str(f) for f in row.forbidden],
        evidence=[_cited(row.descriptor, row.evidence, supply) for supply in row.supplied],
        decided=decided_by(row),
        lacking=[Lacking(o, why_missing(row, o), upgrade(o)) for o in row.missing],
        otherwise=None
        if other.label is row.label
        else Otherwise(other.bundle, other.label, list(other.missing)),
    )


def view_all(rows: Sequence[Row]) -> Rows:
    return Rows(SCHEMA, __version__, spec_digest(), [view(row) for row in rows])


def rows_schema() -> dict[str, Any]:
    """The JSON Schema of what `lower --format json` prints."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA,
        **msgspec.json.schema(Rows),
    }


def _other(bundle: Bundle) -> Bundle:
    return Bundle.PAPER if bundle is Bundle.CONTRACT else Bundle.CONTRACT


def _cited(descriptor: Descriptor, evidence: EvidenceFile | None, supply: Supply) -> Cited:
    by = supply.by
    if isinstance(by, Item):
        anchor = descriptor.anchor(by)
        place = "" if anchor is None else cite(anchor)
        return Cited(supply.obligation, place, supply.depth, by.scope)
    trace = evidence.files[by.file] if evidence is not None else None
    events = ", ".join(str(n) for n in by.sequences[:8]) + (
        ", ..." if len(by.sequences) > 8 else ""
    )
    where = "" if trace is None else f"{trace.path} (sha256 {trace.sha256[:12]})"
    return Cited(supply.obligation, f"{where}, events {events}", supply.depth, "conformance_trace")


def cite(anchor: Anchor) -> str:
    """Where an anchor lies, on one line."""
    if anchor.path is None:
        return str(anchor.source)
    return anchor.path if anchor.source is None else f"{anchor.path} ({anchor.source})"
