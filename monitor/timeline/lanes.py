"""Follows one stream as it is judged, and puts what becomes of it into a timeline.

What a claim, a request and the pool are is what the judge knows; nothing is concluded here. After a
break the judge concludes nothing either: then states are those that reports alone lead to, and
counts are not stated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.core import Stream
from monitor.results import obligation_said
from monitor.timeline.items import (
    Axis,
    Broken,
    ClaimBegun,
    ClaimEnded,
    Counted,
    End,
    Found,
    Happened,
    Link,
    Linked,
    Phase,
    Point,
    RequestBegun,
    RequestEnded,
    RequestSlice,
    StateSlice,
    StreamBegun,
)
from monitor.timeline.paths import Paths
from spec.claims.states import TERMINAL, next_state
from spec.events.alphabet import BLOCKS_GONE, CONFLICT_ACTIONS, REPORTS, Kind
from spec.language.verdicts import Verdict
from spec.stream.claim import outcome_of
from spec.stream.pool import GPU
from spec.stream.request import OF_REQUESTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from monitor.input.records import At, Form
    from monitor.timeline.items import Item
    from spec.claims.states import ClaimState, Mode
    from spec.contract.modes import Bundle
    from spec.events.canonical import Event
    from spec.stream.breaks import Limits, Line
    from spec.stream.claim import Claim
    from spec.stream.fields import Moment
    from spec.stream.outcome import Finding
    from spec.stream.pool import Block

__all__ = ["Lanes", "Written"]

_TELLS: Final = frozenset({Kind.CLAIM_HARMED, Kind.CLAIM_BLOCK_LOST, Kind.CLAIM_UNMATERIALIZED})
"""The reports that tell of a loss."""

_LOSSES: Final = 64
"""Losses of a claim that are remembered until one of them is reported."""

_PHASES: Final = {kind: Phase(kind.removeprefix("request_")) for kind in CONFLICT_ACTIONS} | {
    Kind.REQUEST_ROUTED: Phase.ROUTED,
    Kind.REQUEST_ARRIVED: Phase.WAITING,
    Kind.CLAIM_RESTORE_REQUIRED: Phase.RESTORING,
    Kind.LOAD_FINISHED: Phase.WAITING,
    Kind.LOAD_FAILED: Phase.WAITING,
    Kind.PREFIX_REUSED: Phase.SERVED,
    Kind.REUSE_SERVED: Phase.SERVED,
    Kind.BLOCK_CACHED: Phase.SERVED,
}
"""The phase of a request that begins with an event of a kind."""

_ARRIVALS: Final = frozenset({"active", "usable", "free"})
"""Counts that an arrival states, even where they are 0."""

_LOADS: Final = frozenset({Kind.LOAD_FINISHED, Kind.LOAD_FAILED})
_ARRIVED: Final = Kind.REQUEST_ARRIVED
_FINISHED: Final = Kind.REQUEST_FINISHED


class Written:
    """Where the items of a timeline go, its axis, and the numbers of its lanes.

    Args:
        put: called with each item.
    """

    def __init__(self, put: Callable[[Item], None]) -> None:
        self.put = put
        self.axis: Axis | None = None
        self.latest = 0
        self._numbers = {"stream": -1, "claim": -1, "request": -1}

    def number(self, of: str) -> int:
        """The number of the next stream, claim or request."""
        self._numbers[of] += 1
        return self._numbers[of]


class _ClaimLane:
    """The lane of a claim: where it stands since when, and what of it is not yet reported."""

    def __init__(self, number: int, claim: Claim) -> None:
        self.number, self.claim = number, claim
        self.state: ClaimState | None = None
        self.since: Point | None = None
        self.judged = True
        self.violated: dict[str, Point] = {}
        self.paths = Paths()
        self.losses: list[tuple[Point, frozenset[Block | None]]] = []


class _RequestLane:
    """The lane of a request: its phase since when, and the conflict that no action answered."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.phase: Phase | None = None
        self.since: Point | None = None
        self.conflict: Point | None = None


