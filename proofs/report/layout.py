"""Lays out the text of a check: indented paragraphs, tables and runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console, RenderableType

    from proofs.traces.narrative import Line

__all__ = ["grid", "indented", "print_run"]


def indented(console: Console, what: RenderableType, by: int = 2) -> None:
    """Print a paragraph or a table, each of its lines so many columns in."""
    console.print(Padding(what, (0, 0, 0, by), expand=False))


def grid(columns: int, *, whole: int = 0, gap: int = 1) -> Table:
    """A table without lines, of which the first `whole` columns are never wrapped."""
    rows = Table.grid(padding=(0, gap))
    for number in range(columns):
        rows.add_column(no_wrap=number < whole, overflow="ellipsis" if number < whole else "fold")
    return rows


def print_run(console: Console, story: Sequence[Line]) -> None:
    """Print each event, the claim's state if it changed, the changes, and the clauses that fail."""
    rows = grid(4)
    rows.columns[0].justify = "right"
    stood = list[str]()
    for line in story:
        what, stands = Text(line.about), [str(claim) for claim in line.claims]
        for claim in stands:
            if claim not in stood:
                what.append(f"\n= {claim}", style="dim")
        for change in line.changes:
            what.append(f"\n-> {change}", style="dim")
        for ending in line.fails:
            what.append(f"\nbreaks {ending.clause}: {ending.why}", style="red")
        deed = Text("fact" if line.fact else "report", style="dim")
        rows.add_row(str(line.number), deed, Text(line.kind, style="bold"), what)
        stood = stands
    if story:
        indented(console, rows, 4)
