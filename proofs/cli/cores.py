"""`python -m proofs cores`: prints the proof core of each clause of the theorems."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proofs.checks.cores import contract_cores
from proofs.report.cores_page import cores_page
from spec.claims.states import Mode
from spec.cli.arguments import path_option
from spec.cli.common import Code, Format, FormatOption, json_page, write_output
from spec.cli.working import Working
from spec.files.writing import check_target

__all__ = ["register"]

_EXAMPLE = "Example: python -m proofs cores -o docs/cores.md"


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("cores", epilog=_EXAMPLE)(_cores)


def _cores(
    form: FormatOption = Format.TEXT,
    output: Annotated[
        Path | None, path_option("--output", "-o", help="A file to write it to.")
    ] = None,
) -> None:
    """Show the proof core of each clause of the theorems.

    Exit 0: found for every mode. 2: bad input. 3: a mode was not proved within the work limit.
    """
    check_target(output)
    found = {}
    with Working() as status:
        for mode in Mode:
            status.update(f"{mode}: finding what each clause rests on")
            found[mode] = contract_cores(mode)
    if not all(cores.core for cores in found.values()):
        typer.echo("a mode was not proved within the work limit: nothing is written", err=True)
        raise typer.Exit(Code.INCONCLUSIVE)
    content = cores_page(found).encode()
    if form is Format.JSON:
        content = json_page({mode: cores._asdict() for mode, cores in found.items()})
    if output is not None:
        write_output(output, content)
    else:
        typer.echo(content, nl=False)  # all at once, so that a closed pipe is noticed here