class Lanes(Stream):
    """One stream of one file, its judge, and the lanes of its claims and requests."""

    def __init__(
        self,
        written: Written,
        file: str,
        name: str,
        form: Form,
        *,
        default: Mode | None,
        bundle: Bundle,
        limits: Limits,
        only: str | None,
        watched: bool,
    ) -> None:
        super().__init__(
            file,
            name,
            form,
            default=default,
            bundle=bundle,
            limits=limits,
            only=only,
            watched=watched,
        )
        self.judge.noticed = self._notice
        self._written, self._put = written, written.put
        self._number = written.number("stream")
        self._claims: dict[Claim, _ClaimLane] = {}
        self._requests: dict[str, _RequestLane] = {}
        self._counts: dict[str, int | None] = {}
        self._usable: int | None = None
        self._line: Line | None = None
        self._point: Point | None = None  # of the line
        self._before: Point | None = None  # of the line before it, until the line has one
        self._shift = self._period = self._breaks = 0
        self._begun = self._heard = False

    # Lines.

    def take(self, line: Line) -> None:
        """The next line of the stream."""
        self._line, self._point, self._heard = line, None, False
        super().take(line)
        point = self._at_line()
        for claim in self.judge.news:
            self._follow(claim)
        if self.judge.broken is not None:
            self._uncount(point)
            if not self._heard:
                for event in line.events:
                    self._overhear(event, point)
        self._note_breaks(point)

    def _at_line(self) -> Point:
        """The place of the line that is judged; a period that ended is closed before it."""
        if self._point is not None:
            return self._point
        assert self._line is not None
        at: At = self._line.at  # type: ignore[assignment]
        before, begins = self._before, self.judge.period > self._period
        point = Point(self._position(at.line, begins=begins), at.line, at.sequence, at.file)
        if begins and before is not None:
            self._close(before)
            self._uncount(before)
            self._counts.clear()
            self._usable = None
        self._period = self.judge.period
        self._point = self._before = point
        # A mark without a time may come first: the clock of the stream is not known yet.
        axis, timed = self._written.axis, self._line.time_ns is not None
        if axis is not None and (timed or self._line.events or axis is Axis.LINES):
            self._begin(point)
        return point

    def _position(self, number: int, *, begins: bool) -> int:
        """Where a line is on the axis.

        Args:
            number: of the line.
            begins: a period begins with it, perhaps with a clock of its own.
        """
        assert self._line is not None
        written, time_ns = self._written, self._line.time_ns
        if written.axis is None and self._line.events:
            written.axis = Axis.LINES if time_ns is None else Axis.TIME
        last = self._before.at if self._begun and self._before is not None else None
        if written.axis is not Axis.TIME:
            found = number
        elif time_ns is None:
            found = written.latest if last is None else last
        else:
            if begins and last is not None:
                self._shift = max(self._shift, last - time_ns)
            found = time_ns + self._shift
        written.latest = found if last is None else max(found, last)
        return written.latest

    def _begin(self, point: Point) -> None:
        if not self._begun:
            self._begun = True
            axis = self._written.axis or Axis.LINES
            self._put(StreamBegun(self._number, self.name, self.form.name, axis, point))

    def _note_breaks(self, point: Point) -> None:
        if not self._begun:  # the axis is not known yet
            return
        for reason in self.judge.breaks[self._breaks :]:
            code = reason.code
            self._put(Broken(self._number, point, code.number, code.title, reason.text))
        self._breaks = len(self.judge.breaks)

    def end(self) -> None:
        """The stream is over, and its judge has finished."""
        if self._before is None:
            return
        point = self._point = self._before
        self._begin(point)
        self._note_breaks(point)
        self._close(point)
        for claim in self.judge.claims.values():
            self._leave_lane(claim)

    # Events.

    def _notice(self, at: Moment) -> None:
        """The judge took an event."""
        self._heard = True
        point, event, kind = self._at_line(), at.event, at.kind
        for claim in {**at.mine, **at.moved}:
            self._follow(claim)
        name = event.request_id if kind in OF_REQUESTS else None
        request = None if name is None else self._requests.get(name)
        lives = name is not None and at.run.requests.get(name) is not None
        if request is None and name is not None and lives:
            request = self._begin_request(name, point)
        if request is not None:
            if kind is _ARRIVED and at.run.capacity.conflicts(event.needed, event.usable):
                request.conflict = point
            self._move(request, event, point)
        self._happen(at, event, self._concerned(at), request, point)
        if request is not None:
            self._link_accused(request, event, point)
            if name is not None and not lives:
                self._end_request(name, point, finished=True)
        if kind is _ARRIVED:
            self._usable = event.usable
        self._count(at, point)

    def _link_accused(self, request: _RequestLane, event: Event, point: Point) -> None:
        """Link a request to the claims that a report on it names."""
        for name in event.accused:
            if (lane := self._lane_named(name)) is not None:
                source = End(point, request=request.number)
                self._put(Link(Linked.NAMES, source, End(point, claim=lane.number)))

    def _concerned(self, at: Moment) -> list[_ClaimLane]:
        """The lanes of the claims that an event is about, or names."""
        names = [claim.claim_id for claim in at.mine]
        names += [name for name in (at.event.claim_id, *at.event.accused) if name is not None]
        lanes = map(self._lane_named, dict.fromkeys(names))
        return [lane for lane in lanes if lane is not None]

    def _lane_named(self, name: str) -> _ClaimLane | None:
        claim = self.judge.claims.get(name)
        return None if claim is None else self._lane(claim)

    def _happen(
        self,
        at: Moment | None,
        event: Event,
        lanes: list[_ClaimLane],
        request: _RequestLane | None,
        point: Point,
    ) -> None:
        """Put an event into the timeline that is of any lane, with what it did to the claims."""
        if not lanes and request is None:
            return
        touches = [] if at is None else [at.touched.get(lane.claim) for lane in lanes]
        lost = tuple([0 if touch is None else len(touch.lost) for touch in touches])
        gained = tuple([0 if touch is None else len(touch.gained) for touch in touches])
        happened = Happened(
            self._number,
            point,
            event,
            event.kind in REPORTS,
            tuple([lane.number for lane in lanes]),
            None if request is None else request.number,
            lost if any(lost) else (),
            gained if any(gained) else (),
        )
        self._put(happened)
        if event.kind in BLOCKS_GONE:
            for lane, touch in zip(lanes, touches, strict=True):
                if touch is not None and touch.lost and lane.claim.live:
                    lane.losses.append((point, frozenset(touch.blocks)))
                    del lane.losses[:-_LOSSES]
        elif event.kind in _TELLS and at is not None:
            for lane in lanes:
                self._report_losses(lane, event, point)

    def _report_losses(self, lane: _ClaimLane, event: Event, point: Point) -> None:
        """Link the losses that a report tells of to it: of certain blocks, or all so far."""
        told, rest = frozenset[object](event.block_ids), []
        for loss, blocks in lane.losses:
            if told and blocks and None not in blocks and not told & blocks:
                rest.append((loss, blocks))
            else:
                ends = End(loss, claim=lane.number), End(point, claim=lane.number)
                self._put(Link(Linked.LOSS, *ends))
        lane.losses = rest

    def _overhear(self, event: Event, point: Point) -> None:
        """An event after a break, of which the judge concludes nothing."""
        lane = None if event.claim_id is None else self._lane_named(event.claim_id)
        trigger = Kind.CLAIM_DEMOTED if event.demotes else event.kind
        if lane is not None and event.kind in REPORTS and lane.state is not None:
            state = next_state(lane.state, trigger)
            if state is not None and (lane.since is None or state is not lane.state):
                self._stand(lane, state, point)
                if state in TERMINAL:
                    self._halt(lane, point)
        name = event.request_id if event.kind in OF_REQUESTS else None
        request = None if name is None else self._requests.get(name)
        has_room = len(self._requests) < self.judge.limits.requests
        if request is None and name is not None and event.kind.row.renews and has_room:
            request = self._begin_request(name, point)
        if request is not None:
            self._move(request, event, point)
        self._happen(None, event, [] if lane is None else [lane], request, point)
        if request is not None and name is not None:
            self._link_accused(request, event, point)
            if event.kind is _FINISHED:
                self._end_request(name, point, finished=True)

    # Claims.

    def _lane(self, claim: Claim) -> _ClaimLane:
        """The lane of a claim, which begins here if it has none."""
        lane = self._claims.get(claim)
        if lane is None:
            point = self._at_line()
            self._begin(point)
            lane = self._claims[claim] = _ClaimLane(self._written.number("claim"), claim)
            begun = ClaimBegun(lane.number, self._number, claim.claim_id, claim.period + 1, point)
            self._put(begun)
            self._stand(lane, claim.state, point)
        return lane

    def _follow(self, claim: Claim) -> None:
        """Take over where a claim stands, if it is kept."""
        if self.judge.claims.get(claim.claim_id) is not claim:
            return
        lane, point = self._lane(claim), self._at_line()
        if claim.state is not lane.state:
            self._stand(lane, claim.state, point)
        if claim.final:
            self._halt(lane, point)
        lane.paths.note(claim, point)
        for name, found in claim.left.items():
            if found.verdict is Verdict.VIOLATED:
                lane.violated.setdefault(name, point)

    def _stand(self, lane: _ClaimLane, state: ClaimState, point: Point) -> None:
        """A claim is in another state from here on."""
        self._halt(lane, point, last=False)
        lane.state, lane.since, lane.judged = state, point, self.judge.broken is None

    def _halt(self, lane: _ClaimLane, point: Point, *, last: bool = True) -> None:
        """End the slice of the state in which a claim is."""
        if lane.since is not None and lane.state is not None:
            self._put(StateSlice(lane.number, lane.state, lane.since, point, lane.judged, last))
            lane.since = None

    def forget(self, claim: Claim) -> None:
        """The judge keeps a claim no longer."""
        super().forget(claim)
        self._leave_lane(claim)

    def _move_past(self) -> None:
        for claim in self.judge.past:
            self._leave_lane(claim)
        super()._move_past()

    def _leave_lane(self, claim: Claim) -> None:
        """Nothing is added to the lane of a claim any more."""
        lane, point = self._lane(claim), self._at_line()
        lane.paths.note(claim, point)
        self._halt(lane, point)
        del self._claims[claim]
        outcome, stated = outcome_of(claim), claim.stated
        found = {
            name: _found(name, each, lane.violated.get(name))
            for name, each in outcome.findings.items()
        }
        ended = ClaimEnded(
            lane.number,
            point,
            outcome.mode,
            outcome.stated_mode,
            claim.owner,
            stated.get("predicate"),
            stated.get("object_id"),
            claim.duration,
            claim.priority,
            claim.footprint,
            len(claim.obj.contents) or None,
            outcome.state,
            outcome.verdict,
            outcome.why,
            found,
            {name: lane.paths.of(name, each) for name, each in found.items()},
        )
        self._put(ended)

    # Requests.

    def _begin_request(self, name: str, point: Point) -> _RequestLane:
        lane = self._requests[name] = _RequestLane(self._written.number("request"))
        self._put(RequestBegun(lane.number, self._number, name, self.judge.period + 1, point))
        return lane

    def _move(self, lane: _RequestLane, event: Event, point: Point) -> None:
        """A request enters the phase that an event states."""
        kind = event.kind
        if lane.conflict not in (None, point) and (kind in CONFLICT_ACTIONS or kind is _FINISHED):
            assert lane.conflict is not None
            ends = End(lane.conflict, request=lane.number), End(point, request=lane.number)
            self._put(Link(Linked.CONFLICT, *ends))
            lane.conflict = None
        phase = _PHASES.get(kind)
        if phase is None or event.repeats or (kind in _LOADS and lane.phase is not Phase.RESTORING):
            return
        if phase is not lane.phase:
            self._halt_request(lane, point)
            lane.phase, lane.since = phase, point

    def _halt_request(self, lane: _RequestLane, point: Point) -> None:
        if lane.since is not None and lane.phase is not None:
            self._put(RequestSlice(lane.number, lane.phase, lane.since, point))
            lane.since = None

    def _end_request(self, name: str, point: Point, *, finished: bool) -> None:
        lane = self._requests.pop(name)
        self._halt_request(lane, point)
        self._put(RequestEnded(lane.number, point, finished))

    def _close(self, point: Point) -> None:
        """Nothing goes on beyond this place: the stream or its period ends, or it breaks."""
        for lane in self._claims.values():
            self._halt(lane, point)
        for name in [*self._requests]:
            self._end_request(name, point, finished=False)

    # The pool.

    def _count(self, at: Moment, point: Point) -> None:
        """Put the counts that an event changed; one that was never above 0 is not stated."""
        run, now = at.run, dict[str, int | None]()
        now["claimed"] = claimed = run.capacity.total
        if self._usable is not None:
            now["active"] = active = run.requests.needs_of_others(None)
            now["usable"] = self._usable
            unknown = claimed is None or active is None
            now["free"] = None if unknown else self._usable - claimed - active  # type: ignore[operator]
        now[f"tier {GPU}"] = len(run.pool.held)
        for tier in run.pool.copies:
            now[f"tier {tier}"] = len(run.pool.copies[tier])
        for name in self._counts.keys() - now.keys():
            now[name] = 0  # a tier that has nothing any more
        for name, value in now.items():
            if name in self._counts:
                news = self._counts[name] != value
            else:
                news = bool(value) or name in _ARRIVALS
            if news:
                self._counts[name] = value
                self._put(Counted(self._number, name, value, point))

    def _uncount(self, point: Point) -> None:
        """Nothing is known of the pool from here on."""
        for name, value in self._counts.items():
            if value is not None:
                self._counts[name] = None
                self._put(Counted(self._number, name, None, point))


def _found(name: str, finding: Finding, violated: Point | None) -> Found:
    at: At | None = finding.at  # type: ignore[assignment]
    said = obligation_said(name, finding)
    line, sequence = (None, None) if at is None else (at.line, at.sequence)
    point = violated if finding.verdict is Verdict.VIOLATED else None
    return Found(finding.verdict, line, sequence, said.why, said.allowed, said.code, point)
