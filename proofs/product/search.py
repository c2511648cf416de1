"""Searches a model together with the observer of one obligation, breadth first.

The observers never constrain a model, so each obligation is searched for itself, and the shortest
run that breaks it is found first. What is broken stays broken: nothing is searched behind it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from models.model import Action, Emitted, Model
from models.shims import Shim
from proofs.product.observed import FIRST, Observed, events_of
from spec.claims.claim import Mode
from spec.events.canonical import Event
from spec.language.errors import SpecError
from spec.language.verdicts import Verdict

__all__ = ["LIMIT", "Answer", "Outcome", "Progress", "Run", "search"]

LIMIT: Final = 400_000
"""States of the product that are looked at, unless more are asked for."""

Progress = Callable[[int, int], None]
"""Is told, after each level, the number of states and the depth."""


class Answer(StrEnum):
    """What became of an obligation."""

    KEPT = "kept"
    BROKEN = "broken"
    UNTESTED = "never put to the test"
    OWED = "still owed at the end"
    UNCLEAR = "inconclusive"
    BOUNDED = "not broken within the bound"


@dataclass(frozen=True)
class Run:
    """A run of a model: its actions, and what each of them emitted."""

    actions: tuple[Action, ...]
    emits: tuple[tuple[Emitted, ...], ...]

    def events(self, shim: Shim) -> list[Event]:
        """What a reader writes for it, numbered from 0."""
        told = [event for each in self.emits for event in events_of(shim, each)]
        return [_numbered(event, number) for number, event in enumerate(told)]


def _numbered(event: Event, number: int) -> Event:
    fields = {name: getattr(event, name) for name in event.__struct_fields__}
    return Event(**{**fields, "stream": "run", "sequence": number})


@dataclass(frozen=True)
class Outcome:
    """What a search found of one obligation: its answer, and the shortest run to it.

    `run` breaks the obligation, leaves it owed or unclear; where it is kept it is a shortest run
    that puts it to the test.
    """

    obligation: str
    answer: Answer
    states: int
    transitions: int
    configurations: int
    depth: int
    run: Run | None = None


def search(
    model: Model[Any],
    shim: Shim,
    mode: Mode,
    obligation: str,
    tracked: str,
    *,
    limit: int = LIMIT,
    progress: Progress | None = None,
) -> Outcome:
    """Whether every run of a model keeps an obligation to the claim of a holder.

    Raises:
        SpecError: the model emits facts that contradict each other; the action is named.
    """
    observed = Observed(model, shim, mode, obligation, tracked)
    first = [(state, FIRST) for state in model.initial()]
    parents: dict[Any, tuple[Any, Action] | None] = dict.fromkeys(first)
    level, transitions, depth = deque(parents), 0, 0
    shows: dict[Verdict, Any] = {}
    owed: Any = None

    def outcome(answer: Answer, node: Any = None) -> Outcome:
        run = None if node is None else _run_to(model, parents, node)
        sizes = len(parents), transitions, len(observed), depth
        return Outcome(obligation, answer, *sizes, run)

    while level:
        found: deque[Any] = deque()
        for node in level:
            state, configuration = node
            enabled = False
            for action in model.actions(state):
                enabled = True
                transitions += 1
                after, emits = model.apply(state, action)
                try:
                    reached = observed.after(configuration, emits)
                except SpecError as error:
                    cause = f"{model.name}, action {action}: {error.cause}"
                    raise SpecError(cause, "the model states what cannot be") from None
                next_node = (after, reached)
                if next_node in parents:
                    continue
                parents[next_node] = (node, action)
                verdict = observed.verdicts[reached]
                if verdict is Verdict.VIOLATED:
                    depth += 1
                    return outcome(Answer.BROKEN, next_node)
                shows.setdefault(verdict, next_node)
                found.append(next_node)
            if not enabled and observed.verdicts[configuration] is Verdict.PENDING:
                owed = owed or node
        depth += bool(found)
        if progress is not None:
            progress(len(parents), depth)
        if len(parents) > limit:
            return outcome(Answer.BOUNDED)
        level = found
    if Verdict.INCONCLUSIVE in shows:
        return outcome(Answer.UNCLEAR, shows[Verdict.INCONCLUSIVE])
    if owed is not None:
        return outcome(Answer.OWED, owed)
    if Verdict.SATISFIED in shows:
        return outcome(Answer.KEPT, shows[Verdict.SATISFIED])
    return outcome(Answer.UNTESTED)


def _run_to(model: Model[Any], parents: dict[Any, Any], node: Any) -> Run:
    steps: list[tuple[Action, tuple[Emitted, ...]]] = []
    while (parent := parents[node]) is not None:
        (state, _), action = parent
        steps.append((action, model.apply(state, action).emits))
        node = parent[0]
    steps.reverse()
    return Run(tuple(action for action, _ in steps), tuple(emits for _, emits in steps))
