"""The monitor of a serving process keeps no more after many claims and requests than after some."""

from __future__ import annotations

import gc
import tracemalloc
from itertools import islice
from typing import Final

import msgspec
import pytest

from monitor.live import feed
from monitor.live.feed import Live
from monitor.live.follow import Followed, live_line
from monitor.live.lines import LiveLimit, LiveVerdict
from monitor.native import library
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.language.verdicts import Verdict
from tests.allocated import in_use
from tests.come_and_go import MODES, come_and_go

LIVE: Final = 10
ENDED, IDS = 10, 25
SOME: Final = 120
EVENTS: Final = 11  # of a claim, from its registration to its eviction
BATCH: Final = 32


def few() -> Live:
    """A monitor that keeps little."""
    return Live("run", MODES, ended=ENDED, ids=IDS)


def fed(judge: Live, claims: int) -> list[LiveVerdict | LiveLimit]:
    """What is told of so many claims and requests that come and go."""
    told = []
    for number, event in enumerate(come_and_go(claims, LIVE)):
        judge.take(event)
        if number % BATCH == 0:
            told += looked(judge)
    return told + looked(judge)


def due_after(judge: Live, event: Event) -> bool:
    """Take an event; whether it is time to look then, and look."""
    judge.take(event)
    due = judge.due
    judge.changes()
    return due


def looked(judge: Live) -> list[LiveVerdict | LiveLimit]:
    """What is new, whatever the time is."""
    judge._next = 0.0
    return judge.changes()


def held(claims: int) -> int:
    """Bytes that a monitor holds after so many claims and requests came and went."""
    judge, events = few(), come_and_go(claims + LIVE, LIVE)
    gc.collect()
    tracemalloc.start()
    try:
        for number, event in enumerate(islice(events, EVENTS * claims)):
            judge.take(event)
            if number % BATCH == 0:
                looked(judge)
        del event
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


class TestFlat:
    @pytest.mark.slow
    def test_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Four times as many claims and requests leave no more behind than their ids."""
        monkeypatch.setattr(feed, "REQUESTS", 50)
        held(4 * SOME)  # what is made once in a process, compiled functions too
        some, many = held(SOME), held(4 * SOME)
        assert many - some < 3 * SOME * 1_500

    def test_counted(self) -> None:
        """The verdicts on all of them left as lines, and those beyond the limits are counted."""
        judge = few()
        told = [line for line in fed(judge, SOME) if isinstance(line, LiveVerdict)]
        over = {line.claim_id for line in told if line.forgotten}
        assert {Verdict.SATISFIED} == {line.verdict for line in told if line.forgotten}
        assert len(over) == judge.given_up["claims"]
        assert SOME - ENDED - LIVE <= len(over) <= SOME


class TestReports:
    def test_lines(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What is to be reported waits for so many lines at most, however little time goes by."""
        monkeypatch.setattr(feed, "_EVERY_LINES", 5 * EVENTS)
        monkeypatch.setattr(feed.time, "monotonic", lambda: 1.0)
        judge, events = few(), come_and_go(SOME, LIVE)
        judge.changes()
        for _ in range(2):
            some = islice(events, 5 * EVENTS)
            assert [5 * EVENTS - 1] == [n for n, each in enumerate(some) if due_after(judge, each)]

    @pytest.mark.skipif(library() is None, reason="no native core is built")
    def test_freed(self) -> None:
        """The core frees a report, however much that was once."""
        judge, events = few(), come_and_go(2_000, LIVE)
        waits, sizes = [], []
        for claims in (SOME, 1_000):
            for event in islice(events, EVENTS * claims):
                judge.take(event)
            waits.append(in_use())
            sizes.append(sum(len(msgspec.json.encode(line)) for line in looked(judge)))
            judge.take(next(events))
            gc.collect()
        assert sizes[1] > 300_000
        assert in_use() < waits[1] - sizes[1] // 2


class TestReported:
    def test_at_once(self) -> None:
        """That ids are forgotten is a line, at the first look after that, and only once."""
        judge, told = few(), []
        for event in come_and_go(SOME, LIVE):
            judge.take(event)
            for line in looked(judge):
                if isinstance(line, LiveLimit):
                    assert event.sequence == line.sequence
                    told.append(line)
        assert ["ids"] == [line.limit for line in told]
        assert told == [line for line in judge.standing if isinstance(line, LiveLimit)]

    def test_second_life(self) -> None:
        """A second life of a claim whose id is remembered is inconclusive."""
        judge = Live("run", MODES, ended=ENDED)
        fed(judge, SOME)
        number, claim = EVENTS * SOME, "claim:0"
        terms = {"object_id": claim, "mode": str(Mode.DEMOTABLE), "owner_scope": "owner"}
        for kind in (Kind.CLAIM_REGISTERED, Kind.CLAIM_COMMITTED, Kind.CLAIM_ACCEPTED):
            size = {} if kind is Kind.CLAIM_REGISTERED else {"footprint": 2}
            predicate = "leading_prefix_at_least(2)"
            stated = {"claim_id": claim, "predicate": predicate, **terms, **size}
            judge.take(Event(kind=kind, sequence=number, time_ns=number, **stated))
            number += 1
        found = [each for each in judge.changes(final=True) if isinstance(each, LiveVerdict)]
        (verdict,) = (each for each in found if each.claim_id == claim)
        assert (Verdict.INCONCLUSIVE, "RC203") == (verdict.verdict, verdict.code)

    @pytest.mark.parametrize("limit", ["live", "requests", "ids"])
    def test_followed(self, limit: str) -> None:
        """A reader of the lines is told in words, and its exit code does not depend on it."""
        line = msgspec.json.decode(
            msgspec.json.encode(LiveLimit("run", limit, "why it is", 3)),  # type: ignore[arg-type]
            type=LiveLimit,
        )
        assert f"limit  {limit}  why it is\n" == live_line(line)
        one, other = Followed(), Followed()
        one.take(line)
        assert one.code == other.code
