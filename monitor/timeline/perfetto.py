"""Writes a timeline as a trace of track events, which ui.perfetto.dev opens. Extra `perfetto`.

A stream is a process; below it are its claims, its requests and its pool. Each claim and each
request has a track: slices of what it is, instants of what happened. Perfetto has no counter
without a value: where a count is not stated any more, an instant beside the counters says so.

Source of the format: protos/perfetto/trace/track_event of Perfetto 59.
"""

from __future__ import annotations

from importlib import import_module
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from monitor.input.errors import utf8
from monitor.timeline.items import LINE_NS, Axis, ClaimBegun, Linked
from monitor.timeline.output import Output, opened
from monitor.timeline.writer import Writer
from spec.installed import how_to_install
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path
    from typing import BinaryIO

    from monitor.timeline.items import Counted, Point, RequestBegun, StreamBegun
    from spec.stream.outcome import ModeVerdict

__all__ = ["FOLLOWED", "PerfettoWriter", "open_perfetto"]

FOLLOWED: Final = 64 << 20
"""Most bytes that are written while sources are followed."""

_FRAME: Final = 6  # bytes around a packet, at most
_LATEST: Final = 2**63 - 1
_FULL: Final = "the file is as large as it may be"
_ENDS: Final = {
    Linked.NAMES: ("names the claim {}", "named by the request {}"),
    Linked.LOSS: ("loss of {}", "report of a loss of {}"),
    Linked.CONFLICT: ("conflict of {}", "outcome of the conflict of {}"),
}
"""What the ends of a link are called; each has the name of the lane at the other end."""


