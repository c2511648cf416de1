"""Checks decoded events for what their types cannot express, and gives each its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from monitor.input.dialects._json import known_predicate
from monitor.input.dialects.canonical import duration_fault
from monitor.input.records import At, source_of
from spec.events.alphabet import FACTS, Kind
from spec.events.fields import one_of
from spec.language.errors import PredicateError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["are_sound", "placed"]

_NEEDED: Final = frozenset(kind for kind in Kind if one_of(kind))


def are_sound(events: Sequence[Any]) -> bool:
    """Whether durations and predicates parse, `positions` are as many as `block_ids`, and neither
    has a number twice.

    Args:
        events: in the forms of their kinds.
    """
    for event in events:
        if event.checked:
            blocks, positions = event.block_ids, event.positions
            cached = event.kind is Kind.BLOCK_CACHED and not event.contents
            if len(positions) != len(blocks) and (positions or cached):
                return False
            keys = event.contents if event.kind in FACTS else ()
            if keys and blocks and len(keys) != len(blocks):
                return False
            if event.kind in _NEEDED and not (blocks or keys):
                return False
            if len(blocks) > 1 and (_is_repeated(blocks) or _is_repeated(positions)):
                return False
            if event.duration is not None and duration_fault(event.duration):
                return False
        if event.predicate is not None:
            try:
                known_predicate(event.predicate)
            except PredicateError:
                return False
    return True


def placed(file: str, lines: Sequence[int], events: Sequence[Any]) -> tuple[list[At], bool]:
    """The place of each event, and whether they are a run: all are of one stream, each sequence
    number is one more than the one before, and no time is before the one before.

    Args:
        events: at least one.
    """
    places: list[At] = []
    first = events[0]
    stream, expected, before = first.stream, first.sequence, first.time_ns
    is_run = expected is not None and before is not None
    ahead: int = 0 if expected is None else lines[0] - expected
    source = source_of(file, ahead)
    for line, event in zip(lines, events, strict=True):
        sequence = event.sequence
        if sequence is None:
            places.append(At(source_of(file, None), line))
        else:
            number: int = sequence
            if line - number != ahead:
                ahead = line - number
                source = source_of(file, ahead)
            places.append(At(source, line))
        if is_run:
            time_ns = event.time_ns
            in_order = time_ns is not None and time_ns >= before
            is_run = in_order and sequence == expected and event.stream == stream
            expected, before = expected + 1, time_ns
    return places, is_run


def _is_repeated(numbers: tuple[int, ...]) -> bool:
    """Whether one of the numbers is there twice."""
    return len(set(numbers)) != len(numbers)
