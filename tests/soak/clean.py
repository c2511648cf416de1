"""Makes the clean streams of a source: honest and faulty engines, in lines that all arrive."""

from __future__ import annotations

from random import Random

import msgspec

from monitor.check.events import EventMonitor
from monitor.input.errors import InputError
from spec.claims.states import Mode
from spec.events.canonical import EVENT_ENCODER, Event, Mark, StreamMark
from spec.language.verdicts import Verdict
from tests.monitor.follow.traces import events
from tests.streams.wide import told

__all__ = ["RANKS", "clean", "ranked"]

RANKS = 2
"""Ranks of the engine whose lines come from several sources."""

_AT_ONCE = 4  # streams that are interleaved
_OF_A_CLAIM = 11  # lines, about
_LONG = 0.15  # of the streams so many have claims that come and go


def clean(chance: Random, name: str, lines: int) -> list[bytes]:
    """At least so many lines of a source, without their ends; each stream is numbered and closed.

    Args:
        name: what the names of its streams begin with.
    """
    found: list[bytes] = []
    active: list[list[bytes]] = []
    made = 0
    while len(found) < lines or active:
        while len(active) < _AT_ONCE and len(found) < lines:
            active.append(_stream(chance, f"{name}-{made}")[::-1])
            made += 1
        one = chance.choice(active)
        for _ in range(min(len(one), chance.randint(1, 9))):
            found.append(one.pop())
        if not one:
            active.remove(one)
    return found


def ranked(chance: Random, name: str, lines: int) -> tuple[list[bytes], list[list[bytes]]]:
    """At least so many lines of one engine: as one stream, and as those of its ranks."""
    said = list(events(max(5, lines // _OF_A_CLAIM)))
    said = [msgspec.structs.replace(each, time_ns=n) for n, each in enumerate(said, 1)]
    assert _is_sure([_numbered(each, n, name) for n, each in enumerate(said)])
    owners = [chance.randrange(RANKS) for _ in said]
    parts = [_marked(said, name)]
    for rank in range(RANKS):
        own = [each for each, owner in zip(said, owners, strict=True) if owner == rank]
        parts.append(_marked(own, name, rank=rank, ranks=RANKS))
    return parts[0], parts[1:]


def _marked(said: list[Event], stream: str, **rank: int) -> list[bytes]:
    """The lines between the marks."""
    opened = StreamMark(kind=Mark.STREAM_OPENED, stream=stream, sequence=0, **rank)
    closed = StreamMark(kind=Mark.STREAM_CLOSED, stream=stream, sequence=len(said) + 1)
    numbered = (_numbered(each, n, stream) for n, each in enumerate(said, 1))
    return [*map(EVENT_ENCODER.encode, [opened, *numbered, closed])]


def _stream(chance: Random, name: str) -> list[bytes]:
    """The lines of one stream, of which a check is sure."""
    while True:
        if chance.random() < _LONG:
            said = list(events(chance.randint(5, 40)))
        else:
            its = told(chance, chance.choice(tuple(Mode)))
            said = [event for line in its for event in line.events]
        said = [_numbered(event, number, name) for number, event in enumerate(said)]
        if _is_sure(said):
            closed = StreamMark(kind=Mark.STREAM_CLOSED, stream=name, sequence=len(said))
            return [*map(EVENT_ENCODER.encode, said), msgspec.json.encode(closed)]


def _is_sure(said: list[Event]) -> bool:
    """Whether every line can be read, and none makes a verdict inconclusive.

    Facts that contradict each other are found or not, depending on what is missing beside them:
    then what is said of a violation is not the same with and without a loss.
    """
    monitor = EventMonitor()
    try:
        for event in said:
            monitor.feed(event)
    except InputError:
        return False
    return not any(
        each.verdict is Verdict.INCONCLUSIVE
        for claim in monitor.finish().claims
        for each in claim.obligations.values()
    )


def _numbered(event: Event, number: int, stream: str) -> Event:
    return msgspec.structs.replace(event, sequence=number, stream=stream)
