"""Walks through the items of a timeline, and has each written as what it is in a format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from monitor.timeline import items

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monitor.timeline.items import ClaimBegun, Item, Linked, Point, RequestBegun
    from spec.stream.outcome import ModeVerdict

__all__ = ["FACT", "Lane", "Writer"]

Lane = TypeVar("Lane")
"""What a format has for a stream, a claim or a request."""

FACT: Final = "fact"
"""The category of an instant that is a fact; others are reports, violations and breaks."""

_TERMS: Final = ("mode", "owner", "predicate", "duration", "priority", "footprint", "keys", "state")


class Writer(ABC, Generic[Lane]):
    """Writes items. A subclass writes streams, lanes, slices, instants and links.

    Empty notes, and those that are None, are left out.
    """

    def __init__(self) -> None:
        self.streams: dict[int, Lane] = {}
        self._claims: dict[int, Lane] = {}
        self._requests: dict[int, Lane] = {}
        self._last: dict[int, Point] = {}  # where the last state of a claim ends

    @abstractmethod
    def begin_stream(self, item: items.StreamBegun) -> Lane:
        """A stream."""

    @abstractmethod
    def begin_lane(self, item: ClaimBegun | RequestBegun, number: int, name: str) -> Lane:
        """The lane of a claim or a request."""

    @abstractmethod
    def slice(
        self, lane: Lane, name: str, begin: Point, end: Point, notes: Mapping[str, object]
    ) -> None:
        """A state or a phase."""

    @abstractmethod
    def instant(
        self, lane: Lane, category: str, name: str, point: Point, notes: Mapping[str, object]
    ) -> None:
        """Something that happened."""

    @abstractmethod
    def link(self, kind: Linked, source: Lane, target: Lane, at: tuple[Point, Point]) -> None:
        """Something that leads from one lane to another, at these two places."""

    @abstractmethod
    def end_claim(self, lane: Lane, verdict: ModeVerdict, why: str) -> None:
        """The verdict on a claim."""

    def end_request(self, lane: Lane, point: Point) -> None:
        """A request is over."""

    def count(self, item: items.Counted) -> None:
        """A count of blocks."""

    def end(self) -> None:
        """There are no more items."""

    def put(self, item: Item) -> None:
        """Write an item."""
        match item:
            case items.StreamBegun(stream=stream):
                self.streams[stream] = self.begin_stream(item)
            case items.ClaimBegun(claim=number, claim_id=name):
                self._claims[number] = self.begin_lane(item, number, name)
            case items.RequestBegun(request=number, request_id=name):
                self._requests[number] = self.begin_lane(item, number, name)
            case items.StateSlice(judged=judged):
                notes = {} if judged else {"judged": "no: reports alone say so, after a break"}
                self.slice(self._claims[item.claim], item.state, item.begin, item.end, notes)
                self._last[item.claim] = item.end
            case items.RequestSlice():
                self.slice(self._requests[item.request], item.phase, item.begin, item.end, {})
            case items.Happened():
                self._happen(item)
            case items.Link(kind=kind, source=source, target=target):
                at = source.point, target.point
                self.link(kind, self._lane(source), self._lane(target), at)
            case items.Counted():
                self.count(item)
            case items.Broken(code=code, reason=reason, why=why):
                lane = self.streams[item.stream]
                self.instant(lane, "break", f"{code} {reason}", item.point, {"why": why})
            case items.ClaimEnded():
                self._conclude(item, self._claims.pop(item.claim))
            case items.RequestEnded():
                self.end_request(self._requests.pop(item.request), item.point)

    def _lane(self, end: items.End) -> Lane:
        if end.claim is not None:
            return self._claims[end.claim]
        assert end.request is not None
        return self._requests[end.request]

    def _happen(self, item: items.Happened) -> None:
        event, category = item.event, "report" if item.is_report else FACT
        said = {"reason": event.reason, "by": event.by}
        for number, claim in enumerate(item.claims):
            notes: dict[str, object] = {**said, "request": event.request_id}
            for what, counts in (("lost", item.lost), ("gained", item.gained)):
                notes[f"positions {what}"] = (counts[number] if counts else 0) or None
            self.instant(self._claims[claim], category, event.kind, item.point, notes)
        if item.request is not None:
            notes = {**said, "needed": event.needed, "usable": event.usable}
            self.instant(self._requests[item.request], category, event.kind, item.point, notes)

    def _conclude(self, item: items.ClaimEnded, lane: Lane) -> None:
        for name, found in item.violations.items():
            notes = {"why": found.why, "expected instead": found.allowed}
            if found.point is not None:
                self.instant(lane, "violation", f"violated: {name}", found.point, notes)
        terms = {term: getattr(item, term) for term in _TERMS}
        notes = {**terms, "why": item.why}
        point = self._last.pop(item.claim, item.point)
        self.instant(lane, "verdict", f"verdict: {item.verdict}", point, notes)
        self.end_claim(lane, item.verdict, item.why)
