"""Both judges of the monitor say the same while a stream is followed."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from monitor.check.events import EventMonitor
from monitor.input.dialects import LIVE, Reader
from monitor.input.errors import InputError
from monitor.input.given import record_of
from monitor.input.records import Record, Stamp, at_line
from monitor.native import CHOICE, library
from monitor.results import News
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.language.errors import SpecError
from spec.stream.outcome import ClaimOutcome
from tests.monitor.input.test_given import HOSTILE
from tests.native.differential import lines_of
from tests.native.mutated import mutated

pytestmark = pytest.mark.skipif(library() is None, reason="no native core is built")

LIMITS: dict[str, Any] = {"ended": 2, "ids": 3, "live": 6, "requests": 5}


class Pair:
    """A monitor by each judge, which are given the same."""

    def __init__(self, patch: pytest.MonkeyPatch, **given: Any) -> None:
        self.each = []
        for core in ("python", "native"):
            patch.setenv(CHOICE, core)
            self.each.append(EventMonitor(watched=True, **given))
        patch.delenv(CHOICE)

    def do(self, name: str, *args: Any, **more: Any) -> tuple[Any, Any]:
        """What a method of both gives."""
        one, other = (getattr(each, name)(*args, **more) for each in self.each)
        return one, other

    def agree(self) -> None:
        """What is new is the same, and so are the claims that are live."""
        ours, theirs = self.do("news")
        assert claims_of(ours) == claims_of(theirs)
        stood = {n.stream: (n.limits, n.forgotten) for n in ours}
        for news in theirs:
            found = news.limits, news.forgotten
            assert found == stood.get(news.stream, found)  # after a restart it is said once more
        one, other = self.each
        assert one.live == other.live

    def restart(self, stream: str | None) -> None:
        """Both go on from a snapshot."""
        self.each = [
            EventMonitor.restore(each.snapshot(stream=stream), watched=True) for each in self.each
        ]


def claims_of(news: list[News]) -> list[tuple[str, list[ClaimOutcome], list[ClaimOutcome]]]:
    """The claims in news; lines move several at once, which have no order."""
    return [
        (each.stream, each.gone, sorted(each.moved, key=lambda claim: claim.claim_id))
        for each in news
        if each.gone or each.moved
    ]


def follow(patch: pytest.MonkeyPatch, seed: int) -> None:
    """Follow a random stream with losses, lines that cannot be read, and restarts."""
    chance = Random(seed)
    _, text, mode = mutated(seed)
    pair = Pair(patch, mode=mode, **(LIMITS if seed % 2 else {}))
    for number, line in lines_of(text):
        if chance.random() < 0.03:
            pair.do("lose", number, "some are gone", None)
        if chance.random() < 0.05:
            pair.restart(None)
        try:
            if chance.random() < 0.01:
                raise InputError("events", "it is damaged", line=number)
            records = Reader("events", LIVE).feed(line, number)
        except InputError as error:
            pair.do("reject", error)
            continue
        for record in records:
            by_line = record.events and chance.random() < 0.7
            for each in pair.each:
                if not (by_line and each.take_line(line, number)):
                    each.take(record)
        pair.agree()
    ours, theirs = ([*each] for each in pair.do("in_hand", final=True))
    assert ours == theirs
    ours, theirs = pair.do("violations")
    assert ours == theirs
    ours, theirs = pair.do("finish")
    assert ours == theirs


@pytest.mark.parametrize("seed", range(40))
def test_follow(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """News after each line, what is in hand, and the report are the same, whatever is lost."""
    follow(monkeypatch, seed)


def test_one_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot of one of two streams has that one alone, by both judges."""
    pair = Pair(monkeypatch)
    for number, name in enumerate(("one", "two", "one")):
        pair.do("feed", {"kind": "claim_rejected", "claim_id": f"c{number}", "stream": name})
    pair.restart("one")
    ours, theirs = ([*each] for each in pair.do("in_hand"))
    assert ["one", "one"] == [name for name, _ in ours]
    assert ours == theirs
    for each in pair.each:
        with pytest.raises(SpecError, match="there is no stream"):
            each.snapshot(stream="two")


