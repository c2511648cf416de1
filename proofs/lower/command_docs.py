"""The command `docs`: the pages made from the shipped descriptors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proofs.lower.pages import COMMAND, stale, write_pages
from spec.cli import Code, Format, FormatOption, print_json
from spec.screens import printable

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("docs", epilog=f"Example: {COMMAND} --check")(_docs)


def _docs(
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 where a page is stale.")
    ] = False,
    folder: Annotated[Path, typer.Option("--dir", help="Where the pages are.")] = Path("docs"),
    form: FormatOption = Format.TEXT,
) -> None:
    """Write the pages made from descriptors, or compare them."""
    changed = stale(folder) if check else write_pages(folder)
    if form is Format.JSON:
        print_json({"checked": check, "stale" if check else "written": changed})
    else:
        for path in changed:
            typer.echo(printable(f"{'stale' if check else 'written'}: {path}"))
        if not changed:
            typer.echo("every page is up to date")
    if check and changed:
        typer.echo(f"run {COMMAND} to write them again", err=True)
        raise typer.Exit(Code.VIOLATED)
