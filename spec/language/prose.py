"""Formats text for output: counts, lines of 80 columns, and safe printing."""

from __future__ import annotations

import textwrap
from typing import Final

__all__ = ["counted", "printable", "wrap"]

_WIDTH: Final = 80


def counted(number: int, what: str) -> str:
    """`1 line`, `2 lines`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def printable(text: str) -> str:
    """`text` on one line, with nothing in it that a terminal would obey."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def wrap(words: str, indent: int = 0, hanging: int | None = None) -> str:
    """Words on lines of at most 80 columns, the later ones `hanging` columns in."""
    later = " " * (indent if hanging is None else hanging)
    return textwrap.fill(
        words,
        _WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )
