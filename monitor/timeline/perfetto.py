"""Writes a timeline as a trace of track events, which ui.perfetto.dev opens. Extra `perfetto`.

A stream is a process; below it are its claims, its requests and its pool. Each claim and each
request has a track: slices of what it is, instants of what happened. Perfetto has no counter
without a value: where a count is not stated any more, an instant beside the counters says so.

Source of the format: protos/perfetto/trace/track_event of Perfetto 59.
"""

from __future__ import annotations

from importlib import import_module
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from monitor.timeline import items
from monitor.timeline.items import LINE_NS, Axis, Linked
from monitor.timeline.output import Output, opened, utf8
from spec.installed import how_to_install
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path
    from typing import BinaryIO

    from monitor.timeline.items import End, Happened, Item, Link, Point, StreamBegun

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


class PerfettoWriter:
    """Writes each item as packets.

    Args:
        file: where to.
        most: bytes; later events are left out, and the last one says so. By default all are
            written.

    Raises:
        SpecError: the extra is not installed.
    """

    def __init__(self, file: BinaryIO, most: int | None = None) -> None:
        self._proto, builder = _modules()
        self._builder = builder.StreamingTraceProtoBuilder(file)
        self._left, self._scale = most, 1
        self._ids, self._flows = count(1), count(1)
        self._streams: dict[int, dict[str, int]] = {}  # tracks, by what they are called
        self._claims: dict[int, tuple[int, str]] = {}  # tracks and names of lanes
        self._requests: dict[int, tuple[int, str]] = {}
        self._begun = False

    def put(self, item: Item) -> None:
        """Write an item; raises SpecError where the file is as large as it may be."""
        match item:
            case items.StreamBegun():
                self._begin(item)
            case items.ClaimBegun(claim=claim, claim_id=name, period=period):
                name = name if period == 1 else f"{name} (run {period})"
                self._claims[claim] = self._track(self._streams[item.stream]["claims"], name), name
            case items.RequestBegun(request=request, request_id=name):
                parent = self._streams[item.stream]["requests"]
                self._requests[request] = self._track(parent, name), name
            case items.StateSlice(judged=judged):
                notes = {} if judged else {"judged": "no: reports alone say so, after a break"}
                self._slice(self._claims[item.claim][0], item.state, item.begin, item.end, notes)
            case items.RequestSlice():
                self._slice(self._requests[item.request][0], item.phase, item.begin, item.end, {})
            case items.Happened():
                self._happen(item)
            case items.Link():
                self._link(item)
            case items.Counted():
                self._count(item, self._streams[item.stream])
            case items.Broken(code=code, reason=reason, why=why):
                track = self._streams[item.stream]["claims"]
                self._instant(track, f"{code} {reason}", "break", item.point, {"why": why})
            case items.ClaimEnded():
                self._conclude(item, self._claims.pop(item.claim)[0])
            case items.RequestEnded():
                del self._requests[item.request]

    def end(self) -> None:
        """There are no more items."""

    # Items.

    def _begin(self, item: StreamBegun) -> None:
        is_timed = item.axis is Axis.TIME
        self._scale = 1 if is_timed else LINE_NS
        axis = "time_ns of the stream" if is_timed else "line numbers, not time: 1 ms is a line"
        process = {"pid": item.stream + 1, "process_name": f"{utf8(item.name)} (axis: {axis})"}
        order = self._proto.TrackDescriptor.EXPLICIT
        top = self._describe(process=process, child_ordering=order)
        groups = enumerate(("claims", "requests", "pool"))
        below = {name: self._track(top, name, sibling_order_rank=rank) for rank, name in groups}
        self._streams[item.stream] = below

    def _happen(self, item: Happened) -> None:
        event, category = item.event, "report" if item.is_report else "fact"
        said: dict[str, object] = {"reason": event.reason, "by": event.by}
        for number, claim in enumerate(item.claims):
            notes = said | {"request": event.request_id}
            for what, counts in (("lost", item.lost), ("gained", item.gained)):
                notes[f"positions {what}"] = (counts[number] if counts else 0) or None
            self._instant(self._claims[claim][0], event.kind, category, item.point, notes)
        if item.request is not None:
            notes = said | {"needed": event.needed, "usable": event.usable}
            self._instant(self._requests[item.request][0], event.kind, category, item.point, notes)

    def _link(self, item: Link) -> None:
        (source, from_name), (target, to_name) = map(self._lane, (item.source, item.target))
        first, second = _ENDS[item.kind]
        flow = [next(self._flows)]
        leads = self._event(source, item.source.point, first.format(to_name), "link")
        leads.track_event.flow_ids.extend(flow)
        ends = self._event(target, item.target.point, second.format(from_name), "link")
        ends.track_event.terminating_flow_ids.extend(flow)
        self._write(leads, ends)

    def _lane(self, end: End) -> tuple[int, str]:
        if end.claim is not None:
            return self._claims[end.claim]
        assert end.request is not None
        return self._requests[end.request]

    def _count(self, item: items.Counted, tracks: dict[str, int]) -> None:
        if item.value is None:
            text = f"{item.name}: not stated from here on"
            self._instant(tracks["pool"], text, "pool", item.point, {})
            return
        if (name := f"blocks {item.name}") not in tracks:
            tracks[name] = self._track(tracks["pool"], item.name, counter={"unit_name": "blocks"})
        packet = self._event(tracks[name], item.point)
        packet.track_event.type = self._proto.TrackEvent.TYPE_COUNTER
        packet.track_event.counter_value = min(max(item.value, -_LATEST), _LATEST)
        self._write(packet)

    def _conclude(self, item: items.ClaimEnded, track: int) -> None:
        for name, found in item.violations.items():
            notes = {"why": found.why, "expected instead": found.allowed}
            if found.point is not None:
                self._instant(track, f"violated: {name}", "violation", found.point, notes)
        terms = ("why", "mode", "owner", "predicate", "footprint", "keys", "duration", "priority")
        said = {term: getattr(item, term) for term in terms}
        self._instant(track, f"verdict: {item.verdict}", "verdict", item.point, said)

    # Packets.

    def _track(self, parent: int, name: str, **more: Any) -> int:
        """A new track below another; its id."""
        return self._describe(parent_uuid=parent, name=utf8(name), **more)

    def _describe(self, **fields: Any) -> int:
        uuid = next(self._ids)
        self._write(self._proto.TracePacket(track_descriptor={"uuid": uuid, **fields}))
        return uuid

    def _slice(
        self, track: int, name: str, begin: Point, end: Point, notes: Mapping[str, object]
    ) -> None:
        first, last = self._event(track, begin, name, "state", notes), self._event(track, end)
        first.track_event.type = self._proto.TrackEvent.TYPE_SLICE_BEGIN
        last.track_event.type = self._proto.TrackEvent.TYPE_SLICE_END
        self._write(first, last)

    def _instant(
        self, track: int, name: str, category: str, point: Point, notes: Mapping[str, object]
    ) -> None:
        self._write(self._event(track, point, name, category, notes))

    def _event(
        self,
        track: int,
        point: Point,
        name: str = "",
        category: str = "",
        notes: Mapping[str, object] | None = None,
    ) -> Any:
        """A packet with an instant; `notes` that say nothing are left out."""
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
        """Say that nothing follows; raises SpecError."""
        track = next((each["claims"] for each in self._streams.values()), 0)
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
