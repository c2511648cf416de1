"""Writes a run of a model in the Informal Trace Format, for viewers of Apalache and Quint.

There is a state before any action and one after each: the action, and the state of the model. The
canonical events that the action makes a reader write are in the `#meta` of the state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from models.framework.shims import events_of
from proofs.product.graph import STREAM
from proofs.traces.itf import itf_document

if TYPE_CHECKING:
    from proofs.counterexamples.refute import Refutation

__all__ = ["as_itf"]


def as_itf(found: Refutation, runtime: str) -> dict[str, Any]:
    """The run that refutes an inference, as an ITF document; raises ValueError if there is none."""
    inference, run = found.inference, found.run
    if run is None:
        raise ValueError(f"{inference.name}: no run refutes it")
    model, state, number, last = inference.model(), run.start, 0, len(found.events)
    states = [_state(0, "", state, [])]
    for at, (action, emits) in enumerate(run.steps, 1):
        state = model.apply(state, action).state
        stated = []
        for event in events_of(inference.shim, emits)[: last - number]:
            stated.append(msgspec.structs.replace(event, stream=STREAM, sequence=number))
            number += 1
        states.append(_state(at, str(action), state, msgspec.to_builtins(stated)))
    says = f"{inference.name}: a run of {runtime} that breaks {found.shown}."
    return itf_document(says, inference.mode, [str(found.shown)], states)


def _state(at: int, action: str, state: Any, events: list[Any]) -> dict[str, Any]:
    meta = {"index": at, "events": events}
    return {"#meta": meta, "action": action, "model": _value(state)}


def _value(value: Any) -> Any:
    """A value of a model's state: records, tuples and sets as ITF has them."""
    if hasattr(value, "_asdict"):
        return {name: _value(each) for name, each in value._asdict().items()}
    if isinstance(value, tuple):
        return {"#tup": [_value(each) for each in value]}
    if isinstance(value, frozenset):
        return {"#set": sorted((_value(each) for each in value), key=repr)}
    return {"tag": "none", "value": {"#tup": []}} if value is None else value
