"""Explores a model as searches ask for it, once for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from models.framework.model import Action, Emitted, Model, fault, step
from models.framework.stepper import Names
from models.framework.symmetry import relabelled_state, renamings

if TYPE_CHECKING:
    from collections.abc import Collection

    from spec.language.errors import SpecError

__all__ = ["Edge", "Graph"]

Edge: TypeAlias = tuple[int, tuple[Emitted, ...], Action, Names | None]
"""The state reached, what is emitted, what is done, and new names, where any are others."""


class Graph:
    """The states of a model by their numbers, each taken apart when it is first asked for.

    `first` are the numbers of the states that a run may begin in.

    Args:
        symmetric: states that differ in the names of blocks alone are one.
        fixed: the names of claims that are not interchanged; None where none is.
    """

    def __init__(
        self,
        model: Model[Any],
        *,
        symmetric: bool = True,
        fixed: Collection[str] | None = None,
    ) -> None:
        self.model, self._symmetric = model, symmetric
        labels = renamings(model, fixed) if symmetric and fixed is not None else ()
        self._labels = [(each, tuple(each.items())) for each in labels]
        self.states: list[Any] = list(dict.fromkeys(model.initial()))
        self.first = tuple(range(len(self.states)))
        self._numbers = {state: number for number, state in enumerate(self.states)}
        self._edges: dict[int, list[Edge]] = {}

    def leaving(self, number: int) -> list[Edge]:
        """The transitions out of a state.

        Raises:
            SpecError: an action emits what is no event; it is named.
        """
        edges = self._edges.get(number)
        if edges is None:
            edges = self._edges[number] = self._leaving(number)
        return edges

    def _leaving(self, number: int) -> list[Edge]:
        state, found = self.states[number], []
        for action in self.model.actions(state):
            after, emits = step(self.model, state, action)
            reached, names = self._number(after)
            found.append((reached, emits, action, names))
        return found

    def _number(self, state: Any) -> tuple[int, Names | None]:
        """The number of the state that stands for one, and the names that it has there."""
        if not self._symmetric:
            return self._add(state), None
        first, blocks = self.model.canonical(state)
        if first not in self._numbers:
            for names, labels in self._labels:
                other, renamed = self.model.canonical(relabelled_state(self.model, state, names))
                if other in self._numbers:
                    return self._numbers[other], Names(renamed, labels)
        return self._add(first), Names(blocks) if blocks else None

    def _add(self, state: Any) -> int:
        number = self._numbers.setdefault(state, len(self.states))
        if number == len(self.states):
            self.states.append(state)
        return number

    def fault(self, number: int, action: Action, error: SpecError) -> SpecError:
        """The error where an action in a state does what cannot be."""
        return fault(self.model, self.states[number], action, error)
