"""The monitor of a serving process keeps no more after many claims and requests than after some."""

from __future__ import annotations

import gc
import tracemalloc
from itertools import islice
from typing import Final

import msgspec
import pytest
from monitor.pool.bloom_filter import digest

from monitor.live.feed import TROUBLED, Live
from monitor.live.follow import Followed, live_line
from monitor.live.lines import LiveLimit, LiveVerdict
from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.language.verdicts import Verdict
from tests.come_and_go import MODES, come_and_go

LIVE: Final = 10
ENDED, RECORDS, REQUESTS = 10, 25, 15
SOME: Final = 120
EVENTS: Final = 11  # of a claim, from its registration to its eviction
BATCH: Final = 32


def few() -> Live:
    """A monitor that keeps little."""
    return Live("run", MODES, ended=ENDED, records=RECORDS, requests=REQUESTS)


def fed(judge: Live, claims: int) -> list[LiveVerdict | LiveLimit]:
    """What is told of so many claims and requests that come and go."""
    told = []
    for number, event in enumerate(come_and_go(claims, LIVE)):
        judge.take(event)
        if number % BATCH == 0:
            told += judge.changes()
    return told + judge.changes()


def held(claims: int) -> int:
    """Bytes that a monitor holds after so many claims and requests came and went."""
    judge, events = few(), come_and_go(claims + LIVE, LIVE)
    gc.collect()
    tracemalloc.start()
    try:
        for number, event in enumerate(islice(events, EVENTS * claims)):
            judge.take(event)
            if number % BATCH == 0:
                judge._next = 0.0  # whatever the time is, claims are looked at
                judge.changes()
        del event
        digest.cache_clear()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


class TestFlat:
    def test_memory(self) -> None:
        """Four times as many claims and requests leave nothing behind; a record takes 400 bytes."""
        held(4 * SOME)  # what is made once in a process, transitions too
        some, many = held(SOME), held(4 * SOME)
        assert many - some < 3 * SOME * 40

    def test_unbounded(self) -> None:
        """Without limits each of them leaves hundreds: the measure above can fail."""
        judge = Live("run", MODES, ended=ENDED)
        fed(judge, SOME)
        assert {"claims": 0, "requests": 0} == judge.given_up
        records = sum(
            len(stream.past._records)
            for monitor in judge._each
            for stream in monitor._streams.values()
        )
        assert SOME - ENDED - len(MODES) <= records <= SOME

    def test_counted(self) -> None:
        """The verdicts on all of them left as lines, and those beyond the limits are counted."""
        judge = few()
        told = [line for line in fed(judge, SOME) if isinstance(line, LiveVerdict)]
        over = {line.claim_id for line in told if line.forgotten}
        assert SOME - ENDED == len(over)
        assert {Verdict.SATISFIED} == {line.verdict for line in told if line.forgotten}
        assert SOME - ENDED - RECORDS == judge.given_up["claims"]
        assert SOME - REQUESTS <= judge.given_up["requests"] <= SOME


class TestTroubled:
    def test_gap(self) -> None:
        """After a lost line nothing can be concluded of many claims; of these, too, only some stay
        in hand, and each has its last line."""
        judge, told = few(), list[LiveVerdict | LiveLimit]()
        claims = 150 * len(MODES)
        for event in come_and_go(claims, LIVE):
            judge.take(msgspec.structs.replace(event, sequence=(event.sequence or 0) + 9))
            told += judge.changes()
        (stream,) = next(iter(judge._each))._streams.values()
        assert {TROUBLED} == {*stream.store._stayed.values()}
        assert len(stream.claims) <= len(MODES) * TROUBLED + ENDED + LIVE
        told += judge.changes(final=True)
        over = {line.claim_id for line in told if isinstance(line, LiveVerdict)}
        assert claims == len(over)


class TestReported:
    def test_at_once(self) -> None:
        """What is given up is a line, at the first event that gives it up, and only once."""
        judge, told = few(), []
        before = {"claims": 0, "requests": 0}
        for event in come_and_go(SOME, LIVE):
            judge.take(event)
            for line in judge.changes():
                if isinstance(line, LiveLimit):
                    assert 0 == before[line.limit]
                    assert 1 == judge.given_up[line.limit]
                    assert event.sequence == line.sequence
                    told.append(line)
            before = {**judge.given_up}
        assert {"claims", "requests"} == {line.limit for line in told}
        kept = {"claims": ENDED + RECORDS, "requests": REQUESTS}
        assert all(f"keeps {kept[line.limit]} {line.limit} that" in line.why for line in told)
        assert told == [line for line in judge.standing if isinstance(line, LiveLimit)]

    @pytest.mark.parametrize(
        ("claim", "verdict"),
        [
            ("claim:0", Verdict.INCONCLUSIVE),  # long ago: its id alone is known
            (f"claim:{SOME - RECORDS}", Verdict.VIOLATED),  # there is a record of it
        ],
    )
    def test_second_life(self, claim: str, verdict: Verdict) -> None:
        """A second life of a claim is found where a record is left, and open where none is."""
        judge = few()
        fed(judge, SOME)
        number = EVENTS * SOME
        terms = {"object_id": claim, "mode": str(Mode.DEMOTABLE), "owner_scope": "owner"}
        for kind in (Kind.CLAIM_REGISTERED, Kind.CLAIM_COMMITTED, Kind.CLAIM_ACCEPTED):
            size = {} if kind is Kind.CLAIM_REGISTERED else {"footprint": 2}
            predicate = "leading_prefix_at_least(2)"
            stated = {"claim_id": claim, "predicate": predicate, **terms, **size}
            judge.take(Event(kind=kind, sequence=number, time_ns=number, **stated))
            number += 1
        judge._next = 0.0
        found = [each for each in judge.changes(final=True) if isinstance(each, LiveVerdict)]
        assert verdict in {each.verdict for each in found if each.claim_id == claim}

    def test_parted(self) -> None:
        """Where the modes are judged apart, each keeps its part of the records, which is told."""
        judge = few()
        fed(judge, SOME)
        before = judge.given_up["claims"]
        judge._part()
        assert before == judge.given_up["claims"]
        (limit,) = (line for line in judge.changes() if isinstance(line, LiveLimit))
        assert f"keeps {ENDED + RECORDS // len(MODES)} claims that ended" in limit.why

    @pytest.mark.parametrize("limit", ["claims", "requests", "ids"])
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
