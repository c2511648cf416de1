"""Collects the items of a timeline into columns, and names the lines that are worth a quotation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from monitor.input.errors import utf8
from monitor.page.columns import ABSENT, Columns, Texts
from monitor.timeline.items import Linked, Phase
from spec.claims.states import ClaimState
from spec.contract.obligations import OBLIGATIONS
from spec.events.alphabet import Kind
from spec.events.fields import fields_of
from spec.language.prose import counted
from spec.language.verdicts import Verdict
from spec.stream.codes import CODES, Code
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from monitor.timeline import items
    from spec.claims.states import Mode
    from spec.events.canonical import Event

__all__ = ["MOST_ROWS", "NAMES", "Collected"]

MOST_ROWS: Final = 3_000_000
"""Rows of a table of the page; later ones are left out, and the page says so."""

_MOST_TEXT: Final = 300  # characters of what an event states
_MOST_BREAKS: Final = 1_000

NAMES: Final[dict[str, list[str]]] = {
    "states": [*ClaimState],
    "phases": [*Phase],
    "kinds": [*Kind],
    "verdicts": [*ModeVerdict, "not judged"],
    "found": [*Verdict],
    "links": [*Linked],
    "obligations": [*OBLIGATIONS],
}
"""What the numbers in columns stand for."""

_PLACES: Final = {
    table: {name: place for place, name in enumerate(names)} for table, names in NAMES.items()
}
_UNKNOWN: Final = {"name": "", "form": "", "file": ""}  # a stream of which no line was placed
_REMEDIES: Final = {number: (each.title, each.remedy) for number, each in CODES.items()}

_TABLES: Final[dict[str, str]] = {
    "claim": "lane id stream period at:q line end:q endline mode stated owner predicate object "
    "duration priority footprint:q keys state verdict why",
    "slice": "claim state at:q end:q judged last turn",
    "found": "claim obligation verdict why allowed code line sequence:q at:q",
    "step": "found request source rule target line at:q",
    "request": "lane id stream period at:q line end:q finished",
    "phase": "request phase at:q end:q",
    "event": "stream at:q line sequence:q kind report request named about turn",
    "touch": "event claim lost gained",
    "count": "stream name at:q value:q stated turn",
    "link": "kind claim request at:q line toclaim torequest toat:q toline",
}
"""The columns of each table; those with `:q` have eight bytes."""


def _columns() -> Columns:
    def parsed(text: str) -> dict[str, str]:
        parts = (each.partition(":") for each in text.split())
        return {name: code or "i" for name, _, code in parts}

    return Columns(**{table: parsed(text) for table, text in _TABLES.items()})


class Collected:
    """What a timeline consists of, in columns; call it with each item.

    Times count from the first line of a stream, which has a clock of its own; positions that are
    lines from the first line of the file. A turn numbers the lines as they are judged: lines of
    one time have one position, but not one turn.

    Args:
        mode: the one that was asked for; claims that state another are not judged.

    Attributes:
        wanted: the lines that are worth a quotation, as file and number, the best first.
    """

    def __init__(self, mode: Mode | None = None) -> None:
        self.texts, self.columns = Texts(), _columns()
        self.streams: dict[int, dict[str, str]] = {}
        self.breaks: list[dict[str, Any]] = []
        self.axis = "lines"
        self.left_out: dict[str, int] = {}
        self._mode = mode
        self._base: dict[int, int] = {}
        self._turn, self._last = 0, ("", 0)
        self._refused: set[tuple[str, int]] = set()
        self._begun: dict[int, tuple[int, ...]] = {}
        self._requests: dict[int, tuple[int, ...]] = {}
        self._wanted: tuple[dict[tuple[str, int], None], ...] = ({}, {}, {})

    def __call__(self, item: items.Item) -> None:
        """Take the next item, by the method that is named as its class."""
        getattr(self, f"_{type(item).__name__.lower()}")(item)

    @property
    def wanted(self) -> list[tuple[str, int]]:
        """The lines to quote, none that was refused; those first that violated something."""
        places = dict.fromkeys(place for each in self._wanted for place in each)
        return [place for place in places if place not in self._refused]

    def _add(self, table: str, *row: int) -> int:
        if self.columns.size(table) >= MOST_ROWS:
            self.left_out[table] = self.left_out.get(table, 0) + 1
            return ABSENT
        return self.columns.add(table, *row)

    def _at(self, stream: int, point: items.Point | None) -> int:
        """The position of a point, from the base of its stream on."""
        return ABSENT if point is None else point.at - self._base[stream]

    def _turn_of(self, point: items.Point) -> int:
        """The turn of the line of a point, which is the line judged now."""
        if self._last != (place := (point.file, point.line)):
            self._turn, self._last = self._turn + 1, place
        return self._turn

    def _want(self, rank: int, file: str, line: int | None) -> None:
        if line is not None and len(self._wanted[rank]) < 2 * _MOST_BREAKS:
            self._wanted[rank][utf8(file), line] = None

    # Items.

    def _streambegun(self, item: items.StreamBegun) -> None:
        file = utf8(item.point.file)
        self._base[item.stream] = 1 if item.axis == "lines" else item.point.at
        self.axis = item.axis
        # Streams begin in another order than they are numbered, where a clock is known late.
        self.streams[item.stream] = {"name": item.name, "form": item.form, "file": file}

    def _broken(self, item: items.Broken) -> None:
        if item.code == Code.NOT_UNDERSTOOD.number:
            self._refused.add((utf8(item.point.file), item.point.line))
        if len(self.breaks) >= _MOST_BREAKS:
            self.left_out["break"] = self.left_out.get("break", 0) + 1
            return
        found = {
            "stream": item.stream,
            "at": self._at(item.stream, item.point),
            "turn": self._turn_of(item.point),
            "line": item.point.line,
            "code": item.code,
            "why": item.why,
        }
        self.breaks.append(found)
        self._want(0, item.point.file, item.point.line)

    def _claimbegun(self, item: items.ClaimBegun) -> None:
        self._begun[item.claim] = (
            self.texts.number(item.claim_id),
            item.stream,
            item.period,
            self._at(item.stream, item.point),
            item.point.line,
        )

    def _stateslice(self, item: items.StateSlice) -> None:
        stream = self._begun[item.claim][1]
        begin, end = self._at(stream, item.begin), self._at(stream, item.end)
        state = _PLACES["states"][item.state]
        turn = self._turn_of(item.end)
        self._add("slice", item.claim, state, begin, end, item.judged, item.last, turn)

    def _claimended(self, item: items.ClaimEnded) -> None:
        number, begun = self.texts.number, self._begun.pop(item.claim)
        stream = begun[1]
        judged = self._mode in (None, item.mode)
        texts = (item.mode, item.stated_mode, item.owner, item.predicate, item.object_id)
        priority = None if item.priority is None else str(item.priority)
        # Lanes end in another order than they begin: their number comes with the row.
        self._add(
            "claim",
            item.claim,
            *begun,
            self._at(stream, item.point),
            item.point.line,
            *map(number, texts),
            number(item.duration),
            number(priority),
            *(ABSENT if each is None else each for each in (item.footprint, item.keys)),
            _PLACES["states"][item.state],
            _PLACES["verdicts"][item.verdict if judged else "not judged"],
            number(item.why),
        )
        for name, found in item.obligations.items() if judged else ():
            self._found(item, stream, name, found)

    def _found(self, item: items.ClaimEnded, stream: int, name: str, found: items.Found) -> None:
        path, number = item.paths.get(name, []), self.texts.number
        decided = [step.point for step in path if step.point.line == found.line]
        point = decided[-1] if decided else found.point
        row = self._add(
            "found",
            item.claim,
            _PLACES["obligations"][name],
            _PLACES["found"][found.verdict],
            number(found.why),
            number(found.allowed or None),
            number(found.code or None),
            ABSENT if found.line is None else found.line,
            ABSENT if found.sequence is None else found.sequence,
            self._at(stream, point),
        )
        broken = found.verdict is Verdict.VIOLATED
        self._want(0 if broken else 1, item.point.file, found.line)
        for step in path if row != ABSENT else ():
            at, line = self._at(stream, step.point), step.point.line
            request = number(step.request)
            self._add("step", row, request, step.source, step.rule, step.target, line, at)
            self._want(0 if broken else 2, step.point.file, line)

    def _requestbegun(self, item: items.RequestBegun) -> None:
        at = self._at(item.stream, item.point)
        name = self.texts.number(item.request_id)
        self._requests[item.request] = (name, item.stream, item.period, at, item.point.line)

    def _requestslice(self, item: items.RequestSlice) -> None:
        stream = self._requests[item.request][1]
        begin, end = self._at(stream, item.begin), self._at(stream, item.end)
        self._add("phase", item.request, _PLACES["phases"][item.phase], begin, end)

    def _requestended(self, item: items.RequestEnded) -> None:
        begun = self._requests.pop(item.request)
        at = self._at(begun[1], item.point)
        self._add("request", item.request, *begun, at, item.finished)

    def _happened(self, item: items.Happened) -> None:
        event, point = item.event, item.point
        row = self._add(
            "event",
            item.stream,
            self._at(item.stream, point),
            point.line,
            ABSENT if point.sequence is None else point.sequence,
            _PLACES["kinds"][event.kind],
            item.is_report,
            ABSENT if item.request is None else item.request,
            self.texts.number(event.request_id),
            self.texts.number(_about(event)),
            self._turn_of(point),
        )
        for place, claim in enumerate(item.claims if row != ABSENT else ()):
            lost = item.lost[place] if item.lost else 0
            gained = item.gained[place] if item.gained else 0
            self._add("touch", row, claim, lost, gained)
        self._want(1 if any(item.lost) else 2, point.file, point.line)

    def _counted(self, item: items.Counted) -> None:
        value, at = item.value, self._at(item.stream, item.point)
        name = self.texts.number(item.name)
        turn = self._turn_of(item.point)
        self._add("count", item.stream, name, at, value or 0, value is not None, turn)

    def _link(self, item: items.Link) -> None:
        kind = _PLACES["links"][item.kind]
        self._add("link", kind, *self._end(item.source), *self._end(item.target))

    def _end(self, end: items.End) -> tuple[int, ...]:
        claim = ABSENT if end.claim is None else end.claim
        request = ABSENT if end.request is None else end.request
        begun = self._requests[request] if claim == ABSENT else self._begun[claim]
        return claim, request, self._at(begun[1], end.point), end.point.line

    def head(self) -> dict[str, Any]:
        """What the page needs beside the columns."""
        left = {**self.left_out, "text": self.texts.left_out}
        said = {"count": "count of the pool", "touch": "effect", "text": "text"}
        return {
            "axis": self.axis,
            "streams": [
                self.streams.get(n, _UNKNOWN) for n in range(max(self.streams, default=-1) + 1)
            ],
            "breaks": self.breaks,
            "names": NAMES,
            "remedies": _REMEDIES,
            "texts": self.texts.listed,
            "left_out": [counted(n, said.get(what, what)) for what, n in left.items() if n],
        }


_NAMED: Final = frozenset({"claim_id", "request_id", "positions", "block_ids", "usable"})


def _about(event: Event) -> str | None:
    """What an event states beside the claim and the request, in short."""
    parts = [counted(len(event.block_ids), "block")] if event.block_ids else []
    for name in fields_of(event.kind):
        value = getattr(event, name)
        if name in _NAMED or value in (None, False, ()):
            continue
        if name == "needed":
            parts.append(f"needed {value} of {counted(event.usable or 0, 'usable block')}")
        elif name == "blocking_claim_ids":
            parts.append(f"names {', '.join(value)}")
        elif name in ("proof", "capacity"):
            counts = msgspec.structs.asdict(value)
            parts.append(f"{name}: {', '.join(f'{part} {n}' for part, n in counts.items())}")
        elif isinstance(value, tuple):
            parts.append(counted(len(value), name.rstrip("s").replace("_", " ")))
        else:
            parts.append(f"{name.replace('_', ' ')} {'yes' if value is True else value}")
    return ", ".join(parts)[:_MOST_TEXT] or None
