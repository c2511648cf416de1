"""`list`, `show` and `search`: print what the specification has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from spec.cli.common import Format, FormatOption
from spec.cli.layout import print_as
from spec.cli.screens import (
    put_interpretation,
    put_list,
    put_mode,
    put_obligation,
    put_reason,
    put_search,
    put_word,
)
from spec.contract.interpretations import INTERPRETATIONS, Interpretation
from spec.contract.modes import MODES, ModeSpec
from spec.contract.names import OTHER_NAMES
from spec.contract.obligations import OBLIGATIONS
from spec.docs.search import search
from spec.docs.views import (
    WORDS,
    Word,
    interpretation_view,
    list_view,
    mode_view,
    obligation_view,
    reason_view,
    word_view,
)
from spec.language.machine import Observer
from spec.language.suggest import resolve
from spec.stream.codes import CODES, Code

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["find", "register"]

_Shown: TypeAlias = ModeSpec | Observer | Interpretation | Word | Code


def register(app: typer.Typer) -> None:
    """Add the commands to an application."""
    app.command("list", epilog="Example: python -m spec list")(list_all)
    app.command("show", epilog="Example: python -m spec show hard_protected")(show)
    app.command("search", epilog="Example: python -m spec search capacity proof")(search_all)


def list_all(form: FormatOption = Format.TEXT) -> None:
    """List modes, obligations, interpretations, terms and reasons."""
    listing = list_view()
    print_as(form, listing, lambda out: put_list(out, listing))


def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A mode, an obligation or its code, an interpretation, a depth, an order, a "
            "signal, the code of a reason (RC101).",
        ),
    ],
    form: FormatOption = Format.TEXT,
) -> None:
    """Show a mode, an obligation, a term, a reason or the like."""
    found = find(name)
    view, put = _shown(found)
    print_as(form, view, lambda out: put(out, view))


def search_all(
    words: Annotated[
        list[str], typer.Argument(metavar="WORD", help="Words to find, in any order.")
    ],
    most: Annotated[int, typer.Option(help="Passages to list.", min=1, max=1000)] = 10,
    form: FormatOption = Format.TEXT,
) -> None:
    """Search the pages that define the contract, and the glossary.

    Lists the passages with the most of the words. Exit 0, also where there is none.
    """
    found = search(" ".join(words), most)
    print_as(form, found, lambda out: put_search(out, found))


def _shown(found: _Shown) -> tuple[Any, Callable[..., None]]:
    """What was found as plain data, and what lays that out."""
    if isinstance(found, ModeSpec):
        return mode_view(found), put_mode
    if isinstance(found, Interpretation):
        return interpretation_view(found), put_interpretation
    if isinstance(found, Observer):
        return obligation_view(found), put_obligation
    if isinstance(found, Code):
        return reason_view(found), put_reason
    return word_view(found), put_word


def find(text: str) -> _Shown:
    """The mode, obligation, interpretation, term of lowering or reason called `text`.

    Raises:
        UnknownName: there is none.
    """
    interpretations = {each.name: each for each in INTERPRETATIONS}
    everything: dict[str, _Shown] = {
        **CODES,
        **WORDS,
        **{mode.value: spec for mode, spec in MODES.items()},
        **OBLIGATIONS,
        **interpretations,
    }
    what = "mode, obligation, interpretation, depth, order, signal or reason"
    return everything[resolve(text, everything, what=what, aliases=OTHER_NAMES)]
