"""Prints a run: each event and what it changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from proofs.traces.narrative import Line

__all__ = ["print_run"]


def print_run(console: Console, story: Sequence[Line]) -> None:
    """Print each event, the claim's state if it changed, the changes, and the clauses that fail."""
    rows = Table.grid(padding=(0, 1))
    rows.add_column(justify="right")
    for _ in range(3):
        rows.add_column(overflow="fold")
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
        console.print(Padding(rows, (0, 0, 0, 4), expand=False))
