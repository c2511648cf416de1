"""Reads captures of the sockets on which engines publish KV events.

A line is a message as it was received: `frames` in base64, which are the topic, a sequence number
of 8 bytes and a batch in msgpack; a replay puts an empty frame before them, and ends with the
number -1. Where a line has no frames, `seq` and `decoded` state the same. `run` is another number
where the reader found that the engine was started again. A line may also be one
event of a batch: `event`, with the `sequence` of the batch. TensorRT-LLM and NVIDIA Dynamo have
lines of their own.

Each endpoint and each data-parallel rank is a stream. KV events are facts about blocks: they state
no claims, so that by themselves nothing is judged.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from monitor.input.dialects import Dialect
from monitor.input.dialects._json import Listed, struct
from monitor.input.errors import InputError
from monitor.input.kv_events import batches, dynamo, mooncake, tensorrt_llm
from monitor.input.kv_events.batches import SEQUENCE_BYTES, batch_of, events_of
from monitor.input.kv_events.facts import (
    MOST_NUMBER,
    MOST_STREAMS,
    Batch,
    Gap,
    Malformed,
    Message,
    RankNumber,
    Seconds,
    unpacked,
)
from monitor.input.kv_events.joined import joined
from monitor.input.kv_events.runtimes import UNKNOWN, Runtime
from monitor.input.records import Form, Record, Stamp, at_line
from spec.events.alphabet import Kind
from spec.events.canonical import CacheGroup, Event, Mark

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from monitor.input.kv_events.joined import Join
    from monitor.input.records import At

__all__ = ["DIALECT", "FORM", "KvEventsDialect", "recognises"]

FORM: Final = Form("kv_events")
_OBSERVES: Final = frozenset({Kind.BLOCK_CACHED, Kind.BLOCK_EVICTED, Kind.BLOCK_LOST})
_FULL: Final = CacheGroup(0, "full")
_MOST_NAMES: Final = 1000
_MOST_SHOWN: Final = 20
_OTHERS: Final = "(others)"
_MESSAGE: Final = "a message has a topic, 8 bytes of a sequence number, and a batch in msgpack"
_EVENTS: Final = "docs/kv-events.md has the forms of events that have lines of their own"
_MOST_LINES: Final = 100_000  # of one batch
_FORMS: Final = (tensorrt_llm, dynamo)
"""Those that have lines of their own."""

_KNOWN: Final = frozenset[str]().union(
    *(form.KNOWN for form in (batches, mooncake, tensorrt_llm, dynamo))
)


def recognises(obj: dict[str, object]) -> bool:
    """Whether a line is a message of KV events, one of them, or a list of them."""
    if isinstance(obj, Listed):
        return bool(obj.objects) and _form_of(obj.objects[0]) is not None
    framed = "frames" in obj or "decoded" in obj
    event = obj.get("event")  # one with a schema is of a request trace, and of no batch
    alone = isinstance(event, dict) and "schema" not in event
    return framed or alone or _form_of(obj) is not None


def _items(obj: dict[str, object]) -> list[dict[str, Any]]:
    """The objects of a line, which is one or a list of them."""
    return obj.objects if isinstance(obj, Listed) else [obj]


def _form_of(obj: dict[str, object]) -> Any:
    """The module that reads an object, of those that have lines of their own."""
    return next((form for form in _FORMS if form.recognises(obj)), None)


_Name = Annotated[str, Meta(max_length=512)]
_Number = Annotated[int, Meta(ge=-1, le=MOST_NUMBER)]


class _Message(msgspec.Struct, frozen=True):
    frames: list[str] | None = None
    endpoint: _Name = ""
    run: int = 0
    seq: _Number | None = None
    decoded: list[Any] | dict[str, Any] | None = None


class _Single(msgspec.Struct, frozen=True):
    event: dict[str, Any]
    sequence: _Number | None = None
    event_index: _Number | None = None
    timestamp: Seconds = 0
    data_parallel_rank: RankNumber | None = None
    endpoint: _Name = ""


@dataclass(slots=True)
class _Held:
    """A batch whose events have a line each, and the first of them with its place; `gap` says why
    lines of the batch may be missing.
    """

    at: At
    single: _Single
    batch: batches.Events | mooncake.Maps
    lines: int = 1
    gap: str = ""

    def goes_on_with(self, single: _Single) -> bool:
        """Whether an event of the same endpoint and rank is the next one of the batch."""
        number, index, first = single.sequence, single.event_index, self.single.event_index
        if number is None or number != self.single.sequence or self.lines >= _MOST_LINES:
            return False
        return index is None or first is None or index == first + self.lines


@dataclass(slots=True)
class _Stream:
    """What is known of one stream: its endpoint and rank, the join of it with claims, its last
    number and time, its run, its groups of caches.
    """

    place: tuple[str, int]
    join: Join | None = None
    last: int | None = None
    missing: int = 0
    stored: bool = False  # whether anything was stored in this run
    time_ns: int | None = None
    run: int = 0
    groups: dict[int, CacheGroup] = field(default_factory=lambda: {0: _FULL})
    opened: bool = False
    next_index: int | None = 0  # of the next event, where events have a line each

    def is_again(self, sequence: int | None, run: int) -> bool:
        """Whether the engine was started again before the batch of this number and run."""
        return self.opened and (sequence == 0 or run != self.run)

    def opens(self, batch: Batch, run: int, *, again: bool) -> bool:
        """Whether a run begins with a batch: the engine was started again, or has other groups of
        caches than was known.
        """
        if again:
            self.groups, self.time_ns, self.stored = {0: _FULL}, None, False
        groups = {**self.groups, **batch.groups}
        opens = again or not self.opened or groups != self.groups
        self.groups, self.opened, self.run = groups, True, run
        return opens

    def lacks(self, held: _Held | None) -> str:
        """Why events of a batch may be missing that had a line each; empty where none is.

        That is shown by numbers that go on from batch to batch.
        """
        if held is None:
            return ""
        index, due = held.single.event_index, self.next_index
        self.next_index = None if index is None else index + held.lines
        return "" if index is not None and index == due else "events may be missing before a batch"

    def count(self, sequence: int | None, *, opens: bool) -> None:
        """Count the batches that are missing before this one."""
        if sequence is not None:
            due = 0 if self.last is None or (opens and sequence <= self.last) else self.last + 1
            self.missing += max(sequence - due, 0)
        self.last = sequence


class KvEventsDialect(Dialect):
    """Reads the messages in one file.

    Args:
        joining: makes the join of a stream of this name with claims; None: without claims.
    """

    def __init__(self, file: str, joining: Callable[[str], Join] | None = None) -> None:
        self._file, self._joining = file, joining
        self._streams: dict[str, _Stream] = {}  # by their names
        self._runtimes: dict[str, tuple[int, Runtime]] = {}  # by endpoint, with its run
        self._held: dict[tuple[str, int | None], _Held] = {}
        self._counts, self._others = Counter[str](), Counter[str]()
        self._names = set[str]()
        self._forms = set[str]()
        self._readers: dict[Any, Any] = {}  # by module
        self._unnumbered = False
        self._batches = self._line = 0

    def feed(self, obj: dict[str, object], line: int) -> Sequence[Record]:
        """The records that are complete with this line.

        Raises:
            InputError: the line is not in the form of a message, or its batch is none.
        """
        self._line = line
        items = _items(obj)
        if not items or (form := _form_of(items[0])) is not None:
            return self._several(form, items, line) if items else ()
        if "event" in obj:
            return self._single(struct(obj, _Single, self._file, line), line)
        message = struct(obj, _Message, self._file, line)
        try:
            sequence, value = _opened(message)
            if sequence == -1:  # the end of a replay
                return ()
            runtime = self._runtime(message.endpoint, message.run, sequence)
            batch = batch_of(value, runtime, contents=self._joining is not None)
        except Malformed as problem:
            raise self._refused(line, "frames", problem) from None
        at = at_line(self._file, line, sequence)
        return self._records(at, message.endpoint, message.run, sequence, batch)

    def flush(self, stream: str | None = None) -> Sequence[Record]:
        """What was held back; at the end of the file also the end of each stream: a capture ends
        where somebody stopped it.
        """
        held = [key for key in self._held if stream in (None, self._stream_name(*key))]
        found = [record for key in held for record in self._rest(key)]
        if stream is None:
            at = at_line(self._file, self._line)
            for name in self._streams:
                found.append(Record(at, Stamp(name, None, None, FORM, mark=Mark.STREAM_CLOSED)))
        return found

    def pause(self, why: str) -> None:
        """Lines may be missing before the next one."""
        for held in self._held.values():
            held.gap = why
        for stream in self._streams.values():
            if stream.join is not None:
                stream.join.pause(why)

    @property
    def says(self) -> str:
        """What was read: of which runtimes, how many batches, and how many events of each name."""
        missing = sum(stream.missing for stream in self._streams.values())
        text = f"KV events of {' and '.join(sorted(self._names)) or UNKNOWN.name}"
        text += f" ({', '.join(sorted(self._forms))})" if self._forms else ""
        text += f": {self._batches} batch{'' if self._batches == 1 else 'es'}"
        text += ", not all numbered" if self._unnumbered else f", {missing or 'none'} missing"
        if counts := self._counts.most_common(_MOST_SHOWN):
            text += "".join(f", {n} {name}" for name, n in counts)
            text += ", and others" if len(self._counts) > _MOST_SHOWN else ""
        if self._others:
            shown = self._others.most_common(_MOST_SHOWN)
            text += f"; unknown fields: {', '.join(f'{n} {name}' for name, n in shown)}"
            hidden = len(self._others) - _MOST_SHOWN
            text += f", {hidden} more" if hidden > 0 else ""
        return text

    def _several(self, form: Any, items: list[dict[str, Any]], line: int) -> Sequence[Record]:
        """A line with any number of events, each of which is a batch."""
        reader = self._readers.setdefault(form, form.Reader())
        try:
            messages: list[Message | Gap] = reader.read(items)
        except Malformed as problem:
            raise self._refused(line, "data", problem, _EVENTS) from None
        names = {
            self._stream_name(each.endpoint, each.batch.rank)
            for each in messages
            if isinstance(each, Message)
        }
        self._check_count(names, line)
        found: list[Record] = []
        for each in messages:
            if isinstance(each, Message):
                at = at_line(self._file, line, each.sequence)
                found += self._records(at, each.endpoint, 0, each.sequence, each.batch)
            elif (name := self._stream_name(each.endpoint, each.rank)) in self._streams:
                stamp = Stamp(name, None, self._streams[name].time_ns, FORM, observes=_OBSERVES)
                found.append(Record(at_line(self._file, line), stamp, lost=each.why))
        return found

    def _single(self, single: _Single, line: int) -> Sequence[Record]:
        """A line of one event: the batch is complete when a line of another one comes."""
        key = single.endpoint, single.data_parallel_rank
        held = self._held.get(key)
        if held is not None and not held.goes_on_with(single):
            held = None
        batch = self._begun(single) if held is None else held.batch
        try:
            batch.read(single.event)
        except Malformed as problem:
            raise self._refused(line, "event", problem) from None
        if held is not None:
            held.lines += 1
            return ()
        found = self._rest(key)
        self._check_count({self._stream_name(*key)}, line)
        self._held[key] = _Held(at_line(self._file, line, single.sequence), single, batch)
        return found

    def _begun(self, single: _Single) -> batches.Events | mooncake.Maps:
        """The batch that begins with an event, which is not read yet."""
        runtime = self._runtime(single.endpoint, 0, single.sequence)
        batch = events_of([single.event], runtime, contents=self._joining is not None)
        batch.place(single.timestamp, single.data_parallel_rank)
        return batch

    def _rest(self, key: tuple[str, int | None]) -> Sequence[Record]:
        """The records of the batch in hand of an endpoint and a rank."""
        held = self._held.pop(key, None)
        if held is None:
            return ()
        single = held.single
        return self._records(held.at, single.endpoint, 0, single.sequence, held.batch, held)

    def _runtime(self, endpoint: str, run: int, sequence: int | None) -> Runtime:
        """The runtime of an endpoint, as far as the batches of its run before this one say."""
        before, runtime = self._runtimes.get(endpoint, (run, UNKNOWN))
        return UNKNOWN if sequence == 0 or run != before else runtime

    def _stream_name(self, endpoint: str, rank: int | None) -> str:
        return (endpoint or self._file) + (f" rank {rank}" if rank else "")

    def _check_count(self, names: set[str], line: int) -> None:
        known = len(self._streams) + len(self._held)
        if known + len(names - self._streams.keys()) > MOST_STREAMS:
            raise InputError(self._file, f"over {MOST_STREAMS} streams", line=line)

    def _records(
        self,
        at: At,
        endpoint: str,
        run: int,
        sequence: int | None,
        batch: Batch,
        held: _Held | None = None,
    ) -> Sequence[Record]:
        """The record of a batch; where a run begins with it of which something is missing, that of
        the beginning and that of the batch.

        Args:
            held: where each event had a line.
        """
        name, place = self._stream_name(endpoint, batch.rank), (endpoint, batch.rank)
        if (stream := self._streams.get(name)) is None:
            self._check_count({name}, at.line)
            join = None if self._joining is None else self._joining(name)
            stream = self._streams[name] = _Stream(place, join)
        if stream.place != place:
            raise InputError(self._file, f"two streams are called {name}", line=at.line)
        self._batches += 1
        self._unnumbered |= sequence is None
        _count(self._counts, batch.counts)
        _count(self._others, batch.others)
        self._forms |= {batch.form} - {"", "maps"}
        self._names |= {batch.runtime.name} - {UNKNOWN.name}
        self._runtimes[endpoint] = run, batch.runtime
        late, last = sequence != 0 and run != stream.run, stream.last
        again = stream.is_again(sequence, run)
        opens = stream.opens(batch, run, again=again)
        stream.count(sequence, opens=opens)
        # The time is of a wall clock, which may go back a little.
        if batch.time_ns is not None:
            stream.time_ns = max(stream.time_ns or 0, batch.time_ns)
        observes = _OBSERVES if batch.runtime.gpu else frozenset[Kind]()
        stamp = Stamp(name, sequence, stream.time_ns, FORM, observes=observes)
        events: tuple[tuple[Event, At], ...] = tuple((event, at) for event in batch.events)
        unread = batch.unread or (batch.unclear if stream.stored else "")
        unread = unread or ("" if held is None else held.gap)
        groups_of = {event.group or 0 for event in batch.events}
        if strange := sorted(groups_of - stream.groups.keys()):
            unread = unread or f"the kind of group {strange[0]} of caches is not stated"
        stream.stored |= batch.stores
        whole = Record(at, stamp, events, unknown=batch.unknown, unread=unread)
        groups = tuple(stream.groups[number] for number in sorted(stream.groups))
        opened = replace(stamp, mark=Mark.STREAM_OPENED, groups=groups)
        if (join := stream.join) is not None:
            missing = _missing(sequence, None if again else last) or stream.lacks(held)
            if opens:
                whole = replace(whole, stamp=opened)
                unknown = "" if sequence == 0 else missing or "a group of caches is new"
                join.begin(batch, groups, unknown, again=again)
            return [*joined(join, batch, whole, missing)]
        if not opens:
            return (whole,)
        lost = f"the run began before sequence number {sequence}" if late else ""
        if last is None or not (lost or unread):
            return (replace(whole, stamp=opened),)
        rest = replace(stamp, sequence=None)
        return Record(at, opened), replace(whole, stamp=rest, lost=lost)

    def _refused(
        self, line: int, field: str, problem: Malformed, hint: str = _MESSAGE
    ) -> InputError:
        return InputError(self._file, str(problem), line=line, field=field, hint=hint)


def _missing(sequence: int | None, last: int | None) -> str:
    """Why batches may be missing before one with this number; empty where none is."""
    if sequence is None or sequence == (0 if last is None else last + 1):
        return ""
    if last is None:
        return f"the run began before sequence number {sequence}"
    return f"lines are missing before sequence number {sequence}"


def _count(found: Counter[str], more: Mapping[str, int]) -> None:
    """Add to counts by name; of names that are not known, only so many are kept apart."""
    for name, number in more.items():
        kept = name in _KNOWN or name in found or len(found) < _MOST_NAMES
        found[name if kept else _OTHERS] += number


def _opened(message: _Message) -> tuple[int | None, Any]:
    """The sequence number and the decoded batch of a message; raises Malformed."""
    if message.frames is None:
        sequence, value = message.seq, message.decoded
        if sequence == -1 and value is not None:
            raise Malformed("the sequence number is negative")
        return sequence, value
    try:
        frames = [b64decode(frame, validate=True) for frame in message.frames]
    except (binascii.Error, ValueError):
        raise Malformed("a frame is not base64") from None
    if len(frames) == 4 and not frames[0]:
        del frames[0]
    if len(frames) != 3:
        raise Malformed(f"a message has 3 frames, and this has {len(frames)}")
    if len(frames[1]) != SEQUENCE_BYTES:
        raise Malformed(f"the sequence number has {len(frames[1])} bytes, not {SEQUENCE_BYTES}")
    sequence = int.from_bytes(frames[1], "big", signed=True)
    if sequence < -1 or (sequence == -1 and frames[2]):
        raise Malformed("the sequence number is negative")
    return sequence, None if sequence == -1 else unpacked(frames[2])


DIALECT: Final = KvEventsDialect
