"""Prints the proof core of each clause: obligations by clauses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from proofs.report.layout import indented

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from proofs.report.results import Check

__all__ = ["print_cores"]


def print_cores(console: Console, check: Check) -> None:
    """Print a numbered column for each clause; nothing if cores were not computed."""
    core, in_every = check.core or {}, check.in_every_core or {}
    numbers = {clause: str(number) for number, clause in enumerate(core, start=1)}
    legend = "each clause is proved from only the obligations marked in its column. X: in every "
    legend += "sufficient set; x: another set suffices without it."
    indented(console, Text(f"Cores: {legend}"))
    rows = Table.grid(padding=(0, 1))
    for _ in range(len(numbers) + 1):
        rows.add_column(no_wrap=True)
    rows.add_row("", *numbers.values())
    for name in check.necessary:
        rows.add_row(name, *(_mark(name, core[clause], in_every[clause]) for clause in core))
    console.print(Padding(rows, (0, 0, 0, 4), expand=False))
    indented(console, Text(", ".join(f"{n} {clause}" for clause, n in numbers.items())), 4)


def _mark(name: str, core: Sequence[str], in_every: Sequence[str]) -> str:
    if name not in core:
        return "."
    return "X" if name in in_every else "x"
