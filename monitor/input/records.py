"""Defines the records that sources pass to a judge: canonical events with their location, and
writes events as lines.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from monitor.input.errors import InputError
from monitor.input.lines import LINE_LIMIT
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import EVENT_ENCODER, CacheGroup, Event, Mark, StreamMark
from spec.stream.breaks import Line

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "CANONICAL",
    "OUT_OF_ORDER",
    "Account",
    "At",
    "Disorder",
    "Doubt",
    "Form",
    "Record",
    "Source",
    "Stamp",
    "at_line",
    "content_of",
    "disordered",
    "line_of",
    "remains_of_late",
    "source_of",
    "stamp_of",
    "text_of",
    "texts_of",
]


class Source(msgspec.Struct, frozen=True, gc=False):
    """What places in one file have in common: the file, as the user named it, and by how much the
    number of a line is `ahead` of the sequence number there, None for lines that have none.
    """

    file: str
    ahead: int | None


class At(msgspec.Struct, frozen=True, gc=False):
    """Where something was read: in which source, and a line counted from 1.

    Very many are kept, so they keep no number that the source tells.
    """

    source: Source
    line: int

    @property
    def file(self) -> str:
        """The file, as the user named it."""
        return self.source.file

    @property
    def sequence(self) -> int | None:
        """The sequence number of the line, if it has one."""
        ahead = self.source.ahead
        return None if ahead is None else self.line - ahead


source_of = lru_cache(maxsize=1024)(Source)
"""One `Source` for all places that have it in common, as far as that is likely."""

_ENCODE: Final = msgspec.json.Encoder().encode
_FIELDS: Final = Event.__struct_fields__


def at_line(file: str, line: int, sequence: int | None = None) -> At:
    """The place of a line of a file, with its sequence number if it has one."""
    return At(source_of(file, None if sequence is None else line - sequence), line)


class Form(msgspec.Struct, frozen=True):
    """The form that the lines of a stream have: the canonical one, or that of a recorded dialect.

    `first` are the numbers that a stream may begin with; `skips` says that missing numbers are no
    loss. `derived` are the kinds of facts that no hook states in this form, and that are read from
    its reports instead. `usual` is the mode that its recordings are mostly judged by: a hint for
    people whose claims state none, and never a default.
    """

    name: str
    first: tuple[int, ...] = (0,)
    skips: bool = False
    derived: frozenset[Kind] = frozenset()
    usual: Mode | None = None


_ALONE: Final = "what the others observed is missing"
CANONICAL: Final = Form("canonical")
OUT_OF_ORDER: Final = "lines of the stream are out of order"
"""Why lines may be missing before one that may belong to another place of its stream."""


class Stamp(msgspec.Struct, frozen=True):
    """The place of one line in its stream, and what the line says of the stream itself.

    `mark` says that the line is a mark and no event, and `groups` has the groups of caches that it
    states. `observes` are the kinds of facts of which the
    hooks of the stream state each one, where this line or its form says so. `alone` says why
    nothing is concluded from this stream by itself. `file` is that of the stream, where it is not
    that of the line. A line that opens one of several `ranks` of an engine has its `rank`, and the
    name of the `engine`.
    """

    stream: str
    sequence: int | None
    time_ns: int | None
    form: Form = CANONICAL
    mark: Mark | None = None
    observes: frozenset[Kind] | None = None
    alone: str = ""
    file: str = ""
    rank: int | None = None
    ranks: int = 0
    engine: str = ""
    groups: tuple[CacheGroup, ...] = ()


def stamp_of(line: Event | StreamMark, stream: str) -> Stamp:
    """The stamp of a canonical line of this stream; what it observes are kinds of facts."""
    place = (stream, line.sequence, line.time_ns)
    if isinstance(line, Event):
        return Stamp(*place)
    observes = None if line.observes is None else frozenset(map(Kind, line.observes))
    stamp = Stamp(*place, mark=line.kind, observes=observes, groups=line.groups)
    if line.ranks in (None, 1):
        return stamp
    alone = f"it is rank {line.rank} of {line.ranks}: {_ALONE}"
    engine = line.engine or stream
    return replace(stamp, alone=alone, rank=line.rank, ranks=line.ranks, engine=engine)


class Doubt(msgspec.Struct, frozen=True):
    """Why nothing new is concluded from the events of a line on: what the line does not state.

    It concerns `claim_id`, or every claim alive in the stream; and the obligations in `only`, or
    all of them.
    """

    why: str
    claim_id: str | None = None
    only: frozenset[str] = frozenset()


class Record(msgspec.Struct, frozen=True):
    """One line: its place, its order, and the canonical events it stands for, each with its place.

    A line of an unknown kind has no events and names the kind in `unknown`. `lost` says why lines
    may be missing before this one, and `unread` what of it was not understood.
    """

    at: At
    stamp: Stamp
    events: tuple[tuple[Event, At], ...] = ()
    unknown: str | None = None
    doubts: tuple[Doubt, ...] = ()
    lost: str = ""
    unread: str = ""


def content_of(record: Record) -> bytes:
    """What a line states, in one form for all ways to write it; a file may name its stream."""
    events = [[getattr(event, name) for name in _FIELDS] for event, _ in record.events]
    return _ENCODE((record.stamp.time_ns, events))


def line_of(record: Record, *, foreign: bool = False) -> Line:
    """A record as a judge takes it; a `foreign` one has another form than the first."""
    stamp, form = record.stamp, record.stamp.form
    return Line(
        record.at,
        tuple([event for event, _ in record.events]),
        stamp.sequence,
        stamp.time_ns,
        form.skips,
        None if stamp.mark is None else StreamMark(kind=stamp.mark, groups=stamp.groups),
        stamp.observes,
        tuple([(each.claim_id, each.only, each.why) for each in record.doubts]),
        form.derived,
        foreign,
        record.lost or stamp.alone,
        record.unread,
    )


class Disorder(msgspec.Struct):
    """How many lines were repeated and dropped, came early and were held back, came later than the
    window and were dropped, and had the number of another line and another content.
    """

    duplicates: int = 0
    held: int = 0
    late: int = 0
    contradicting: int = 0

    def add(self, other: Disorder) -> None:
        """Count what was out of order elsewhere, too."""
        self.duplicates += other.duplicates
        self.held += other.held
        self.late += other.late
        self.contradicting += other.contradicting


class Account(msgspec.Struct):
    """What was read of one file.

    `sha256` (hexadecimal, of the bytes on disk, compressed ones where it is compressed) is empty
    until the file has been read to its end. `lines` counts those that are not blank, rejected ones
    included; `rejection` is the first of the rejected. `disorder` is known where lines were put in
    order. `form` says what the form of the lines was, where there is something to say of it.
    """

    file: str
    sha256: str = ""
    lines: int = 0
    rejected: int = 0
    rejection: InputError | None = None
    disorder: Disorder | None = None
    form: str = ""

    def reject(self, error: InputError) -> None:
        """A line could not be read."""
        self.rejected += 1
        self.rejection = self.rejection or error


_READER: Final = msgspec.json.Decoder(Event)
_READ: Final = _READER.decode


def text_of(event: Event) -> bytes:
    """The line of an event, which may yet be refused; empty where it is not certain that the line
    says the same.

    It does where an equal event is read from it. The encoder writes more types than JSON has, such
    as bytes, sets and members of an Enum. What is read of these equals no such value, unless its
    class says so.
    """
    try:
        line = EVENT_ENCODER.encode(event)
        is_same = len(line) <= LINE_LIMIT and _READ(line) == event
    except Exception:  # an object of the caller's may raise anything
        return b""
    return line if is_same else b""


def texts_of(events: Sequence[Event]) -> bytes:
    """The lines of events, with an end each, as `text_of`; empty where it is not certain that all
    say the same.
    """
    try:
        lines = EVENT_ENCODER.encode_lines(events)
        is_same = len(lines) <= LINE_LIMIT and _READER.decode_lines(lines) == [*events]
    except Exception:  # an object of the caller's may raise anything
        return b""
    return lines if is_same else b""


_TOO_LATE: Final = "an event that names it came too late"


def disordered(record: Record) -> Record:
    """The same line, which may belong to another place of its stream."""
    return replace(record, lost=record.lost or OUT_OF_ORDER)


def remains_of_late(record: Record, time_ns: int | None) -> Record | None:
    """What remains of an event that comes too late: the claims that it names had a life of which
    something is missing, whenever they come. None where it names no claim.

    Args:
        time_ns: of the last line that was passed on.
    """
    events = [event for event, _ in record.events]
    named = {n for e in events for n in (e.claim_id, e.outcome_claim_id, *e.accused) if n}
    if not named:
        return None
    stamp = replace(record.stamp, sequence=None, time_ns=time_ns, mark=None, observes=None)
    doubts = tuple(Doubt(_TOO_LATE, name) for name in sorted(named))
    return replace(record, stamp=stamp, events=(), doubts=doubts)
