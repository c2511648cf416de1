"""Lays out labelled rows as text for a terminal of 80 columns."""

from __future__ import annotations

from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, Final

from msgspec import structs

from spec.cli.layout import Styled
from spec.contract.obligations import OBLIGATIONS
from spec.digest import SHORT
from spec.language.prose import printable
from spec.lowering.vocabulary import POSITIVE, Label, Rests, Subtype

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from proofs.labels.view import Anchors, Change, Changes, Condition, Lost, RowView
    from spec.cli.layout import Page
    from spec.lowering.descriptor import Descriptor

__all__ = [
    "LABEL_SAYS",
    "RESTS_SAYS",
    "SUBTYPE_SAYS",
    "codes",
    "last_column",
    "put_anchors",
    "put_changes",
    "put_explained",
    "put_lost",
    "put_rows",
    "rank",
]

_STYLES: Final = {
    Label.NATIVE_SOUND: "bold green",
    Label.SOUND_WITH_ADAPTER: "green",
    Label.APPROXIMATE: "yellow",
    Label.REJECTED: "red",
    Label.UNKNOWN: "bright_black",
}
_WAYS: Final = {"upgrade": "green", "downgrade": "red", "changed": "yellow"}
_EACH: Final = "every depth"
_DEPTH_SAYS: Final = {
    "none": "without an adapter",
    _EACH: "without an adapter, and at each depth that the runtime offers",
}
_LOST: Final = " (which points nowhere)"
_SHORT: Final = {Subtype.POLICY: "adapter-policy"}

LABEL_SAYS: Final = {
    Label.NATIVE_SOUND: "the backend supplies every obligation by itself",
    Label.SOUND_WITH_ADAPTER: "an adapter or a patch supplies the rest, with the trust it needs",
    Label.APPROXIMATE: "related, and at least one obligation is missing",
    Label.REJECTED: "the mapping would misrepresent the contract",
    Label.UNKNOWN: "no related evidence; no classification yet",
}

SUBTYPE_SAYS: Final = {
    Subtype.OBSERVATIONAL: "observations of the claim, reconstructed; nothing is enforced",
    Subtype.POLICY: "the backend's policy, seen in the tested pressure only",
    Subtype.HOOK: "a registry or hooks, under the trust boundaries of their depths",
    Subtype.PATCH: "a modified backend, as far as it was exercised; not native support",
}

RESTS_SAYS: Final = {
    Rests.DECLARED: "declared by the descriptor; what its anchor says was not judged here",
    Rests.SHOWN: "shown by a trace that was judged here (label --evidence)",
}
"""What the obligations of a positive row rest on."""


def codes(obligations: Sequence[str]) -> str:
    """The codes of obligations, in their order."""
    return " ".join(OBLIGATIONS[o].code for o in obligations if o in OBLIGATIONS)


def last_column(row: RowView) -> str:
    """What a row lacks, what forbids it, or its subtype and the evidence for it."""
    parts = []
    if row.subtype is not None:
        parts.append(_SHORT.get(Subtype(row.subtype), row.subtype))
    if row.label in POSITIVE:
        parts.append(_rests(row))
        if row.nowhere:
            parts.append(f"points nowhere: {', '.join(map(printable, row.nowhere))}")
    if row.forbidden:
        parts.append(f"forbidden: {', '.join(row.forbidden)}")
    if row.missing:
        parts.append(f"lacks {codes(row.missing)}")
    if row.otherwise is not None:
        lacks = f" (lacks {codes(row.otherwise.missing)})" if row.otherwise.missing else ""
        parts.append(f"{row.otherwise.bundle}: {row.otherwise.label}{lacks}")
    return "; ".join(parts)


def _rests(row: RowView) -> str:
    """The kinds of evidence for the obligations of a row: one for all, or one for each group."""
    parts = {Rests.SHOWN: row.shown, Rests.DECLARED: row.declared}
    there = {rests: named for rests, named in parts.items() if named}
    if len(there) == 1:
        return next(iter(there))
    return ", ".join(f"{rests} {codes(named)}" for rests, named in there.items())


