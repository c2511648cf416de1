"""Finds what `spec show` can show, by the name that a user typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spec.contract.names import MODES_BY_NAME, OTHER_NAMES
from spec.contract.obligations import OBLIGATIONS
from spec.contract.readings import READINGS
from spec.docs.lowering_terms import WORDS
from spec.language.suggest import resolve

if TYPE_CHECKING:
    from spec.contract.modes import ModeSpec
    from spec.contract.readings import Reading
    from spec.docs.lowering_terms import Word
    from spec.language.machine import Observer

__all__ = ["find"]


def find(text: str) -> ModeSpec | Observer | Reading | Word:
    """The mode, obligation, reading or word of lowering called `text`; raises UnknownName."""
    readings = {reading.name: reading for reading in READINGS}
    everything: dict[str, ModeSpec | Observer | Reading | Word] = {
        **WORDS,
        **MODES_BY_NAME,
        **OBLIGATIONS,
        **readings,
    }
    what = "mode, obligation, interpretation, depth, order or signal"
    return everything[resolve(text, everything, what=what, aliases=OTHER_NAMES)]