def test_later_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that begins after a line that could not be read lacks what that line stated."""
    pair = Pair(monkeypatch)
    pair.do("reject", InputError("events", "it is damaged", line=1))
    pair.restart(None)
    pair.do("feed", {"kind": "claim_rejected", "claim_id": "c"})
    ours, theirs = pair.do("finish")
    assert ours == theirs
    assert ["RC103"] == [each.code for each in ours.breaks]


def breaking(**given: str) -> Record:
    """A line that states why it breaks its stream, and nothing else."""
    return Record(at_line("events", 2), Stamp("events", None, None), **given)


@pytest.mark.parametrize(
    ("code", "name", "args"),
    [
        ("RC101", "lose", (2, "some are gone", None)),
        ("RC101", "take", (breaking(lost="some are gone"),)),
        ("RC103", "take", (breaking(lost="some are gone", unread="it is not known"),)),
        ("RC103", "take", (breaking(unread="it is not known"),)),
        ("RC103", "reject", (InputError("events", "it is damaged", line=2),)),
    ],
)
def test_codes(
    monkeypatch: pytest.MonkeyPatch, code: str, name: str, args: tuple[Any, ...]
) -> None:
    """Missing lines and lines that were not understood break a stream with different codes."""
    pair = Pair(monkeypatch)
    pair.do("feed", {"kind": "claim_rejected", "claim_id": "c"})
    pair.do(name, *args)
    ours, theirs = pair.do("finish")
    assert ours == theirs
    assert [code] == [each.code for each in ours.breaks]


def test_event_of_wrong_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event with a value that no line can have is refused by both judges, and judged by none."""
    for value in (b"c", 1.5, ["c"], {"c": 1}, object(), "\ud800"):
        pair = Pair(monkeypatch)
        event = Event(kind=Kind.CLAIM_REJECTED, claim_id=value)  # type: ignore[arg-type]
        for each in pair.each:
            with pytest.raises(InputError):
                each.feed(event)
            assert not [*each.in_hand()]


OBJECTS: tuple[dict[str, Any], ...] = (
    {"kind": Kind.CLAIM_REJECTED, "claim_id": "c"},
    {"kind": Kind.BLOCK_CACHED, "claim_id": "c", "block_ids": (1, 2), "positions": (0, 1)},
    {"kind": Kind.BLOCK_EVICTED, "block_ids": (1, 2)},
    {"kind": Kind.REQUEST_REFUSED, "request_id": "r", "blocking_claim_ids": ("c",)},
    {"kind": Kind.REUSE_SERVED, "claim_id": "c", "request_id": "r", "hit": True},
)


@pytest.mark.parametrize("place", range(len(OBJECTS)))
def test_hostile_objects(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever stands in a field of an event, both judges take it as the line that it would be
    written as, or refuse it with the same words.
    """
    given, taken = OBJECTS[place], 0
    for name in (*given, "sequence", "stream", "by", "proof", "keys"):
        for value in HOSTILE:
            event = Event(**{**given, name: value})
            try:
                ((due, _),) = record_of(event, "events", 1).events
            except InputError as error:
                said, due = str(error), None
            for each in Pair(monkeypatch).each:
                if due is None:
                    with pytest.raises(InputError) as refused:
                        each.feed(event)
                    assert said == str(refused.value)
                    continue
                each.feed(event)
                other = EventMonitor()
                other.feed(due)
                assert other.finish() == each.finish()
                taken += 1
    assert taken > 10


class Ours(Event, frozen=True, kw_only=True):
    """An event of another class."""


class More(Event, frozen=True, kw_only=True):
    """An event with a field that no line has."""

    more: int = 0


def test_classes_of_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event of a class of the caller's is taken by both judges for the fields that it has."""
    pair = Pair(monkeypatch)
    pair.do("feed", Ours(kind=Kind.CLAIM_REJECTED, claim_id="c"))
    ours, theirs = ([*each] for each in pair.do("in_hand"))
    assert ours == theirs
    assert ["c"] == [claim.claim_id for _, claim in ours]
    for each in pair.each:
        with pytest.raises(InputError, match="more"):
            each.feed(More(kind=Kind.CLAIM_REJECTED, claim_id="c", more=1))
