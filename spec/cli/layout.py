"""Lays out text for all printers: paragraphs, and grids of columns, in styles on a terminal.

Only a terminal needs rich: to import it takes as long as to judge a short trace.
"""

from __future__ import annotations

import os
import sys
import textwrap
from contextlib import contextmanager
from itertools import groupby
from string import whitespace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeAlias

from spec.cli.common import COLUMNS, Format, console, print_json, print_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.console import Console

__all__ = [
    "GLUE",
    "STYLES",
    "Page",
    "Paper",
    "Plain",
    "Styled",
    "page",
    "paper",
    "print_as",
    "rendered",
    "wrap",
]

STYLES: Final = {
    "satisfied": "green",
    "pending": "yellow",
    "violated": "red",
    "unexercised": "bright_black",
    "inconclusive": "magenta",
}
"""The colour of each verdict on a terminal."""

GLUE: Final = "\ue000"
"""A space at which no line is broken; no text from a trace holds it."""


class Plain(NamedTuple):
    """Output that is no terminal: so many columns, and no styles."""

    width: int = COLUMNS


Paper: TypeAlias = "Plain | Console"


def wrap(words: str, indent: int = 0, hanging: int | None = None, width: int = COLUMNS) -> str:
    """Words on lines of at most so many columns, the later lines `hanging` columns in.

    No word is broken, so that a path or a name can be copied.
    """
    later = " " * (indent if hanging is None else hanging)
    return textwrap.fill(
        words,
        width,
        initial_indent=" " * indent,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )


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

    def wrapped(self, indent: int, hanging: int | None, width: int, start: int = 0) -> Styled:
        """The text as `wrap` lays out each of its lines, from a column of the first line on."""
        styles = (style for text, style in self.parts for c in text if c not in whitespace)
        lines = (wrap(line, indent, hanging, width) for line in str(self).split("\n"))
        laid = "\n".join(lines)[start:]
        cells = [(c, "" if c in whitespace else next(styles)) for c in laid]
        made = Styled()
        for style, run in groupby(cells, key=lambda cell: cell[1]):
            made.append("".join(c for c, _ in run), style)
        return made


class Page(Styled):
    """A text within the width of what it is printed on."""

    def __init__(self, width: int = COLUMNS) -> None:
        super().__init__()
        self.width = width

    def put(
        self,
        text: str | Styled = "",
        style: str = "",
        *,
        indent: int = 0,
        hanging: int | None = None,
    ) -> Self:
        """Add a paragraph; an empty one is a blank line."""
        if isinstance(text, Styled):
            return self.append(text.wrapped(indent, hanging, self.width)).append("\n")
        lines = (wrap(line, indent, hanging, self.width) for line in text.split("\n"))
        return self.append("\n".join(lines) + "\n", style)

    def title(self, text: str) -> Self:
        """Add a blank line and the title of a part."""
        return self.append(f"\n{text}\n", "bold underline")

    def grid(
        self,
        rows: Iterable[Sequence[str | Styled]],
        *,
        head: Sequence[str] = (),
        indent: int = 0,
        gap: int = 1,
        first: int = 0,
    ) -> Self:
        """Add columns as wide as their cells; the words of the last one go on below.

        Args:
            head: the names of the columns.
            gap: blanks between two columns.
            first: the least width of the first column.
        """
        cells = [[Styled(name, "bold") for name in head]] if head else []
        cells += [[c if isinstance(c, Styled) else Styled(c) for c in row] for row in rows]
        widths = [max(map(len, map(str, column))) for column in zip(*cells, strict=True)]
        for row in cells:
            self.append(" " * indent)
            at = indent
            for number, cell in enumerate(row[:-1]):
                wide = max(widths[number], 0 if number else first) + gap
                self.append(cell).append(" " * (wide - len(str(cell))))
                at += wide
            self.append(row[-1].wrapped(at, at, self.width, start=at)).append("\n")
        return self


def paper() -> Paper:
    """Standard output as what it shows: styles, if it is a terminal or is to be taken for one."""
    forced = os.environ.get("FORCE_COLOR") or os.environ.get("TTY_COMPATIBLE") == "1"
    return console() if forced or sys.stdout.isatty() else Plain()


def rendered(text: Styled, out: Paper) -> str:
    """The text as `out` would show it."""
    if isinstance(out, Plain) or not out.is_terminal:
        return str(text).replace(GLUE, " ")
    from rich.text import Text

    with out.capture() as captured:
        out.print(Text.assemble(*text.parts), soft_wrap=True, end="")
    return captured.get().replace(GLUE, " ")


@contextmanager
def page() -> Iterator[Page]:
    """A page that goes to standard output when the block ends."""
    out = paper()
    made = Page(out.width)
    yield made
    print_text(rendered(made, out))


def print_as(form: Format, value: Any, put: Callable[[Page], object]) -> None:
    """Print a value as JSON, or what `put` adds to a page."""
    if form is Format.JSON:
        print_json(value)
    else:
        with page() as out:
            put(out)
