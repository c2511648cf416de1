"""`report`: writes traces, their verdicts and what led to them as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from monitor.check.files import EXIT_CODES
from monitor.cli.progress import progress_of
from monitor.input.errors import utf8
from monitor.page.report import SCHEMA, Written, made
from monitor.report.options import (
    LenientOption,
    ModeOption,
    ReorderOption,
    TracesArgument,
    mode_asked,
    window_asked,
)
from monitor.report.verdict import ModeChoice
from spec.cli.arguments import file_name, path_option
from spec.cli.common import Format, FormatOption, print_json, print_text
from spec.cli.layout import wrap
from spec.files.writing import check_target, write_bytes
from spec.language.prose import printable

__all__ = ["register"]

_EXAMPLE = "Example: python -m monitor report monitor/samples/hard_protected_victim.jsonl"


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("report", epilog=_EXAMPLE)(report)


def report(
    traces: TracesArgument,
    output: Annotated[Path, path_option("--output", "-o", help="The HTML file to write.")] = Path(
        "report.html"
    ),
    against: Annotated[
        str | None,
        typer.Option(parser=file_name, metavar="TRACE", help="Compare with this trace."),
    ] = None,
    mode: ModeOption = ModeChoice.AUTO,
    lenient: LenientOption = False,
    reorder: ReorderOption = None,
    with_tokens: Annotated[
        bool, typer.Option("--with-tokens", help="Quote lines with the token ids in them.")
    ] = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Write traces, and what was found, as one HTML page.

    The page has verdicts, lanes along time and the pool, and opens from disk, without a network.
    Each claim is judged as by check.

    Exit 0: kept. 1: violated. 2: bad input. 3: inconclusive.
    """
    judged_by, window = mode_asked(mode), window_asked(reorder)
    check_target(output, reads=[*traces, against])
    with progress_of(traces, None) as step:
        found = made(
            traces,
            judged_by,
            against=against,
            with_tokens=with_tokens,
            lenient=lenient,
            window=window,
            progress=step,
        )
    write_bytes(output, found.page)
    verdict, size, left_out = found.report.verdict, len(found.page), found.left_out
    if form is Format.JSON:
        print_json(Written(SCHEMA, utf8(str(output)), size, verdict, found.sentence, left_out))
    else:
        rest = f"left out of the page: {', '.join(left_out)}\n" if left_out else ""
        print_text(f"{wrap(printable(found.sentence))}\n{output}: {size:,} bytes\n{rest}")
    raise typer.Exit(EXIT_CODES[verdict])
