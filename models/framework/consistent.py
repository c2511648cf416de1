"""Refuses a model that emits facts which contradict each other.

The rule is that of the judge (`spec.stream`): what breaks a stream. It is applied by one reader,
because a shim decides which claims facts are about.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from models.framework.model import Action, Emitted, Model, fault, step
from models.framework.shims import PLAIN, Shim, claim_of
from models.framework.stepper import FIRST, Stepper
from spec.claims.states import Mode
from spec.events.fields import required_of
from spec.language.errors import SpecError

__all__ = ["LOADED", "Facts", "check_facts"]

LOADED: Final = 500
"""States, each with what was emitted before, in which a model is checked when it is loaded."""


class Facts:
    """What a reader knows of the facts that a model emits, as configurations of a judge.

    `first` is what is known before any.

    Args:
        mode: that of the claims; by default that of the shim, else that in which the model takes
            claims.
    """

    first: Final = FIRST

    def __init__(self, model: Model[Any], shim: Shim = PLAIN, mode: Mode | None = None) -> None:
        self._model, self._shim = model, shim
        by = mode or shim.mode or getattr(model, "mode", None) or Mode.BEST_EFFORT
        claims = map(claim_of, model.holders or ("nobody",))
        self._stepper = Stepper(by, frozenset(claims), model.requests)
        self._numbers: dict[Emitted, list[int]] = {}

    def after(self, known: int, state: object, action: Action, emits: tuple[Emitted, ...]) -> int:
        """What is known after what an action in a state emitted.

        Raises:
            SpecError: a fact contradicts those before it, names a claim or a request that the
                model does not state, or lacks a field that its kind requires; the action is named.
        """
        try:
            for each in emits:
                for number in self._numbers_of(each):
                    known = self._stepper.after(known, number)
        except SpecError as error:
            raise fault(self._model, state, action, error) from None
        return known

    def _numbers_of(self, emitted: Emitted) -> list[int]:
        """The events that the reader writes, by their numbers."""
        numbers = self._numbers.get(emitted)
        if numbers is None:
            events = self._shim.events(emitted)
            for event in events:
                for name in required_of(event.kind):
                    if getattr(event, name) in (None, ()):
                        raise SpecError(f"{event.kind} has no {name}")
            numbers = self._numbers[emitted] = list(map(self._stepper.number, events))
        return numbers

    def check(self, limit: int = LOADED) -> None:
        """Follow the model breadth first, until so many states are known.

        Raises:
            SpecError: an action emits what is no event, or a fact that contradicts those before it.
        """
        model = self._model
        todo = deque((state, self.first) for state in dict.fromkeys(model.initial()))
        seen = set(todo)
        while todo and len(seen) <= limit:
            state, known = todo.popleft()
            for action in model.actions(state):
                reached, emits = step(model, state, action)
                following = self.after(known, state, action, emits)
                reached, blocks = model.canonical(reached)
                if blocks:
                    following = self._stepper.renamed(following, blocks)
                if (reached, following) not in seen:
                    seen.add((reached, following))
                    todo.append((reached, following))


def check_facts(model: Model[Any], shim: Shim = PLAIN, mode: Mode | None = None) -> None:
    """Follow a model for a while before anything is concluded from it, as `Facts` does.

    Raises:
        SpecError: an action emits what is no event, or a fact that contradicts those before it.
    """
    Facts(model, shim, mode).check()
