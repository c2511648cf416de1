"""Events that are taken many at a time, or in short, are judged as by themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monitor.check.events import EventMonitor
from monitor.engine import Monitor
from monitor.input.batches import form_of
from monitor.input.given import record_of
from monitor.live import feed as live
from monitor.live.feed import Live
from monitor.live.lines import LiveLimit, LiveVerdict
from spec.claims.claim import Mode
from spec.events.alphabet import FACTS, Kind
from spec.events.canonical import Event, Mark, StreamMark
from tests.monitor.lives import ENDING
from tests.streams.stories import CLAIMS
from tests.streams.strategies import Stamped, streams
from tests.streams.traffic import Traffic, as_events

Line = Event | StreamMark
STREAM = "run"
OPENED = StreamMark(kind=Mark.STREAM_OPENED, stream=STREAM, sequence=0)
BEGINS = frozenset({Kind.CLAIM_REGISTERED, Kind.CLAIM_COMMITTED, Kind.CLAIM_RETIRED})
ODD = ("late", "unnamed", "unnamed", "timeless")
"""What is odd about a line: it states a mode, names nothing, or has no time."""

MODES = (*ENDING, Mode.BEST_EFFORT)

look = settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@st.composite
def lines(draw: st.DrawFn) -> list[Line]:
    """A stream with times, mostly honest, whose claims state modes; each line has its number."""
    opened = draw(st.booleans())
    found: list[Line] = [OPENED] if opened else []
    stamped: list[Stamped] = draw(streams())
    stated = dict(zip(CLAIMS, draw(st.tuples(*[st.sampled_from(MODES)] * 3)), strict=True))
    step, lasts = (
        draw(st.sampled_from((1_000, 1_000_000_000))),
        draw(st.sampled_from(("5 s", None))),
    )
    odd = {
        number: draw(st.sampled_from(ODD))
        for number in draw(st.sets(st.integers(0, 40), max_size=3))
    }
    for number, plain in stamped:
        fields: dict[str, object] = {}
        if plain.mode is not None:
            fields["mode"] = stated.get(plain.claim_id or "")
            fields["duration"] = lasts if fields["mode"] is Mode.EXPIRING else None
        match odd.get(number):
            case "late":
                fields["mode"] = Mode.HARD_PROTECTED
            case "unnamed" if plain.kind in FACTS - BEGINS:
                fields |= {"claim_id": None, "object_id": None}
        time = None if odd.get(number) == "timeless" else step * number
        place = {"stream": STREAM, "sequence": number + opened, "time_ns": time}
        found.append(msgspec.structs.replace(plain, **fields, **place))
    if draw(st.booleans()):
        where = draw(st.integers(0, len(found)))
        found.insert(where, StreamMark(kind=Mark.STREAM_CLOSED, stream=STREAM, sequence=where))
    return found


def told(found: Live, *, final: bool) -> list[LiveVerdict | LiveLimit]:
    """What a monitor says now."""
    found._next = 0.0
    return found.changes(final=final)


def portions(draw: st.DataObject, lines: Sequence[Line]) -> list[Sequence[Line]]:
    """Lines in batches of some sizes."""
    found, at = [], 0
    while at < len(lines):
        size = draw.draw(st.integers(1, 12))
        found.append(lines[at : at + size])
        at += size
    return found


class TestTakeAll:
    @pytest.mark.parametrize("limits", [(10_000, 100_000, 256), (2, 100_000, 256), (2, 2, 4)])
    def test_as_one_by_one(
        self, limits: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Batches are judged as their lines are one by one, also where limits are reached."""
        most, requests, each = limits
        monkeypatch.setattr(live, "REQUESTS", requests)
        monkeypatch.setattr(live, "LOOK", each)
        at_once = [0, 0]
        monkeypatch.setattr(Monitor, "take_usual", counted(Monitor.take_usual, at_once))

        @look
        @given(lines(), st.data(), st.sampled_from((0, 9)))
        def compare(lines: list[Line], draw: st.DataObject, ended: int) -> None:
            one, many = (Live(STREAM, MODES, most=most, ended=ended) for _ in range(2))
            for batch in portions(draw, lines):
                for line in batch:
                    one.take(line)
                many.take_all(batch)
                one._looked.clear()  # so that it judges each claim at each look
                assert told(one, final=False) == told(many, final=False)
                assert (one._read, one._full) == (many._read, many._full)
                assert one._last_number == many._last_number
                assert one.given_up == many.given_up
                at_once[1] += len(batch)
            assert told(one, final=True) == told(many, final=True)

        compare()
        assert at_once[0] > at_once[1] / 10  # many are taken many at a time


class TestLooks:
    @pytest.mark.parametrize("missing", [0, 400])
    def test_each_claim(self, missing: int) -> None:
        """A look finds what judging each claim finds, also after a line is missing."""
        traffic = Traffic(800, 12, MODES, shuffled=True)
        sent = [event for event in as_events(traffic) if not missing or event.sequence != missing]
        one, many = (Live(STREAM, MODES, ended=20) for _ in range(2))
        skipped = 0
        for at in range(0, len(sent), 32):
            one.take_all(sent[at : at + 32])
            many.take_all(sent[at : at + 32])
            one._looked.clear()
            before = many._looked
            assert told(one, final=False) == told(many, final=False)
            skipped += sum(before.get(name) == stands for name, stands in many._looked.items())
        assert skipped > 100
        assert told(one, final=True) == told(many, final=True)


def counted(
    take: Callable[..., int], count: list[int]
) -> Callable[[Monitor, Sequence[Event], str, int, str], int]:
    """The same, and how many it takes is added."""

    def taking(monitor: Monitor, *more: object) -> int:
        count[0] += (taken := take(monitor, *more))
        return taken

    return taking


class TestInShort:
    @given(lines())
    @look
    def test_verdicts(self, lines: list[Line]) -> None:
        """Of events that are taken in short the same is concluded, after each of them and at the
        end, as of their records.
        """
        short, long = EventMonitor(name="f"), EventMonitor(name="f")
        plain = [line for line in lines if isinstance(line, StreamMark) or form_of(line)]
        for number, line in enumerate(plain, 1):
            again = msgspec.structs.replace(line, sequence=number - 1)
            short.feed(again)
            long.account.lines += 1
            long.take(record_of(again, "f", number))
            assert stands(short) == stands(long)
        assert short.finish() == long.finish()


def stands(monitor: EventMonitor) -> list[tuple[object, ...]]:
    """What is concluded of each claim in hand."""
    found = monitor.in_hand()
    return [(each.claim.claim_id, each.verdict, each.why, each.findings) for each in found]
