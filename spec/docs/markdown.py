"""Writes the Markdown elements that the pages use."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["codes", "fence", "link", "obligation_link", "page", "table", "wrapped"]

_WIDTH = 96


def page(*parts: str) -> str:
    """A page of parts, with a blank line between two."""
    return "\n\n".join(parts) + "\n"


def codes(names: Iterable[str]) -> str:
    """Names as code, with commas between them."""
    return ", ".join(f"`{name}`" for name in names)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; bars inside a cell are escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )


def fence(text: str, language: str = "text") -> str:
    """A block of code."""
    return f"```{language}\n{text.rstrip()}\n```"


def wrapped(text: str) -> str:
    """A long term over several lines, each within the width of a page."""
    return textwrap.fill(
        text, _WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )


def link(text: str, page: str = "") -> str:
    """A link to the heading `text` of a page, of this one if no page is named."""
    anchor = text.lower().replace(" ", "-")
    return f"[{text}]({page}#{anchor})"


def obligation_link(name: str, folder: str = "") -> str:
    """A link to the page of an obligation; `folder` leads to the folder of all pages."""
    return f"[{name}]({folder}obligations/{name}.md)"