def put_rows(out: Page, found: Sequence[Descriptor], rows: Sequence[RowView]) -> None:
    """A table for each descriptor, the best row of a mode first; then a legend.

    A mode with the same row at each of several depths gets one line.
    """
    about = {each.name: each for each in found}
    out.put(f"Labels for the {rows[0].bundle} bundle of each mode; --explain says why.\n")
    depths = set[str]()
    for name, of_runtime in groupby(rows, key=lambda row: row.descriptor):
        runtime = about[name]
        head = Styled(name, "bold")
        out.put(head.append(f"  {printable(runtime.runtime)}, {printable(runtime.version)}", "dim"))
        cells = [_heads("mode", "depth", "label", "rests on, or lacks")]
        for mode, of_mode in groupby(of_runtime, key=lambda row: row.mode):
            best = sorted(of_mode, key=rank)
            lines = [(row.depth, row.label, last_column(row)) for row in best]
            if len(lines) > 1 and all(line[1:] == lines[0][1:] for line in lines):
                lines = [(_EACH, *lines[0][1:])]
            depths.update(line[0] for line in lines)
            for depth, label, why in lines:
                cells.append((mode, Styled(depth, "dim"), _labelled(label), why))
        out.grid(cells, indent=2).put()
    _put_legend(out, rows, depths)
    _put_missing(out, rows)


def rank(row: RowView) -> tuple[int, int]:
    """The place of a row: by its label, then by how much it lacks."""
    return [*Label].index(Label(row.label)), len(row.missing)


def _put_missing(out: Page, rows: Sequence[RowView]) -> None:
    """The obligations that a row lacks; of one descriptor, the modes whose best row lacks them."""
    missing = {o for row in rows for o in row.missing}
    missing |= {o for row in rows if row.otherwise for o in row.otherwise.missing}
    named = [o for o in OBLIGATIONS.values() if o.name in missing]
    lack: dict[str, list[str]] = {}
    if len({row.descriptor for row in rows}) == 1:
        for mode, of_mode in groupby(rows, key=lambda row: row.mode):
            for each in min(of_mode, key=rank).missing:
                lack.setdefault(each, []).append(mode)
    if lack:
        cells = [(o.code, o.name, ", ".join(lack.get(o.name, ["-"]))) for o in named]
        head = _heads("", "obligation", "missing in the best row of")
        out.put().grid([head, *cells]).put()
    elif named:
        codes_of = [f"{o.code} {o.name}" for o in named]
        out.put("Codes:").grid(zip_longest(codes_of[::2], codes_of[1::2], fillvalue=""), indent=2)


def _heads(*words: str) -> tuple[str | Styled, ...]:
    """The first row of a table."""
    return tuple(Styled(word, "dim") for word in words)


def _labelled(label: str) -> Styled:
    return Styled(label, _STYLES[Label(label)])


def _put_legend(out: Page, rows: Sequence[RowView], depths: Container[str]) -> None:
    """What the words of the tables mean, those of `depths` among them."""
    cells = list[tuple[str | Styled, str]]()
    for label in Label:
        if any(row.label == label for row in rows):
            cells.append((_labelled(label), LABEL_SAYS[label]))
    for subtype in Subtype:
        if any(row.subtype == subtype for row in rows):
            cells.append((_SHORT.get(subtype, subtype), SUBTYPE_SAYS[subtype]))
    for rests in Rests:
        if any(row.label in POSITIVE and getattr(row, rests) for row in rows):
            cells.append((rests, RESTS_SAYS[rests]))
    for depth, says in _DEPTH_SAYS.items():
        if depth in depths:
            cells.append((depth, says))
    out.grid(cells)


def put_explained(out: Page, rows: Sequence[RowView]) -> None:
    """Each row, once where several depths agree, and where its terms are defined."""
    for _, group in groupby(rows, key=lambda row: structs.replace(row, depth="")):
        same = list(group)
        _put_row(out, same[0], " and ".join(row.depth for row in same))
    out.put("Terms: docs/lowering-tables.md. Rules: docs/lowering.md.")


