"""Formats text for output: counts, and safe printing."""

from __future__ import annotations

__all__ = ["counted", "printable"]


def counted(number: int, what: str) -> str:
    """`1 line`, `2 lines`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def printable(text: str) -> str:
    """`text` on one line, with nothing in it that a terminal would obey."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
