"""Modes and obligations by the names that people type."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from spec.modes import MODES, ModeSpec
from spec.obligations import ALIASES, OBLIGATIONS
from spec.suggest import resolve

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spec.machine import Observer

__all__ = ["OTHER_NAMES", "find", "find_mode", "find_obligation"]

OTHER_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {**{observer.code: observer.name for observer in OBLIGATIONS.values()}, **ALIASES}
)
"""The codes and the aliases of the obligations."""


def find_mode(text: str) -> ModeSpec:
    """The mode called `text`; raises UnknownName."""
    return _MODES[resolve(text, _MODES, what="mode")]


def find_obligation(text: str) -> Observer:
    """The obligation called `text`, or with that code or alias; raises UnknownName."""
    return OBLIGATIONS[resolve(text, OBLIGATIONS, what="obligation", aliases=OTHER_NAMES)]


def find(text: str) -> ModeSpec | Observer:
    """The mode or the obligation called `text`; raises UnknownName."""
    names = (*_MODES, *OBLIGATIONS)
    name = resolve(text, names, what="mode or obligation", aliases=OTHER_NAMES)
    return _MODES[name] if name in _MODES else OBLIGATIONS[name]


_MODES: Final[Mapping[str, ModeSpec]] = MappingProxyType(
    {mode.value: spec for mode, spec in MODES.items()}
)
