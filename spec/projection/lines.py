"""Defines the lines of one stream, and their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from spec.events.alphabet import Kind
from spec.events.canonical import Event, Mark, StreamMark

__all__ = ["Line", "Order", "line_of"]


class Line(NamedTuple):
    """One line of a stream; `at` is its number, from 1.

    `skips` says that missing sequence numbers are no loss there. `observes` are the kinds of facts
    of which the hooks of the stream state each one, where the line says so. `doubts` are claims
    (None for all that are alive) of which nothing more is concluded, or nothing of the obligations
    beside them. `derived` are kinds of facts that are read from reports in the form of the stream,
    and contradict none. `foreign` says that the line has another form than the first: from there on
    the order of lines is unknown, and so is which are missing.
    """

    at: int
    events: tuple[Event, ...] = ()
    sequence: int | None = None
    time_ns: int | None = None
    skips: bool = False
    mark: Mark | None = None
    observes: frozenset[Kind] | None = None
    doubts: tuple[tuple[str | None, frozenset[str]], ...] = ()
    derived: frozenset[Kind] = frozenset()
    foreign: bool = False


def line_of(given: Event | StreamMark, at: int) -> Line:
    """A line of the canonical form."""
    if isinstance(given, Event):
        return Line(at, (given,), given.sequence, given.time_ns)
    stated = getattr(given, "observes", None)
    observes = None if stated is None else frozenset(map(Kind, stated))
    return Line(at, (), given.sequence, given.time_ns, mark=given.kind, observes=observes)


@dataclass
class Order:
    """The sequence number and the time of the last line that had them.

    `first` are the numbers that a stream may begin with; `opened` is the line that promised an end,
    and `closed` whether the last line is one; `mixed` is the first line of another form.
    """

    first: tuple[int, ...] = (0,)
    sequence: int | None = None
    time_ns: int | None = None
    opened: int | None = None
    closed: bool = False
    mixed: int | None = None

    @property
    def cut(self) -> int | None:
        """The first line of another form, or the line that promised an end which does not come."""
        return self.mixed or (None if self.closed else self.opened)

    @property
    def why(self) -> str:
        """What is wrong with a stream that is cut."""
        if self.mixed is not None:
            return "two dialects in one stream"
        return "the stream was cut: stream_closed is not its last line"

    def take(self, line: Line) -> tuple[bool, bool]:
        """Whether the stream steps back at this line, and whether lines before it are missing."""
        self.mixed = self.mixed or (line.at if line.foreign else None)
        if self.mixed is not None:
            return False, True
        number, last, back, missing = line.sequence, self.sequence, False, False
        if number is not None:
            expected = self.first if last is None else (last + 1,)
            back = last is not None and number <= last
            missing = not (back or line.skips or number in expected)
            self.sequence = number
        if line.time_ns is not None:
            back = back or (self.time_ns is not None and line.time_ns < self.time_ns)
            self.time_ns = line.time_ns
        opens, opened = line.mark is Mark.STREAM_OPENED, self.opened is not None
        again = opens and (back or (opened and not self.closed))
        self.closed = line.mark is Mark.STREAM_CLOSED
        if opens:
            self.opened = self.opened or line.at
        return (False, True) if again else (back, missing)
