"""`compile`: prints the Python that the monitor makes of a mode."""

from __future__ import annotations

from typing import Annotated

import typer

from monitor.evaluate.listing import as_json, as_source
from spec.cli.common import Format, FormatOption, print_json, print_text
from spec.contract.modes import MODES, Bundle
from spec.contract.names import find_bundle, find_kind, find_mode
from spec.events.alphabet import Kind

__all__ = ["register"]

_EXAMPLE = "Example: python -m monitor compile hard_protected --kind block_evicted"


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("compile", epilog=_EXAMPLE)(compile_functions)


def compile_functions(
    mode: Annotated[str, typer.Argument(metavar="MODE", help=f"One of {', '.join(MODES)}.")],
    kind: Annotated[
        list[str] | None, typer.Option(help="Only for this kind of event; may be repeated.")
    ] = None,
    bundle: Annotated[str, typer.Option(help=f"One of {', '.join(Bundle)}.")] = Bundle.CONTRACT,
    form: FormatOption = Format.TEXT,
) -> None:
    """Print the Python that moves a claim, by kind of event.

    `python -m proofs check frame` proves that it does what the specification says. `run` is a
    claim, `e` an event as the claim sees it, `was` and `now` the registers before and after it.

    Exit 0: printed. 2: bad input.
    """
    kinds = [find_kind(each) for each in kind or Kind]
    asked = find_mode(mode).mode, find_bundle(bundle), kinds
    if form is Format.JSON:
        print_json(as_json(*asked))
    else:
        print_text(as_source(*asked))
