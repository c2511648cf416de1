"""Makes spans of a timeline, in JSON of OTLP, as collectors, Jaeger and Tempo take them.

A stream is a span and a trace; below it is a span for each claim and each request. What happened is
in their events; a request that names claims and their spans have links to each other. Ids follow
from the stream and the lanes, so a second export of the same lines has the same.

Source of the format: OTLP 1.5, JSON encoding of the protobuf messages.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from monitor.timeline import items
from monitor.timeline.items import LINE_NS, Axis, Linked
from monitor.timeline.output import utf8
from spec import __version__
from spec.language.errors import SpecError
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from monitor.timeline.items import Happened, Item, Link, Point, StreamBegun

__all__ = ["MOST", "SpansWriter"]

MOST: Final = 128
"""Most events of a span, and most links: more are counted, as OpenTelemetry does by default."""

_Span: TypeAlias = dict[str, Any]

_BATCH: Final = 256  # spans in one request
_WALL_NS: Final = 10**18  # in 2001: a monotonic clock says less
_LATEST: Final = 2**63 - 1
_INTERNAL: Final = 1
_OK, _ERROR = 1, 2
_STATUS: Final = {ModeVerdict.KEPT: _OK, ModeVerdict.VIOLATED: _ERROR}


class SpansWriter:
    """Sends each span when it is over, in requests of some.

    Args:
        send: is given each request, as JSON on one line.
        start: the wall time of the first event of each file, in ns since 1970. By default the times
            of events must be wall times.
    """

    def __init__(self, send: Callable[[bytes], object], start: int | None = None) -> None:
        self._send, self._start, self._scale = send, start, 1
        self._ahead: dict[str, int] = {}  # of the clock of a file, the wall clock, in ns
        self._streams: dict[int, _Span] = {}
        self._claims: dict[int, _Span] = {}
        self._requests: dict[int, _Span] = {}
        self._waiting: list[_Span] = []

    def put(self, item: Item) -> None:
        """Take an item; raises SpecError where its wall time is not known."""
        match item:
            case items.StreamBegun():
                self._begin_stream(item)
            case items.ClaimBegun(claim=claim, claim_id=name):
                said = {"claim_id": name, "period": item.period}
                span = self._begin(self._streams[item.stream], "claim", claim, name, item.point)
                self._claims[claim] = _saying(span, said)
            case items.RequestBegun(request=request, request_id=name):
                said = {"request_id": name, "period": item.period}
                span = self._begin(self._streams[item.stream], "request", request, name, item.point)
                self._requests[request] = _saying(span, said)
            case items.StateSlice(state=state, judged=judged):
                span = self._claims[item.claim]
                self._happen(span, f"state {state}", item.begin, {"judged": judged})
                self._reach(span, item.end)
            case items.RequestSlice():
                self._happen(self._requests[item.request], item.phase, item.begin, {})
            case items.Happened():
                self._note(item)
            case items.Link():
                self._link(item)
            case items.Broken(code=code, reason=reason, why=why):
                span = self._streams[item.stream]
                self._happen(span, f"{code} {reason}", item.point, {"why": why})
            case items.ClaimEnded():
                self._conclude(item, self._claims.pop(item.claim))
            case items.RequestEnded(finished=finished):
                span = self._requests.pop(item.request)
                self._reach(span, item.point)
                self._leave(_saying(span, {"finished": finished}))

    def end(self) -> None:
        """There are no more items."""
        for span in self._streams.values():
            self._leave(span)
        self._flush()

    # Items.

    def _begin_stream(self, item: StreamBegun) -> None:
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
        top = {"traceId": trace, "spanId": ""}
        span = self._begin(top, "stream", item.stream, item.name, item.point)
        axis = "time_ns" if is_timed else "line numbers, not time: 1 ms is a line"
        about = {"stream": item.name, "file": file, "axis": axis}
        self._streams[item.stream] = _saying(span, about)

    def _note(self, item: Happened) -> None:
        event = item.event
        said = {"reason": event.reason, "by": event.by, "request_id": event.request_id}
        self._reach(self._streams[item.stream], item.point)
        for number, claim in enumerate(item.claims):
            lost = item.lost[number] if item.lost else 0
            if item.is_report or lost:  # facts are many
                notes = {**said, "lost": lost or None}
                self._happen(self._claims[claim], event.kind, item.point, notes)
        if item.request is not None:
            counts = {"needed": event.needed, "usable": event.usable, "reason": event.reason}
            self._happen(self._requests[item.request], event.kind, item.point, counts)

    def _link(self, item: Link) -> None:
        source, target = item.source.request, item.target.claim
        if item.kind is Linked.NAMES and source is not None and target is not None:
            one, other = self._requests[source], self._claims[target]
            for span, to in ((one, other), (other, one)):
                link = {"traceId": to["traceId"], "spanId": to["spanId"]}
                if link not in span["links"]:
                    _add(span, "links", link)

    def _conclude(self, item: items.ClaimEnded, span: _Span) -> None:
        for name, found in item.violations.items():
            if found.point is not None:
                notes = {"why": found.why, "expected": found.allowed}
                self._happen(span, f"violated {name}", found.point, notes)
        terms = ("mode", "owner", "predicate", "footprint", "state", "verdict", "why")
        span["status"]["code"] = _STATUS.get(item.verdict, 0)
        if item.verdict is ModeVerdict.VIOLATED:
            span["status"]["message"] = utf8(item.why)
        self._leave(_saying(span, {term: getattr(item, term) for term in terms}))

    # Spans.

    def _begin(self, top: _Span, what: str, number: int, name: str, point: Point) -> _Span:
        """A span below another one, from this place on."""
        at = self._wall(point)
        return {
            "traceId": top["traceId"],
            "spanId": _digest(f"{top['traceId']} {what} {number}")[:16],
            "parentSpanId": top["spanId"],
            "name": utf8(f"{what} {name}"),
            "kind": _INTERNAL,
            "startTimeUnixNano": at,
            "endTimeUnixNano": at,
            "attributes": [],
            "events": [],
            "droppedEventsCount": 0,
            "links": [],
            "droppedLinksCount": 0,
            "status": {},
        }

    def _wall(self, point: Point) -> int:
        """The wall time of a place, in ns since 1970."""
        if point.file not in self._ahead:  # a rank of an engine, whose clock is that of the others
            self._ahead[point.file] = next(iter(self._ahead.values()))
        return min(max(point.at * self._scale + self._ahead[point.file], 0), _LATEST)

    def _reach(self, span: _Span, point: Point) -> int:
        """A span goes on at least to a place; return its wall time."""
        at = self._wall(point)
        span["endTimeUnixNano"] = max(span["endTimeUnixNano"], at)
        return at

    def _happen(self, span: _Span, name: str, point: Point, notes: Mapping[str, object]) -> None:
        said = _attributes({**notes, "line": point.line, "sequence": point.sequence})
        event = {"timeUnixNano": self._reach(span, point), "name": name, "attributes": said}
        _add(span, "events", event)

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
            scope = {"name": "resident-claims", "version": __version__}
            service = _attributes({"service.name": "resident-claims"}, prefix="")
            scopes = [{"scope": scope, "spans": spans}]
            of = {"resource": {"attributes": service}, "scopeSpans": scopes}
            self._send(msgspec.json.encode({"resourceSpans": [of]}) + b"\n")


def _digest(text: str) -> str:
    """32 hexadecimal digits that follow from a text."""
    return hashlib.sha256(utf8(text).encode()).hexdigest()[:32]


def _add(span: _Span, name: str, what: dict[str, Any]) -> None:
    """Add an event or a link to a span, or count it where there are many."""
    if len(span[name]) < MOST:
        span[name].append(what)
    else:
        span[f"dropped{name.capitalize()}Count"] += 1


def _saying(span: _Span, pairs: Mapping[str, object]) -> _Span:
    """The span, with more attributes."""
    span["attributes"] += _attributes(pairs)
    return span


def _attributes(pairs: Mapping[str, object], *, prefix: str = "resident_claims.") -> list[Any]:
    """Attributes; what says nothing is left out."""
    found = []
    for name, value in pairs.items():
        if isinstance(value, bool):
            found.append({"key": prefix + name, "value": {"boolValue": value}})
        elif isinstance(value, int):
            found.append({"key": prefix + name, "value": {"intValue": str(value)}})
        elif value not in (None, ""):
            found.append({"key": prefix + name, "value": {"stringValue": utf8(str(value))}})
    return found
