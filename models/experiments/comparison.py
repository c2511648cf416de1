"""Compares the figures of a paper with those that are computed from its stated inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

__all__ = ["Compared", "Experiment", "Match", "shown"]


class Match(StrEnum):
    """How a figure of a paper compares with the one that is computed."""

    AGREES = "agrees"
    DIFFERS = "differs"
    UNDERIVABLE = "cannot be derived"


def shown(value: object) -> str:
    """A figure as a page prints it: parts of a tuple between slashes, a yes or no, a number."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return " / ".join(map(shown, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


@dataclass(frozen=True, slots=True)
class Compared:
    """A figure of a paper beside the computed one.

    `found` is None where the stated inputs do not determine the figure. `because` says what is
    missing, or why the two differ.
    """

    what: str
    paper: object
    found: object
    because: str = ""

    @property
    def match(self) -> Match:
        """Whether both are equal, where both are known."""
        if self.found is None:
            return Match.UNDERIVABLE
        return Match.AGREES if self.paper == self.found else Match.DIFFERS


@dataclass(frozen=True, slots=True)
class Experiment:
    """A table or figure of a paper: inputs, computed rows, the comparison, and what follows.

    `source` cites the section and table. `inputs` says which inputs are the paper's and which are
    assumed. `finding` is made from the rows. `command` prints or tests the same without this page.
    `plot` is what a figure of it draws, as JSON values; empty where there is no figure. `more` is
    the head and the rows of a second table.
    """

    name: str
    title: str
    source: str
    inputs: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    compared: tuple[Compared, ...]
    finding: str
    command: str
    plot: Mapping[str, Any] = field(default_factory=dict)
    more: tuple[tuple[str, ...], tuple[tuple[str, ...], ...]] = ((), ())
