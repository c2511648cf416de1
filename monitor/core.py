"""Judges the streams of some sources: one judge for each stream of each file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from monitor.input.records import At, at_line
from spec.contract.modes import Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.events.alphabet import FACTS, Kind
from spec.events.canonical import StreamMark
from spec.language.verdicts import Verdict
from spec.stream.breaks import Line
from spec.stream.claim import verdicts_of
from spec.stream.codes import Code, Reason
from spec.stream.judge import Judge, Limits
from spec.stream.outcome import ClaimOutcome, ModeVerdict, outcome_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from monitor.input.errors import InputError
    from monitor.input.records import Form, Record
    from spec.claims.states import Mode
    from spec.stream.claim import Claim, Finding

__all__ = [
    "ENDED",
    "IDS",
    "USUAL",
    "Ended",
    "Limits",
    "Occurred",
    "Said",
    "Stream",
    "Streams",
    "is_violated",
    "left_of",
    "limits_asked",
    "line_of",
    "obligation_said",
    "owes_nothing",
]

ENDED: Final = 10_000
"""Claims of a stream that are listed after they have ended; others are counted."""

USUAL: Final = Limits(ended=ENDED)
"""How much of a stream is followed."""

IDS: Final = USUAL.ids
"""Ids of ended claims that are remembered."""

TROUBLED: Final = 1_000
"""Claims of a stream that are listed though they ended long ago: they were not kept."""

_IDS: Final = "ids of claims that ended were forgotten: a claim of such an id that begins again is "
_IDS_REST: Final = "taken for a new one"


@dataclass
class Ended:
    """Counts claims that ended and are not listed, by the mode that judged them.

    Attributes:
        verdicts: how many claims have each verdict; the mode is None where no mode judged a claim.
        obligations: how many have each verdict on an obligation.
        entered: how many were owed anything.
        away: claims that no mode judged and to which nothing was owed.
    """

    verdicts: Counter[tuple[Mode | None, ModeVerdict]] = field(default_factory=Counter)
    obligations: Counter[tuple[Mode | None, str, Verdict]] = field(default_factory=Counter)
    entered: Counter[Mode | None] = field(default_factory=Counter)
    away: int = 0

    def note(self, outcome: ClaimOutcome) -> None:
        """Count one claim."""
        self.verdicts[outcome.mode, outcome.verdict] += 1
        self.entered[outcome.mode] += outcome.entered
        self.away += owes_nothing(outcome)
        for name, found in outcome.findings.items():
            self.obligations[outcome.mode, name, found.verdict] += 1

    def of(self, mode: Mode | None) -> Ended:
        """The claims of one mode."""
        return Ended(
            Counter({key: n for key, n in self.verdicts.items() if key[0] is mode}),
            Counter({key: n for key, n in self.obligations.items() if key[0] is mode}),
            Counter({mode: self.entered[mode]}),
            self.away if mode is None else 0,
        )

    def join(self, other: Ended) -> None:
        """Add the claims of another stream."""
        self.verdicts += other.verdicts
        self.obligations += other.obligations
        self.entered += other.entered
        self.away += other.away


class Said(NamedTuple):
    """What is said of a finding: why, what was expected instead, and the reason's code and name."""

    at: At | None
    why: str
    allowed: str = ""
    code: str = ""
    reason: str = ""


def obligation_said(name: str, found: Finding) -> Said:
    """What one obligation of a claim came to, in words."""
    at, observer = cast("At | None", found.at), OBLIGATIONS[name]
    if found.reason is not None:
        code = found.reason.code
        return Said(at, found.reason.text, "", code.number, code.title)
    if found.rule is None:
        return Said(at, observer.states[0].says)
    rule = observer.rules[found.rule]
    why = rule.why if found.verdict is Verdict.VIOLATED else observer.state(rule.to).says
    return Said(at, why, rule.allowed)


def limits_asked(live: int | None, requests: int | None, ids: int, *, ended: int = ENDED) -> Limits:
    """The limits of each stream; None for as many as are followed by default."""
    usual = Limits()
    return Limits(
        live=usual.live if live is None else live,
        ended=ended,
        ids=ids,
        requests=usual.requests if requests is None else requests,
    )


def left_of(left: Reason | None, forgotten: int, limits: Limits) -> Reason | None:
    """Where a stream leaves what the theorem assumes: its judge says so, or ids were forgotten."""
    if left is None and forgotten > limits.ids:
        return Reason(Code.ID_REUSED, _IDS + _IDS_REST)
    return left


