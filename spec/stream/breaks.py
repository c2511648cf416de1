"""Watches the order of lines, and names what breaks a stream.

At a break every claim that is alive is inconclusive from there on. There is no finer rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from spec.events.alphabet import Kind
from spec.events.canonical import Event, Mark, StreamMark
from spec.stream.codes import Code, Reason

__all__ = ["Contradiction", "Limits", "Line", "Order", "Step", "line_of"]


class Contradiction(Exception):
    """A fact contradicts those before it, so that not all were observed, or not faithfully."""

    def __init__(self, code: Code, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text

    def at(self, place: object) -> Reason:
        """The reason, at the place of a line."""
        return Reason(self.code, self.text, place)


class Limits(NamedTuple):
    """How much of a stream is kept: claims in hand, ended claims, ids of others, requests, objects
    without a claim, blocks and copies, and tiers that have a copy of the whole of a claim.

    More claims or requests in hand, blocks and copies, or tiers of a claim, than this break the
    stream. A report lists up to `troubled` claims that were not kept, though so many ended after
    them.
    """

    live: int = 1_000_000
    ended: int = 10_000
    ids: int = 1_000_000
    requests: int = 1_000_000
    troubled: int = 1_000
    objects: int = 65_536
    blocks: int = 10_000_000
    tiers: int = 16


class Line(NamedTuple):
    """One line of a stream; `at` is its place, of which only reports read anything.

    `skips` says that missing sequence numbers are no loss there. `observes` are the kinds of facts
    of which the hooks of the stream state each one, where the line says so. Each of `doubts` has a
    claim (None for all that are alive), obligations and a reason: nothing more is concluded of
    these obligations, or of the whole claim if there are none. `derived` are kinds of facts that
    the form reads from reports. `foreign` says that the line has another form than the first;
    `lost` why lines may be missing before it, and `unread` why the line, or one before it, was not
    understood.
    """

    at: object
    events: tuple[Event, ...] = ()
    sequence: int | None = None
    time_ns: int | None = None
    skips: bool = False
    mark: StreamMark | None = None
    observes: frozenset[Kind] | None = None
    doubts: tuple[tuple[str | None, frozenset[str], str], ...] = ()
    derived: frozenset[Kind] = frozenset()
    foreign: bool = False
    lost: str = ""
    unread: str = ""


def line_of(given: Event | StreamMark, at: object) -> Line:
    """A line of the canonical form."""
    if isinstance(given, Event):
        return Line(at, (given,), given.sequence, given.time_ns)
    observes = None if given.observes is None else frozenset(map(Kind, given.observes))
    return Line(at, (), given.sequence, given.time_ns, mark=given, observes=observes)


class Step(NamedTuple):
    """What the place of a line comes to: a break, if any, and whether a new run begins at it.

    `closed` says that the run before it was closed, and that no line between them is missing.
    """

    broken: Reason | None = None
    begins: bool = False
    closed: bool = False


_FINE = Step()


@dataclass
class Order:
    """The sequence number and the time of the last line that had them.

    `first` are the numbers that a run may begin with; `opened` is the place of the line that
    promised an end, if any, and `closed` whether the last line is that end.
    """

    first: tuple[int, ...] = (0,)
    sequence: int | None = None
    time_ns: int | None = None
    opened: object = None
    closed: bool = False
    mixed: bool = False

    def take(self, line: Line) -> Step:
        """The next line of the stream."""
        last, then, number, now = self.sequence, self.time_ns, line.sequence, line.time_ns
        self.mixed |= line.foreign
        if self.mixed:
            return Step(Reason(Code.TWO_FORMS, "two dialects in one stream", line.at))
        mark = None if line.mark is None else line.mark.kind
        opens, closed = mark is Mark.STREAM_OPENED, self.closed
        again = number is not None and last is not None and number <= last
        afresh = (opens and self.cut) or (again and number in self.first)
        begins = afresh or (opens and closed)
        if begins:
            then = None  # perhaps it has another clock
        self.sequence = last if number is None else number
        self.time_ns = then if now is None else now
        self.closed = mark is Mark.STREAM_CLOSED
        if opens:
            self.opened = line.at
        elif afresh:
            self.opened = None
        wrong = None if afresh else self._wrong(line, last, then)
        if begins:
            run = Reason(Code.NEW_RUN, "another run of the stream begins", line.at)
            return Step(wrong or run, True, closed and not (wrong or line.lost or line.unread))
        return _FINE if wrong is None else Step(wrong)

    def _wrong(self, line: Line, last: int | None, then: int | None) -> Reason | None:
        """What is wrong with a line that goes on from a number and a time, if anything."""
        number, now, at = line.sequence, line.time_ns, line.at
        if number is not None and last is not None and number <= last:
            return Reason(Code.OUT_OF_ORDER, "sequence numbers of the stream go backwards", at)
        if now is not None and then is not None and now < then:
            return Reason(Code.TIME_BACKWARDS, "times of the stream go backwards", at)
        if line.unread:
            return Reason(Code.NOT_UNDERSTOOD, line.unread, at)
        if line.lost:
            return Reason(Code.LINES_MISSING, line.lost, at)
        if number is None or line.skips:
            return None
        if number in self.first if last is None else number == last + 1:
            return None
        gap = f"lines are missing before sequence number {number}"
        return Reason(Code.LINES_MISSING, gap, at)

    @property
    def cut(self) -> bool:
        """Whether the stream promised an end that is not its last line."""
        return self.opened is not None and not self.closed
