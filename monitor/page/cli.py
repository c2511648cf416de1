"""`report`: writes traces, their verdicts and what led to them as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from monitor.check.files import EXIT_CODES
from monitor.cli.progress import progress_of
from monitor.page.report import Options, made
from monitor.report.options import ModeOption, ReorderOption, mode_asked, window_asked
from monitor.report.verdict import ModeChoice
from spec.cli.arguments import file_name, path_option
from spec.cli.common import Format, FormatOption, print_json, print_text
from spec.contract.modes import Bundle
from spec.contract.names import find_bundle
from spec.files.writing import check_target, write_bytes
from spec.language.prose import printable

__all__ = ["register"]

_EXAMPLE = "Example: python -m monitor report monitor/samples/hard_protected_victim.jsonl"
_SHOWN: Final = "report.html"


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("report", epilog=_EXAMPLE)(report)


def report(
    traces: Annotated[
        list[str],
        typer.Argument(
            parser=file_name,
            metavar="TRACE",
            help="Files, plain or compressed (gzip, xz, zstd); - is standard input.",
        ),
    ],
    output: Annotated[
        Path, path_option("--output", "-o", help="The HTML file to write.")
    ] = Path(_SHOWN),
    against: Annotated[
        str | None,
        typer.Option(
            parser=file_name, metavar="TRACE", help="Compare with this trace, judged likewise."
        ),
    ] = None,
    mode: ModeOption = ModeChoice.AUTO,
    bundle: Annotated[str, typer.Option(help=f"One of {', '.join(Bundle)}.")] = Bundle.CONTRACT,
    strict: Annotated[
        bool, typer.Option("--strict", help="Inconclusive if some obligation was not exercised.")
    ] = False,
    lenient: Annotated[
        bool,
        typer.Option(
            "--lenient", help="Skip bad lines and count them; the verdict is then never kept."
        ),
    ] = False,
    reorder: ReorderOption = None,
    with_tokens: Annotated[
        bool, typer.Option("--with-tokens", help="Quote lines with the token ids in them.")
    ] = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Write a page of traces that opens from disk: verdicts, lanes along time, the pool.

    Each claim is judged as by check. The page loads nothing and sends nothing.

    Exit 0: kept. 1: violated. 2: bad input. 3: inconclusive.
    """
    options = Options(
        mode_asked(mode), find_bundle(bundle), strict, lenient, window_asked(reorder)
    )
    check_target(output, reads=[*traces, against])
    with progress_of(traces, None) as step:
        found = made(traces, options, against=against, with_tokens=with_tokens, progress=step)
    write_bytes(output, found.page)
    verdict, size = found.report.verdict, len(found.page)
    if form is Format.JSON:
        print_json(
            {
                "schema": "resident-claims/page-written/1",
                "file": str(output),
                "bytes": size,
                "verdict": verdict,
                "headline": found.sentence,
                "left_out": found.left_out,
            }
        )
    else:
        print_text(f"{printable(found.sentence)}\n{output}: {size:,} bytes\n")
        if found.left_out:
            print_text(f"left out of the page: {', '.join(found.left_out)}\n")
    raise typer.Exit(EXIT_CODES[verdict])
