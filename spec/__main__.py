"""`python -m spec`: list, show, draw and document the specification."""

from __future__ import annotations

import sys

from spec.installed import interrupts_end

if __name__ == "__main__":
    interrupts_end()

from pathlib import Path
from typing import Annotated

import typer

from spec.cli.arguments import path_option
from spec.cli.common import (
    Format,
    FormatOption,
    add_docs,
    add_schema,
    new_app,
    page,
    print_json,
    run,
)
from spec.cli.lookup import find
from spec.cli.screens import interpretation_text, list_tables, mode_text, obligation_text
from spec.contract.interpretations import Interpretation
from spec.contract.modes import ModeSpec
from spec.docs.drawing import Picture, diagram_named, in_form, picture_for
from spec.docs.lowering_terms import WordView, word_text, word_view
from spec.docs.pages import event_schema, pages
from spec.docs.views import (
    InterpretationView,
    ModeView,
    ObligationView,
    interpretation_view,
    list_view,
    mode_view,
    obligation_view,
)
from spec.files.writing import write_bytes
from spec.language.machine import Observer
from spec.language.prose import printable

__all__ = ["app", "main"]

app = new_app(
    "spec", "The specification: what a runtime owes for a KV-cache claim that it accepted."
)

_EXAMPLE = "Example: python -m spec "


@app.command("list", epilog=f"{_EXAMPLE}list")
def list_all(form: FormatOption = Format.TEXT) -> None:
    """List modes, obligations, interpretations and terms."""
    listing = list_view()
    if form is Format.JSON:
        print_json(listing)
        return
    with page() as out:
        out.print(*list_tables(listing), sep="")


@app.command(epilog=f"{_EXAMPLE}show hard_protected")
def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A mode, an obligation or its code, an interpretation, a depth, an order, a "
            "signal.",
        ),
    ],
    form: FormatOption = Format.TEXT,
) -> None:
    """Show a mode, an obligation, an interpretation or a term."""
    found = find(name)
    view: ModeView | ObligationView | InterpretationView | WordView
    if isinstance(found, ModeSpec):
        view = mode_view(found)
        text = mode_text(view)
    elif isinstance(found, Interpretation):
        view = interpretation_view(found)
        text = interpretation_text(view)
    elif isinstance(found, Observer):
        view = obligation_view(found)
        text = obligation_text(view)
    else:
        view = word_view(found)
        text = word_text(view)
    if form is Format.JSON:
        print_json(view)
        return
    with page() as out:
        out.print(text, end="")


@app.command(epilog=f"{_EXAMPLE}diagram lifecycle -o build/lifecycle.svg")
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
) -> None:
    """Draw the lifecycle, a mode or an obligation."""
    picture = picture_for(output, form)
    content = in_form(diagram_named(name), picture)
    if output is not None:
        write_bytes(output, content)
        typer.echo(printable(f"written: {output}"))
    else:
        typer.echo(content, nl=False)


add_docs(app, pages, of="the specification")
add_schema(
    app, event_schema, of="a line of a trace in canonical form", example="-o docs/schema/event.json"
)


def main(argv: list[str] | None = None) -> int:
    """Run the command line on `argv` and return its exit code."""
    return run(app, argv)


if __name__ == "__main__":
    sys.exit(main())
