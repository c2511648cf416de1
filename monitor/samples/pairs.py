"""Lists the pairs of sample traces: for each mode and obligation one kept and one broken.

`modes/MODE/OBLIGATION.kept.jsonl` keeps the mode and puts the obligation to the test;
`modes/MODE/OBLIGATION.broken.jsonl` violates that obligation and no other.
"""

from __future__ import annotations

import tomllib
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from spec.contract.modes import MODES
from spec.contract.names import OTHER_NAMES, find_mode
from spec.language.suggest import resolve

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spec.contract.modes import ModeSpec

__all__ = ["FOLDER", "Ending", "Listed", "Listing", "Sample", "chosen", "papers"]

FOLDER: Final = Path(__file__).parent / "modes"


class Ending(StrEnum):
    """What the judge makes of a sample."""

    KEPT = "kept"
    BROKEN = "broken"


class Sample(NamedTuple):
    """A trace that was written by hand; `says` is a sentence about what happens in it."""

    mode: str
    obligation: str
    ending: Ending
    says: str

    @property
    def name(self) -> str:
        """Its path below the folder of all samples."""
        return f"{self.mode}/{self.obligation}.{self.ending}.jsonl"

    @property
    def path(self) -> Path:
        """Where it is installed."""
        return FOLDER / self.name


class Listed(msgspec.Struct, frozen=True):
    """A sample, as `samples --format json` prints it."""

    mode: str
    obligation: str
    ending: Ending
    says: str
    path: str


class Listing(msgspec.Struct, frozen=True, tag_field="schema", tag="resident-claims/samples/1"):
    """The samples that were asked for; `folder` is where they were written, if they were."""

    samples: tuple[Listed, ...]
    folder: str | None = None


def chosen(mode: str | None = None, obligation: str | None = None) -> tuple[Sample, ...]:
    """The samples of a mode and an obligation, or of all; in the order of each mode's bundle.

    An obligation that is not in the table yet has none.

    Raises:
        UnknownName: there is no such mode, or it has no such obligation.
    """
    modes = MODES.values() if mode is None else [find_mode(mode)]
    table = _table()
    return tuple(
        Sample(spec.mode.value, name, ending, table[name][ending])
        for spec in modes
        for name in _obligations(spec, obligation)
        if name in table
        for ending in Ending
    )


def papers(obligation: str) -> str:
    """What the papers say of an obligation, in a sentence; raises KeyError."""
    return _table()[obligation]["papers"]


def _obligations(spec: ModeSpec, asked: str | None) -> tuple[str, ...]:
    names = spec.names()
    if asked is None:
        return names
    what = f"obligation of {spec.mode.value}"
    return (resolve(asked, names, what=what, aliases=OTHER_NAMES),)


def _table() -> Mapping[str, Mapping[str, str]]:
    """The sentences of each obligation, under `papers` and under each ending."""
    return tomllib.loads((FOLDER / "pairs.toml").read_text(encoding="utf-8"))
