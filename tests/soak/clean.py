"""Makes the clean streams of a source: honest and faulty engines, in lines that all arrive."""

from __future__ import annotations

from random import Random

import msgspec

from monitor.check.events import EventMonitor
from monitor.input.errors import InputError
from spec.claims.claim import Mode
from spec.events.canonical import EVENT_ENCODER, Event, Mark, StreamMark
from spec.language.verdicts import Verdict
from tests.monitor.follow.traces import events
from tests.streams.wide import told

__all__ = ["clean"]

_AT_ONCE = 4  # streams that are interleaved
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
