"""Lays out what `python -m models` shows, within 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

from models.report.view import ModelView
from models.sweep import Cell, SweepRow
from spec.cli.layout import Page, Styled

__all__ = ["put_list", "put_model", "put_sweep"]


def put_list(out: Page, models: Sequence[tuple[str, tuple[str, ...], str]]) -> None:
    """A line for each model: its name, its variants, and what it is."""
    rows: list[tuple[str | Styled, str]] = []
    for name, variants, about in models:
        rows.append((name, about))
        rows += [(Styled(f"  {each.partition(':')[2]}", "bright_black"), "") for each in variants]
    out.grid(rows, head=("model", "what it is"), gap=2)


def put_sweep(out: Page, resident: int, active: int, rows: Sequence[SweepRow]) -> None:
    """A line for each size: what became of the request, and what the prefix lost."""
    out.put(f"A prefix of {resident} blocks, then a request of {active}", "bold").put()
    cells = [
        (Styled(f"{row.usable:>6}"), _cell(row.native), _cell(row.no_admit), _cell(row.exclusion))
        for row in rows
    ]
    out.grid(cells, head=("usable", "native", "no-admit", "exclusion"), gap=2)


def _cell(cell: Cell) -> Styled:
    lost = f", {cell.lost} lost" if cell.lost else ""
    return Styled(f"{cell.outcome}{lost}", "red" if cell.lost else "")


def put_model(out: Page, view: ModelView) -> None:
    """A model as `show` prints it."""
    out.put(f"model {view.name}", "bold").put(view.about).put()
    out.put(f"source: {view.source}", hanging=2)
    out.put(f"left out: {view.left_out}", hanging=2)
    if len(view.variants) > 1:
        out.put(f"variants: {', '.join(view.variants)}", hanging=2)
    out.put(f"actions: {', '.join(view.actions)}", hanging=2).put()
    out.put(
        f"{view.states} states, {view.transitions} transitions; the longest of the shortest runs "
        f"has {view.depth} actions; {view.ends} states end a run."
    )
    _put_properties(out, "Holds in every state", view.always, view.broken)
    _put_properties(out, "Holds in some state", view.reachable, view.missed)
    if view.inferences:
        out.title("What it tempts people to infer")
        for name in view.inferences:
            out.put(name, indent=2, hanging=4)


def _put_properties(out: Page, title: str, names: Sequence[str], failing: Sequence[str]) -> None:
    if names:
        out.title(title)
        signs = ((name, Styled("fails", "red")) for name in failing)
        found = dict.fromkeys(names, Styled("holds", "green")) | dict(signs)
        out.grid([(found[name], name) for name in names], indent=2, gap=2)
