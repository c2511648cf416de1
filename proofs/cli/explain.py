"""`python -m proofs explain`: what each event of a trace changed, and why."""

from __future__ import annotations

from typing import Annotated

import typer

from monitor.check.files import EXIT_CODES
from monitor.report.options import ModeOption, mode_asked
from monitor.report.verdict import ModeChoice
from proofs.report.explanation import as_page
from proofs.traces.explain import explain
from spec.cli.arguments import claim_option, file_name
from spec.cli.common import Format, FormatOption, OutputOption, json_page, print_text
from spec.contract.modes import Bundle
from spec.files.writing import check_target
from spec.language.suggest import resolve

__all__ = ["register"]

_EXAMPLE = "Example: python -m proofs explain monitor/samples/hard_protected_refusal.jsonl"


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("explain", epilog=_EXAMPLE)(explain_trace)


def explain_trace(
    trace: Annotated[
        str,
        typer.Argument(
            parser=file_name,
            metavar="TRACE",
            help="A trace that the monitor reads, or ITF; - is standard input.",
        ),
    ],
    mode: ModeOption = ModeChoice.AUTO,
    bundle: Annotated[str, typer.Option(help=f"One of {', '.join(Bundle)}.")] = Bundle.CONTRACT,
    claim: Annotated[str | None, claim_option("Explain this claim only.")] = None,
    form: FormatOption = Format.TEXT,
    output: OutputOption = None,
) -> None:
    """Explain what each event of a trace changed, and why.

    Each claim is judged by the mode that it states; where a claim states none the verdict is
    inconclusive. With --mode the claims of that mode are judged, and those that state none.

    Exit 0: kept. 1: violated. 2: bad input. 3: inconclusive.
    """
    judged_by = mode_asked(mode)
    of_bundle = resolve(bundle, Bundle, what="bundle")
    check_target(output, reads=[trace])
    story = explain(trace, judged_by, of_bundle, claim=claim)
    text = as_page(story) if form is Format.TEXT else json_page(story).decode()
    print_text(text, output)
    raise typer.Exit(EXIT_CODES[story.verdict])
