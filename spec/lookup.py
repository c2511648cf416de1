"""Modes, obligations, readings and words of lowering by the names that people type."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from spec.modes import MODES, ModeSpec
from spec.obligations import ALIASES, OBLIGATIONS
from spec.readings import READINGS
from spec.suggest import resolve
from spec.words import WORDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spec.machine import Observer
    from spec.readings import Reading
    from spec.words import Word

__all__ = ["OTHER_NAMES", "find", "find_mode"]

OTHER_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {**{observer.code: observer.name for observer in OBLIGATIONS.values()}, **ALIASES}
)
"""The codes and the aliases of the obligations."""


def find_mode(text: str) -> ModeSpec:
    """The mode called `text`; raises UnknownName."""
    return _MODES[resolve(text, _MODES, what="mode")]


def find(text: str) -> ModeSpec | Observer | Reading | Word:
    """The mode, obligation, reading or word of lowering called `text`; raises UnknownName."""
    readings = {reading.name: reading for reading in READINGS}
    everything: dict[str, ModeSpec | Observer | Reading | Word] = {
        **WORDS,
        **_MODES,
        **OBLIGATIONS,
        **readings,
    }
    what = "mode, obligation, reading, depth, order or signal"
    return everything[resolve(text, everything, what=what, aliases=OTHER_NAMES)]


_MODES: Final[Mapping[str, ModeSpec]] = MappingProxyType(
    {mode.value: spec for mode, spec in MODES.items()}
)
