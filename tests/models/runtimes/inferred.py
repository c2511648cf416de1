"""Searches the model of an inference, and has `monitor check` judge the run that is found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from models.framework.inference import Inference
from models.framework.model import Action, Emitted, Fact, Model
from models.framework.shims import claim_of
from monitor import check_files
from proofs.product.search import Answer, search
from spec.contract.modes import MODES, Bundle
from spec.events.alphabet import Kind
from spec.events.canonical import EVENT_ENCODER

__all__ = ["Found", "Made", "facts", "find", "found", "made", "run"]

_TOLD = {
    Answer.BROKEN: {"violated"},
    # A run that ends before a duration in steps is over is inconclusive where it ends.
    Answer.KEPT: {"satisfied", "inconclusive"},
    Answer.OWED: {"pending"},
}


class Found(NamedTuple):
    """An answer of the search, with the actions and the number of events of its run."""

    answer: Answer
    actions: tuple[str, ...] = ()
    events: int = 0


class Made(NamedTuple):
    """A transition of a model."""

    before: Any
    action: Action
    after: Any
    emits: tuple[Emitted, ...]


def find(
    inference: Inference, obligation: str, folder: Path, model: Model[Any] | None = None
) -> Found:
    """What a search finds in the model, or in another one; the monitor says the same of its run."""
    model = model or inference.model()
    outcome = search(model, inference.shim, inference.mode, obligation, inference.tracked)
    if outcome.run is None:
        return Found(outcome.answer)
    events = outcome.run.events(inference.shim)
    path = folder / "run.jsonl"
    path.write_bytes(b"".join(EVENT_ENCODER.encode(event) + b"\n" for event in events))
    claims = {claim.claim_id: claim for claim in check_files(str(path), inference.mode).claims}
    told = claims[claim_of(inference.tracked)].obligations[obligation].verdict
    assert told in _TOLD[outcome.answer]
    return Found(outcome.answer, tuple(action.name for action in outcome.run.actions), len(events))


def found(inference: Inference, folder: Path) -> dict[str, int]:
    """The obligations that the model of an inference breaks, each with the events of its run."""
    names = MODES[inference.mode].names(Bundle.CONTRACT)
    answers = {name: find(inference, name, folder) for name in names}
    return {name: each.events for name, each in answers.items() if each.answer is Answer.BROKEN}


def made(model: Model[Any]) -> Iterator[Made]:
    """Every transition between reachable states."""
    todo = list(dict.fromkeys(model.initial()))
    seen = set(todo)
    for state in todo:
        for action in model.actions(state):
            after, emits = model.apply(state, action)
            yield Made(state, action, after, emits)
            if after not in seen:
                seen.add(after)
                todo.append(after)


def run(model: Model[Any], *actions: tuple[str | int, ...]) -> list[Made]:
    """The transitions of these actions, each enabled when it is taken."""
    steps: list[Made] = []
    state = next(iter(model.initial()))
    for name, *what in actions:
        action = Action(str(name), tuple(what))
        assert action in list(model.actions(state)), action
        after, emits = model.apply(state, action)
        steps.append(Made(state, action, after, emits))
        state = after
    return steps


def facts(emits: Sequence[Emitted], *kinds: Kind) -> list[Any]:
    """The events of these kinds among what was emitted."""
    events = [each.event for each in emits if isinstance(each, Fact)]
    return [event for event in events if event.kind in kinds]
