"""Walks models: the shortest run to a state, every transition, what the monitor says of a run."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from models.framework.inference import Inference
from models.framework.model import Action, Emitted, Fact, Model
from models.framework.shims import Shim, claim_of
from monitor import check_files
from proofs.product.search import Outcome, search
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import EVENT_ENCODER


class Transition(NamedTuple):
    before: Any
    action: Action
    after: Any
    emits: tuple[Emitted, ...]


def transitions(model: Model[Any]) -> Iterator[Transition]:
    """Every transition between reachable states."""
    todo = deque(dict.fromkeys(model.initial()))
    seen = set(todo)
    while todo:
        state = todo.popleft()
        for action in model.actions(state):
            after, emits = model.apply(state, action)
            yield Transition(state, action, after, emits)
            if after not in seen:
                seen.add(after)
                todo.append(after)


def shortest(model: Model[Any], wanted: Callable[[Any], bool]) -> tuple[list[str], Any]:
    """The actions of a shortest run to such a state, and the state; an empty run if it is none."""
    parents: dict[Any, tuple[Any, Action] | None] = dict.fromkeys(model.initial())
    todo = deque(parents)
    while todo:
        state = at = todo.popleft()
        if wanted(state):
            run: list[str] = []
            while (step := parents[at]) is not None:
                at, action = step
                run.append(str(action))
            return run[::-1], state
        for action in model.actions(state):
            after = model.apply(state, action).state
            if after not in parents:
                parents[after] = (state, action)
                todo.append(after)
    raise AssertionError("no such state can be reached")


def breaking(model: Model[Any], name: str) -> list[str]:
    """The actions of a shortest run that breaks a property of every state."""
    holds = model.always[name]
    return shortest(model, lambda state: not holds(state))[0]


def searched(inference: Inference, obligation: str, model: Model[Any] | None = None) -> Outcome:
    """What the search finds of an obligation of an inference, in its model or in another one."""
    model = model or inference.model()
    return search(model, inference.shim, inference.mode, obligation, inference.tracked)


def told(outcome: Outcome, inference: Inference, folder: Path) -> str:
    """What `monitor check` says of the obligation in the run of an outcome."""
    return judged(outcome, inference.shim, inference.mode, inference.tracked, folder)


def judged(outcome: Outcome, shim: Shim, mode: Mode, holder: str, folder: Path) -> str:
    """What `monitor check` says of the obligation in the run of an outcome of a search."""
    assert outcome.run is not None
    path = folder / "run.jsonl"
    lines = (EVENT_ENCODER.encode(event) + b"\n" for event in outcome.run.events(shim))
    path.write_bytes(b"".join(lines))
    report = check_files(str(path), mode)
    claim = next(each for each in report.claims if each.claim_id == claim_of(holder))
    return str(claim.obligations[outcome.obligation].verdict)


def without(emits: tuple[Emitted, ...], kind: Kind) -> tuple[Emitted, ...]:
    """What an action emits without the events of a kind."""
    return tuple(each for each in emits if not (isinstance(each, Fact) and each.event.kind is kind))
