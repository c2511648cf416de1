"""Makes spans of a timeline, in JSON of OTLP, as collectors, Jaeger and Tempo take them.

A stream is a span and a trace; below it is a span for each claim and each request. What happened is
in their events; a request that names claims and their spans have links to each other. Ids follow
from the stream and the lanes, so a second export of the same lines has the same.

Source of the format: the messages of opentelemetry-proto, in the JSON encoding of OTLP.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from monitor.input.errors import utf8
from monitor.timeline.items import LINE_NS, Axis, ClaimBegun
from monitor.timeline.writer import FACT, Writer
from spec import __version__
from spec.language.errors import SpecError
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from monitor.timeline.items import Linked, Point, RequestBegun, StreamBegun

__all__ = ["MOST", "SpansWriter", "attributes", "export_request"]

MOST: Final = 128
"""Most events of a span, without violations, and most links. More are counted, as OpenTelemetry
does by default.
"""

_Span: TypeAlias = dict[str, Any]

_BATCH: Final = 256  # spans in one request
_WALL_NS: Final = 10**18  # in 2001: a monotonic clock says less
_LATEST: Final = 2**63 - 1
_INTERNAL: Final = 1
_OK, _ERROR = 1, 2
_STATUS: Final = {ModeVerdict.KEPT: _OK, ModeVerdict.VIOLATED: _ERROR}


class SpansWriter(Writer[_Span]):
    """Sends each span when it is over, in requests of some.

    Args:
        send: is given each request, as JSON on one line.
        start: the wall time of the first event of each file, in ns since 1970. By default the times
            of events must be wall times.
    """

    def __init__(self, send: Callable[[bytes], object], start: int | None = None) -> None:
        super().__init__()
        self._send, self._start, self._scale = send, start, 1
        self._ahead: dict[str, int] = {}  # of the clock of a file, the wall clock, in ns
        self._latest: dict[str, int] = {}  # the wall time of the last line of each trace
        self._waiting: list[_Span] = []

    def begin_stream(self, item: StreamBegun) -> _Span:
        """A span without a parent; raises SpecError where its wall time is not known."""
        is_timed, file = item.axis is Axis.TIME, item.point.file
        self._scale = 1 if is_timed else LINE_NS
        first = item.point.at * self._scale
        if self._start is not None:
            self._ahead.setdefault(file, self._start - first)
        elif is_timed and first >= _WALL_NS:
            self._ahead.setdefault(file, 0)
        else:
            what = "time_ns counts from no date" if is_timed else "events have no time_ns"
            raise SpecError(what, "give --start, the time of the first event")
        trace = _digest(f"{file}\n{item.name}\n{item.stream}")
        axis = "time_ns" if is_timed else "line numbers, not time: 1 ms is a line"
        about = {"stream": item.name, "file": file, "axis": axis}
        return self._begin({"traceId": trace, "spanId": ""}, "stream", item.name, item.point, about)

    def begin_lane(self, item: ClaimBegun | RequestBegun, number: int, name: str) -> _Span:
        """A span below that of the stream."""
        what = "claim" if isinstance(item, ClaimBegun) else "request"
        about = {f"{what}_id": name, "period": item.period, "lane": number}
        return self._begin(self.streams[item.stream], what, name, item.point, about)

    def _begin(
        self, top: _Span, what: str, name: str, point: Point, about: Mapping[str, object]
    ) -> _Span:
        at = self._wall(point)
        return {
            "traceId": top["traceId"],
            "spanId": _digest(f"{top['traceId']} {what} {about.get('lane')}")[:16],
            "parentSpanId": top["spanId"],
            "name": utf8(f"{what} {name}"),
            "kind": _INTERNAL,
            "startTimeUnixNano": at,
            "endTimeUnixNano": at,
            "attributes": attributes(about),
            "events": [],
            "droppedEventsCount": 0,
            "links": [],
            "droppedLinksCount": 0,
            "status": {},
        }

    def slice(
        self, lane: _Span, name: str, begin: Point, end: Point, notes: Mapping[str, object]
    ) -> None:
        """An event where it begins."""
        self.instant(lane, "state", f"state {name}", begin, notes)
        self._reach(lane, end)

    def instant(
        self, lane: _Span, category: str, name: str, point: Point, notes: Mapping[str, object]
    ) -> None:
        """An event, or attributes where it is the verdict. Facts by which a claim lost no block
        are left out: they are many.
        """
        at = self._reach(lane, point)
        if category == "verdict":
            lane["attributes"] += attributes(notes)
        elif category != FACT or notes.get("positions lost", True):
            said = attributes({**notes, "line": point.line, "sequence": point.sequence})
            event = {"timeUnixNano": at, "name": name, "attributes": said}
            _add(lane, "events", event, always=category == "violation")

    def link(self, kind: Linked, source: _Span, target: _Span, at: tuple[Point, Point]) -> None:
        """Links of both spans to each other, where there are two."""
        for span, to in ((source, target), (target, source)):
            link = {"traceId": to["traceId"], "spanId": to["spanId"]}
            if span is not to and link not in span["links"]:
                _add(span, "links", link)

    def end_claim(self, lane: _Span, verdict: ModeVerdict, why: str) -> None:
        """The status of its span is the verdict; it ends with what happened last."""
        lane["attributes"] += attributes({"verdict": verdict})
        lane["status"]["code"] = _STATUS.get(verdict, 0)
        if verdict is ModeVerdict.VIOLATED:
            lane["status"]["message"] = utf8(why)
        self._leave(lane)

    def end_request(self, lane: _Span, point: Point) -> None:
        """Its span is over."""
        self._reach(lane, point)
        self._leave(lane)

    def end(self) -> None:
        """The spans of streams are over."""
        for span in self.streams.values():
            span["endTimeUnixNano"] = self._latest.get(span["traceId"], span["startTimeUnixNano"])
            self._leave(span)
        self._flush()

    def _wall(self, point: Point) -> int:
        """The wall time of a place, in ns since 1970."""
        if point.file not in self._ahead:  # a rank of an engine, whose clock is that of the others
            self._ahead[point.file] = next(iter(self._ahead.values()))
        return min(max(point.at * self._scale + self._ahead[point.file], 0), _LATEST)

    def _reach(self, span: _Span, point: Point) -> int:
        """A span goes on at least to a place, and its stream with it; return the wall time."""
        at, trace = self._wall(point), span["traceId"]
        self._latest[trace] = max(self._latest.get(trace, 0), at)
        span["endTimeUnixNano"] = max(span["endTimeUnixNano"], at)
        return at

    def _leave(self, span: _Span) -> None:
        """A span is over. Whole numbers of 64 bits are texts in JSON."""
        span["events"].sort(key=lambda event: event["timeUnixNano"])
        for event in span["events"]:
            event["timeUnixNano"] = str(event["timeUnixNano"])
        for name in ("startTimeUnixNano", "endTimeUnixNano"):
            span[name] = str(span[name])
        self._waiting.append(span)
        if len(self._waiting) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        spans, self._waiting = self._waiting, []
        if spans:
            self._send(export_request("Spans", "spans", spans) + b"\n")


def _digest(text: str) -> str:
    """32 hexadecimal digits that follow from a text."""
    return hashlib.sha256(utf8(text).encode()).hexdigest()[:32]


def _add(span: _Span, name: str, what: dict[str, Any], *, always: bool = False) -> None:
    """Add an event or a link to a span, or count it where there are many."""
    if always or len(span[name]) < MOST:
        span[name].append(what)
    else:
        span[f"dropped{name.capitalize()}Count"] += 1


def export_request(what: str, name: str, records: Sequence[object]) -> bytes:
    """A request to export records to a collector.

    Args:
        what: `Spans` or `Logs`; `name` is the field of OTLP that has them.
    """
    service = attributes({"service.name": "resident-claims"}, prefix="")
    scopes = [{"scope": {"name": "resident-claims", "version": __version__}, name: records}]
    of = {"resource": {"attributes": service}, f"scope{what}": scopes}
    return msgspec.json.encode({f"resource{what}": [of]})


def attributes(pairs: Mapping[str, object], *, prefix: str = "resident_claims.") -> list[Any]:
    """Attributes; empty values are left out."""
    found = []
    for name, value in pairs.items():
        if isinstance(value, bool):
            found.append({"key": prefix + name, "value": {"boolValue": value}})
        elif isinstance(value, int):
            found.append({"key": prefix + name, "value": {"intValue": str(value)}})
        elif value not in (None, ""):
            found.append({"key": prefix + name, "value": {"stringValue": utf8(str(value))}})
    return found
