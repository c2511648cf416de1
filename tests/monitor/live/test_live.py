"""Live verdicts on claims that come and go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

import msgspec
import pytest

from monitor.live import feed as live
from monitor.live import follow
from monitor.live.feed import Live
from monitor.live.follow import Followed, live_line
from monitor.live.lines import LiveEnd, LiveLimit, LiveLine, LiveVerdict
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event, Mark, StreamMark
from spec.language.verdicts import Verdict
from tests.monitor.lives import ENDING, lives
from tests.streams.stories import CLAIMS, accepted, at, say
from tests.streams.traffic import Traffic, as_events

A, B, C = CLAIMS
AFTER = Event(kind=Kind.BLOCK_LOST, block_ids=(999,))


class Told:
    """A monitor of few claims, and what it has told so far."""

    def __init__(
        self, most: int = 2, ended: int = 0, modes: Sequence[Mode] = ENDING, ids: int = 10
    ) -> None:
        self.live = Live("run", modes, most=most, ended=ended, ids=ids)
        self.number, self.limits = 0, list[LiveLimit]()

    def take(self, events: Iterable[Event]) -> list[LiveVerdict]:
        """The verdicts that are told of these events; limits are put aside."""
        for event in events:
            self.live.take(msgspec.structs.replace(event, sequence=self.number))
            self.number += 1
        self.live._next = 0.0
        found = self.live.changes()
        self.limits += [line for line in found if isinstance(line, LiveLimit)]
        return [line for line in found if isinstance(line, LiveVerdict)]


def arrived(request: str) -> Event:
    return at(Kind.REQUEST_ARRIVED, request, needed=1, usable=10)


def known(told: list[LiveVerdict]) -> list[tuple[str, Verdict, bool]]:
    return [(each.claim_id, each.verdict, each.forgotten) for each in told]


class TestForgotten:
    def test_once(self) -> None:
        """A claim that ended is reported for the last time when it is forgotten, and then no
        more."""
        told = Told(ended=1)
        assert [(A, Verdict.SATISFIED, False)] == known(told.take([*lives(A), AFTER]))
        assert (A, Verdict.SATISFIED, True) in known(told.take([*lives(B), AFTER]))
        assert [] == told.take([AFTER])
        assert [B] == [each.claim_id for each in told.live.changes(final=True)]

    def test_without_end(self) -> None:
        """What counts is how many claims are live, not how many there were."""
        told, found = Told(most=10, ended=10), list[LiveVerdict]()
        for number in range(200):
            claim = f"claim:{number}"
            events = (
                msgspec.structs.replace(event, claim_id=claim, object_id=claim)
                for event in lives(A)
            )
            found += told.take(events)
        over = [each for each in found if each.forgotten]
        assert [f"claim:{number}" for number in range(190)] == [each.claim_id for each in over]
        assert {Verdict.SATISFIED} == {each.verdict for each in over}
        assert 10 == len(told.live._emitted)
        assert {"claims": 190} == told.live.given_up

    def test_harm_after_the_end(self) -> None:
        """What is said of a claim that has ended is told where it changes its verdict."""
        told = Told(ended=5)
        told.take([*lives(A, B), AFTER])
        (late,) = told.take([say(Kind.CLAIM_HARMED, A)])
        assert (A, Verdict.VIOLATED) == (late.claim_id, late.verdict)
        assert [] == told.take([AFTER])

    def test_those_who_come_late(self) -> None:
        """They are told of the claims that ended last, too."""
        told = Told(ended=1)
        told.take([*lives(A, B, C), AFTER])
        assert {B, C} <= {each.claim_id for each in told.live.standing}


class TestBounds:
    """What a stream may say without end, and never close."""

    def test_too_many_claims(self) -> None:
        """One more claim in hand breaks the stream, which is stated once."""
        told = Told(most=2, ended=9)
        for claim in CLAIMS:
            told.take(accepted(claim, ""))
        (limit,) = told.limits
        assert "live" == limit.limit
        verdicts = {each.claim_id: each.verdict for each in told.live.changes(final=True)}
        assert Verdict.INCONCLUSIVE is verdicts[A]

    def test_at_the_bound(self) -> None:
        """More may be said of claims that are in hand, and of those that ended."""
        told = Told(most=2, ended=2)
        told.take([*lives(C), *accepted(A, ""), *accepted(B, "")])
        told.take([say(Kind.CLAIM_MATERIALIZED, each) for each in CLAIMS])
        assert [] == told.limits

    def test_ids(self) -> None:
        """That ids are forgotten is stated once, and changes no exit code."""
        told, found = Told(ended=1, ids=1), []
        for claim in (A, B, C, "claim:other"):
            told.take([] if claim not in CLAIMS else [*lives(claim), AFTER])
            found.append([each for each in told.limits if each.limit == "ids"])
        assert [0, 0, 1, 1] == list(map(len, found))
        (limit,) = found[-1]
        followed = Followed()
        followed.take(limit)
        assert msgspec.json.decode(msgspec.json.encode(limit), type=LiveLine) == limit
        assert live_line(limit).startswith("limit  ids  ")
        followed.take(LiveEnd("run"))
        assert 3 == followed.code

    def test_never_finished(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """More requests in hand than are followed break the stream."""
        monkeypatch.setattr(live, "REQUESTS", 3)
        told = Told(ended=9)
        told.take([*accepted(B, ""), *(arrived(f"request:{number}") for number in range(3))])
        assert [] == told.limits
        told.take([arrived("request:3")])
        assert ["requests"] == [each.limit for each in told.limits]
        verdicts = {each.claim_id: each.verdict for each in told.live.changes(final=True)}
        assert Verdict.INCONCLUSIVE is verdicts[B]


class TestFollowed:
    """What following comes to."""

    @pytest.mark.parametrize(
        ("told", "ended", "code"),
        [
            ([], True, 3),
            ([("satisfied", False)], False, 3),
            ([("satisfied", True)], False, 3),
            ([("satisfied", False)], True, 0),
            ([("satisfied", True)], True, 0),
            ([("satisfied", True), ("inconclusive", False)], True, 3),
            ([("inconclusive", True), ("satisfied", False)], True, 3),
            ([("violated", True), ("satisfied", False)], True, 1),
            ([("violated", False)], False, 1),
        ],
    )
    def test_code(self, told: list[tuple[str, bool]], ended: bool, code: int) -> None:
        """Kept is only a stream that ended, all of whose claims were kept."""
        followed = Followed()
        for number, (verdict, forgotten) in enumerate(told):
            claim, mode, known = f"claim:{number}", Mode.DEMOTABLE, Verdict(verdict)
            followed.take(LiveVerdict("run", claim, mode, "", known, forgotten=forgotten))
        if ended:
            followed.take(LiveEnd("run"))
        assert code == followed.code

    @pytest.mark.parametrize("forgotten", [False, True])
    def test_stays_violated(self, forgotten: bool) -> None:
        """What is reported later of a claim that was violated does not undo it."""
        followed = Followed()
        for verdict in (Verdict.VIOLATED, Verdict.SATISFIED):
            told = LiveVerdict("run", A, Mode.DEMOTABLE, "", verdict, forgotten=forgotten)
            followed.take(told)
        followed.take(LiveEnd("run"))
        assert 1 == followed.code

    def test_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of more claims than are kept it is not said that they are kept."""
        monkeypatch.setattr(follow, "OPEN", 2)
        codes = []
        for count in (2, 3):
            followed = Followed()
            for number in range(count):
                told = LiveVerdict("run", f"claim:{number}", Mode.DEMOTABLE, "", Verdict.SATISFIED)
                followed.take(told)
                followed.take(told)
            followed.take(LiveEnd("run"))
            assert 2 == len(followed._open)
            codes.append(followed.code)
        assert [0, 3] == codes

    def test_nothing_kept(self) -> None:
        """What is forgotten there is forgotten here; a verdict on it that comes later counts."""
        followed = Followed()
        for verdict, forgotten in ((Verdict.SATISFIED, True), (Verdict.VIOLATED, True)):
            told = LiveVerdict("run", A, Mode.DEMOTABLE, "", verdict, forgotten=forgotten)
            followed.take(told)
        assert (1, {}) == (followed.code, followed._open)


