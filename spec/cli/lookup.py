"""Finds what `spec show` can show, by the name that a user typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spec.contract.interpretations import INTERPRETATIONS
from spec.contract.names import MODES_BY_NAME, OTHER_NAMES
from spec.contract.obligations import OBLIGATIONS
from spec.docs.lowering_terms import WORDS
from spec.language.suggest import resolve

if TYPE_CHECKING:
    from spec.contract.interpretations import Interpretation
    from spec.contract.modes import ModeSpec
    from spec.docs.lowering_terms import Word
    from spec.language.machine import Observer

__all__ = ["find"]


def find(text: str) -> ModeSpec | Observer | Interpretation | Word:
    """The mode, obligation, interpretation or term of lowering called `text`.

    Raises:
        UnknownName: there is none.
    """
    interpretations = {each.name: each for each in INTERPRETATIONS}
    everything: dict[str, ModeSpec | Observer | Interpretation | Word] = {
        **WORDS,
        **MODES_BY_NAME,
        **OBLIGATIONS,
        **interpretations,
    }
    what = "mode, obligation, interpretation, depth, order or signal"
    return everything[resolve(text, everything, what=what, aliases=OTHER_NAMES)]
