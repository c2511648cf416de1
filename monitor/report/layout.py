"""Lays out labels and values in two columns for text reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spec.cli.styled import STYLES, Styled, filled
from spec.language.prose import printable
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from monitor.report.verdict import Place

__all__ = [
    "GLUE",
    "LABEL",
    "VERDICT_STYLES",
    "Row",
    "counts",
    "file_name",
    "grid",
    "place",
    "some",
    "verdict_word",
]

GLUE: Final = "\ue000"
"""A space at which no line is broken; no text from a trace holds it."""

LABEL: Final = 16
"""Columns of a label."""

VERDICT_STYLES: Final = {**STYLES, "kept": "green"}

Row = tuple[str | Styled, str]

_MOST_NAMES: Final = 20


def grid(rows: Iterable[Row], width: int) -> Styled:
    """Labels and values side by side; a path stays in one piece, so that it can be copied."""
    made = Styled()
    for label, value in rows:
        made.append(label, "bright_black").append(" " * (LABEL - len(str(label))))
        made.append(filled(value, width, LABEL + 2)[LABEL:] + "\n")
    return made


def place(at: Place) -> str:
    """File, line and number of an event."""
    sequence = "" if at.sequence is None else f", sequence {at.sequence}"
    return f"{file_name(at.file)}:{at.line}{sequence}"


def file_name(name: str) -> str:
    """A file as it was named."""
    return "standard input" if name == "-" else printable(name)


def verdict_word(verdict: Verdict) -> str:
    """A verdict as people read it."""
    return "not exercised" if verdict is Verdict.UNEXERCISED else str(verdict)


def counts(found: Mapping[str, int]) -> str:
    """Names with their numbers, a long list cut short."""
    each = [f"{number}{GLUE}{printable(name)}" for name, number in found.items()]
    return ", ".join(some(each))


def some(items: Sequence[str], most: int = _MOST_NAMES) -> list[str]:
    """The first of the items, and how many more there are."""
    if len(items) <= most:
        return list(items)
    return [*items[:most], f"and {len(items) - most} more"]
