"""Defines what a timeline consists of: lanes of claims and requests, slices, instants, counters.

Items come in the order in which they are known: a slice when it ends, the verdict on a claim when
it is final. Each has the place of its line. What a stream does not state is
None, never 0.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, TypeAlias

import msgspec

from spec.claims.states import ClaimState, Mode
from spec.events.canonical import Event
from spec.language.verdicts import Verdict
from spec.stream.outcome import ModeVerdict

__all__ = [
    "LINE_NS",
    "Axis",
    "Broken",
    "ClaimBegun",
    "ClaimEnded",
    "Counted",
    "End",
    "Found",
    "Happened",
    "Item",
    "Link",
    "Linked",
    "Phase",
    "Point",
    "RequestBegun",
    "RequestEnded",
    "RequestSlice",
    "StateSlice",
    "Step",
    "StreamBegun",
]

LINE_NS: Final = 1_000_000
"""So long is a line, in ns, where a format knows times alone and the axis is of lines."""


class Axis(StrEnum):
    """What the positions of a timeline count."""

    TIME = "time_ns"
    LINES = "lines"


class Linked(StrEnum):
    """What a link leads from and to.

    `names`: a report on a request, to a claim that it names. `loss`: a fact by which a claim lost
    blocks, to the first report of it. `conflict`: the arrival of a request that does not fit beside
    the claims, to the action on it, or to its end without one.
    """

    NAMES = "names"
    LOSS = "loss"
    CONFLICT = "conflict"


class Phase(StrEnum):
    """What a request waits for or does, as events state it."""

    ROUTED = "routed"
    WAITING = "waiting"
    RESTORING = "restoring"
    SERVED = "served"
    DEFERRED = "deferred"
    REFUSED = "refused"
    ROUTED_ELSEWHERE = "routed_elsewhere"
    BOUNDED = "bounded"
    OFFLOADED = "offloaded"
    SPLIT = "split"


class Point(msgspec.Struct, frozen=True, gc=False):
    """A place in a stream.

    `at` is the position on the axis: nanoseconds of the clock of the stream, or a line number. It
    never decreases within a stream: a line whose time goes back, or that has none, is where the
    line before it is; a run whose clock begins anew goes on from the end of the one before.
    """

    at: int
    line: int
    sequence: int | None
    file: str


class StreamBegun(msgspec.Struct, frozen=True, gc=False):
    """A stream of a file; `stream` numbers it from 0. `form` is the dialect of its lines."""

    stream: int
    name: str
    form: str
    axis: Axis
    point: Point


class Broken(msgspec.Struct, frozen=True, gc=False):
    """A period of a stream ended: events are missing, contradict each other, or begin again.

    `code` and `reason` are those of the report, such as `RC101` and `lines-missing`.
    """

    stream: int
    point: Point
    code: str
    reason: str
    why: str


class ClaimBegun(msgspec.Struct, frozen=True, gc=False):
    """A claim in one period of a stream, counted from 1; `claim` is the number of its lane."""

    claim: int
    stream: int
    claim_id: str
    period: int
    point: Point


class StateSlice(msgspec.Struct, frozen=True, gc=False):
    """A state of the lifecycle, as reported.

    `judged` is false after a break: then reports alone say so. `last`
    says that the state was not left: its end is that of what is known. A state that ends the claim
    goes on to where its verdict is final, which is mostly the same line.
    """

    claim: int
    state: ClaimState
    begin: Point
    end: Point
    judged: bool = True
    last: bool = False


class Found(msgspec.Struct, frozen=True, gc=False):
    """What one obligation of a claim came to, as in the report of a check.

    `line` and `sequence` are of the line that decided, if one did. `point` is that place on the
    axis, where the obligation was violated.
    """

    verdict: Verdict
    line: int | None
    sequence: int | None
    why: str
    allowed: str
    code: str
    point: Point | None = None


class Step(msgspec.Struct, frozen=True, gc=False):
    """A rule led the observer of an obligation from a state to another, or left it there.

    `source`, `rule` and `target` are places in the states and the rules of the observer.
    `request` is the one for which the obligation is followed, None for the claim itself.
    """

    request: str | None
    source: int
    rule: int
    target: int
    point: Point


class ClaimEnded(msgspec.Struct, frozen=True, gc=False):
    """What a claim stated, and its verdict. `point` is where both are known for good.

    `footprint` counts blocks, `keys` the content keys that were stated. `paths` has, for each
    obligation, the last steps of its observer to the line that decided.
    """

    claim: int
    point: Point
    mode: Mode | None
    stated_mode: str | None
    owner: str | None
    predicate: str | None
    object_id: str | None
    duration: str | None
    priority: int | None
    footprint: int | None
    keys: int | None
    state: ClaimState
    verdict: ModeVerdict
    why: str
    obligations: dict[str, Found]
    paths: dict[str, list[Step]] = {}

    @property
    def violations(self) -> dict[str, Found]:
        """The obligations that were violated."""
        return {n: f for n, f in self.obligations.items() if f.verdict is Verdict.VIOLATED}


class RequestBegun(msgspec.Struct, frozen=True, gc=False):
    """A request, from the first event that names it; `request` is the number of its lane."""

    request: int
    stream: int
    request_id: str
    period: int
    point: Point


class RequestSlice(msgspec.Struct, frozen=True, gc=False):
    """A phase of a request, as events state it."""

    request: int
    phase: Phase
    begin: Point
    end: Point


class RequestEnded(msgspec.Struct, frozen=True, gc=False):
    """A request is over; `finished` is false where the stream or its period ended before it."""

    request: int
    point: Point
    finished: bool


class Happened(msgspec.Struct, frozen=True):
    """A fact or a report about claims or a request.

    Args:
        claims: the lanes that it concerns, those that it names as a cause included.
        lost: of each of them how many positions it lost before it ended. Empty where none did.
        gained: of each how many it gained. Empty where none did.
        request: the lane of the request that it names, where it has one.
    """

    stream: int
    point: Point
    event: Event
    is_report: bool
    claims: tuple[int, ...]
    request: int | None
    lost: tuple[int, ...] = ()
    gained: tuple[int, ...] = ()


class Counted(msgspec.Struct, frozen=True, gc=False):
    """A count of blocks from here on; None: it is not stated from here on.

    `claimed`: of responsible claims, each block once. `active`: the most that the requests in hand
    need. `usable`: the capacity, as the last arrival states it. `free`: usable less both; below 0
    it is the shortfall. `tier NAME`: contents that are known to be in a tier. A count that never
    occurs is not stated.
    """

    stream: int
    name: str
    value: int | None
    point: Point


class End(msgspec.Struct, frozen=True, gc=False):
    """One end of a link: a place in the lane of a claim or of a request."""

    point: Point
    claim: int | None = None
    request: int | None = None


class Link(msgspec.Struct, frozen=True, gc=False):
    """Something leads from one lane to another, or to a later place in it."""

    kind: Linked
    source: End
    target: End


Item: TypeAlias = (
    StreamBegun
    | Broken
    | ClaimBegun
    | StateSlice
    | ClaimEnded
    | RequestBegun
    | RequestSlice
    | RequestEnded
    | Happened
    | Counted
    | Link
)
