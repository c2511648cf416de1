"""Makes spans of a timeline, in JSON of OTLP, as collectors, Jaeger and Tempo take them.

A stream is a span and a trace; below it is a span for each claim and each request. What happened is
in their events; a request that names claims has links to their spans. Ids follow from the stream
and the lanes, so a second export of the same lines has the same.

Source of the format: OTLP 1.5, JSON encoding of the protobuf messages.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import singledispatchmethod
from typing import TYPE_CHECKING, Any, Final

import msgspec

from monitor.timeline.items import (
    LINE_NS,
    Axis,
    Broken,
    ClaimBegun,
    ClaimEnded,
    Happened,
    Link,
    Linked,
    RequestBegun,
    RequestEnded,
    RequestSlice,
    StateSlice,
    StreamBegun,
)
from monitor.timeline.output import utf8
from spec import __version__
from spec.language.errors import SpecError
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from monitor.timeline.items import Item, Point

__all__ = ["MOST", "SpansWriter"]

MOST: Final = 128
"""Most events of a span, and most links: more are counted, as OpenTelemetry does by default."""

_BATCH: Final = 256  # spans in one request
_WALL_NS: Final = 10**18  # in 2001: a monotonic clock says less
_LATEST: Final = 2**63 - 1
_INTERNAL: Final = 1
_OK, _ERROR = 1, 2
_STATUS: Final = {ModeVerdict.KEPT: _OK, ModeVerdict.VIOLATED: _ERROR}


@dataclass
class _Span:
    """A span that is not over."""

    trace: str
    id: str
    parent: str
    name: str
    begin: int
    end: int
    attributes: dict[str, object]
    events: list[dict[str, Any]] = field(default_factory=list)
    links: list[dict[str, Any]] = field(default_factory=list)
    more_events: int = 0
    more_links: int = 0

    def happen(self, at: int, name: str, attributes: Mapping[str, object]) -> None:
        """Add an event."""
        if len(self.events) < MOST:
            event = {"timeUnixNano": str(at), "name": name, "attributes": _attributes(attributes)}
            self.events.append(event)
        else:
            self.more_events += 1

    def link(self, to: _Span) -> None:
        """Add a link to another span, unless there is one."""
        link = {"traceId": to.trace, "spanId": to.id}
        if link not in self.links:
            if len(self.links) < MOST:
                self.links.append(link)
            else:
                self.more_links += 1


class SpansWriter:
    """Sends each span when it is over, in requests of some.

    Args:
        send: is given each request, as JSON on one line.
        start: the wall time of the first event of each file, in ns since 1970. By default the times
            of events must be wall times.
    """

    def __init__(self, send: Callable[[bytes], None], start: int | None = None) -> None:
        self._send, self._start = send, start
        self._scale = 1
        self._ahead: dict[str, int] = {}  # of the clock of a file, the wall clock, in ns
        self._streams: dict[int, _Span] = {}
        self._lanes: dict[tuple[type, int], _Span] = {}
        self._waiting: list[dict[str, Any]] = []

    @singledispatchmethod
    def put(self, item: Item) -> None:
        """Take an item; raises SpecError where its wall time is not known."""

    def end(self) -> None:
        """There are no more items."""
        for span in self._streams.values():
            self._leave(span)
        self._flush()

    @put.register
    def _(self, item: StreamBegun) -> None:
        timed = item.axis is Axis.TIME
        self._scale = 1 if timed else LINE_NS
        first = item.point.at * self._scale
        if self._start is not None:
            self._ahead.setdefault(item.point.file, self._start - first)
        elif timed and first >= _WALL_NS:
            self._ahead.setdefault(item.point.file, 0)
        else:
            what = "time_ns counts from no date" if timed else "events have no time_ns"
            raise SpecError(what, "give --start, the time of the first event")
        place = f"{item.point.file}\n{item.name}\n{item.stream}"
        trace = hashlib.sha256(utf8(place).encode()).hexdigest()[:32]
        about: dict[str, object] = {
            "stream": item.name,
            "file": item.point.file,
            "axis": "time_ns" if timed else "line numbers, not time: 1 ms is a line",
        }
        at = self._wall(item.point)
        name = f"stream {item.name}"
        self._streams[item.stream] = _Span(trace, trace[:16], "", name, at, at, about)

    @put.register
    def _(self, item: ClaimBegun) -> None:
        about = {"claim_id": item.claim_id, "period": item.period}
        self._begin((ClaimBegun, item.claim), item.stream, f"claim {item.claim_id}", item, about)

    @put.register
    def _(self, item: RequestBegun) -> None:
        about = {"request_id": item.request_id, "period": item.period}
        lane = RequestBegun, item.request
        self._begin(lane, item.stream, f"request {item.request_id}", item, about)

    def _begin(
        self,
        lane: tuple[type, int],
        stream: int,
        name: str,
        item: ClaimBegun | RequestBegun,
        about: dict[str, object],
    ) -> None:
        of, at = self._streams[stream], self._wall(item.point)
        own = hashlib.sha256(f"{of.trace} {lane[0].__name__} {lane[1]}".encode())
        self._lanes[lane] = _Span(of.trace, own.hexdigest()[:16], of.id, name, at, at, about)

    @put.register
    def _(self, item: StateSlice) -> None:
        span = self._lanes[ClaimBegun, item.claim]
        self._happen(span, f"state {item.state}", item.begin, {"judged": item.judged})
        span.end = max(span.end, self._wall(item.end))

    @put.register
    def _(self, item: RequestSlice) -> None:
        self._happen(self._lanes[RequestBegun, item.request], item.phase, item.begin, {})

    @put.register
    def _(self, item: Happened) -> None:
        event = item.event
        own = {"reason": event.reason, "by": event.by, "request_id": event.request_id}
        self._happen(self._streams[item.stream], None, item.point, {})
        for number, claim in enumerate(item.claims):
            lost = item.lost[number] if item.lost else 0
            if item.is_report or lost:  # facts are many
                span = self._lanes[ClaimBegun, claim]
                self._happen(span, event.kind, item.point, own | {"lost": lost or None})
        if item.request is not None:
            span = self._lanes[RequestBegun, item.request]
            counts = {"needed": event.needed, "usable": event.usable}
            self._happen(span, event.kind, item.point, {"reason": event.reason, **counts})

    @put.register
    def _(self, item: Link) -> None:
        source, target = item.source.request, item.target.claim
        if item.kind is Linked.NAMES and source is not None and target is not None:
            request, claim = self._lanes[RequestBegun, source], self._lanes[ClaimBegun, target]
            request.link(claim)
            claim.link(request)

    @put.register
    def _(self, item: Broken) -> None:
        name = f"{item.code} {item.reason}"
        self._happen(self._streams[item.stream], name, item.point, {"why": item.why})

    @put.register
    def _(self, item: ClaimEnded) -> None:
        span = self._lanes.pop((ClaimBegun, item.claim))
        for name, found in item.violations.items():
            about = {"why": found.why, "expected": found.allowed}
            if found.point is not None:
                self._happen(span, f"violated {name}", found.point, about)
        span.attributes |= {
            "mode": item.mode or item.stated_mode,
            "owner": item.owner,
            "predicate": item.predicate,
            "footprint": item.footprint,
            "state": item.state,
            "verdict": item.verdict,
            "why": item.why,
        }
        self._leave(span, _STATUS.get(item.verdict, 0), item.why)

    @put.register
    def _(self, item: RequestEnded) -> None:
        span = self._lanes.pop((RequestBegun, item.request))
        span.end = max(span.end, self._wall(item.point))
        span.attributes["finished"] = item.finished
        self._leave(span)

    # Spans.

    def _wall(self, point: Point) -> int:
        """The wall time of a place, in ns since 1970."""
        at = point.at * self._scale
        if point.file not in self._ahead:  # a rank of an engine, whose clock is that of the others
            self._ahead[point.file] = next(iter(self._ahead.values()))
        return min(max(at + self._ahead[point.file], 0), _LATEST)

    def _happen(
        self, span: _Span, name: str | None, point: Point, about: Mapping[str, object]
    ) -> None:
        """Something happened: the span goes on at least to there. Without a name it is no event."""
        at = self._wall(point)
        span.end = max(span.end, at)
        if name is not None:
            span.happen(at, name, {**about, "line": point.line, "sequence": point.sequence})

    def _leave(self, span: _Span, status: int = 0, why: str = "") -> None:
        said: dict[str, Any] = {"code": status}
        if status == _ERROR:
            said["message"] = utf8(why)
        made = {
            "traceId": span.trace,
            "spanId": span.id,
            "parentSpanId": span.parent,
            "name": utf8(span.name),
            "kind": _INTERNAL,
            "startTimeUnixNano": str(span.begin),
            "endTimeUnixNano": str(span.end),
            "attributes": _attributes(span.attributes),
            "events": sorted(span.events, key=lambda event: int(event["timeUnixNano"])),
            "droppedEventsCount": span.more_events,
            "links": span.links,
            "droppedLinksCount": span.more_links,
            "status": said,
        }
        self._waiting.append(made)
        if len(self._waiting) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        if not self._waiting:
            return
        spans, self._waiting = self._waiting, []
        scope = {"name": "resident-claims", "version": __version__}
        of = {
            "resource": {"attributes": _attributes({"service.name": "resident-claims"}, "")},
            "scopeSpans": [{"scope": scope, "spans": spans}],
        }
        self._send(msgspec.json.encode({"resourceSpans": [of]}) + b"\n")


def _attributes(pairs: Mapping[str, object], prefix: str = "resident_claims.") -> list[Any]:
    """Attributes; what is None is left out."""
    found = []
    for name, value in pairs.items():
        if isinstance(value, bool):
            found.append({"key": prefix + name, "value": {"boolValue": value}})
        elif isinstance(value, int):
            found.append({"key": prefix + name, "value": {"intValue": str(value)}})
        elif value is not None and value != "":
            found.append({"key": prefix + name, "value": {"stringValue": utf8(str(value))}})
    return found
