"""The short way of an event comes to the same as the long one, in every part of the state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from random import Random

import pytest

from monitor.evaluate.compile import compile_mode
from monitor.input.records import At, Stamp, at_line
from monitor.stream.cached_events import WAYS
from monitor.stream.projection import Stream
from monitor.stream.shortcuts import Way
from spec.claims.claim import Mode
from spec.contract.modes import Bundle
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.projection.lines import Line
from tests.monitor.whole_state import whole_state
from tests.streams.chains import CHAINS
from tests.streams.edited import edited, written
from tests.streams.stories import CLAIMS
from tests.streams.wide import told

TRIES = 5


LongWay = partial(Stream, ways={})
"""A stream without short ways."""


def counted(taken: Counter[Kind]) -> partial[Stream]:
    """A stream that counts the events that go a short way."""

    def counting(way: Way) -> Way:
        def take(stream: Stream, event: Event, at: At) -> bool:
            short = way(stream, event, at)
            taken[event.kind] += short
            return short

        return take

    return partial(Stream, ways={kind: counting(way) for kind, way in WAYS.items()})


def streams(mode: Mode, each: int) -> Iterator[list[Line]]:
    """Stories in a row and written streams (one of so many of each), changed and honest ones."""
    for chain in CHAINS[::each]:
        for claim in CLAIMS:
            yield lines_of([event for story in chain for event in story(claim, "request:1")])
    yield from [lines_of(events) for _, of, events in written() if of is mode][::each]
    for seed in range(TRIES):
        yield told(Random(seed), mode)
        yield told(Random(seed), mode, 0)
        yield edited(Random(seed), mode)


def lines_of(events: list[Event]) -> list[Line]:
    return [Line(at, (each,), at - 1, each.time_ns) for at, each in enumerate(events, 1)]


@pytest.mark.slow
@pytest.mark.parametrize("each", [pytest.param(1, marks=pytest.mark.deep), 12])
@pytest.mark.parametrize("mode", Mode)
def test_same(mode: Mode, each: int) -> None:
    """After each shortcut all that is held of the stream is equal, and so are the findings."""
    compiled, taken = compile_mode(mode, Bundle.CONTRACT), Counter[Kind]()
    counting = counted(taken)
    for lines in streams(mode, each):
        short, long = counting(compiled, "run"), LongWay(compiled, "run")
        for line in lines:
            before = taken.total()
            at = at_line("f", line.at, line.sequence)
            stamp = Stamp(
                "run", line.sequence, line.time_ns, mark=line.mark, observes=line.observes
            )
            for stream in (short, long):
                stream.stamp(stamp, at)
                for event in line.events:
                    stream.take(event, at)
            if taken.total() > before:
                assert whole_state(long) == whole_state(short), line
        assert [dict(c.findings()) for c in short.claims.values()] == [
            dict(c.findings()) for c in long.claims.values()
        ]
    assert sum(taken.values()) > 0
