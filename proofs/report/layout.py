"""Indents the text of a check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

__all__ = ["indented"]


def indented(console: Console, text: Text, by: int = 2) -> None:
    """Print a paragraph, each of its lines so many columns in."""
    console.print(Padding(text, (0, 0, 0, by), expand=False))
