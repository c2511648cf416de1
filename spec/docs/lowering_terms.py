"""Renders a depth, an order or a signal of the lowering relation for `spec show`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
from rich.text import Text

from spec.contract.modes import MODES, Depth
from spec.contract.obligations import OBLIGATIONS
from spec.language.prose import wrap
from spec.lowering.depths import LADDER, MAY_SUPPLY, PRECONDITIONS
from spec.lowering.meanings import DEPTHS, ORDERS, PRIMITIVES
from spec.lowering.obligations import RELEVANT_ORDER
from spec.lowering.signals import TEMPTS, Signal
from spec.lowering.vocabulary import Order

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["KINDS", "WORDS", "Word", "WordView", "word_text", "word_view"]

Word: TypeAlias = Depth | Order | Signal

KINDS: Final[Mapping[str, tuple[Word, ...]]] = {
    "depth": tuple(LADDER),
    "order": tuple(Order),
    "signal": tuple(Signal),
}
"""The words in which a runtime is described, by their kinds."""

WORDS: Final[Mapping[str, Word]] = {word.value: word for kind in KINDS.values() for word in kind}
"""The depths, orders and signals by their names."""


class WordView(msgspec.Struct, frozen=True):
    """A word in which a runtime is described: `facts` are other names, by how they hang on it."""

    kind: str
    name: str
    says: str
    facts: dict[str, tuple[str, ...]]


def word_view(word: Word) -> WordView:
    """The word as plain data."""
    if isinstance(word, Depth):
        reaching = (m for m, spec in MODES.items() if any(word in each for each in spec.depths))
        facts = {
            "may supply": tuple(name for name in OBLIGATIONS if name in MAY_SUPPLY[word]),
            "preconditions": tuple(map(str, PRECONDITIONS[word])),
            "used in the modes": tuple(map(str, reaching)),
        }
        return WordView("depth", word, DEPTHS[word], facts)
    if isinstance(word, Order):
        needing = tuple(name for name, order in RELEVANT_ORDER.items() if order is word)
        return WordView("order", word, ORDERS[word], {"obligations that need it": needing})
    tempting = {"resembles": tuple(sorted(map(str, TEMPTS[word])))}
    return WordView("signal", word, PRIMITIVES[word], tempting)


def word_text(word: WordView) -> Text:
    """The word as it is printed."""
    text = Text()
    text.append(f"{word.kind} {word.name}\n", "bold")
    text.append(f"{wrap(word.says)}\n\n")
    for label, names in word.facts.items():
        listed = ", ".join(names) or "none"
        text.append(f"{wrap(f'{label}: {listed}', 0, 2)}\n")
    return text
