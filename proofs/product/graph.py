"""Explores a model as searches ask for it, once for all of them, and defines a run of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from models.framework.model import Action, Emitted, Model, fault, step
from models.framework.shims import Shim, stream_of
from models.framework.stepper import Names
from models.framework.symmetry import relabelled_state, renamings

if TYPE_CHECKING:
    from collections.abc import Collection

    from spec.events.canonical import Event
    from spec.language.errors import SpecError

__all__ = ["STREAM", "Edge", "Graph", "Run", "plainness"]

STREAM: Final = "run"
"""The name of the stream of a run."""

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


@dataclass(frozen=True)
class Run:
    """A run of a model: its first state, its actions, and what each of them emitted."""

    start: Any
    steps: tuple[tuple[Action, tuple[Emitted, ...]], ...]

    @property
    def actions(self) -> tuple[Action, ...]:
        """What was done."""
        return tuple(action for action, _ in self.steps)

    def events(self, shim: Shim) -> list[Event]:
        """What a reader writes for it: a complete stream, numbered from 0."""
        return stream_of(shim, (each for _, emits in self.steps for each in emits), STREAM)

    def until(self, shim: Shim, events: int) -> Run:
        """The run up to the emission in which a reader writes the event of this number, from 1."""
        steps, left = [], events
        for action, emits in self.steps:
            kept = []
            for each in emits:
                if left > 0:
                    kept.append(each)
                    left -= len(shim.events(each))
            steps.append((action, tuple(kept)))
            if left <= 0:
                break
        return Run(self.start, tuple(steps))


def plainness(run: Run, shim: Shim) -> tuple[int, int, int, int, tuple[str, ...]]:
    """Orders runs of one length: by their claims, requests, blocks, actions and names."""
    events = run.events(shim)
    claims = {event.claim_id for event in events if event.claim_id is not None}
    requests = {event.request_id for event in events if event.request_id is not None}
    blocks = {block for event in events for block in event.block_ids}
    names = tuple(map(str, run.actions))
    return len(claims), len(requests), len(blocks), len(names), names
