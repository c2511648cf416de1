"""Makes plain data, text and diagrams of executable models, for commands and pages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from models.framework.explore import Step, reach
from models.framework.model import Model, step
from models.framework.shims import Shim, stream_of
from models.registry import Runtime
from spec.events.canonical import Event

__all__ = [
    "DRAWN",
    "STREAM",
    "ModelView",
    "diagram",
    "fields_text",
    "model_view",
    "trace_of",
    "value_text",
]

DRAWN: Final = 40
"""States of a model that is drawn."""

STREAM: Final = "model"
"""The name of the stream of a simulated run."""


class ModelView(msgspec.Struct, frozen=True):
    """A model, and how far it reaches in its default size."""

    name: str
    variants: tuple[str, ...]
    about: str
    source: str
    left_out: str
    actions: tuple[str, ...]
    always: tuple[str, ...]
    reachable: tuple[str, ...]
    states: int
    transitions: int
    depth: int
    ends: int
    broken: tuple[str, ...]
    missed: tuple[str, ...]
    inferences: tuple[str, ...]


def model_view(found: Runtime, name: str, model: Model[Any]) -> ModelView:
    """What a model does, with the counts of its reachable states."""
    reached = reach(model)
    return ModelView(
        name=name,
        variants=found.names,
        about=model.about,
        source=model.source,
        left_out=model.left_out,
        actions=reached.actions,
        always=tuple(model.always),
        reachable=tuple(model.reachable),
        states=reached.states,
        transitions=reached.transitions,
        depth=reached.depth,
        ends=reached.ends,
        broken=reached.broken,
        missed=reached.missed,
        inferences=tuple(each.name for each in found.inferences),
    )


def trace_of(steps: Iterable[Step], shim: Shim) -> list[Event]:
    """The events of a run, as a reader writes them, numbered from 0."""
    return stream_of(shim, (each for step in steps for each in step.emits), STREAM)


def diagram(model: Model[Any]) -> str | None:
    """The reachable states as a Mermaid diagram; None where there are more than DRAWN."""
    edges: list[tuple[int, int, str]] = []
    todo = list(dict.fromkeys(model.initial()))
    first = len(todo)
    numbers = {state: number for number, state in enumerate(todo)}
    for state in todo:
        for action in model.actions(state):
            after = step(model, state, action).state
            if after not in numbers:
                numbers[after] = len(numbers)
                todo.append(after)
            edges.append((numbers[state], numbers[after], str(action)))
        if len(todo) > DRAWN:
            return None
    lines = ["stateDiagram-v2"]
    lines += [f'    state "{_plain(value_text(state))}" as s{n}' for state, n in numbers.items()]
    lines += [f"    [*] --> s{number}" for number in range(first)]
    lines += [f"    s{one} --> s{other} : {_plain(label)}" for one, other, label in edges]
    return "\n".join(lines) + "\n"


def value_text(state: Any) -> str:
    """A state in a line: the fields that are not empty."""
    if not hasattr(state, "_asdict"):
        return str(state)
    shown = [f"{name} {text}" for name, text in fields_text(state).items()]
    return "; ".join(shown) or "nothing"


def fields_text(state: Any) -> dict[str, str]:
    """The fields of a state (a named tuple) that are not empty, by name."""
    return {name: _short(value) for name, value in state._asdict().items() if value}


def _short(value: Any) -> str:
    if isinstance(value, tuple):
        return "[" + " ".join(_short(each) for each in value) + "]"
    if isinstance(value, frozenset):
        return "[" + " ".join(sorted(map(_short, value))) + "]"
    return "-" if value is None else str(value)


def _plain(text: str) -> str:
    """`text` without what Mermaid would read as its own."""
    return "".join("," if each in ':;"#%{}' else each for each in text)
