"""Renders the text output of `python -m models`, within 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from models.report.view import ModelView
from models.sweep import Cell, SweepRow
from spec.language.prose import wrap

__all__ = ["list_table", "model_text", "sweep_table"]


def list_table(rows: Sequence[tuple[str, tuple[str, ...], str]]) -> Table:
    """A line for each model: its name, its variants, and what it is."""
    table = Table(title="Models", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for column in ("model", "what it is"):
        table.add_column(column, no_wrap=column == "model")
    for name, variants, about in rows:
        table.add_row(name, about)
        for each in variants:
            table.add_row(Text(f"  {each.partition(':')[2]}", "bright_black"), "")
    return table


def sweep_table(resident: int, active: int, rows: Sequence[SweepRow]) -> Table:
    """A line for each size: what became of the request, and what the prefix lost."""
    title = f"A prefix of {resident} blocks, then a request of {active}"
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for column in ("usable", "native", "no-admit", "exclusion"):
        table.add_column(column, justify="right" if column == "usable" else "left")
    for row in rows:
        cells = (row.native, row.no_admit, row.exclusion)
        table.add_row(str(row.usable), *(_cell(each) for each in cells))
    return table


def _cell(cell: Cell) -> Text:
    lost = f", {cell.lost} lost" if cell.lost else ""
    return Text(f"{cell.outcome}{lost}", "red" if cell.lost else "")


def model_text(view: ModelView) -> Text:
    """A model as `show` prints it."""
    text = Text()
    text.append(f"model {view.name}\n", "bold")
    text.append(f"{wrap(view.about)}\n\n")
    text.append(f"{wrap(f'source: {view.source}', 0, 2)}\n")
    text.append(f"{wrap(f'left out: {view.left_out}', 0, 2)}\n")
    if len(view.variants) > 1:
        text.append(f"{wrap('variants: ' + ', '.join(view.variants), 0, 2)}\n")
    text.append(f"{wrap('actions: ' + ', '.join(view.actions), 0, 2)}\n")
    text.append(
        f"\n{view.states} states, {view.transitions} transitions; the longest of the shortest runs "
        f"has {view.depth} actions;\n{view.ends} states end a run.\n"
    )
    _properties(text, "Holds in every state", view.always, view.broken)
    _properties(text, "Holds in some state", view.reachable, view.missed)
    if view.inferences:
        text.append("\nWhat it tempts people to infer\n", "bold underline")
        for name in view.inferences:
            text.append(f"{wrap(name, 2, 4)}\n")
    return text


def _properties(text: Text, title: str, names: Sequence[str], failing: Sequence[str]) -> None:
    if not names:
        return
    text.append(f"\n{title}\n", "bold underline")
    for name in names:
        holds = name not in failing
        text.append("  holds  " if holds else "  fails  ", "green" if holds else "red")
        text.append(f"{wrap(name, 0, 9)}\n")
