"""Writes runs in the Informal Trace Format of Apalache and Quint.

There is one state before any event and one after each. The variant `event` is the event; facts,
beliefs and observer states are records. The canonical events that a monitor reads are in the
`#meta` of the states, which viewers ignore; only these are read back.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from proofs.engines.bounded.minimise import CARRIES
from proofs.traces.replay import to_events
from spec import __version__
from spec.cli.common import json_page
from spec.digest import SHORT, spec_digest
from spec.events.canonical import Event, as_jsonl
from spec.files.writing import write_bytes
from spec.language.called import called
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from proofs.engines.bounded.unrolling import Found, Value
    from proofs.model.of_mode import Model
    from spec.events.alphabet import Kind

__all__ = ["ITF", "JSONL", "check_suffix", "events_of", "itf_document", "to_itf", "write_trace"]

ITF = ".itf.json"
JSONL = ".jsonl"
_SAFE = 2**53 - 1  # larger integers are not exact in every reader of JSON
_RECORDS = {
    "was": "claim",
    "c": "claim",
    "req_was": "request",
    "believed": "auditor",
    "state": "obligations",
    "own": "registers",
}
_WHOM = ("mine", "named", "here")
_NOTHING = {"tag": "none", "value": {"#tup": []}}


def check_suffix(path: Path) -> None:
    """Raise SpecError if a file name has no trace suffix."""
    if not path.name.endswith((ITF, JSONL)):
        cause = f"{path} has no suffix of a trace"
        raise SpecError(cause, f"name it {path.stem or 'trace'}{JSONL} or {path.stem}{ITF}")


def write_trace(
    path: Path,
    model: Model,
    found: Found,
    meta: Mapping[str, object],
    *,
    events: Sequence[Event] | None = None,
) -> None:
    """A run as a file: canonical events (`.jsonl`) or ITF (`.itf.json`).

    Args:
        meta: what the run shows, for ITF: `property`, `bundle` and the like.
        events: the run as canonical events, empty where it has none; by default `to_events`.

    Raises:
        SpecError: the suffix is neither, the run is not of that form, or the file is not writable.
    """
    check_suffix(path)
    told = to_events(model, found) if events is None else events
    if path.name.endswith(ITF):
        write_bytes(path, json_page(to_itf(model, found, meta, readable=bool(told))))
    elif not told:
        cause = "the run cannot be written as canonical events"
        raise SpecError(cause, f"name a file that ends in {ITF}")
    else:
        write_bytes(path, as_jsonl(told))


def to_itf(
    model: Model, found: Found, meta: Mapping[str, object], *, readable: bool = True
) -> dict[str, Any]:
    """The run as an ITF document.

    Args:
        meta: put into `#meta` beside the format, the mode, the specification and the tool.
        readable: canonical events go with the states.
    """
    states = [_state(model, found, number) for number in range(len(found.states))]
    count = 0
    for number, state in enumerate(states):
        state["#meta"] = {"index": number}
        if readable:
            prefix = replace(found, events=found.events[:number], states=found.states[: number + 1])
            events = to_events(model, prefix)
            state["#meta"]["events"] = msgspec.to_builtins(events[count:])
            count = len(events)
    fails = f"breaks {', '.join(found.failed)}" if found.failed else "keeps every clause"
    says = f"A run of {len(found.events)} events under {model.mode}; it {fails}."
    states = [{"#meta": state["#meta"], **state} for state in states]
    return itf_document(says, model.mode, found.failed, states, meta)


def itf_document(
    says: str,
    mode: str,
    failed: Iterable[str],
    states: Sequence[Mapping[str, Any]],
    meta: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """The states of a run under a mode as an ITF document.

    Args:
        says: what the run is.
        failed: the clauses or obligations that it breaks.
    """
    return {
        "#meta": {
            "format": "ITF",
            "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
            "description": says,
            "mode": str(mode),
            "clauses": list(failed),
            "spec": spec_digest(),
            "tool": f"resident-claims {__version__}",
            **(meta or {}),
        },
        "params": [],
        "vars": [name for name in states[0] if name != "#meta"],
        "states": states,
    }


def events_of(document: Mapping[str, Any]) -> list[Event]:
    """The canonical events that the states carry.

    Raises:
        SpecError: the document is no ITF, of another specification, or carries no events.
    """
    _check(document)
    try:
        told = [event for state in document["states"] for event in state["#meta"]["events"]]
        events = msgspec.convert(told, list[Event])
    except (KeyError, TypeError, msgspec.ValidationError):
        events = []
    if not events:
        cause = "the trace carries no canonical events"
        raise SpecError(cause, "only runs that a monitor can read carry them")
    return events


def _check(document: Mapping[str, Any]) -> None:
    meta = document.get("#meta") if isinstance(document, dict) else None
    if not isinstance(meta, dict) or not isinstance(document.get("states"), list):
        raise SpecError("this is not an ITF trace", "it has no #meta and states")
    if "spec" not in meta:
        cause = "the ITF trace names no specification"
        raise SpecError(cause, f"{called('proofs check')} MODE -o FILE{ITF} writes them")
    if meta["spec"] != spec_digest():
        theirs, ours = str(meta["spec"])[:SHORT], spec_digest()[:SHORT]
        cause = f"the trace is of another specification, {theirs}; this is {ours}"
        raise SpecError(cause, "write it again with this version")


def _state(model: Model, found: Found, number: int) -> dict[str, Any]:
    event = _event(model, found.events[number - 1]) if number else _NOTHING
    state: dict[str, Any] = {"event": event}
    values = found.states[number]
    for name, var, field in _places(model):
        state.setdefault(var, {})[field] = _written(model, name, values[name])
    return state


def _places(model: Model) -> Iterator[tuple[str, str, str]]:
    """Each state variable, with the ITF variable and the field of it that hold its value."""
    for name in model.state(""):
        side, slash, rest = name.rpartition("/")
        scope, dot, field = rest.partition(".")
        var = _RECORDS.get(scope, "pool") if dot else "claim" if slash else "pool"
        yield name, f"{var}_{side}" if side else var, (field if dot else rest).replace(".", "__")


def _written(model: Model, name: str, value: Value) -> Any:
    kind, _, observer = name.rpartition("/")[2].partition(".")
    if kind != "state":
        return _number(value)
    return next(each.states for each in model.observers if each.name == observer)[value].name


def _event(model: Model, event: Mapping[str, Value]) -> dict[str, Any]:
    kind = model.alphabet[int(event["kind"])]
    return {
        "tag": str(kind),
        "value": {
            name: _number(value) for name, value in event.items() if _belongs(name, value, kind)
        },
    }


def _belongs(name: str, value: Value, kind: Kind) -> bool:
    if name == "kind":
        return False
    carried = name in CARRIES.get(kind, ()) or name.partition(".")[0] in _WHOM
    return carried or value != (name == "authorised")  # what it is unless it is stated


def _number(value: Value) -> Any:
    if isinstance(value, bool) or abs(value) <= _SAFE:
        return value
    return {"#bigint": str(value)}
