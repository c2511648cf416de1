"""Reads the lines of recorded dialects, and says how claims begin and end in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Generic, NamedTuple, NoReturn, TypeAlias, TypeVar

from monitor.input.dialects import Dialect
from monitor.input.dialects._json import kind_in, struct
from monitor.input.dialects._recorded_line import Head, Recorded
from monitor.input.errors import InputError
from monitor.input.records import Doubt, Form, Record, Stamp, at_line
from spec.claims.predicates import MaterializationPredicate
from spec.claims.states import Mode
from spec.contract.modes import MODES
from spec.events.alphabet import Kind
from spec.events.canonical import Event

__all__ = [
    "ENDINGS",
    "NO_NEED",
    "READ_FROM_REPORTS",
    "Claim",
    "Events",
    "Meaning",
    "Now",
    "RecordedDialect",
    "Request",
    "Run",
    "acceptance",
    "materialized",
    "no_events",
    "refusal",
    "restoration_failed",
    "says",
    "unstated",
]

NO_NEED: Final = Doubt(
    "a request was refused without a failed restore, and the blocks that it needs are not stated",
    only=frozenset({"blocking_claim_ids", "explicit_conflict_action"}),
)
"""What a refusal for lack of capacity leaves open."""

REQUESTS: Final = 100_000
"""Requests remembered per run; beyond them the oldest is forgotten."""

_ENDS: Final = {
    "resident_claim_demoted": Kind.CLAIM_DEMOTED,
    "resident_claim_expired": Kind.CLAIM_EXPIRED,
    "resident_claim_harmed": Kind.CLAIM_HARMED,
}

_OUTCOMES: Final = {
    "demotion": Kind.CLAIM_DEMOTED,
    "expiry": Kind.CLAIM_EXPIRED,
    "harm": Kind.CLAIM_HARMED,
}

READ_FROM_REPORTS: Final = frozenset(
    {
        Kind.CLAIM_REGISTERED,
        Kind.CLAIM_COMMITTED,
        Kind.CLAIM_RETIRED,
        Kind.DURATION_ELAPSED,
    }
)
"""The facts that `acceptance` and `ENDINGS` read from reports, in every recorded dialect."""


_WATCHED: Final = frozenset(mode.value for mode in Mode if MODES[mode].constants["watched"])


def acceptance(
    binding: dict[str, Any],
    *,
    footprint: int | None = None,
    mode: str | None = None,
    priority: int | None = None,
) -> tuple[Event, ...]:
    """A claim that is submitted, committed and accepted at one place of a recording.

    In a mode that promises only telemetry there is no commitment. Read from the same line, it would
    be an act of the runtime before which it could not report that the claim is there.
    """
    stated: dict[str, Any] = {"footprint": footprint, "mode": mode, "priority": priority}
    commitment = Event(kind=Kind.CLAIM_COMMITTED, **binding, footprint=footprint)
    watched = mode in _WATCHED
    return (
        Event(kind=Kind.CLAIM_REGISTERED, **binding, **stated),
        *(() if watched else (commitment,)),
        Event(kind=Kind.CLAIM_ACCEPTED, **binding, **stated),
    )


def unstated(claim: str, **stated: object) -> tuple[Doubt, ...]:
    """A doubt about a claim that was accepted without one of these.

    Source: Resident KV Claims, table 2 (what every claim has).
    """
    missing = ", ".join(name for name, value in stated.items() if value is None)
    return (Doubt(f"it was accepted without {missing}", claim),) if missing else ()


@dataclass(slots=True)
class _Ended:
    """The reported ends of a claim, so that none is emitted twice.

    An outcome of a failed restore and the event that it states are one, in either order; of a
    harm, where both name one request.
    """

    retired: bool = False
    _stated: dict[Kind, str | None] = field(default_factory=dict)
    _reported: dict[Kind, str | None] = field(default_factory=dict)

    def report(self, kind: Kind, request: str | None, binding: dict[str, Any]) -> tuple[Event, ...]:
        """A demotion, an expiry or a harm; nothing where an outcome has stated it."""
        if _repeats(self._stated, kind, request):
            del self._stated[kind]
            return ()
        self._reported[kind] = request
        return self._say(kind, binding)

    def state(self, kind: Kind, request: str | None, binding: dict[str, Any]) -> tuple[Event, ...]:
        """The same as the outcome of a failed restore; nothing where it was emitted before."""
        if _repeats(self._reported, kind, request):
            del self._reported[kind]
            return ()
        if _repeats(self._stated, kind, request):
            return ()
        self._stated[kind] = request
        return self._say(kind, binding)

    def _say(self, kind: Kind, binding: dict[str, Any]) -> tuple[Event, ...]:
        if kind is Kind.CLAIM_HARMED:
            return (Event(kind=kind, **binding),)
        retired, self.retired = self.retired, True
        return _ends(kind, binding, retired=retired)


def _repeats(ends: dict[Kind, str | None], kind: Kind, request: str | None) -> bool:
    return kind in ends and (kind is not Kind.CLAIM_HARMED or ends[kind] == request)


def _ends(report: Kind, binding: dict[str, Any], *, retired: bool) -> tuple[Event, ...]:
    """A demotion or an expiry, with the facts behind it unless the claim had `retired` before.

    The recorded dialects carry no scope and no duration: their transitions count as authorised.
    """
    facts = [] if retired else [Event(kind=Kind.CLAIM_RETIRED, **binding)]
    if report is Kind.CLAIM_EXPIRED and not retired:
        facts.insert(0, Event(kind=Kind.DURATION_ELAPSED, **binding))
    return (*facts, Event(kind=report, **binding))


@dataclass(slots=True)
class Claim:
    """One claim of a run: what it is bound to, and how it ended."""

    predicate: MaterializationPredicate | None = None
    identity: dict[str, object] = field(default_factory=dict)
    ended: _Ended = field(default_factory=_Ended)

    def rebinds(self, identity: dict[str, object]) -> bool:
        """Whether `identity` contradicts what is known; what is new in it is added."""
        stated = {name: value for name, value in identity.items() if value is not None}
        for name, value in stated.items():
            self.identity.setdefault(name, value)
        return any(self.identity[name] != value for name, value in stated.items())


@dataclass(slots=True)
class Request:
    """One request of a run."""

    finished: bool = False


L = TypeVar("L", bound=Recorded)
C = TypeVar("C", bound=Claim)
R = TypeVar("R", bound=Request)


@dataclass(slots=True)
class Run(Generic[C, R]):
    """One stream: its claims, and its requests; a dialect says what it keeps of one."""

    new_claim: ClassVar[type[Any]] = Claim
    new_request: ClassVar[type[Any]] = Request

    claims: dict[str, C] = field(default_factory=dict)
    requests: dict[str, R] = field(default_factory=dict)

    def begin(self, name: str) -> R:
        """The request anew, whatever was known of this id."""
        self.requests.pop(name, None)
        if len(self.requests) >= REQUESTS:
            del self.requests[next(iter(self.requests))]
        request: R = self.new_request()
        self.requests[name] = request
        return request


@dataclass(frozen=True, slots=True)
class Now(Generic[L, C, R]):
    """A line in its run: what it says, by what name, and what it leaves open."""

    event: str
    line: L
    run: Run[C, R]
    predicate: MaterializationPredicate | None
    file: str
    number: int
    doubts: list[Doubt] = field(default_factory=list)

    @property
    def binding(self) -> dict[str, Any]:
        """The claim that the line is about, and what it binds the claim to."""
        return self.line.binding

    @property
    def claim(self) -> C:
        """The claim that the line names."""
        name = self.line.claim_id or ""
        claim = self.run.claims.get(name) or self.run.claims.setdefault(name, self.run.new_claim())
        claim.predicate = claim.predicate or self.predicate
        return claim

    @property
    def request(self) -> R:
        """The request that the line names."""
        name = self.line.request_id or ""
        return self.run.requests.get(name) or self.run.begin(name)

    def need(self, name: str) -> Any:
        """The value of a field; raises InputError where it is absent or null."""
        if (value := getattr(self.line, name)) is None:
            self.refuse(name, f"{self.event} needs it", "add it")
        return value

    def refuse(self, name: str, reason: str, hint: str) -> NoReturn:
        """Raises InputError for a field."""
        raise InputError(self.file, reason, line=self.number, field=name, hint=hint)

    def doubt(self, why: str, *only: str) -> None:
        """From here on nothing new is concluded about the claim, or of the obligations `only`."""
        self.doubts.append(Doubt(why, self.line.claim_id, frozenset(only)))

    def say(self, kind: Kind, **more: Any) -> Event:
        """An event about the claim of this line."""
        return Event(kind=kind, **self.binding, **more)

    def ask(self, kind: Kind, **more: Any) -> Event:
        """An event about the claim and the request of this line."""
        return self.say(kind, request_id=self.line.request_id, **more)


Events: TypeAlias = tuple[Event, ...]
_AnyNow: TypeAlias = Now[Any, Any, Any]


class Meaning(NamedTuple):
    """What a line of one event means, and the fields that it needs."""

    of: Callable[[Any], Events]
    needs: tuple[str, ...] = ("claim_id",)


def says(kind: Kind) -> Callable[[_AnyNow], Events]:
    """The meaning of a line that states one event about its claim and its request."""
    return lambda now: (now.ask(kind),)


def _ended(now: _AnyNow) -> Events:
    """The claim was demoted, expired or harmed."""
    claim: Claim = now.claim
    return claim.ended.report(_ENDS[now.event], now.line.request_id, now.binding)


ENDINGS: Final = {name: Meaning(_ended) for name in _ENDS}
"""The events by which a claim ends, or is harmed; all dialects have them."""


def materialized(now: _AnyNow) -> Events:
    """The report that the predicate holds, or, where it says so, that it does not."""
    holds = now.line.predicate_materialized is not False
    return (now.say(Kind.CLAIM_MATERIALIZED if holds else Kind.CLAIM_UNMATERIALIZED),)


def no_events(now: _AnyNow) -> Events:
    """The line states none."""
    return ()


def restoration_failed(now: _AnyNow, outcome: str | None, *, duplicate: bool = False) -> Events:
    """The report that a restore failed, and what its outcome says that happened to the claim.

    The recordings have no other event for it, so that the outcome is the event.
    """
    line = now.line
    failed = now.ask(
        Kind.CLAIM_RESTORATION_FAILED,
        outcome=outcome,
        outcome_claim_id=line.outcome_claim_id,
        blocking_claim_ids=line.blocking_claim_ids,
        duplicate=duplicate,
    )
    kind, claim = _OUTCOMES.get(outcome or ""), now.claim
    if kind is None or duplicate or line.outcome_claim_id not in (None, line.claim_id):
        return (failed,)
    return (failed, *claim.ended.state(kind, line.request_id, now.binding))


def refusal(now: _AnyNow, *, failed: bool, duplicate: bool = False) -> Event:
    """A refusal: after a `failed` restore it answers for that, else it is for lack of capacity.

    Whom one for lack of capacity names cannot be judged, so it names no claim.
    """
    line = now.line
    return Event(
        kind=Kind.REQUEST_REFUSED,
        request_id=line.request_id,
        blocking_claim_ids=line.blocking_claim_ids if failed else None,
        outcome_claim_id=line.outcome_claim_id,
        restore=failed,
        duplicate=duplicate,
    )


class RecordedDialect(Dialect):
    """Reads the lines of one file in a recorded dialect.

    Attributes:
        form: the form of its lines.
        observes: the kinds of facts of which each one is here, those taken on trust included.
        events: what each event means.
        line: the fields of a line of such an event.
    """

    form: ClassVar[Form]
    observes: ClassVar[frozenset[Kind]]
    events: ClassVar[Mapping[str, Meaning]]
    line: ClassVar[type[Recorded]]
    now: ClassVar[type[_AnyNow]]
    run: ClassVar[Any]

    def __init__(self, file: str) -> None:
        self.file = file
        self._runs: dict[str, Any] = {}

    def feed(self, obj: dict[str, object], line: int) -> Sequence[Record]:
        """The records that are complete with this line; without events where its kind is unknown.

        Raises:
            InputError: a field of the event has no sensible value.
        """
        name = kind_in(obj, "event", self.file, line)
        meaning = self.events.get(name)
        data = struct(obj, Head if meaning is None else self.line, self.file, line)
        stream, order = data.stream(self.file), self.order(data)
        at = at_line(self.file, line, order[0])
        stamp = Stamp(stream, *order, self.form, observes=self.observes)
        if meaning is None or not isinstance(data, Recorded):
            return (*self.flush(stream), Record(at, stamp, unknown=name))
        predicate = data.predicate(self.file, line)
        run = self._runs.get(stream) or self._runs.setdefault(stream, self.run())
        now = self.now(name, data, run, predicate, self.file, line)
        for needed in meaning.needs:
            now.need(needed)
        events = tuple((event, at) for event in self.meant(now, meaning.of))
        return self.passed(Record(at, stamp, events, doubts=tuple(now.doubts)), now)

    def order(self, line: Head) -> tuple[int | None, int | None]:
        """The sequence number and the time of a line."""
        raise NotImplementedError

    def meant(self, now: Any, of: Callable[[Any], Events]) -> Events:
        """The events of a line. One that carries nothing else about its claim and names it under
        another identity than before becomes a look-up of that name, so that no contradiction is
        lost.
        """
        events = of(now)
        if now.line.claim_id is not None:
            named = any(event.claim_id is not None for event in events)
            if now.claim.rebinds({**now.binding, "predicate": now.predicate}) and not named:
                return self.look_up(now, events)
        return events

    def look_up(self, now: Any, events: Events) -> Events:
        """The events of a line, and a look-up of its claim."""
        return (*events, now.say(Kind.PREFIX_LOOKUP))

    def passed(self, record: Record, now: Any) -> Sequence[Record]:
        """The records that are complete with this one."""
        return (record,)
