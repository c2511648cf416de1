"""Lines that come out of order within a window, twice, or too late."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.check.conclude import Asked, concluded, found_in
from monitor.core import Streams
from monitor.input import resequencer
from monitor.input.records import OUT_OF_ORDER, Account, Disorder, Record, at_line, stamp_of
from monitor.input.reorder_window import MOST_LINES, Window
from monitor.input.resequencer import Resequencer
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event, Mark, StreamMark
from spec.language.errors import SpecError
from tests.streams.strategies import Stamped, streams

MODES = tuple(Mode)
SETTLED = {"satisfied", "violated", "kept"}


def record(line: Event | StreamMark, place: int = 1, stream: str = "s") -> Record:
    at = at_line("file", place, line.sequence)
    events = ((line, at),) if isinstance(line, Event) else ()
    return Record(at, stamp_of(line, stream), events)


def numbered(number: int | None, block: int = 0, **stamp: Any) -> Record:
    return record(Event(kind=Kind.BLOCK_LOST, block_ids=(block,), sequence=number, **stamp), 1)


def records_of(events: Iterable[Stamped], mode: Mode) -> list[Record]:
    """The records of a stream, each with its number; the claims state this mode."""
    found = []
    for number, (time, event) in enumerate(events):
        stamp = {"sequence": number, "time_ns": time, "mode": event.mode and str(mode)}
        found.append(record(msgspec.structs.replace(event, **stamp), number + 1))
    return found


def passed(lines: Iterable[Record], window: Window) -> list[Record]:
    """What comes out of a window, at the end of the stream too."""
    return counted(lines, window)[0]


def counted(lines: Iterable[Record], window: Window) -> tuple[list[Record], Account]:
    """The same, and what was out of order."""
    each = Resequencer(window)
    found = [out for line in lines for out in each.take(line)]
    return [*found, *each.flush()], Account("file", disorder=each.disorder)


def numbers(records: Iterable[Record]) -> list[int | None]:
    return [each.stamp.sequence for each in records]


def verdicts(lines: Iterable[Record], mode: Mode, *accounts: Account) -> dict[tuple[str, str], str]:
    """The verdicts on each claim that states the mode, and on the whole."""
    streams = Streams()
    for line in lines:
        streams.take(line)
    streams.finish()
    report = concluded(Asked(None), found_in(streams, accounts))
    found = {
        (claim.claim_id, name): str(finding.verdict)
        for claim in report.claims
        for name, finding in claim.obligations.items()
    }
    return {**found, ("", ""): str(report.verdict)}


def displaced(data: st.DataObject, ordered: Sequence[Record], most: int) -> list[Record]:
    """The same lines, none overtaken by more than so many others."""
    places = [n + data.draw(st.integers(0, most)) for n in range(len(ordered))]
    return [ordered[n] for n in sorted(range(len(ordered)), key=lambda n: places[n])]


def overtaken(data: st.DataObject, ordered: Sequence[Record]) -> list[Record]:
    """The same lines, some of them anywhere."""
    shuffled = list(ordered)
    for _ in range(data.draw(st.integers(1, 3))):
        line = shuffled.pop(data.draw(st.integers(0, len(shuffled) - 1)))
        shuffled.insert(data.draw(st.integers(0, len(shuffled))), line)
    return shuffled


class TestVerdicts:
    """What comes out is judged as the stream, or less is concluded."""

    @pytest.mark.slow
    @given(streams(), st.data(), st.sampled_from(MODES))
    def test_shuffled_within_the_window(
        self, events: list[Stamped], data: st.DataObject, mode: Mode
    ) -> None:
        """A stream that is shuffled within the window has the verdicts of the ordered one."""
        ordered = records_of(events, mode)
        found = passed(displaced(data, ordered, 3), Window(3))
        assert ordered == found
        assert verdicts(ordered, mode) == verdicts(found, mode)

    @given(streams(), st.data(), st.integers(0, 2), st.sampled_from(MODES))
    def test_later_than_the_window(
        self, events: list[Stamped], data: st.DataObject, lines: int, mode: Mode
    ) -> None:
        """A line that comes too late makes no verdict kept or violated that is not so; what lines
        that are left out would have contradicted may be concluded.
        """
        ordered = records_of(events, mode)
        shuffled = overtaken(data, ordered)
        left, account = counted(shuffled, Window(lines))
        truth, found = verdicts(ordered, mode), verdicts(left, mode, account)
        wrong = {
            name: (truth.get(name), verdict)
            for name, verdict in found.items()
            if verdict in SETTLED and truth.get(name) not in (verdict, "inconclusive")
        }
        assert {} == wrong

    def test_a_second_life_overtakes_the_first(self) -> None:
        """Of a claim that a late line names nothing is concluded, though its last life is whole."""
        first = [
            Event(kind=kind, claim_id="a", cache_identity="m", object_id="o", mode="hard_protected")
            for kind in (Kind.CLAIM_REGISTERED, Kind.CLAIM_COMMITTED, Kind.CLAIM_ACCEPTED)
        ]
        ordered = records_of([(at, each) for at, each in enumerate([*first, *first])], MODES[2])
        late = passed([*ordered[3:], *ordered[:3]], Window(0))
        assert "inconclusive" == verdicts(late, MODES[2])["", ""]

    @given(streams(), st.data(), st.sampled_from(MODES))
    def test_repeated(self, events: list[Stamped], data: st.DataObject, mode: Mode) -> None:
        """Lines that come twice change nothing."""
        ordered = records_of(events, mode)
        again = data.draw(st.lists(st.integers(0, len(ordered) - 1), max_size=5))
        lines = list(ordered)
        for number in again:
            place = data.draw(st.integers(lines.index(ordered[number]) + 1, len(lines)))
            lines.insert(place, ordered[number])
        assert ordered == passed(lines, Window(5))


class TestOrder:
    """What is held back, passed on, dropped and counted."""

    def test_held_back(self) -> None:
        """A line waits for those before it."""
        each = Resequencer(Window(5))
        assert [0] == numbers(each.take(numbered(0)))
        assert [] == numbers(each.take(numbered(2)))
        assert [] == numbers(each.take(numbered(3)))
        assert 2 == each.held
        assert [1, 2, 3] == numbers(each.take(numbered(1)))
        assert 0 == each.held
        assert Disorder(held=2) == each.disorder

    def test_the_watermark_never_falls(self) -> None:
        """What the window gave up is late when it comes, and is left out."""
        each = Resequencer(Window(2))
        lines = [numbers(each.take(numbered(n))) for n in (0, 3, 2, 4, 1, 1, 5)]
        assert [[0], [], [], [2, 3, 4], [], [], [5]] == lines
        assert Disorder(held=3, late=2) == each.disorder

    def test_by_time(self) -> None:
        """A line is given up once those that came are so much later, whatever their number."""
        each = Resequencer(Window(100, 10))
        assert [] == numbers(each.take(numbered(1, time_ns=5)))
        assert [] == numbers(each.take(numbered(2, time_ns=15)))
        assert [1, 2, 3] == numbers(each.take(numbered(3, time_ns=16)))

    def test_an_end(self) -> None:
        """At the end all that was held back comes in order, its gaps left open."""
        assert [3, 5, 9] == numbers(passed(map(numbered, (9, 3, 5)), Window(10)))

    def test_a_repeated_line(self) -> None:
        """The same line again is dropped, whether the first is held back or was passed on."""
        each = Resequencer(Window(5))
        found = [numbers(each.take(numbered(n))) for n in (0, 2, 2, 0, 1, 2)]
        assert [[0], [], [], [], [1, 2], []] == found
        assert Disorder(duplicates=3, held=1) == each.disorder

    def test_another_content(self) -> None:
        """A number that says something else is passed on, and contradicts."""
        lines = [numbered(0), numbered(1), numbered(1, block=2), numbered(2)]
        assert lines == passed(lines, Window(5))
        streams = Streams(Mode.BEST_EFFORT)
        for line in lines:
            streams.take(line)
        (stream,) = streams
        assert stream.left is not None
        assert "out-of-order" == stream.left.code.title

    def test_what_is_forgotten(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A repetition of a line that is no longer remembered is passed on, and not trusted."""
        monkeypatch.setattr(resequencer, "REMEMBERED", 2)
        lines = [numbered(n) for n in (0, 1, 2, 3, 0, 3)]
        each = Resequencer(Window(5))
        assert [0, 1, 2, 3, 0] == [n for line in lines for n in numbers(each.take(line))]
        assert Disorder(duplicates=1, contradicting=1) == each.disorder

    def test_streams_apart(self) -> None:
        """Each stream has its own numbers and its own window."""
        lines = [
            record(Event(kind=Kind.BLOCK_LOST, block_ids=(1,), sequence=n), 1, stream)
            for stream, n in (("a", 1), ("b", 0), ("a", 0), ("b", 1))
        ]
        found = [(each.stamp.stream, each.stamp.sequence) for each in passed(lines, Window(9))]
        assert [("b", 0), ("a", 0), ("a", 1), ("b", 1)] == found

    def test_many_streams(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What is held back of all streams together is bounded, too."""
        monkeypatch.setattr(resequencer, "HELD", 3)
        each = Resequencer(Window(9))
        lines = [
            record(Event(kind=Kind.BLOCK_LOST, block_ids=(1,), sequence=5), 1, f"s{n}")
            for n in range(20)
        ]
        assert 17 == sum(len(list(each.take(line))) for line in lines)
        assert 3 == each.held

    @pytest.mark.parametrize("before", [True, False])
    def test_without_a_number(self, before: bool) -> None:
        """A line without a number among those that have one may belong anywhere: it breaks the
        order, as a line that runs backwards does.
        """
        bare = numbered(None)
        lines = [bare, numbered(0)] if before else [numbered(0), bare]
        assert ["", OUT_OF_ORDER] == [each.lost for each in passed(lines, Window(9))]

    def test_no_numbers(self) -> None:
        """A stream without numbers is passed on as it comes."""
        opened = record(StreamMark(kind=Mark.STREAM_OPENED))
        lines = [opened, numbered(None, 1), numbered(None, 2), numbered(None, 1)]
        assert lines == passed(lines, Window(9))


class TestWindow:
    @pytest.mark.parametrize(
        ("text", "window"),
        [
            ("100", Window(100)),
            ("0", Window(0)),
            ("5s", Window(100_000, 5 * 10**9)),
            ("100, 0.5 s", Window(100, 5 * 10**8)),
            ("2s,7", Window(7, 2 * 10**9)),
        ],
    )
    def test_parse(self, text: str, window: Window) -> None:
        """A window is stated in lines, in seconds, or in both."""
        assert window == Window.parse(text)

    @pytest.mark.parametrize(
        "text",
        ["", ",", "-1", "x", "1,2", "1s,2s", "5 steps", "0s", "1,", f"{MOST_LINES + 1}", "²"],
    )
    def test_no_window(self, text: str) -> None:
        """Anything else is refused, with what to write."""
        with pytest.raises(SpecError, match=r"no window|too many lines"):
            Window.parse(text)