def test_batches() -> None:
    """Events that come together are judged as one by one, whatever stands among them."""
    events: list[Event | StreamMark] = [*as_events(Traffic(600, 5, tuple(Mode)))]
    stream, chance = events[0].stream, Random(3)
    strange: list[Any] = [
        StreamMark(kind=Mark.STREAM_RESTATED, stream=stream),
        Event(kind=Kind.CLAIM_HARMED, stream="another", claim_id="claim:0"),
        Event(kind=Kind.BLOCK_CACHED, stream=stream, block_ids=(1, 1), positions=(0, 1)),
        Event(kind=Kind.CLAIM_REJECTED, stream=stream, claim_id="x" * 2_000),
        Event(kind=Kind.BLOCK_EVICTED, block_ids=[1, 2]),  # type: ignore[arg-type]
    ]
    for odd in ([], *([each] for each in strange)):
        for _ in range(3):
            one, all_ = (Live(stream, [*Mode], most=50, ended=3, ids=2) for _ in range(2))
            left, said = list(events), list[object]()
            place = chance.randrange(len(left))
            left[place:place] = odd
            while left:
                size = chance.choice((1, 2, 64))
                batch, left = left[:size], left[size:]
                for line in batch:
                    one.take(line)
                all_.take_all(batch)
                one._next = all_._next = 0.0
                found = one.changes()
                assert found == all_.changes()
                said += found
            assert one.changes(final=True) == all_.changes(final=True)
            assert len(said) > 20


STRANGE = (
    *(2**63 - 1, 2**63, 2**64, 2**200, -1, -(2**63), -(2**200), True, 1.5, float("nan")),
    *("", "x" * 100_000, "\ud800", "nul \0", b"bytes", {"a": 1}, [2**70], object()),
    *((2**70,), (-1,), ("x" * 100_000,), (None,), ((),)),
)


@pytest.mark.parametrize("name", Event.__struct_fields__)
def test_no_value_raises(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a field of an event holds, taking it does not raise, and both judges come to the
    same; what no line can state breaks the stream.
    """
    for value in STRANGE:
        found = []
        for core in ("python", "native"):
            monkeypatch.setenv("RESIDENT_CLAIMS_CORE", core)
            told = Told(modes=[*Mode])
            told.take(accepted(A, "request"))
            last = told.number
            fields: dict[str, Any] = {"claim_id": B, "object_id": "o", "sequence": last}
            told.live.take(Event(**{"kind": Kind.CLAIM_REGISTERED, **fields, name: value}))
            told.live.take(msgspec.structs.replace(AFTER, sequence=last + 1))
            found.append(told.live.changes(final=True))
        assert found[0] == found[1], value
        if isinstance(value, (float, bytes, dict)) or value in ((-1,), -1, 2**200):
            verdicts = {v.claim_id: v.verdict for v in found[0] if isinstance(v, LiveVerdict)}
            assert name == "priority" or Verdict.INCONCLUSIVE is verdicts[A], (name, value)
