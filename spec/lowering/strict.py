"""Reduces a descriptor to the statements that evidence supports.

Nothing is added, so the theorems *weaker status* and *fewer anchors* (docs/lowering.md) say that no
row is sound by it that was not before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from spec.lowering.vocabulary import Status

if TYPE_CHECKING:
    from collections.abc import Container

    from spec.lowering.descriptor import Adapter, Descriptor, Holds, Item, Observed, Shows

__all__ = ["only_shown"]

S = TypeVar("S", "Item", "Holds", "Shows", "Observed")


def only_shown(descriptor: Descriptor, nowhere: Container[str]) -> Descriptor:
    """The descriptor without what it supports by its word: such items are partial.

    Preconditions, atoms and signals stay its word, since no trace shows them; but whatever names an
    anchor in `nowhere` names none.
    """

    def anchored(statement: S) -> S:
        return (
            statement.model_copy(update={"anchor": None})
            if statement.anchor in nowhere
            else statement
        )

    def item(statement: Item) -> Item:
        less = {"status": Status.PARTIAL} if statement.status is Status.SUPPORTED else {}
        return anchored(statement.model_copy(update=less))

    def adapter(offered: Adapter) -> Adapter:
        changed = {
            "preconditions": tuple(map(anchored, offered.preconditions)),
            "evidence": tuple(map(item, offered.evidence)),
        }
        return offered.model_copy(update=changed)

    return descriptor.model_copy(
        update={
            "native": tuple(map(item, descriptor.native)),
            "adapters": tuple(map(adapter, descriptor.adapters)),
            "signals": tuple(map(anchored, descriptor.signals)),
            "observations": tuple(map(anchored, descriptor.observations)),
        }
    )