def is_violated(claim: Claim) -> bool:
    """Whether any obligation of a claim is violated."""
    for place, name in enumerate(claim.names):
        verdicts = verdicts_of(name)
        for _, scope in claim.scopes():
            stand = scope.stands[place]
            if stand is not None and verdicts[stand.state] is Verdict.VIOLATED:
                return True
    return any(found.verdict is Verdict.VIOLATED for found in claim.left.values())


def owes_nothing(outcome: ClaimOutcome) -> bool:
    """Whether a claim states no mode and was rejected: then no mode owes it anything."""
    return outcome.turned_away and outcome.mode is None and outcome.stated_mode is None


class Stream:
    """One stream of one file, and its judge.

    Attributes:
        form: the form of its first line.
        first: the sequence number of its first line.
        past: claims of earlier periods, and claims that were not kept and are not in hand any more.
        ended: claims that are counted and not listed.
    """

    def __init__(
        self,
        file: str,
        name: str,
        form: Form,
        *,
        default: Mode | None,
        bundle: Bundle,
        limits: Limits,
        only: str | None,
        forget: Callable[[Stream, Claim], None],
    ) -> None:
        self.file, self.name, self.form = file, name, form
        self.first: int | None = None
        self.past: list[ClaimOutcome] = []
        self.ended = Ended()
        self.forgotten = 0
        self._only, self._on_forget = only, forget
        self.judge = Judge(default, bundle, first=form.first, limits=limits, forget=self.forget)

    def take(self, line: Line) -> None:
        """The next line of the stream."""
        self.judge.take(line)
        if self.judge.past:
            self._move()

    def _move(self) -> None:
        """Keep what the claims of earlier periods came to."""
        past, self.judge.past = self.judge.past, []
        for claim in past:
            self._on_forget(self, claim)
            self._list(outcome_of(claim), self.judge.limits.ended)

    def forget(self, claim: Claim) -> None:
        """The judge keeps a claim no longer."""
        self.forgotten += 1
        self._on_forget(self, claim)
        outcome = outcome_of(claim)
        violated = outcome.verdict is ModeVerdict.VIOLATED
        judged = outcome.entered and outcome.mode is not None
        unclear = judged and outcome.verdict is ModeVerdict.INCONCLUSIVE
        self._list(outcome, TROUBLED if violated or unclear else 0)

    def _list(self, outcome: ClaimOutcome, most: int) -> None:
        """List a claim that is not in hand, or count it where as many as this are listed."""
        if len(self.past) < most or outcome.claim_id == self._only:
            self.past.append(outcome)
        else:
            self.ended.note(outcome)

    def outcomes(self) -> Iterator[ClaimOutcome]:
        """What each claim came to so far, those in hand last."""
        yield from self.past
        yield from map(outcome_of, self.judge.claims.values())

    @property
    def live(self) -> int:
        """Claims that have not ended."""
        return sum(not claim.final for claim in self.judge.claims.values())

    @property
    def open(self) -> frozenset[Mode | None]:
        """The modes of claims that are owed anything, unless the stream ended as it promised."""
        order, claims = self.judge.order, self.judge.claims.values()
        if order.closed and order.opened is not None:
            return frozenset()
        return frozenset(claim.mode for claim in claims if claim.entered and not claim.over)

    @property
    def left(self) -> Reason | None:
        """Where the stream leaves what the theorem assumes, and why."""
        return left_of(self.judge.left, self.forgotten, self.judge.limits)

    @property
    def limits(self) -> dict[str, str]:
        """The limits that the stream reached (`live`, `requests`, `ids`), and what came of each."""
        found = {}
        for reason in self.judge.breaks:
            if reason.code is Code.LIMIT_REACHED:
                found["requests" if "requests" in reason.text else "live"] = reason.text
        if self.forgotten > self.judge.limits.ids:
            found["ids"] = _IDS + _IDS_REST
        return found


@dataclass
class Occurred:
    """How often each kind of event was read, and where it was first; unknown kinds by name."""

    read: int = 0
    rejected: int = 0
    kinds: Counter[Kind] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    derived: set[Kind] = field(default_factory=set)
    strange: tuple[At, str] | None = None

    def note(self, record: Record) -> None:
        """One line."""
        self.read += 1
        for event, _ in record.events:
            self.kinds[event.kind] += 1
            if event.kind in record.stamp.form.derived:
                self.derived.add(event.kind)
        if self.strange is None and (why := self._leaves(record)):
            self.strange = record.at, why
        if record.unknown is not None:
            self.unknown[record.unknown] += 1

    @staticmethod
    def _leaves(record: Record) -> str:
        """Why the theorem does not cover a line of its own, if so."""
        if record.unknown is not None:
            return f"{record.unknown} is an unknown kind"
        observes = record.stamp.observes
        if observes is not None and (unseen := sorted(FACTS - observes)):
            rest = f", {len(unseen) - 1} more" if len(unseen) > 1 else ""
            return f"not observed: {unseen[0]}{rest}"
        return ""

    def join(self, later: Occurred) -> None:
        """Add what was read in files that come after these."""
        self.read += later.read
        self.rejected += later.rejected
        self.kinds += later.kinds
        self.unknown += later.unknown
        self.derived |= later.derived
        self.strange = self.strange or later.strange


