"""Events of which nothing is to be decided before they are taken in."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from monitor.evaluate.compile import compile_mode
from monitor.input.records import at_line
from monitor.stream.parting import fits
from monitor.stream.projection import Stream
from monitor.stream.usual_events import take_usual, take_usual_of
from spec.claims.claim import Mode
from spec.contract.modes import Bundle
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from tests.streams.traffic import Traffic, as_events


def stream(lines: int = 60) -> tuple[Stream, list[Event]]:
    """A stream judged by all modes, and the events that it has taken."""
    found = Stream([compile_mode(mode, Bundle.CONTRACT) for mode in Mode], "run")
    taken = list(as_events(Traffic(lines, 3, (Mode.OFFLOADABLE, Mode.HARD_PROTECTED))))
    for number, event in enumerate(taken):
        at = at_line("f", number + 1, number)
        if not take_usual(found, event, at):
            assert found.begin_one(event)
            found.take(event, at)
    return found, taken


def events(number: int) -> Iterator[Event]:
    """What may come next: events of each kind, that name claims, objects and modes or do not."""
    claims, objects = (None, "claim:0", "claim:9"), (None, "prefix:0")
    modes, blocks = (None, *(mode.value for mode in Mode)), ((), (0, 1), (999,))
    for kind, claim, name, mode, ids in product(Kind, claims, objects, modes, blocks):
        place = {"sequence": number, "time_ns": 1 << 40}
        who = {"claim_id": claim, "object_id": name, "request_id": "r", "mode": mode}
        yield Event(kind=kind, **place, **who, block_ids=ids)  # type: ignore[arg-type]


class TestUsual:
    @pytest.mark.interpreted
    def test_clear(self) -> None:
        """No event is usual before which the stream is to be parted; all others that name nothing
        new are.
        """
        found, taken = stream()
        found.take = lambda *_: None  # type: ignore[method-assign]
        found.begin_one = lambda _: found._clock  # type: ignore[method-assign]
        usual = clear = 0
        for event in events(len(taken)):
            fitting = fits(found, event)
            short = take_usual(found, event, at_line("f", 1))
            assert fitting or not short, event
            usual, clear = usual + short, clear + fitting
        assert clear > usual > clear / 2

    def test_order(self) -> None:
        """An event that does not follow the line before is not usual, and changes nothing."""
        found, taken = stream()
        last = taken[-1]
        number, time = last.sequence or 0, last.time_ns
        at = at_line("f", 1)
        for sequence, time_ns in ((number + 2, time), (number, time), (number + 1, 0)):
            event = Event(
                kind=Kind.REQUEST_FINISHED, request_id="r", sequence=sequence, time_ns=time_ns
            )
            assert not take_usual(found, event, at)
        assert not take_usual(found, Event(kind=Kind.REQUEST_FINISHED, request_id="r"), at)
        follows = Event(
            kind=Kind.REQUEST_FINISHED, request_id="r", sequence=number + 1, time_ns=time
        )
        assert take_usual(found, follows, at)

    def test_stops(self) -> None:
        """Of several events those are taken that come before the first one that is not usual, each
        at its line.
        """
        found, taken = stream()
        more = list(as_events(Traffic(300, 3, (Mode.OFFLOADABLE, Mode.HARD_PROTECTED))))
        rest = more[len(taken) :]
        number = take_usual_of(found, rest, "f", 1_000)
        assert 0 < number < len(rest)
        assert Kind.CLAIM_REGISTERED is rest[number].kind
        assert rest[number].claim_id not in found.claims
