"""Short streams with a few edits by chance: a line more or less, two exchanged, a field changed.

What they are made of is written by hand: the traces of the obligations, and those that fooled a
judge. So they are dense in what streams of a whole runtime hardly have.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Final

import msgspec

from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.events.fields import IDENTITY, fields_of, required_of
from spec.stream.breaks import Line
from tests.monitor.test_hostile import DUE, FOLDER
from tests.obligations.test_handwritten import PAIRS

__all__ = ["edit", "edited", "written"]

_FIELDS: Final = tuple(
    name
    for name in Event.__struct_fields__
    if name not in ("kind", "stream", "sequence", "time_ns")
)
_DEFAULTS: Final = Event.__struct_fields__[-len(Event.__struct_defaults__) :]
_MOST: Final = 4  # edits of one stream


def _read(path: Path) -> list[Event]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [msgspec.json.decode(each, type=Event) for each in lines]


def written() -> Iterator[tuple[str, Mode, list[Event]]]:
    """The streams that are files: a name, the mode that judges it, and its events."""
    for pair in PAIRS:
        for ending in ("kept", "broken") if pair.dialect == "canonical" else ():
            path = pair.path(ending)
            yield path.name, pair.mode, _read(path)
    for name, (mode, _) in DUE.items():
        yield name, Mode(mode), _read(FOLDER / f"{name}.jsonl")


@cache
def _originals(mode: Mode) -> list[list[list[Event]]]:
    """The streams of a mode that are edited, in one group."""
    return [[events for _, of, events in written() if of is mode and events]]


def edited(rng: Random, mode: Mode) -> list[Line]:
    """One of the originals of a mode with up to four edits; none of its lines is missing."""
    events = list(rng.choice(rng.choice(_originals(mode))))
    for _ in range(rng.randint(0, _MOST)):
        edit(rng, events)
    times = sorted(event.time_ns for event in events if event.time_ns is not None)
    for at, event in enumerate(events):
        time = times.pop(0) if event.time_ns is not None else None
        events[at] = msgspec.structs.replace(event, sequence=None, time_ns=time)
    return [Line(at, (event,), time_ns=event.time_ns) for at, event in enumerate(events, 1)]


def edit(rng: Random, events: list[Event]) -> None:
    """One edit: a line left out, doubled, or in the place of another, or one field changed."""
    at, other = rng.randrange(len(events)), rng.randrange(len(events))
    event = events[at]
    match rng.randrange(5):
        case 0 if len(events) > 1:
            del events[at]
        case 1:
            events.insert(other, event)
        case 2:
            events[at], events[other] = events[other], event
        case 3:
            name = rng.choice([name for each in events for name in _stated(each)] or ["claim_id"])
            values = [getattr(each, name) for each in events if name in _stated(each)]
            events[at] = _with(event, name, rng.choice(values or [None]))
        case 4 if _stated(event):
            name = rng.choice(_stated(event))
            events[at] = _with(event, name, Event.__struct_defaults__[_DEFAULTS.index(name)])


def _stated(event: Event) -> list[str]:
    """The fields that an event states."""
    return [name for name in _FIELDS if getattr(event, name) not in (None, (), False)]


def _with(event: Event, name: str, value: object) -> Event:
    """With this field, where a reader would take it."""
    if name not in {*IDENTITY, *fields_of(event.kind)}:
        return event
    changed = msgspec.structs.replace(event, **{name: value})
    whole = all(getattr(changed, each) not in (None, ()) for each in required_of(event.kind))
    placed = changed.positions or event.kind is Kind.BLOCK_CACHED
    fits = len(changed.positions) == len(changed.block_ids) or not placed
    return changed if whole and fits and _stated(changed) else event
