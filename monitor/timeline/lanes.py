"""Follows streams as they are judged, and puts what becomes of them into a timeline.

The judge alone says what a claim, a request and the pool are. After a break it has no conclusions:
then states are those that reports alone lead to, and counts are not stated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from monitor.core import Stream, Streams
from monitor.results import obligation_said
from monitor.timeline import items
from monitor.timeline.items import Axis, End, Linked, Phase, Point
from monitor.timeline.paths import Paths
from spec.claims.states import TERMINAL, ClaimState, next_state
from spec.events.alphabet import BLOCKS_GONE, CONFLICT_ACTIONS, REPORTS, Kind
from spec.language.verdicts import Verdict
from spec.stream.claim import outcome_of
from spec.stream.pool import GPU
from spec.stream.request import OF_REQUESTS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from monitor.input.records import At, Form
    from spec.events.canonical import Event
    from spec.stream.breaks import Line
    from spec.stream.claim import Claim
    from spec.stream.fields import Moment
    from spec.stream.outcome import Finding

__all__ = ["Lanes", "Recorder", "Written"]

_ARRIVED: Final = Kind.REQUEST_ARRIVED
_FINISHED: Final = Kind.REQUEST_FINISHED
_LOADS: Final = frozenset({Kind.LOAD_FINISHED, Kind.LOAD_FAILED})
_LOSS_REPORTS: Final = frozenset(
    {Kind.CLAIM_HARMED, Kind.CLAIM_BLOCK_LOST, Kind.CLAIM_UNMATERIALIZED}
)
"""The reports that state a loss."""

_LOSSES: Final = 64
"""Losses of a claim that are remembered until one of them is reported."""

_ARRIVALS: Final = frozenset({"active", "usable", "free"})
"""Counts that an arrival states, even where they are 0."""

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


class Written:
    """Where the items of a timeline go, its axis, and the numbers of its lanes; several recorders
    may share it.

    Args:
        put: called with each item.
    """

    def __init__(self, put: Callable[[items.Item], None]) -> None:
        self.put = put
        self.axis: Axis | None = None
        self.latest = self.streams = self.claims = self.requests = 0


@dataclass(eq=False)
class _Lane:
    """The lane of a claim or of a request: its state or phase, and since when.

    `judged` is of that state. A claim has the places of violations, the paths of its observers, and
    losses without a report, with their blocks; a request the place of a conflict that no action
    answered.
    """

    number: int
    now: ClaimState | Phase | None = None
    since: Point | None = None
    judged: bool = True
    violated: dict[str, Point] = field(default_factory=dict)
    paths: Paths = field(default_factory=Paths)
    losses: list[tuple[Point, set[Any]]] = field(default_factory=list)
    conflict: Point | None = None


class Lanes(Stream):
    """One stream of one file, its judge, and the lanes of its claims and requests."""

    def __init__(self, written: Written, *of: Any, **options: Any) -> None:
        super().__init__(*of, **options)
        self.judge.noticed = self._notice
        self._written, self._put = written, written.put
        self._number, written.streams = written.streams, written.streams + 1
        self._claims: dict[Claim, _Lane] = {}
        self._requests: dict[str | None, _Lane] = {}
        self._counts: dict[str, int | None] = {}
        self._usable: int | None = None
        self._line: Line
        self._point: Point | None = None  # of the line
        self._before: Point | None = None  # of the line before it, until the line has one
        self._shift = self._period = self._breaks = 0
        self._begun = self._heard = self._ended = False

    # Lines.

    def take(self, line: Line) -> None:
        """The next line of the stream."""
        self._line, self._point, self._heard = line, None, False
        super().take(line)
        point = self._at_line()
        # What was delivered to requests is noted, unless a break came between.
        requests = () if self.judge.broken is None else None
        for claim in self.judge.news:
            self._follow(claim, requests)
        if self.judge.broken is not None:
            self._uncount(point)
            for event in () if self._heard else line.events:
                self._overhear(event)
        self._note_breaks(point)

    def _at_line(self) -> Point:
        """The place of the line that is judged; a period that ended is closed before it."""
        if self._point is not None:
            return self._point
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
            about = self.name, self.form.name, self._written.axis or Axis.LINES
            self._put(items.StreamBegun(self._number, *about, point))

    def _note_breaks(self, point: Point) -> None:
        if self._begun:  # otherwise the axis is not known yet
            for reason in self.judge.breaks[self._breaks :]:
                said = reason.code.number, reason.code.title, reason.text
                self._put(items.Broken(self._number, point, *said))
            self._breaks = len(self.judge.breaks)

    def _close(self, point: Point) -> None:
        """End all slices and requests: the stream ends, or a period of it."""
        for lane in self._claims.values():
            self._halt(lane, point)
        for name in [*self._requests]:
            self._end_request(name, point, finished=False)

    def end(self) -> None:
        """The stream is over, and its judge has finished; the second call does no more."""
        if self._before is None or self._ended:
            return
        self._ended = True
        point = self._point = self._before
        self._begin(point)
        self._note_breaks(point)
        self._close(point)
        for claim in self.judge.claims.values():
            self._leave_lane(claim)

    # Events.

    def _notice(self, at: Moment) -> None:
        """The judge took an event."""
        self._heard, event = True, at.event
        for claim in {**at.concerns, **at.moved}:
            reaches_all = any(at.concerns.get(claim, ()))
            self._follow(claim, None if reaches_all else (*at.here, *at.perhaps))
        self._happen(event, at, lives=at.run.requests.get(event.request_id) is not None)
        if at.kind is _ARRIVED:
            self._usable = event.usable
        self._count(at)

    def _overhear(self, event: Event) -> None:
        """Put an event after a break, which the judge leaves out."""
        claim = self.judge.claims.get(event.claim_id or "")
        if claim is not None and event.kind in REPORTS:
            lane = self._lane(claim)
            trigger = Kind.CLAIM_DEMOTED if event.demotes else event.kind
            state = next_state(ClaimState(lane.now or claim.state), trigger)
            if state is not None and (lane.since is None or state is not lane.now):
                self._stand(lane, state)
                if state in TERMINAL:
                    self._halt(lane, self._at_line())
        is_new = event.kind.row.renews and len(self._requests) < self.judge.limits.requests
        lives = event.kind is not _FINISHED and (event.request_id in self._requests or is_new)
        self._happen(event, None, lives=lives)

    def _happen(self, event: Event, at: Moment | None, *, lives: bool) -> None:
        """Put an event into the timeline, if it is of any lane, and what follows from it.

        Args:
            lives: the request that it names, if it names one, is not over.
        """
        point, name = self._at_line(), event.request_id if event.kind in OF_REQUESTS else None
        request = self._requests.get(name)
        if request is None and name is not None and lives:
            request = self._requests[name] = _Lane(self._written.requests)
            self._written.requests += 1
            about = self._number, name, self.judge.period + 1
            self._put(items.RequestBegun(request.number, *about, point))
        if request is not None:
            self._move(request, event, at)
        names = [] if at is None else [claim.claim_id for claim in at.concerns]
        named = map(self.judge.claims.get, (*names, event.claim_id or "", *event.accused))
        claims = [claim for claim in dict.fromkeys(named) if claim is not None]
        if claims or request is not None:
            touched = {} if at is None else at.touched
            lost = [
                len(touched[each].lost) if each in touched and each.state not in TERMINAL else 0
                for each in claims
            ]
            gained = [len(touched[each].gained) if each in touched else 0 for each in claims]
            happened = items.Happened(
                self._number,
                point,
                event,
                event.kind in REPORTS,
                tuple([self._lane(claim).number for claim in claims]),
                None if request is None else request.number,
                tuple(lost) if any(lost) else (),
                tuple(gained) if any(gained) else (),
            )
            self._put(happened)
        if at is not None:
            for claim in claims:
                self._follow_losses(claim, at)
        if request is not None:
            for claim in filter(None, map(self.judge.claims.get, event.accused)):
                ends = (
                    End(point, request=request.number),
                    End(point, claim=self._lane(claim).number),
                )
                self._put(items.Link(Linked.NAMES, *ends))
            if not lives:
                self._end_request(name, point, finished=True)

    # Claims.

    def _lane(self, claim: Claim) -> _Lane:
        """The lane of a claim, which begins here if it has none."""
        lane = self._claims.get(claim)
        if lane is None:
            point = self._at_line()
            self._begin(point)
            lane = self._claims[claim] = _Lane(self._written.claims)
            self._written.claims += 1
            about = self._number, claim.claim_id, claim.period + 1
            self._put(items.ClaimBegun(lane.number, *about, point))
            self._stand(lane, claim.state)
        return lane

    def _follow(self, claim: Claim, requests: Collection[str] | None) -> None:
        """Take over where a claim stands, if it is kept; `requests` as `Paths.note` has them."""
        if self.judge.claims.get(claim.claim_id) is not claim:
            return
        lane, point = self._lane(claim), self._at_line()
        if claim.state is not lane.now:
            self._stand(lane, claim.state)
        if claim.final:
            self._halt(lane, point)
        lane.paths.note(claim, point, requests)
        for name, found in claim.kept.items():
            if found.verdict is Verdict.VIOLATED:
                lane.violated.setdefault(name, point)

    def _follow_losses(self, claim: Claim, at: Moment) -> None:
        """Note what a claim lost; link a report to the losses that it states: of some blocks, or
        all.
        """
        lane, point, touch = self._lane(claim), self._at_line(), at.touched.get(claim)
        if at.kind in BLOCKS_GONE and touch is not None and touch.lost and claim.live:
            lane.losses.append((point, {*touch.blocks}))
            del lane.losses[:-_LOSSES]
        elif at.kind in _LOSS_REPORTS:
            named, rest = {*at.event.block_ids}, []
            for loss, blocks in lane.losses:
                if named and blocks and None not in blocks and not named & blocks:
                    rest.append((loss, blocks))
                else:
                    ends = End(loss, claim=lane.number), End(point, claim=lane.number)
                    self._put(items.Link(Linked.LOSS, *ends))
            lane.losses = rest

    def _stand(self, lane: _Lane, now: ClaimState | Phase) -> None:
        """A claim is in another state from here on, or a request in another phase."""
        point = self._at_line()
        self._halt(lane, point, last=False)
        lane.now, lane.since, lane.judged = now, point, self.judge.broken is None

    def _halt(self, lane: _Lane, point: Point, *, last: bool = True) -> None:
        """End the slice of the state or the phase of a lane, if there is one."""
        since, lane.since = lane.since, None
        if since is not None and isinstance(lane.now, ClaimState):
            self._put(items.StateSlice(lane.number, lane.now, since, point, lane.judged, last))
        elif since is not None and isinstance(lane.now, Phase):
            self._put(items.RequestSlice(lane.number, lane.now, since, point))

    def forget(self, claim: Claim) -> None:
        """The judge keeps a claim no longer."""
        super().forget(claim)
        self._leave_lane(claim)

    def _move_past(self) -> None:
        for claim in self.judge.past:
            self._leave_lane(claim)
        super()._move_past()

    def _leave_lane(self, claim: Claim) -> None:
        """End the lane of a claim."""
        lane, point, outcome = self._lane(claim), self._at_line(), outcome_of(claim)
        lane.paths.note(claim, point)
        self._halt(lane, point)
        del self._claims[claim]
        findings = outcome.findings.items()
        found = {name: _found(name, each, lane.violated.get(name)) for name, each in findings}
        ended = items.ClaimEnded(
            lane.number,
            point,
            outcome.mode,
            outcome.stated_mode,
            claim.owner,
            claim.stated.get("predicate"),
            claim.stated.get("object_id"),
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

    def _move(self, lane: _Lane, event: Event, at: Moment | None) -> None:
        """A request enters the phase that an event states."""
        kind, point, conflict = event.kind, self._at_line(), lane.conflict
        if kind is _ARRIVED and at is not None:
            if at.run.capacity.conflicts(event.needed, event.usable):
                lane.conflict = point
        elif conflict is not None and (kind in CONFLICT_ACTIONS or kind is _FINISHED):
            ends = End(conflict, request=lane.number), End(point, request=lane.number)
            self._put(items.Link(Linked.CONFLICT, *ends))
            lane.conflict = None
        phase = _PHASES.get(kind)
        waits = kind not in _LOADS or lane.now is Phase.RESTORING
        if phase not in (None, lane.now) and waits and not event.repeats:
            assert phase is not None
            self._stand(lane, phase)

    def _end_request(self, name: str | None, point: Point, *, finished: bool) -> None:
        lane = self._requests.pop(name)
        self._halt(lane, point)
        self._put(items.RequestEnded(lane.number, point, finished))

    # The pool.

    def _count(self, at: Moment) -> None:
        """Put the counts that an event changed; one that was never above 0 is not stated."""
        run, usable, claimed = at.run, self._usable, at.run.capacity.total
        now = {"claimed": claimed, f"tier {GPU}": len(run.pool.held)}
        now |= {f"tier {tier}": len(copies) for tier, copies in run.pool.copies.items()}
        if usable is not None:
            active = run.requests.needs_of_others(None)
            now["active"], now["usable"] = active, usable
            taken = None if claimed is None or active is None else claimed + active
            now["free"] = None if taken is None else usable - taken
        for name in {**self._counts, **now}:
            value = now.get(name, 0)  # a tier that is empty now
            stated = name in self._counts or value or name in _ARRIVALS
            if stated and self._counts.get(name, "") != value:
                self._set(name, value, self._at_line())

    def _uncount(self, point: Point) -> None:
        """State no count of the pool from here on."""
        for name, value in self._counts.items():
            if value is not None:
                self._set(name, None, point)

    def _set(self, name: str, value: int | None, point: Point) -> None:
        self._counts[name] = value
        self._put(items.Counted(self._number, name, value, point))


def _found(name: str, finding: Finding, violated: Point | None) -> items.Found:
    at: At | None = finding.at  # type: ignore[assignment]
    said = obligation_said(name, finding)
    line, sequence = (None, None) if at is None else (at.line, at.sequence)
    point = violated if finding.verdict is Verdict.VIOLATED else None
    return items.Found(finding.verdict, line, sequence, said.why, said.allowed, said.code, point)


class Recorder(Streams):
    """The streams of some sources, and where the items of their timeline go.

    Memory is that of the judge: claims and requests in hand are held, and no item.

    Args:
        written: is given each item, as soon as it is known.
    """

    def __init__(self, written: Written, *of: Any, **options: Any) -> None:
        super().__init__(*of, **options)
        self._written = written

    def make(self, file: str, name: str, form: Form) -> Stream:
        """A new stream."""
        return Lanes(self._written, file, name, form, **self.options)

    def finish(self) -> None:
        """Every stream is over."""
        super().finish()
        for stream in self:
            stream.end()  # type: ignore[attr-defined]
