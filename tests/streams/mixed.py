"""Streams of one pool whose claims state several modes: two runtimes' stories told side by side."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Final

import msgspec

from spec.claims.claim import Mode
from tests.streams.wide import told

if TYPE_CHECKING:
    from spec.events.canonical import Event
    from spec.projection.lines import Line

__all__ = ["mixed"]

_FAR: Final = 1_000
"""What the blocks of the other story begin at."""


def mixed(chance: Random, mode: Mode, lies: int | None = None) -> list[Line]:
    """One stream, mostly about claims of this mode and of another one.

    Half the time the claims of both are on the same objects.

    Args:
        lies: as `told` has it, of each story.
    """
    other = chance.choice([each for each in Mode if each is not mode])
    apart, first, rest = chance.random() < 0.5, told(chance, mode, lies), told(chance, other, lies)
    rest = [
        line._replace(events=tuple(_of_another(event, apart=apart) for event in line.events))
        for line in rest
        if line.mark is None
    ]
    stories = (_steps(first), _steps(rest))
    found: list[Line] = []
    number = -1
    while first or rest:
        story = 0 if not rest or (first and _is_first(chance, first[0], rest[0])) else 1
        line, step = (first, rest)[story].pop(0), stories[story].pop(0)
        number += step
        found.append(line._replace(at=len(found) + 1, sequence=number))
    return found


def _is_first(chance: Random, one: Line, other: Line) -> bool:
    if one.time_ns is not None and other.time_ns is not None:
        return one.time_ns <= other.time_ns
    return chance.random() < 0.5


def _steps(lines: list[Line]) -> list[int]:
    """From the number of a line to that of the next: 1, but where one is missing or steps back."""
    numbers = [-1, *(line.sequence or 0 for line in lines)]
    return [max(0, min(2, after - before)) for before, after in pairwise(numbers)]


def _of_another(event: Event, *, apart: bool) -> Event:
    """The same of other claims, requests and blocks, and of other objects where they are apart."""
    names = {"claim_id": event.claim_id, "request_id": event.request_id}
    names |= {"outcome_claim_id": event.outcome_claim_id}
    names |= {"object_id": event.object_id} if apart else {}
    changes: dict[str, object] = {n: f"other {v}" for n, v in names.items() if v is not None}
    if apart:
        changes["content_keys"] = tuple(f"other {key}" for key in event.content_keys)
    changes["block_ids"] = tuple(block + _FAR for block in event.block_ids)
    if event.blocking_claim_ids is not None:
        changes["blocking_claim_ids"] = tuple(f"other {n}" for n in event.blocking_claim_ids)
    return msgspec.structs.replace(event, **changes)
