"""Writes a timeline as a trace of track events, which ui.perfetto.dev opens. Extra `perfetto`.

A stream is a process; below it are its claims, its requests and its pool. Each claim and each
request has a track: slices of what it is, instants of what happened. Perfetto has no counter
without a value: where a count is not stated any more, an instant beside the counters says so.

Source of the format: protos/perfetto/trace/track_event of Perfetto 59.
"""

from __future__ import annotations

from functools import singledispatchmethod
from importlib import import_module
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from monitor.timeline.items import (
    LINE_NS,
    Axis,
    Broken,
    ClaimBegun,
    ClaimEnded,
    Counted,
    End,
    Happened,
    Link,
    Linked,
    RequestBegun,
    RequestEnded,
    RequestSlice,
    StateSlice,
    StreamBegun,
)
from monitor.timeline.output import Output, utf8
from spec.files.writing import check_target
from spec.installed import how_to_install
from spec.language.errors import OutputError, SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from monitor.timeline.items import Item, Point

__all__ = ["FOLLOWED", "PerfettoWriter", "open_perfetto"]

FOLLOWED: Final = 64 << 20
"""Most bytes that are written while sources are followed."""

_FRAME: Final = 6  # bytes around a packet, at most
_LATEST: Final = 2**63 - 1
_ENDS: Final = {
    Linked.NAMES: ("names the claim {}", "named by the request {}"),
    Linked.LOSS: ("loss of {}", "report of a loss of {}"),
    Linked.CONFLICT: ("conflict of {}", "outcome of the conflict of {}"),
}
"""What the ends of a link are called; the source has the name of the target, and the reverse."""


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
        most: bytes; what is more is left out, and the last packet says so. By default all.

    Raises:
        SpecError: the extra is not installed.
    """

    def __init__(self, file: BinaryIO, most: int | None = None) -> None:
        self._proto, builder = _modules()
        self._builder: Any = builder.StreamingTraceProtoBuilder(file)
        self._left = most
        self._scale = 1
        self._tracks = count(1)
        self._flows = count(1)
        self._streams: dict[int, dict[str, int]] = {}  # tracks, by what they are called
        self._lanes: dict[tuple[type, int], tuple[int, str]] = {}  # tracks and names of lanes
        self._begun = False
        self._latest: Point

    @singledispatchmethod
    def put(self, item: Item) -> None:
        """Write an item."""

    def end(self) -> None:
        """There are no more items."""

    # Lanes.

    @put.register
    def _(self, item: StreamBegun) -> None:
        is_timed = item.axis is Axis.TIME
        self._scale = 1 if is_timed else LINE_NS
        axis = "time_ns of the stream" if is_timed else "line numbers, not time: 1 ms is a line"
        uuid = next(self._tracks)
        process = {"pid": uuid, "process_name": f"{utf8(item.name)} (axis: {axis})"}
        order = self._proto.TrackDescriptor.EXPLICIT
        self._describe({"uuid": uuid, "process": process, "child_ordering": order})
        self._streams[item.stream] = {"": uuid}
        for rank, name in enumerate(("claims", "requests", "pool")):
            self._streams[item.stream][name] = self._track(uuid, name, sibling_order_rank=rank)

    @put.register
    def _(self, item: ClaimBegun) -> None:
        parent, period = self._streams[item.stream]["claims"], item.period
        name = item.claim_id if period == 1 else f"{item.claim_id} (run {period})"
        self._lanes[ClaimBegun, item.claim] = self._track(parent, name), name

    @put.register
    def _(self, item: RequestBegun) -> None:
        parent = self._streams[item.stream]["requests"]
        track = self._track(parent, item.request_id)
        self._lanes[RequestBegun, item.request] = track, item.request_id

    # What is on them.

    @put.register
    def _(self, item: StateSlice) -> None:
        track, _ = self._lanes[ClaimBegun, item.claim]
        notes = {} if item.judged else {"judged": "no: reports alone say so, after a break"}
        self._slice(track, item.state, item.begin, item.end, notes)

    @put.register
    def _(self, item: RequestSlice) -> None:
        track, _ = self._lanes[RequestBegun, item.request]
        self._slice(track, item.phase, item.begin, item.end, {})

    @put.register
    def _(self, item: Happened) -> None:
        kind, event = "report" if item.is_report else "fact", item.event
        notes: dict[str, object] = {"reason": event.reason, "by": event.by}
        for number, claim in enumerate(item.claims):
            track, _ = self._lanes[ClaimBegun, claim]
            own = {"request": event.request_id} | {
                f"positions {name}": counts[number]
                for name, counts in (("lost", item.lost), ("gained", item.gained))
                if counts and counts[number]
            }
            self._instant(track, event.kind, kind, item.point, notes | own)
        if item.request is not None:
            track, _ = self._lanes[RequestBegun, item.request]
            own = {"needed": event.needed, "usable": event.usable}
            self._instant(track, event.kind, kind, item.point, notes | own)

    @put.register
    def _(self, item: Link) -> None:
        ends = [(self._lane(end), end) for end in (item.source, item.target)]
        (source, _), (target, _) = ends
        flow, says = next(self._flows), _ENDS[item.kind]
        flows: list[dict[str, Any]] = [{"flow_ids": [flow]}, {"terminating_flow_ids": [flow]}]
        packets = [
            self._event(lane[0], end.point, name=text.format(other[1]), category="link", **more)
            for (lane, end), text, other, more in zip(
                ends, says, (target, source), flows, strict=True
            )
        ]
        self._write(packets)

    def _lane(self, end: End) -> tuple[int, str]:
        if end.claim is not None:
            return self._lanes[ClaimBegun, end.claim]
        assert end.request is not None
        return self._lanes[RequestBegun, end.request]

    @put.register
    def _(self, item: Counted) -> None:
        tracks = self._streams[item.stream]
        if item.value is None:
            text = f"{item.name}: not stated from here on"
            self._instant(tracks["pool"], text, "pool", item.point, {})
            return
        if (name := f"blocks {item.name}") not in tracks:
            unit = {"unit_name": "blocks"}
            tracks[name] = self._track(tracks["pool"], item.name, counter=unit)
        kind = self._proto.TrackEvent.TYPE_COUNTER
        value = min(max(item.value, -_LATEST), _LATEST)
        self._write([self._event(tracks[name], item.point, kind=kind, counter_value=value)])

    @put.register
    def _(self, item: Broken) -> None:
        text = f"{item.code} {item.reason}"
        track = self._streams[item.stream]["claims"]
        self._instant(track, text, "break", item.point, {"why": item.why})

    # Ends.

    @put.register
    def _(self, item: ClaimEnded) -> None:
        track, _ = self._lanes.pop((ClaimBegun, item.claim))
        for name, found in item.violations.items():
            notes = {"why": found.why, "expected instead": found.allowed}
            if found.point is not None:
                self._instant(track, f"violated: {name}", "violation", found.point, notes)
        terms = {
            "why": item.why,
            "mode": item.mode or item.stated_mode,
            "owner": item.owner,
            "predicate": item.predicate,
            "footprint": item.footprint,
            "keys": item.keys,
            "duration": item.duration,
            "priority": item.priority,
        }
        self._instant(track, f"verdict: {item.verdict}", "verdict", item.point, terms)

    @put.register
    def _(self, item: RequestEnded) -> None:
        self._lanes.pop((RequestBegun, item.request))

    # Packets.

    def _track(self, parent: int, name: str, **more: Any) -> int:
        """A new track below another; its uuid."""
        uuid = next(self._tracks)
        self._describe({"uuid": uuid, "parent_uuid": parent, "name": utf8(name), **more})
        return uuid

    def _describe(self, fields: dict[str, Any]) -> None:
        self._write([self._proto.TracePacket(track_descriptor=fields)])

    def _slice(
        self, track: int, name: str, begin: Point, end: Point, notes: Mapping[str, object]
    ) -> None:
        kinds = self._proto.TrackEvent
        first = self._event(
            track, begin, kind=kinds.TYPE_SLICE_BEGIN, name=name, category="state", notes=notes
        )
        self._write([first, self._event(track, end, kind=kinds.TYPE_SLICE_END)])

    def _instant(
        self, track: int, name: str, category: str, point: Point, notes: Mapping[str, object]
    ) -> None:
        self._write([self._event(track, point, name=name, category=category, notes=notes)])

    def _event(
        self,
        track: int,
        point: Point,
        *,
        kind: int | None = None,
        name: str = "",
        category: str = "",
        notes: Mapping[str, object] | None = None,
        **more: Any,
    ) -> Any:
        """A packet with an event, an instant by default; `notes` that are None are left out."""
        self._latest = point
        event = self._proto.TrackEvent(
            type=self._proto.TrackEvent.TYPE_INSTANT if kind is None else kind,
            track_uuid=track,
            **more,
        )
        if name:
            event.name = utf8(name)
            event.categories.append(category)
            said = {**(notes or {}), "line": point.line, "sequence": point.sequence}
            for what, value in said.items():
                if value is not None and value != "":
                    event.debug_annotations.add(name=what, string_value=utf8(str(value)))
        at = min(point.at * self._scale, _LATEST)
        return self._proto.TracePacket(timestamp=at, track_event=event)

    def _write(self, packets: Sequence[Any]) -> None:
        """Write all of these packets, or none where they are too many."""
        for packet in packets:
            packet.trusted_packet_sequence_id = 1
            if not self._begun:
                self._begun = True
                packet.sequence_flags = self._proto.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        if self._left is not None:
            self._left -= sum(packet.ByteSize() + _FRAME for packet in packets)
            if self._left < 0:
                self._left = None
                text = "the file is as large as it may be: later events are left out"
                self._instant(self._streams[0][""], text, "capped", self._latest, {})
                raise SpecError("the file is as large as it may be", "later events are left out")
        for packet in packets:
            self._builder.write_packet(packet)


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
    check_target(path, reads=reads)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("wb")
    except OSError as problem:
        raise OutputError(f"cannot write {path}: {problem.strerror}", "name another") from None
    return Output(f"--perfetto {path}", PerfettoWriter(file, most), file, failed)