class Streams:
    """The streams of some sources, in the order of their first lines.

    Args:
        default: the mode that judges claims that state none; None: no mode does.
        only: the claim that is listed whatever is forgotten.
        forget: called with each claim that is no longer in hand, and its stream.

    `occurred` is what was read.
    """

    def __init__(
        self,
        default: Mode | None = None,
        bundle: Bundle = Bundle.CONTRACT,
        *,
        limits: Limits = USUAL,
        only: str | None = None,
        forget: Callable[[Stream, Claim], None] = lambda stream, claim: None,
    ) -> None:
        self.default, self.bundle, self.limits, self.only = default, bundle, limits, only
        self.occurred = Occurred()
        self._forget = forget
        self._moved: dict[Stream, None] | None = None
        self._streams: dict[tuple[str, str], Stream] = {}
        self.spoiled: dict[str, tuple[At, str]] = {}

    def __iter__(self) -> Iterator[Stream]:
        return iter(self._streams.values())

    def __len__(self) -> int:
        return len(self._streams)

    def of(self, file: str, name: str) -> Stream | None:
        """The stream of this name of a file."""
        return self._streams.get((file, name))

    def take(self, record: Record) -> Stream:
        """Judge one line; return its stream."""
        self.occurred.note(record)
        at, stamp = record.at, record.stamp
        key = stamp.file or at.file, stamp.stream
        stream = self._streams.get(key)
        if stream is None:
            stream = self._begin(*key, record)
        self._pass(stream, line_of(record, foreign=stamp.form.name != stream.form.name))
        return stream

    def _pass(self, stream: Stream, line: Line) -> None:
        stream.take(line)
        if self._moved is None:
            stream.judge.news.clear()
        else:
            self._moved[stream] = None

    def _begin(self, file: str, name: str, record: Record) -> Stream:
        stamp = record.stamp
        stream = self.add(file, name, stamp.form)
        stream.first = stamp.sequence
        if file in self.spoiled:
            at, why = self.spoiled[file]
            self._pass(stream, Line(at, lost=why))
        return stream

    def add(self, file: str, name: str, form: Form) -> Stream:
        """A new stream, without a line."""
        stream = self._streams[file, name] = Stream(
            file,
            name,
            form,
            default=self.default,
            bundle=self.bundle,
            limits=self.limits,
            only=self.only,
            forget=self._forget,
        )
        return stream

    def reject(self, error: InputError) -> None:
        """A line could not be read: what it states is missing from every stream of its file."""
        self.occurred.rejected += 1
        at = at_line(error.file, error.line or 0)
        why = f"line {at.line} could not be read"
        self.spoiled.setdefault(at.file, (at, why))
        self.lose(at, why)

    def lose(self, at: At, why: str, name: str | None = None) -> None:
        """Lines may be missing here from a stream of the file, or from all that it has so far."""
        for (file, stream_name), stream in self._streams.items():
            if file == at.file and name in (None, stream_name):
                self._pass(stream, Line(at, lost=why))

    def watch(self) -> None:
        """From now on `news` has the claims that events move; ask after each line."""
        self._moved = {}

    def news(self) -> list[tuple[Stream, Claim]]:
        """The claims that were moved since the last call, each with its stream."""
        moved = self._moved or {}
        found = [(stream, claim) for stream in moved for claim in stream.judge.news]
        for stream in moved:
            stream.judge.news.clear()
        moved.clear()
        return found

    def finish(self) -> None:
        """Every stream is over."""
        for stream in self:
            stream.judge.finish()


def line_of(record: Record, *, foreign: bool = False) -> Line:
    """A record as a judge takes it; a `foreign` one has another form than the first."""
    stamp, mark = record.stamp, None
    if stamp.mark is not None:
        mark = StreamMark(kind=stamp.mark, groups=stamp.groups)
    events = tuple([event for event, _ in record.events])
    lost = record.lost or stamp.alone
    doubts = tuple([(each.claim_id, each.only, each.why) for each in record.doubts])
    form = stamp.form
    return Line(
        record.at,
        events,
        stamp.sequence,
        stamp.time_ns,
        form.skips,
        mark,
        stamp.observes,
        doubts,
        form.derived,
        foreign,
        lost,
    )
