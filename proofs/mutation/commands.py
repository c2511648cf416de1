"""`python -m proofs mutate`: would a mistake in the specification be noticed?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from proofs.mutation.checks import CHECKS
from proofs.mutation.run import Campaign, Fate, campaign, count, exit_code, tally
from spec import __version__
from spec.claims import Mode
from spec.cli import Format, FormatOption, console, print_json
from spec.digest import spec_digest
from spec.errors import SpecError
from spec.suggest import resolve

__all__ = ["SCHEMA", "Mutation", "register"]

SCHEMA = "resident-claims/mutation/1"
_COLUMNS = (*CHECKS, "equivalent", "survived")


class Mutation(msgspec.Struct, frozen=True):
    """The published form of a campaign."""

    schema: str
    tool: str
    spec: str
    tally: dict[str, dict[str, int]]
    left: int
    fates: list[Fate]


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command()(mutate)


def mutate(
    mode: Annotated[str | None, typer.Argument(help="A mode; every mode if none.")] = None,
    output: FormatOption = Format.TEXT,
    resume: Annotated[
        Path | None, typer.Option(help="A JSONL file to go on from and to add to.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Judge so many new mutants at most.")] = None,
) -> None:
    """Change the specification in every way of a named list, one change at a time: is each
    noticed by a check, or shown by the solver to be no change at all?

    Example: python -m proofs mutate hard_protected --resume build/mutants.jsonl

    Exit 0: all killed or equivalent. 1: survivors. 2: bad input. 3: some not judged (--limit).
    """
    modes = list(Mode) if mode is None else [Mode(resolve(mode, list(Mode), what="mode"))]
    if limit is not None and limit < 1:
        raise SpecError(f"--limit is {limit}", "give a number of mutants, 1 or more")
    quiet = Console(stderr=True, quiet=not sys.stderr.isatty())
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=quiet) as bar:
        task = bar.add_task("mutants", total=count(modes))

        def tick(fate: Fate) -> None:
            bar.update(task, advance=1, description=fate.mode)

        done = campaign(modes, resume, limit, tick)
    if output is Format.JSON:
        counts = {str(m): dict(tally(f for f in done.fates if f.mode == m)) for m in modes}
        print_json(Mutation(SCHEMA, __version__, spec_digest(), counts, done.left, done.fates))
    else:
        _print(console(), modes, done)
    raise typer.Exit(exit_code(done))


def _print(out: Console, modes: list[Mode], done: Campaign) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("mutants of")
    for name in ("all", *_COLUMNS):
        table.add_column(name, justify="right")
    groups = {str(m): [f for f in done.fates if f.mode == m] for m in modes}
    if len(modes) > 1:
        groups["every mode"] = done.fates
    for name, fates in groups.items():
        found = tally(fates)
        table.add_row(name, str(len(fates)), *(str(found[c]) for c in _COLUMNS))
    out.print(table)
    for fate in done.fates:
        if fate.result == "survived":
            out.print(f"survived: {fate.mode}, {fate.mutant}: {fate.says}", soft_wrap=True)
    if done.left:
        out.print(f"{done.left} mutants were not judged.")
