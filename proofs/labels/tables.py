"""Writes rows as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from proofs.labels.label_text import last_column
from spec.docs.markdown import table
from spec.language.prose import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proofs.labels.view import RowView

__all__ = ["as_csv", "as_markdown"]

_HEAD = ("descriptor", "mode", "depth", "bundle", "label", "subtype", "missing", "forbidden")


def as_markdown(rows: Sequence[RowView]) -> str:
    """One table."""
    body = [[r.descriptor, r.mode, r.depth, r.bundle, r.label, last_column(r)] for r in rows]
    return table([*_HEAD[:5], "why"], body) + "\n"


def as_csv(rows: Sequence[RowView]) -> str:
    """One line a row; lists are separated by blanks, forbidden lowerings by semicolons.

    No cell starts with a character that a spreadsheet reads as a formula: all are names.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow((*_HEAD, "obligation_anchors", "declared", "shown", "points_nowhere"))
    for row in rows:
        anchors = "; ".join(
            f"{cited.obligation}: {printable(cited.anchor)}" for cited in row.evidence
        )
        writer.writerow(
            (
                row.descriptor,
                row.mode,
                row.depth,
                row.bundle,
                row.label,
                row.subtype or "",
                " ".join(row.missing),
                "; ".join(row.forbidden),
                anchors,
                " ".join(row.declared),
                " ".join(row.shown),
                " ".join(map(printable, row.nowhere)),
            )
        )
    return out.getvalue()
