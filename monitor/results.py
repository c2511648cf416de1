"""Holds what streams came to: the records that both judges make, and that reports are made of."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from monitor.input.records import CANONICAL, At
from spec.claims.states import Mode
from spec.contract.obligations import OBLIGATIONS
from spec.events.alphabet import FACTS, Kind
from spec.events.canonical import Mark
from spec.language.verdicts import Verdict
from spec.stream.breaks import Limits
from spec.stream.codes import Code, Reason
from spec.stream.outcome import ClaimOutcome, ModeVerdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from monitor.input.records import Form, Record
    from spec.stream.outcome import Finding

__all__ = [
    "ENDED",
    "IDS",
    "USUAL",
    "Ended",
    "News",
    "Occurred",
    "Said",
    "StreamFound",
    "left_of",
    "limits_asked",
    "limits_reached",
    "obligation_said",
    "owes_nothing",
]

_IDS: Final = "ids of claims that ended were forgotten: a claim of such an id that begins again is "
_IDS_REST: Final = "taken for a new one"

_LIMITS: Final = {Code.CLAIMS_LIMIT: "live", Code.REQUESTS_LIMIT: "requests"}

ENDED: Final = 10_000
"""Claims of a stream that are listed after they have ended; others are counted."""

USUAL: Final = Limits(ended=ENDED)
"""How much of a stream is followed."""

IDS: Final = USUAL.ids
"""Ids of ended claims that are remembered."""


@dataclass
class Ended:
    """Counts claims that are not listed, by the mode that judged them.

    Attributes:
        verdicts: how many claims have each verdict; the mode is None where no mode judged a claim.
        obligations: how many have each verdict on an obligation.
        entered: how many were owed anything.
        unlisted: how many are in hand and were kept, and are not listed because nobody asks for
            them.
        away: claims that no mode judged and to which nothing was owed.
    """

    verdicts: Counter[tuple[Mode | None, ModeVerdict]] = field(default_factory=Counter)
    obligations: Counter[tuple[Mode | None, str, Verdict]] = field(default_factory=Counter)
    entered: Counter[Mode | None] = field(default_factory=Counter)
    unlisted: Counter[Mode | None] = field(default_factory=Counter)
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
            Counter({mode: self.unlisted[mode]}),
            self.away if mode is None else 0,
        )

    def join(self, other: Ended) -> None:
        """Add the claims of another stream."""
        self.verdicts += other.verdicts
        self.obligations += other.obligations
        self.entered += other.entered
        self.unlisted += other.unlisted
        self.away += other.away


class StreamFound(NamedTuple):
    """What one stream of one file came to.

    Attributes:
        first: its first sequence number, and `last` its last.
        open: the modes of claims that were owed anything where it ended, without the end that it
            promised.
        periods: how many runs it had.
        breaks: the reasons for which a period ended.
        left: where it leaves what the theorem assumes.
    """

    file: str
    name: str
    form: Form
    first: int | None
    last: int | None
    open: frozenset[Mode | None]
    periods: int
    breaks: tuple[Reason, ...]
    left: Reason | None
    claims: tuple[ClaimOutcome, ...]
    ended: Ended

    @property
    def gaps(self) -> list[Reason]:
        """The breaks by which events are missing or contradict each other."""
        return [each for each in self.breaks if each.code is not Code.NEW_RUN]

    def entered(self, mode: Mode) -> bool:
        """Whether anything was owed to a claim of a mode."""
        listed = any(claim.entered and claim.mode is mode for claim in self.claims)
        return listed or self.ended.entered[mode] > 0

    def may_go_on_in(self, other: StreamFound) -> bool:
        """Whether another file of this stream may hold the lines that follow. Recorded lines carry
        the name of their run, and a run may have several engines with numbers of their own: lines
        of another form, or numbers that begin before these end, are of another engine.
        """
        if self.form.name == CANONICAL.name:
            return True
        same = other.form.name == self.form.name
        return same and (self.last is None or other.first is None or other.first > self.last)


class News(NamedTuple):
    """What is new of a stream.

    Attributes:
        gone: claims that are in hand no more.
        moved: claims in hand that lines moved.
        limits: those that it has reached (`live`, `requests`, `ids`), and what came of each.
        forgotten: how many claims of this period are in hand no more.
    """

    stream: str
    gone: list[ClaimOutcome]
    moved: list[ClaimOutcome]
    limits: dict[str, str]
    forgotten: int


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
        if record.stamp.mark is Mark.STREAM_CLOSED and record.stamp.form is not CANONICAL:
            return  # the reader closes what its form leaves open; no line says so
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


def left_of(left: Reason | None, forgotten: int, limits: Limits) -> Reason | None:
    """Where a stream leaves what the theorem assumes: its judge says so, or ids were forgotten."""
    if left is None and forgotten > limits.ids:
        return Reason(Code.ID_REUSED, _IDS + _IDS_REST)
    return left


def limits_reached(breaks: Iterable[Reason], forgotten: int, limits: Limits) -> dict[str, str]:
    """The limits that a stream has reached (`live`, `requests`, `ids`), and what came of each."""
    found = {}
    for reason in breaks:
        if (limit := _LIMITS.get(reason.code)) is not None:
            found[limit] = reason.text
    if forgotten > limits.ids:
        found["ids"] = _IDS + _IDS_REST
    return found


def owes_nothing(outcome: ClaimOutcome) -> bool:
    """Whether a claim states no mode and was rejected: then no mode owes it anything."""
    return outcome.turned_away and outcome.mode is None and outcome.stated_mode is None


def limits_asked(
    live: int | None,
    requests: int | None,
    ids: int,
    *,
    ended: int = ENDED,
    troubled: int = USUAL.troubled,
) -> Limits:
    """The limits of each stream; None for as many as are followed by default."""
    usual = Limits()
    return Limits(
        live=usual.live if live is None else live,
        ended=ended,
        ids=ids,
        requests=usual.requests if requests is None else requests,
        troubled=troubled,
    )


class Said(NamedTuple):
    """What is said of a finding: why, what was expected instead, and the reason's code and name."""

    why: str
    allowed: str = ""
    code: str = ""
    reason: str = ""


def obligation_said(name: str, found: Finding) -> Said:
    """What one obligation of a claim came to, in words."""
    if (reason := found.reason) is not None:
        return Said(reason.text, "", reason.code.number, reason.code.title)
    return _said(name, found.verdict, found.rule)


@cache
def _said(name: str, verdict: Verdict, number: int | None) -> Said:
    observer = OBLIGATIONS[name]
    if number is None:
        return Said(observer.states[0].says)
    rule = observer.rules[number]
    why = rule.why if verdict is Verdict.VIOLATED else observer.state(rule.to).says
    return Said(why, rule.allowed)
