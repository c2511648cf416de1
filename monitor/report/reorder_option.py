"""Defines the option `--reorder` of the commands that judge traces."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from monitor.input.reorder_window import Window

__all__ = ["ReorderOption", "window_asked"]

ReorderOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--reorder",
        metavar="WINDOW",
        help="Put the lines of each stream into the order of their numbers, and drop repeated "
        "ones; wait for a missing line until so many others came, or so long by their "
        "time_ns: 100, 5s, or 100,5s.",
    ),
]


def window_asked(text: str | None) -> Window | None:
    """The window that the option states; raises SpecError."""
    return None if text is None else Window.parse(text)
