"""Compares labels with an earlier output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from proofs.labels.view import SCHEMA, Change, Changes, Rows, RowView
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.contract.supply import Depth
from spec.digest import spec_digest
from spec.files.json_text import decode_json
from spec.language.called import called
from spec.language.errors import DocumentError
from spec.lowering.load import read_bounded
from spec.lowering.vocabulary import POSITIVE, Label

if TYPE_CHECKING:
    from collections.abc import Sequence
    from enum import StrEnum
    from pathlib import Path

__all__ = ["changes", "read_rows"]

_RANKS: Final = (
    Label.REJECTED,
    Label.UNKNOWN,
    Label.APPROXIMATE,
    Label.SOUND_WITH_ADAPTER,
    Label.NATIVE_SOUND,
)
"""From worst to best, for saying which way a label went."""

_KINDS: Final[dict[str, type[StrEnum]]] = {
    "mode": Mode,
    "bundle": Bundle,
    "depth": Depth,
    "label": Label,
}

Key = tuple[str, str, str, str]


def read_rows(path: Path, bundle: Bundle, require_evidence: bool) -> Rows:
    """Read an earlier output that is comparable with this bundle; raises DocumentError.

    Args:
        require_evidence: whether only what traces show counts in the new output.
    """
    content = read_bounded(path)
    try:
        rows = decode_json(content, Rows)
    except ValueError as problem:
        raise DocumentError(
            f"{path}: {problem}", f"write it with `{called('proofs lower --format json')}`"
        ) from None
    if rows.schema != SCHEMA:
        raise DocumentError(f"{path}: schema: it is {rows.schema[:100]!r}", f"use {SCHEMA}")
    for i, row in enumerate(rows.rows):
        for name, kind in _KINDS.items():
            if (said := getattr(row, name)) not in set(kind):
                raise DocumentError(
                    f"{path}: rows[{i}].{name}: there is no {name} {said[:60]!r}",
                    f"use {', '.join(kind)}",
                )
    if len({_key(row) for row in rows.rows}) != len(rows.rows):
        raise DocumentError(f"{path}: rows: one row stands twice", "write it again")
    if rows.rows and bundle not in (there := {row.bundle for row in rows.rows}):
        raise DocumentError(
            f"{path}: rows: none is of the {bundle} bundle", f"ask for --bundle {min(there)}"
        )
    if rows.require_evidence is not require_evidence:
        with_or_without = "with" if rows.require_evidence else "without"
        raise DocumentError(
            f"{path}: require_evidence: it was made {with_or_without} --require-evidence",
            "compare what counts alike",
        )
    return rows


def changes(
    old: Rows,
    new: Sequence[RowView],
    *,
    descriptors: Sequence[str] | None,
    mode: str | None,
    depth: str | None,
    bundle: str,
) -> Changes:
    """What changed from `old` to `new`.

    Args:
        descriptors: those that were requested; all if None.
        mode, depth: the requested one; all if None.
        bundle: the one that the new rows are about.
    """
    before = {_key(row): row for row in old.rows}
    after = {_key(row): row for row in new}
    found = [_change(before.get(key), row) for key, row in after.items()]
    left = [row for key, row in before.items() if key not in after]
    gone = [
        row
        for row in left
        if (descriptors is None or row.descriptor in descriptors)
        and mode in {None, row.mode}
        and depth in {None, row.depth}
        and row.bundle == bundle
    ]
    found += [_gone(row) for row in gone]
    rows = [change for change in found if change is not None]
    return Changes(rows, len(left) - len(gone), old.spec if old.spec != spec_digest() else None)


def _key(row: RowView) -> Key:
    return row.descriptor, row.mode, row.bundle, row.depth


def _change(old: RowView | None, new: RowView) -> Change | None:
    if old is None:
        return Change("new", *_key(new), None, new.label, [], [])
    lost = [o for o in new.missing if o not in old.missing]
    gained = [o for o in old.missing if o not in new.missing]
    way = _way(old.label, new.label)
    if way is None and not lost and not gained and old.subtype == new.subtype:
        return None
    return Change(way or "changed", *_key(new), old.label, new.label, lost, gained)


def _way(old: str, new: str) -> str | None:
    if old == new:
        return None
    return "upgrade" if _RANKS.index(Label(new)) > _RANKS.index(Label(old)) else "downgrade"


def _gone(row: RowView) -> Change:
    way = "downgrade" if row.label in POSITIVE else "gone"
    return Change(way, *_key(row), row.label, None, [], [])
