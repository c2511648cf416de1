"""`list` and `show`: print what the specification has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from spec.cli.common import Format, FormatOption
from spec.cli.layout import print_as
from spec.cli.screens import (
    put_interpretation,
    put_list,
    put_mode,
    put_obligation,
    put_word,
)
from spec.contract.interpretations import INTERPRETATIONS, Interpretation
from spec.contract.modes import ModeSpec
from spec.contract.names import MODES_BY_NAME, OTHER_NAMES
from spec.contract.obligations import OBLIGATIONS
from spec.docs.views import (
    WORDS,
    Word,
    interpretation_view,
    list_view,
    mode_view,
    obligation_view,
    word_view,
)
from spec.language.machine import Observer
from spec.language.suggest import resolve

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["find", "register"]


def register(app: typer.Typer) -> None:
    """Add the commands to an application."""
    app.command("list", epilog="Example: python -m spec list")(list_all)
    app.command("show", epilog="Example: python -m spec show hard_protected")(show)


def list_all(form: FormatOption = Format.TEXT) -> None:
    """List modes, obligations, interpretations and terms."""
    listing = list_view()
    print_as(form, listing, lambda out: put_list(out, listing))


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
    view, put = _shown(found)
    print_as(form, view, lambda out: put(out, view))


def _shown(found: ModeSpec | Observer | Interpretation | Word) -> tuple[Any, Callable[..., None]]:
    """What was found as plain data, and what lays that out."""
    if isinstance(found, ModeSpec):
        return mode_view(found), put_mode
    if isinstance(found, Interpretation):
        return interpretation_view(found), put_interpretation
    if isinstance(found, Observer):
        return obligation_view(found), put_obligation
    return word_view(found), put_word


def find(text: str) -> ModeSpec | Observer | Interpretation | Word:
    """The mode, obligation, interpretation or term of lowering called `text`.

    Raises:
        UnknownName: there is none.
    """
    interpretations = {each.name: each for each in INTERPRETATIONS}
    everything: dict[str, ModeSpec | Observer | Interpretation | Word] = {
        **WORDS,
        **MODES_BY_NAME,
        **OBLIGATIONS,
        **interpretations,
    }
    what = "mode, obligation, interpretation, depth, order or signal"
    return everything[resolve(text, everything, what=what, aliases=OTHER_NAMES)]
