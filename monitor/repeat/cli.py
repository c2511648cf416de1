"""`repeat`: judges repeated runs of the connector boundary together."""

from __future__ import annotations

from enum import StrEnum
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from monitor.repeat.judge import Repeated, judge
from monitor.repeat.run import read_run
from monitor.repeat.runs import load_runs
from monitor.repeat.text import as_markdown, put
from spec.cli.arguments import path
from spec.cli.common import Code, OutputOption, json_page, print_text
from spec.cli.layout import Page, Plain, paper, rendered
from spec.cli.working import Working
from spec.files.writing import check_target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.repeat.run import Run
    from monitor.repeat.runs import ListedRow, ListedRun

__all__ = ["register"]

_EXAMPLE = "Example: python -m monitor repeat monitor/samples/repeat/runs.yaml"
_CODES: Final = {
    Repeated.HOLDS: Code.OK,
    Repeated.VIOLATED: Code.VIOLATED,
    Repeated.INCONCLUSIVE: Code.INCONCLUSIVE,
}


class TableFormat(StrEnum):
    """The output formats: for people, for programs, for papers."""

    TEXT = "text"
    JSON = "json"
    MD = "md"


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("repeat", epilog=_EXAMPLE)(repeat)


def repeat(
    runs: Annotated[
        Path,
        typer.Argument(
            parser=path, metavar="RUNS", help="A list of rows and of the traces of their runs."
        ),
    ],
    form: Annotated[
        TableFormat, typer.Option("--format", help="Output format: text, JSON or Markdown.")
    ] = TableFormat.TEXT,
    output: OutputOption = None,
) -> None:
    """Judge repeated runs of the connector boundary.

    A row is a success, in which a claim is restored from the offload tier; a failure, in which the
    restore fails and has an outcome that names the claim; or a control, which has no such outcome.
    Each trace is one run. What a list of runs is: docs/repeat.md.

    Exit 0: each run is as expected. 1: one is not. 2: bad input. 3: inconclusive.
    """
    rows = load_runs(runs)
    check_target(output, reads=[runs, *(run.trace for row in rows for run in row.runs)])
    found = judge(_read(rows))
    if form is TableFormat.JSON:
        text = json_page(found).decode()
    elif form is TableFormat.MD:
        text = as_markdown(found)
    else:
        out = paper() if output is None else Plain()
        page = Page(out.width)
        put(page, found)
        text = rendered(page, out)
    print_text(text, output)
    raise typer.Exit(_CODES[found.verdict])


def _read(rows: Sequence[ListedRow]) -> list[tuple[ListedRow, list[Run]]]:
    """Read the runs of all rows, and say meanwhile how far that is."""
    total, number = sum(len(row.runs) for row in rows), count(1)
    with Working() as work:

        def read(row: ListedRow, run: ListedRun) -> Run:
            work.update(f"run {next(number)} of {total}: {run.trace}")
            return read_run(row.kind, run)

        return [(row, [read(row, run) for run in row.runs]) for row in rows]
