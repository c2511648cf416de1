"""Determines what an observer can still decide if some fields of an event are unknown."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from monitor.evaluate.compile import compile_observer
from monitor.evaluate.fields import POOL
from spec.contract.obligations import OBLIGATIONS
from spec.contract.observed import without_fields
from spec.events.alphabet import BLOCKS_GONE

if TYPE_CHECKING:
    from monitor.evaluate.compile import Compiled
    from spec.language.machine import Observer

__all__ = [
    "AUTHORITY",
    "BLOCKS",
    "CACHED_BY",
    "FAILURES",
    "NAMES",
    "NEED",
    "OTHERS",
    "POOL",
    "RIVALS",
    "Step",
    "left_of",
    "partial",
    "resting_on_losses",
    "without",
]

Step: TypeAlias = Callable[..., tuple[int, Any, int]]
"""A compiled observer: see `monitor.evaluate.compile.Compiled`."""

FAILURES: Final = frozenset({"blames_unfailed", "unfounded_failure"})
"""The fields that rest on all failures of a request."""
AUTHORITY: Final = frozenset({"authorised"})
"""The field that rests on who owns the claim and when its duration is over."""
NAMES: Final = frozenset({"named"})
"""The field that rests on who was registered."""
BLOCKS: Final = frozenset({"lead"})
"""The field that rests on which blocks a claim holds."""
RIVALS: Final = frozenset({"lower_priority_available"})
"""The field that rests on which blocks of other claims could be taken."""
NEED: Final = frozenset({"needed", "usable"})
"""The fields that rest on what the request itself needs."""
OTHERS: Final = frozenset({"others"})
"""The field that rests on what all requests in hand need."""
CACHED_BY: Final = frozenset({"found", "away"})
"""The fields that rest on which request computed the blocks of the claim."""


_LEFT: dict[Step, tuple[str, frozenset[str]]] = {}  # what each step was made of


@cache
def without(name: str, fields: frozenset[str]) -> Step | None:
    """The observer that `partial` leaves, compiled; None where it is whole."""
    observer = partial(name, fields)
    if observer is None:
        return None
    step = compile_observer(observer)
    _LEFT[step] = name, fields
    return step


def left_of(step: Step) -> tuple[str, frozenset[str]] | None:
    """What `without` made a step of; None where it did not make it."""
    return _LEFT.get(step)


@cache
def partial(name: str, fields: frozenset[str]) -> Observer | None:
    """What is left of the observer of this name (`without_fields`)."""
    return without_fields(OBLIGATIONS[name], fields)


def resting_on_losses(compiled: Compiled) -> frozenset[str]:
    """The obligations of a claim that rest on which blocks are gone."""
    pairs = zip(compiled.observers, compiled.facts, strict=True)
    return frozenset(observer.name for observer, facts in pairs if facts & BLOCKS_GONE)
