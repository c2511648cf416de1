"""Defines the options that say how long lines are waited for."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import msgspec
import typer

from monitor.input.reorder_window import Window

__all__ = ["RANK_WAIT", "RankWaitOption", "ReorderOption", "wait_asked", "window_asked"]

RANK_WAIT: Final = "100000,10s"
"""How long a rank that is silent is waited for, by default."""

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

RankWaitOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--rank-wait",
        metavar="WINDOW",
        help="Merge the ranks of an engine, and hold so many of their lines back for a rank that "
        "is silent, or so long: 100000, 10s, or 100000,10s.",
    ),
]


def window_asked(text: str | None) -> Window | None:
    """The window that the option states; raises SpecError."""
    return None if text is None else Window.parse(text)


def wait_asked(text: str) -> Window:
    """How long a rank is waited for: so many lines, and so long; raises SpecError."""
    window = Window.parse(text)
    if window.nanoseconds is not None:
        return window
    return msgspec.structs.replace(window, nanoseconds=Window.parse(RANK_WAIT).nanoseconds)
