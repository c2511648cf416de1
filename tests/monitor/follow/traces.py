"""A stream of claims that come and go, some of them violated, for followers."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from spec.events.alphabet import Kind
from spec.events.canonical import EVENT_ENCODER, Event
from tests.come_and_go import come_and_go

__all__ = ["LIVE", "events", "trace"]

LIVE = 6
EVERY = 3  # of so many claims one loses a block, and nobody says so


def trace(claims: int) -> list[bytes]:
    """The lines of the stream, each with its end."""
    return [EVENT_ENCODER.encode(event) + b"\n" for event in _numbered(claims)]


def _numbered(claims: int) -> Iterator[Event]:
    for number, event in enumerate(events(claims)):
        yield msgspec.structs.replace(event, sequence=number, time_ns=number, stream="engine")


def events(claims: int) -> Iterator[Event]:
    """The events of the stream; each numbers its own lines."""
    turn = 0
    for event in come_and_go(claims, LIVE):
        yield event
        if event.kind is Kind.REQUEST_FINISHED:
            if turn % EVERY == 0:
                yield Event(kind=Kind.BLOCK_EVICTED, block_ids=(2 * (turn % LIVE),))
            turn += 1
