"""`diagram`: draws the lifecycle, a mode or an obligation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spec.cli.arguments import path_option
from spec.cli.common import write_output
from spec.docs.drawing import Picture, diagram_named, in_form, picture_for
from spec.docs.render import DPI
from spec.language.prose import printable

__all__ = ["register"]

_EXAMPLE = "Example: python -m spec diagram lifecycle -o build/lifecycle.svg"


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("diagram", epilog=_EXAMPLE)(diagram)


def diagram(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="lifecycle, a mode, or an obligation.")
    ],
    output: Annotated[
        Path | None,
        path_option("--output", "-o", help="The file to write; its suffix selects the format."),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--format", help=f"One of {', '.join(Picture)}; mmd by default."),
    ] = None,
    dpi: Annotated[
        int,
        typer.Option("--dpi", metavar="N", min=36, max=600, help="Dots per inch of a PNG."),
    ] = DPI,
) -> None:
    """Draw the lifecycle, a mode or an obligation."""
    picture = picture_for(output, form)
    content = in_form(diagram_named(name), picture, dpi)
    if output is not None:
        write_output(output, content)
        typer.echo(printable(f"written: {output}"))
    else:
        typer.echo(content, nl=False)
