"""Claims that another mode judges: they are let go once they ended, as a mode's own claims are."""

from __future__ import annotations

from itertools import takewhile

import msgspec

from monitor.check.judging import Judging
from monitor.check.whole import Asked
from monitor.input.records import At, Record, stamp_of
from monitor.live.feed import Live
from monitor.stream.known_claims import Keep
from spec.claims.claim import Mode
from spec.contract.modes import Bundle
from spec.events.canonical import Event
from tests.streams.traffic import Traffic, as_events

LIVE = 20
MANY = 400
MIXED = Traffic(lines=30 * MANY, live=LIVE, modes=tuple(Mode))


def entered(count: int) -> list[Event]:
    """The stream up to where so many claims have entered."""
    names: set[str | None] = set()

    def is_before(event: Event) -> bool:
        names.add(event.claim_id)
        return len(names - {None}) <= count

    return [
        msgspec.structs.replace(event, sequence=number)
        for number, event in enumerate(takewhile(is_before, as_events(MIXED)))
    ]


class TestLetGo:
    """Of many claims of all modes, one after another, each mode has the live ones in hand."""

    def test_live(self) -> None:
        """In the monitor of a serving process."""
        live = Live("run", tuple(Mode), ended=0)
        for event in entered(MANY):
            live.take(event)
        held = [s.claims for each in live._monitors.values() for s in each._streams.values()]
        assert [LIVE] * len(Mode) == [len(claims) for claims in held]
        assert not live._full

    def test_judging(self) -> None:
        """In a check of claims by their own modes."""
        asked = Asked(Bundle.CONTRACT, strict=False, claim=None)
        judging = Judging(asked, set(Mode), own=True, keep=Keep(ended=0))
        for number, event in enumerate(entered(MANY), 1):
            at = At("f", number, event.sequence)
            judging.take(Record(at, stamp_of(event, "f"), ((event, at),)))
        held = [s.claims for each in judging._judges for s in each.monitor._streams.values()]
        assert [LIVE] * len(Mode) == [len(claims) for claims in held]
