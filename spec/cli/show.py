"""`list` and `show`: print what the specification has."""

from __future__ import annotations

from typing import Annotated

import typer

from spec.cli.common import Format, FormatOption, page, print_json
from spec.cli.lookup import find
from spec.cli.screens import interpretation_text, list_tables, mode_text, obligation_text
from spec.contract.interpretations import Interpretation
from spec.contract.modes import ModeSpec
from spec.docs.lowering_terms import WordView, word_text, word_view
from spec.docs.views import (
    InterpretationView,
    ModeView,
    ObligationView,
    interpretation_view,
    list_view,
    mode_view,
    obligation_view,
)
from spec.language.machine import Observer

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands to an application."""
    app.command("list", epilog="Example: python -m spec list")(list_all)
    app.command("show", epilog="Example: python -m spec show hard_protected")(show)


def list_all(form: FormatOption = Format.TEXT) -> None:
    """List modes, obligations, interpretations and terms."""
    listing = list_view()
    if form is Format.JSON:
        print_json(listing)
        return
    with page() as out:
        out.print(*list_tables(listing), sep="")


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
