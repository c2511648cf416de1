"""`python -m proofs lower`: labels how soundly runtimes support the modes."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from monitor.report.evidence_text import put_preconditions
from proofs.labels.changes import changes, read_rows
from proofs.labels.label_text import put_anchors, put_changes, put_explained, put_lost, put_rows
from proofs.labels.select import checked_evidence, descriptors, label
from proofs.labels.tables import as_csv, as_markdown
from proofs.labels.view import Changes, Rows, view_all
from spec.claims.states import Mode
from spec.cli.arguments import path_option
from spec.cli.common import Code, OutputOption, json_page, print_text, write_output
from spec.cli.layout import Page, Plain, paper, rendered
from spec.contract.modes import Bundle
from spec.contract.supply import Depth
from spec.files.writing import check_apart, check_target
from spec.language.errors import SpecError
from spec.language.prose import counted
from spec.language.suggest import resolve
from spec.lowering.vocabulary import Label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spec.lowering.descriptor import Descriptor
    from spec.lowering.evidence import EvidenceFile

__all__ = ["register"]

_EXAMPLE = "Example: python -m proofs lower tensorrt_llm_1_3_0rc14 --mode hard_protected --explain"
_REQUIRED = (
    "Only what traces show counts. Preconditions and atoms stay what the descriptor\n"
    "declares, unless their anchors point nowhere."
)


class RowFormat(StrEnum):
    """The output formats of `lower`: for people, for programs, for papers."""

    TEXT = "text"
    JSON = "json"
    MD = "md"
    CSV = "csv"


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("lower", epilog=_EXAMPLE)(_lower)


def _lower(
    named: Annotated[
        list[str] | None,
        typer.Argument(metavar="DESCRIPTOR", help="A shipped descriptor, or a YAML file."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every shipped descriptor.")] = False,
    mode: Annotated[str | None, typer.Option(help=f"One of {', '.join(Mode)}.")] = None,
    depth: Annotated[
        str | None,
        typer.Option(help=f"One of {', '.join(Depth)}; by default each that is offered."),
    ] = None,
    bundle: Annotated[
        str, typer.Option(help="contract, or paper (as printed, which the audits asked for).")
    ] = Bundle.CONTRACT,
    evidence: Annotated[
        Path | None,
        path_option("--evidence", help="What `evidence` wrote."),
    ] = None,
    require_evidence: Annotated[
        bool, typer.Option("--require-evidence", help="Count only what traces show.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print what decided each row, and what it lacks.")
    ] = False,
    against: Annotated[
        Path | None,
        path_option("--against", metavar="OLD.json", help="Print the changes since that output."),
    ] = None,
    form: Annotated[
        RowFormat, typer.Option("--format", help="Output format: text, JSON, Markdown or CSV.")
    ] = RowFormat.TEXT,
    output: OutputOption = None,
    html: Annotated[
        Path | None, path_option("--html", help="Write a page for a browser to this file.")
    ] = None,
) -> None:
    """Label how soundly a documented runtime supports modes.

    Each obligation of a row is declared by the descriptor, or shown by a trace that was judged
    here (--evidence). Anchors in the descriptor's own tree are opened, and those that do not exist
    are reported; others are not opened.

    Exit 0: labelled. 1: a label fell since --against. 2: bad input. 3: every row is unknown.
    """
    found = descriptors(named or [], every)
    of_mode = None if mode is None else resolve(mode, Mode, what="mode")
    at = None if depth is None else resolve(depth, Depth, what="depth")
    of_bundle = resolve(bundle, Bundle, what="bundle")
    if evidence is not None and len(found.descriptors) != 1:
        raise SpecError("--evidence is about one runtime", "name one descriptor")
    check_apart(o=output, html=html)
    for target in (output, html):
        check_target(target, reads=[*(named or []), evidence, against])
    old = None if against is None else read_rows(against, of_bundle, require_evidence)
    shown = None if evidence is None else checked_evidence(evidence)
    if shown is not None and of_mode not in {None, shown.mode}:
        raise SpecError(
            f"{evidence} is about {shown.mode}, and counts for no other mode",
            f"ask for --mode {shown.mode}, or collect evidence for {of_mode}",
        )
    if shown is not None and shown.registry is not None and at is not Depth.TELEMETRY_JOIN:
        raise SpecError(
            f"{evidence} is of claims that were joined with KV events",
            f"it counts at one depth only: add --depth {Depth.TELEMETRY_JOIN}",
        )
    labelled = label(
        found.descriptors,
        of_mode,
        at,
        of_bundle,
        shown,
        require_evidence=require_evidence,
        nowhere=found.nowhere,
    )
    rows = view_all(labelled, found.descriptors, found.nowhere, require_evidence=require_evidence)
    if old is not None:
        names = None if every else [each.name for each in found.descriptors]
        changed = changes(
            old, rows.rows, descriptors=names, mode=of_mode, depth=at, bundle=of_bundle
        )
        rows = msgspec.structs.replace(rows, changes=changed)
    text = _in_form(
        form, found.descriptors, rows, shown, explain=explain, to_file=output is not None
    )
    print_text(text, output)
    if html is not None:
        from proofs.labels.label_page import label_page

        write_output(html, label_page(found.descriptors, rows.rows))
    if isinstance(rows.changes, Changes) and rows.changes.worse:
        raise typer.Exit(Code.VIOLATED)
    if all(row.label == Label.UNKNOWN for row in rows.rows):
        raise typer.Exit(Code.INCONCLUSIVE)


def _in_form(
    form: RowFormat,
    found: Sequence[Descriptor],
    rows: Rows,
    shown: EvidenceFile | None,
    *,
    explain: bool,
    to_file: bool,
) -> str:
    if form is RowFormat.JSON:
        return json_page(rows).decode()
    if form is RowFormat.MD:
        return as_markdown(rows.rows)
    if form is RowFormat.CSV:
        return as_csv(rows.rows)
    on = Plain() if to_file else paper()
    out = Page(on.width)
    if shown is not None:
        names = {each.obligation for each in shown.shown}
        traces = counted(len(shown.files), "trace")
        out.put(f"Evidence of {shown.mode}: {traces}, {len(names)} obligations shown.").put()
        if shown.registry is not None:
            put_preconditions(out, shown.preconditions)
            out.put()
    if rows.require_evidence:
        out.put(_REQUIRED).put()
    if explain:
        put_explained(out, rows.rows)
    else:
        put_rows(out, found, rows.rows)
    put_anchors(out, rows.anchors)
    put_lost(out, rows.nowhere)
    if isinstance(rows.changes, Changes):
        put_changes(out, rows.changes)
    return "\n".join(line.rstrip(" ") for line in rendered(out, on).split("\n"))
