"""Defines the option `--mode` of the commands that judge traces."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from monitor.report.verdict import ModeChoice
from spec.claims.states import Mode
from spec.language.suggest import resolve

__all__ = ["ModeOption", "mode_asked"]

ModeOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--mode",
        help=f"{ModeChoice.AUTO}: each claim by the mode that it states; or one of "
        f"{', '.join(Mode)}.",
    ),
]


def mode_asked(text: str) -> Mode | None:
    """The mode that the option names, None for `auto`; raises UnknownName."""
    choice = resolve(text, ModeChoice, what="mode")
    return None if choice == ModeChoice.AUTO else Mode(choice)
