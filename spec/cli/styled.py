"""Text in styles, which needs rich on a terminal only: to import rich takes as long as to judge."""

from __future__ import annotations

import os
import sys
import textwrap
from typing import TYPE_CHECKING, Final, NamedTuple, Self, TypeAlias

from spec.cli.common import COLUMNS, console

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

__all__ = ["STYLES", "Paper", "Plain", "Styled", "filled", "paper", "rendered", "table"]

STYLES: Final = {
    "satisfied": "green",
    "pending": "yellow",
    "violated": "red",
    "unexercised": "bright_black",
    "inconclusive": "magenta",
}
"""The colour of each verdict on a terminal."""

_GAP: Final = 2  # blanks between two columns of a table


class Plain(NamedTuple):
    """Output that is no terminal: so many columns, and no styles."""

    width: int = COLUMNS
    is_terminal: bool = False


Paper: TypeAlias = "Plain | Console"


class Styled:
    """A text of parts, each in a style of its own."""

    def __init__(self, text: str = "", style: str = "") -> None:
        self.parts = [(text, style)]

    def __str__(self) -> str:
        return "".join(text for text, _ in self.parts)

    def append(self, more: str | Styled, style: str = "") -> Self:
        """Add a text at the end."""
        self.parts += more.parts if isinstance(more, Styled) else [(more, style)]
        return self


def paper() -> Paper:
    """Standard output as what it shows: styles, if it is a terminal or is to be taken for one."""
    forced = os.environ.get("FORCE_COLOR") or os.environ.get("TTY_COMPATIBLE") == "1"
    return console() if forced or sys.stdout.isatty() else Plain()


def rendered(texts: Iterable[Styled], out: Paper) -> str:
    """The texts, one after another, as `out` would show them."""
    if isinstance(out, Plain) or not out.is_terminal:
        return "".join(map(str, texts))
    from rich.text import Text

    with out.capture() as captured:
        for each in texts:
            out.print(Text.assemble(*each.parts), soft_wrap=True, end="")
    return captured.get()


def filled(text: str, width: int, indent: int = 0) -> str:
    """The words of a text on lines of at most so many columns, each so far in; no word is cut."""
    margin = " " * indent
    return textwrap.fill(
        text,
        width,
        initial_indent=margin,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str | Styled]], width: int) -> Styled:
    """Columns as wide as their cells; the words of the last one go on below."""
    made = Styled()
    widths = [max(len(str(row[n])) + _GAP for row in (head, *rows)) for n in range(len(head) - 1)]
    for row, style in ((head, "bold"), *((row, "") for row in rows)):
        for cell, wide in zip(row, widths, strict=False):
            made.append(cell, style).append(" " * (wide - len(str(cell))))
        made.append(filled(str(row[-1]), width, sum(widths)).lstrip() + "\n", style)
    return made
