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
from spec.cli.arguments import path
from spec.cli.common import Code, OutputOption, json_page, print_text
from spec.cli.layout import Page, Plain, paper, rendered
from spec.cli.working import Working
from spec.docs.markdown import table
from spec.files.writing import check_target
from spec.language.prose import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.repeat.judge import Repetition, Row
    from monitor.repeat.run import Run
    from monitor.repeat.runs import ListedRow, ListedRun

__all__ = ["register"]

_EXAMPLE = "Example: python -m monitor repeat monitor/samples/repeat/runs.yaml"
_CODES: Final = {
    Repeated.HOLDS: Code.OK,
    Repeated.VIOLATED: Code.VIOLATED,
    Repeated.INCONCLUSIVE: Code.INCONCLUSIVE,
}
_COUNTS: Final = ("kind", "runs", "valid", "kept", "restored", "failed", "outcome", "met", "row")
_SIZES: Final = ("outcome p50", "outcome p95", "bytes stored", "bytes loaded", "row")
_UNSTATED: Final = "not stated"
_MOST: Final = 10  # runs that are listed


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
        text = _as_markdown(found)
    else:
        out = paper() if output is None else Plain()
        page = Page(out.width)
        _put(page, found)
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


def _put(out: Page, found: Repetition) -> None:
    """Add a repetition to a page."""
    out.put(printable(f"{found.verdict}: {found.why}"), "bold").put()
    out.grid(map(_counts, found.rows), head=_COUNTS, gap=2).put()
    out.grid(map(_sizes, found.rows), head=_SIZES, gap=2)
    listed = [*found.unmet.items(), *found.unclear.items()]
    for trace, why in listed[:_MOST]:
        out.put(printable(f"{trace}: {why}"), indent=2)
    if len(listed) > _MOST:
        out.put(f"{len(listed) - _MOST} more runs are in --format json.", indent=2)


def _as_markdown(found: Repetition) -> str:
    """The verdict and two tables."""
    said = printable(f"{found.verdict}: {found.why}")
    counts, sizes = (
        table(head, map(cells, found.rows))
        for head, cells in ((_COUNTS, _counts), (_SIZES, _sizes))
    )
    return f"{said}\n\n{counts}\n\n{sizes}\n"


def _counts(row: Row) -> tuple[str, ...]:
    runs = str(row.runs) if row.runs == row.due else f"{row.runs} of {row.due}"
    shown = (row.valid, row.kept, row.restored, row.failed, row.outcomes, row.met)
    return row.kind, runs, *map(str, shown), printable(row.row)


def _sizes(row: Row) -> tuple[str, ...]:
    latency, sizes = row.latency, (row.stored_bytes, row.loaded_bytes)
    times = (_UNSTATED,) * 2
    if latency is not None:
        times = (_micros(latency.p50_ns), _micros(latency.p95_ns))
    said = (_UNSTATED if size is None else f"{size:,}" for size in sizes)
    return *times, *said, printable(row.row)


def _micros(ns: int) -> str:
    return f"{ns / 1000:,.1f} us"