def _put_row(out: Page, row: RowView, depths: str) -> None:
    """Which rule decided, what supplies each obligation, what is missing and why."""
    head = Styled(f"{row.descriptor}, {row.mode} at {depths}, {row.bundle} bundle: ", "bold")
    out.put(head.append(_labelled(row.label))).put(printable(row.decided), indent=2)
    supplied: dict[tuple[str, str, str, bool], list[str]] = {}
    for cited in row.evidence:
        key = (cited.depth, cited.rests_on, cited.anchor, cited.nowhere)
        supplied.setdefault(key, []).append(cited.obligation)
    for (depth, rests, anchor, lost), named in supplied.items():
        where = "natively" if depth == "none" else f"at {depth}"
        place = f"{printable(anchor)}{_LOST if lost else ''}"
        names = _each(named, "green").append(f" is supplied {where}, {rests} by {place}.")
        out.put(names, indent=2)
    _put_conditions(out, row.conditions)
    lacking: dict[tuple[str, str], list[str]] = {}
    for each in row.lacking:
        lacking.setdefault((each.why, each.upgrade), []).append(each.obligation)
    for (why, upgrade), named in lacking.items():
        says = f" is missing: {printable(why)}. To supply it: {upgrade}."
        out.put(_each(named, "yellow").append(says), indent=2)
    if row.otherwise is not None:
        lacks = f", which lacks {codes(row.otherwise.missing)}" if row.otherwise.missing else ""
        says = f"Under the {row.otherwise.bundle} bundle it is {row.otherwise.label}{lacks}."
        out.put(says, indent=2)
    out.put()


def _put_conditions(out: Page, conditions: Sequence[Condition]) -> None:
    """The preconditions, which only the descriptor declares: no trace shows them."""
    by: dict[tuple[str, bool], list[str]] = {}
    for each in conditions:
        by.setdefault((each.anchor, each.nowhere), []).append(each.condition)
    for (anchor, lost), named in by.items():
        place = f"{printable(anchor)}{_LOST if lost else ''}" if anchor else "no anchor"
        out.put(f"Provided that {', '.join(named)}: declared by {place}.", indent=2)


def put_anchors(out: Page, anchors: Sequence[Anchors]) -> None:
    """How many anchors were opened, and how many were not."""
    opened = sum(len(each.opened) for each in anchors)
    outside = sum(len(each.elsewhere) for each in anchors)
    out.put(
        f"Anchors: {opened} opened in the tree of the descriptor, {outside} elsewhere and not "
        "opened."
    )


def put_lost(out: Page, lost: Sequence[Lost]) -> None:
    """The anchors that do not exist, one a line."""
    for each in lost:
        at = f"{each.descriptor}: the anchor {each.anchor}, {each.path}"
        out.put(Styled("points nowhere ", "red").append(f"{printable(at)}: {each.why}."))


def _each(named: Sequence[str], style: str) -> Styled:
    """`a`, or `Each of a, b`."""
    several = "Each of " if len(named) > 1 else ""
    return Styled(several).append(", ".join(named), style)


def put_changes(out: Page, found: Changes) -> None:
    """The changes, one row a line."""
    if found.other_spec is not None:
        digest = printable(found.other_spec[:SHORT])
        out.put(f"The old labels were made by another specification, {digest}.")
    if not found.rows:
        out.put("Nothing changed.")
    for change in found.rows:
        row = printable(f"{change.descriptor}, {change.mode} at {change.depth}: ")
        out.put(Styled(f"{change.way:9} ", _WAYS.get(change.way, "")).append(row + _went(change)))
    if found.not_asked:
        out.put(f"Not compared: {found.not_asked} rows outside this selection.")


def _went(change: Change) -> str:
    text = f"{change.before or 'not there'} -> {change.after or 'not there'}"
    if change.lost:
        text += f", lost {codes(change.lost)}"
    if change.gained:
        text += f", gained {codes(change.gained)}"
    return text
