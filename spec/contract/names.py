"""Finds modes and obligations by the names that users type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spec.contract.modes import MODES, Bundle, ModeSpec
from spec.contract.obligations import ALIASES, OBLIGATIONS
from spec.language.suggest import resolve

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OTHER_NAMES", "find_bundle", "find_mode"]

OTHER_NAMES: Final[Mapping[str, str]] = {
    **{observer.code: observer.name for observer in OBLIGATIONS.values()},
    **ALIASES,
}
"""The codes and the aliases of the obligations."""


def find_mode(text: str) -> ModeSpec:
    """The mode called `text`; raises UnknownName."""
    return MODES[resolve(text, MODES, what="mode")]


def find_bundle(text: str) -> Bundle:
    """The bundle called `text`; raises UnknownName."""
    return resolve(text, Bundle, what="bundle")