def _modules() -> tuple[Any, Any]:
    """The messages, and what writes packets; raises SpecError where they are not installed."""
    try:
        proto = import_module("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
        return proto, import_module("perfetto.trace_builder.proto_builder")
    except ImportError:
        raise SpecError("perfetto is not installed", how_to_install("perfetto")) from None


class _Track(NamedTuple):
    uuid: int
    name: str


class PerfettoWriter(Writer[_Track]):
    """Writes each item as packets.

    Args:
        file: where to.
        most: bytes; later events are left out, and the last one says so. By default all are
            written.

    Raises:
        SpecError: the extra is not installed.
    """

    def __init__(self, file: BinaryIO, most: int | None = None) -> None:
        super().__init__()
        self._proto, builder = _modules()
        self._builder = builder.StreamingTraceProtoBuilder(file)
        self._left, self._scale, self._begun = most, 1, False
        self._ids, self._flows = count(1), count(1)
        self._below: dict[tuple[int, str], int] = {}  # tracks of a stream, by what they are of

    def begin_stream(self, item: StreamBegun) -> _Track:
        """A process, with three groups of tracks."""
        is_timed = item.axis is Axis.TIME
        self._scale = 1 if is_timed else LINE_NS
        axis = "time_ns of the stream" if is_timed else "line numbers, not time: 1 ms is a line"
        process = {"pid": item.stream + 1, "process_name": f"{utf8(item.name)} (axis: {axis})"}
        order = self._proto.TrackDescriptor.EXPLICIT
        top = self._describe(process=process, child_ordering=order)
        for rank, name in enumerate(("claims", "requests", "pool")):
            self._below[item.stream, name] = self._track(top, name, sibling_order_rank=rank)
        return _Track(self._below[item.stream, "claims"], item.name)

    def begin_lane(self, item: ClaimBegun | RequestBegun, number: int, name: str) -> _Track:
        """A track."""
        group = "claims" if isinstance(item, ClaimBegun) else "requests"
        name = name if item.period == 1 else f"{name} (run {item.period})"
        return _Track(self._track(self._below[item.stream, group], name), name)

    def slice(
        self, lane: _Track, name: str, begin: Point, end: Point, notes: Mapping[str, object]
    ) -> None:
        """Two packets."""
        first = self._event(lane.uuid, begin, name, "state", notes)
        last = self._event(lane.uuid, end)
        first.track_event.type = self._proto.TrackEvent.TYPE_SLICE_BEGIN
        last.track_event.type = self._proto.TrackEvent.TYPE_SLICE_END
        self._write(first, last)

    def instant(
        self, lane: _Track, category: str, name: str, point: Point, notes: Mapping[str, object]
    ) -> None:
        """One packet."""
        self._write(self._event(lane.uuid, point, name, category, notes))

    def link(self, kind: Linked, source: _Track, target: _Track, at: tuple[Point, Point]) -> None:
        """A flow between two instants, which are written for it."""
        first, second = _ENDS[kind]
        flow = [next(self._flows)]
        leads = self._event(source.uuid, at[0], first.format(target.name), "link")
        leads.track_event.flow_ids.extend(flow)
        ends = self._event(target.uuid, at[1], second.format(source.name), "link")
        ends.track_event.terminating_flow_ids.extend(flow)
        self._write(leads, ends)

    def count(self, item: Counted) -> None:
        """A counter, or an instant beside the counters."""
        pool, key = self._below[item.stream, "pool"], (item.stream, f"blocks {item.name}")
        if item.value is None:
            text = f"{item.name}: not stated from here on"
            self._write(self._event(pool, item.point, text, "pool"))
            return
        if key not in self._below:
            self._below[key] = self._track(pool, item.name, counter={"unit_name": "blocks"})
        packet = self._event(self._below[key], item.point)
        packet.track_event.type = self._proto.TrackEvent.TYPE_COUNTER
        packet.track_event.counter_value = min(max(item.value, -_LATEST), _LATEST)
        self._write(packet)

    def end_claim(self, lane: _Track, verdict: ModeVerdict, why: str) -> None:
        """No packet: the verdict is an instant."""

    # Packets.

    def _track(self, parent: int, name: str, **more: Any) -> int:
        """A new track below another; its id."""
        return self._describe(parent_uuid=parent, name=utf8(name), **more)

    def _describe(self, **fields: Any) -> int:
        uuid = next(self._ids)
        self._write(self._proto.TracePacket(track_descriptor={"uuid": uuid, **fields}))
        return uuid

    def _event(
        self,
        track: int,
        point: Point,
        name: str = "",
        category: str = "",
        notes: Mapping[str, object] | None = None,
    ) -> Any:
        """A packet with an instant; empty `notes` are left out."""
        at = min(point.at * self._scale, _LATEST)
        packet = self._proto.TracePacket(timestamp=at)
        event = packet.track_event
        event.type, event.track_uuid = self._proto.TrackEvent.TYPE_INSTANT, track
        if name:
            event.name = utf8(name)
            event.categories.append(category)
            said = {**(notes or {}), "line": point.line, "sequence": point.sequence}
            for what, value in said.items():
                if value not in (None, ""):
                    event.debug_annotations.add(name=what, string_value=utf8(str(value)))
        return packet

    def _write(self, *packets: Any) -> None:
        """Write these packets together, or none of them where the file would be too large."""
        for packet in packets:
            packet.trusted_packet_sequence_id = 1
            if not self._begun:
                self._begun = True
                packet.sequence_flags = self._proto.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        if self._left is not None:
            self._left -= sum(packet.ByteSize() + _FRAME for packet in packets)
            if self._left < 0:
                self._left = None
                self._cap(packets[-1].timestamp)
        for packet in packets:
            self._builder.write_packet(packet)

    def _cap(self, at: int) -> None:
        """Write the last packet; raises SpecError."""
        track = next((lane.uuid for lane in self.streams.values()), 0)
        event = {"type": self._proto.TrackEvent.TYPE_INSTANT, "track_uuid": track, "name": _FULL}
        self._write(self._proto.TracePacket(timestamp=at, track_event=event))
        raise SpecError(_FULL, "later events are left out")


def open_perfetto(
    path: Path,
    *,
    reads: Iterable[str | Path | None] = (),
    most: int | None = None,
    failed: Callable[[SpecError], None] = lambda error: None,
) -> Output:
    """What writes items to a file.

    Args:
        reads: files that are read, which must not be written over.
        most: bytes of the file, as `PerfettoWriter` has it.
        failed: called where something fails later.

    Raises:
        SpecError: the extra is not installed, or the file cannot be written.
    """
    _modules()
    file = opened(path, reads)
    return Output(f"--perfetto {path}", PerfettoWriter(file, most), file, failed)
