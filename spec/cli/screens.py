"""Renders the text output of the commands: tables and short texts, within 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from spec.cli.styled import STYLES
from spec.language.prose import wrap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spec.docs.views import InterpretationView, ListView, ModeView, ObligationView, RuleView

__all__ = [
    "interpretation_text",
    "list_tables",
    "mode_text",
    "obligation_text",
]


def list_tables(listing: ListView) -> tuple[Table, ...]:
    """The modes, the obligations, the interpretations and the words of lowering."""
    modes = _table("Modes", "mode", "promise")
    for mode in listing.modes:
        modes.add_row(mode.name, mode.promise)
    obligations = _table("Obligations", "code", "obligation", "why")
    for obligation in listing.obligations:
        obligations.add_row(obligation.code, obligation.name, obligation.reason)
    interpretations = _table("Interpretations", "interpretation", "in short")
    for each in listing.interpretations:
        interpretations.add_row(each.name, each.in_short)
    words = _table("Terms of lowering", "kind", "words")
    for kind, names in listing.words.items():
        words.add_row(kind, ", ".join(names))
    return modes, obligations, interpretations, words


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, no_wrap=column != columns[-1])
    return table


def mode_text(mode: ModeView) -> Text:
    """The mode as `spec show` prints it."""
    text = Text()
    text.append(f"mode {mode.name}\n", "bold")
    text.append(f"{wrap(mode.promise)}\n")
    _head(text, f"Obligations ({len(mode.contract)})")
    for part in mode.parts:
        marks = [" critical"] if part.critical else []
        marks += [" added by the contract"] if part.added else []
        text.append(f"  {part.code:<3} {part.name}", "bold")
        text.append(f"{','.join(marks)}\n", "yellow")
        text.append(f"{wrap(part.reason, 6)}\n")
        if part.added:
            text.append(f"{wrap(f'Added because {part.added}.', 6)}\n")
    _head(text, "Explicit actions on a request that does not fit beside the claim")
    text.append(f"{wrap(', '.join(mode.actions) or 'none', 2)}\n")
    _head(text, "Depth at which an adapter can supply the mode")
    for depths in mode.depths:
        text.append(f"  {' and '.join(depths)}\n")
    _head(text, "Interpretations")
    for each in mode.interpretations:
        text.append(f"  {each.name:<19} ", "bold")
        text.append(f"{each.in_short}\n")
    return text


def obligation_text(obligation: ObligationView) -> Text:
    """The obligation as `spec show` prints it."""
    text = Text()
    text.append(f"{obligation.code}  {obligation.name}\n", "bold")
    text.append(f"{wrap(obligation.reason)}\n\n")
    for label, value in _facts(obligation):
        text.append(f"{wrap(f'{label}: {value}', 0, 2)}\n")
    _head(text, "States")
    for state in obligation.states:
        text.append(f"  {state.name:<10} ", "bold")
        text.append(f"{state.verdict}\n", STYLES[state.verdict])
        text.append(f"{wrap(state.says, 6)}\n")
    _head(text, "Rules, tried in this order")
    for rule in obligation.rules:
        _rule(text, rule)
    return text


def interpretation_text(interpretation: InterpretationView) -> Text:
    """The interpretation as `spec show` prints it."""
    text = Text()
    text.append(f"interpretation {interpretation.name}\n", "bold")
    text.append(f"{wrap(interpretation.decides)}\n\n")
    text.append(f"{wrap(f'otherwise: {interpretation.otherwise}', 0, 2)}\n")
    modes = ", ".join(interpretation.modes)
    text.append(f"{wrap(f'modes: {modes}', 0, 2)}\n")
    return text


def _facts(obligation: ObligationView) -> Iterator[tuple[str, str]]:
    yield "source", obligation.source
    if obligation.aliases:
        yield "also called", ", ".join(obligation.aliases)
    yield "scope", "per claim and request" if obligation.per_request else "per claim"
    modes = (f"{m} (added)" if m in obligation.added_to else m for m in obligation.modes)
    yield "modes", ", ".join(modes) or "none"
    for name, initial in obligation.registers.items():
        yield "register", f"{name}, at first {initial}"


def _rule(text: Text, rule: RuleView) -> None:
    text.append(f"  {rule.number} {rule.guard} ", "cyan")
    text.append(f"{rule.name}: ", "bold")
    text.append(f"{', '.join(rule.source)} -> {rule.to}\n")
    text.append(f"{wrap(f'because {rule.why}', 6)}\n")
    if rule.allowed:
        text.append(f"{wrap(f'expected instead: {rule.allowed}', 6)}\n")
    text.append(f"{wrap(f'when {rule.reads}', 6, 11)}\n", "bright_black")
    for register, value in rule.sets.items():
        text.append(f"{wrap(f'sets {register} to {value}', 6, 11)}\n", "bright_black")


def _head(text: Text, title: str) -> None:
    text.append(f"\n{title}\n", "bold underline")
