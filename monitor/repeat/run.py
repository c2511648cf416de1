"""Reads one repeated run: what was restored, what failed to be, and whether that is as expected."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from monitor.check.conclude import Asked, concluded, found_in
from monitor.core import Streams
from monitor.input.records import CANONICAL, content_of
from monitor.input.sources import Source
from monitor.repeat.runs import RowKind
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.language.verdicts import Verdict
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.check.conclude import Found
    from monitor.input.records import At, Record
    from monitor.repeat.runs import ListedRun
    from spec.events.canonical import Event
    from spec.stream.outcome import ClaimOutcome

__all__ = ["MOST_LOADS", "Run", "Shown", "expected", "read_run"]

MOST_LOADS: Final = 10_000
"""Loads of one run, and reports of them, that are followed; a run with more is unclear."""

_KINDS: Final = {
    Kind.LOAD_FINISHED,
    Kind.LOAD_FAILED,
    Kind.CLAIM_RESTORED,
    Kind.CLAIM_RESTORATION_FAILED,
}

_REPORT: Final = "restoration_failure_outcome"

_Claim: TypeAlias = tuple[str, str | None]  # stream and claim
_Load: TypeAlias = tuple[_Claim, str | None]  # and request


class Shown(msgspec.Struct, frozen=True):
    """What a trace shows of loads that bring claims back.

    `restored` to `reports` count for claims of offloadable only.

    Attributes:
        verdict: on all claims, each by its own mode; one that states none is of offloadable.
        broken: why lines are missing, or contradict each other; empty if the sequence is valid.
        restored: reports that a claim was restored, each after its load.
        failed: requests for which loads of a claim failed, until an outcome.
        outcomes: reports of a failed restore that name the claim whose load failed.
        reports: all reports of failed restores, for each claim that one names.
        others: failed loads, and reports of failed restores, that name no claim of offloadable.
        unrejected: claims with a report of a failed restore that the check does not find violated.
        returned: claims that are reported restored, and of which the check finds none violated.
        idle: why the trace is no control, whatever it does not show; empty if it may be one.
        latencies_ns: from each failed load to its outcome, where the events state two times.
    """

    verdict: ModeVerdict
    broken: str
    restored: int
    failed: int
    outcomes: int
    reports: int
    others: int
    unrejected: int
    returned: int
    idle: str
    latencies_ns: tuple[int, ...]


class Run(msgspec.Struct, frozen=True):
    """One run of a row.

    `met` is None where the run does not decide whether the expectation of its row is met; `why`
    says what it lacks. `sha256` is of its events, whatever bytes state them, or of its bytes if it
    has none.
    """

    listed: ListedRun
    shown: Shown
    sha256: str
    met: bool | None
    why: str = ""


@dataclass(slots=True)
class _Loads:
    """The loads of a run, in order, and what is reported of them, by the claim."""

    finished: set[_Load] = field(default_factory=set)
    pending: dict[_Load, int | None] = field(default_factory=dict)  # failed, with the time
    restored: Counter[_Claim] = field(default_factory=Counter)
    failures: Counter[_Claim] = field(default_factory=Counter)
    outcomes: Counter[_Claim] = field(default_factory=Counter)
    reports: dict[_Claim, list[At]] = field(default_factory=dict)
    returned: set[_Claim] = field(default_factory=set)
    latencies_ns: list[tuple[_Claim, int]] = field(default_factory=list)
    size: int = 0

    def note(self, record: Record) -> None:
        for event, _ in record.events:
            if event.kind in _KINDS and not event.restated:
                self.size += 1
                self._event(event, record)

    def _event(self, event: Event, record: Record) -> None:
        claim, time_ns = (record.stamp.stream, event.claim_id), record.stamp.time_ns
        load = (claim, event.request_id)
        match event.kind:
            case Kind.LOAD_FINISHED:
                self.finished.add(load)
            case Kind.CLAIM_RESTORED:
                self.returned.add(claim)
                if load in self.finished:
                    self.finished.discard(load)
                    self.restored[claim] += 1
            case Kind.LOAD_FAILED if load not in self.pending or event.request_id is None:
                self.failures[claim] += 1
                self.pending[load] = time_ns
            case Kind.CLAIM_RESTORATION_FAILED:
                self._report(event, record)
                if load in self.pending and event.outcome_claim_id in (None, event.claim_id):
                    self.outcomes[claim] += 1
                    self._time(claim, self.pending.pop(load), time_ns)

    def _report(self, event: Event, record: Record) -> None:
        """A report is of the claim that it names, and of the one that its outcome names."""
        for name in {event.claim_id, event.outcome_claim_id or event.claim_id}:
            places = self.reports.setdefault((record.stamp.stream, name), [])
            if not (places and event.repeats):
                places.append(record.at)

    def _time(self, claim: _Claim, before: int | None, after: int | None) -> None:
        """Events of one moment do not state how long it took."""
        if before is not None and after is not None and before < after:
            self.latencies_ns.append((claim, after - before))


def read_run(kind: RowKind, listed: ListedRun) -> Run:
    """The run in a trace, by the expectation of its row.

    Raises:
        InputError: the trace cannot be read.
    """
    streams, loads = Streams(Mode.OFFLOADABLE), _Loads()
    source, digest = Source([listed.trace]), hashlib.sha256()
    for record in source:
        digest.update(content_of(record))
        streams.take(record)
        if loads.size <= MOST_LOADS:
            loads.note(record)
    streams.finish()
    found = found_in(streams, source.accounts)
    report = concluded(Asked(None), found)
    shown = _shown(loads, streams, found, report.verdict)
    met, why = expected(kind, shown, report.why)
    content = digest.hexdigest() if streams.occurred.kinds else source.accounts[0].sha256
    return Run(listed, shown, content, met, why)


def _shown(loads: _Loads, streams: Streams, found: Found, verdict: ModeVerdict) -> Shown:
    gaps = [f"{gap.text} ({gap.code.number})" for stream in found.streams for gap in stream.gaps]
    if loads.size > MOST_LOADS:
        gaps.append(f"it has more than {MOST_LOADS} loads")
    if any(stream.ended.verdicts for stream in found.streams):
        gaps.append("it has more claims than are listed")
    claims: dict[_Claim, list[ClaimOutcome]] = {}
    for stream in found.streams:
        for each in stream.claims:
            claims.setdefault((stream.name, each.claim_id), []).append(each)
    ours = {at for at, found in claims.items() if {e.mode for e in found} == {Mode.OFFLOADABLE}}
    reports = {claim: len(places) for claim, places in loads.reports.items()}
    counts = (loads.restored, loads.failures, loads.outcomes, reports)
    restored, failed, outcomes, reported = (
        sum(n for e, n in c.items() if e in ours) for c in counts
    )
    return Shown(
        verdict,
        gaps[0] if gaps else "",
        restored,
        failed,
        outcomes,
        reported,
        loads.failures.total() + sum(reports.values()) - failed - reported,
        sum(not _is_rejected(claims.get(e, []), at) for e, at in loads.reports.items()),
        sum(not _is_violated(claims.get(each, [])) for each in loads.returned),
        _idle(streams),
        tuple(ns for claim, ns in loads.latencies_ns if claim in ours),
    )


def _is_rejected(claim: Sequence[ClaimOutcome], reports: Sequence[At]) -> bool:
    """Whether the check finds the only report of a failed restore of a claim violated."""
    found = [each.findings[_REPORT] for each in claim if _REPORT in each.findings]
    return [e.at for e in found if e.verdict is Verdict.VIOLATED] == [*reports]


def _is_violated(claim: Sequence[ClaimOutcome]) -> bool:
    return any(each.verdict is ModeVerdict.VIOLATED for each in claim)


def _idle(streams: Streams) -> str:
    """Why a trace is no control. The recorded dialects state no end: without a load, a trace of
    one may have been cut before it.
    """
    kinds = streams.occurred.kinds
    has_load = bool(kinds[Kind.LOAD_FINISHED] or kinds[Kind.LOAD_FAILED])
    orders = [each.judge.order for each in streams if each.form.name == CANONICAL.name]
    if not all(order.opened is not None and order.closed for order in orders):
        return "its stream does not state its beginning and its end"
    if orders and not kinds:
        return "it has no event"
    if kinds and not has_load and len(orders) < len(streams):
        return "it shows no load, and its dialect states no end"
    return ""


def expected(kind: RowKind, shown: Shown, why: str) -> tuple[bool | None, str]:
    """Whether a run shows what its row expects, and why not; None where it leaves that open.

    Args:
        why: the reason of the verdict.
    """
    if kind is RowKind.CONTROL and shown.outcomes:
        return False, "a failed restore has its outcome, in a control"
    if kind is not RowKind.CONTROL and shown.verdict is ModeVerdict.VIOLATED:
        return False, f"the check finds it violated: {why}"
    if shown.broken:
        return None, shown.broken
    if kind is RowKind.CONTROL:
        return _rejected(shown)
    if shown.verdict is not ModeVerdict.KEPT:
        return None, f"the check finds it {shown.verdict}: {why}"
    met, said = _restored(shown) if kind is RowKind.SUCCESS else _failed(shown)
    if met is not False and shown.others:
        return None, "a failed load, or a report of one, names no claim of offloadable"
    return met, said


def _rejected(shown: Shown) -> tuple[bool | None, str]:
    """A control reports no failed restore, or the check finds each such report violated."""
    if shown.unrejected and shown.verdict is ModeVerdict.KEPT:
        return False, "a failed restore is reported, and the check finds all kept"
    if shown.unrejected:
        return None, "a failed restore is reported, and the check does not find that violated"
    if shown.returned:
        return None, "a claim is reported restored, and the check does not find it violated"
    return (None, shown.idle) if shown.idle else (True, "")


def _restored(shown: Shown) -> tuple[bool | None, str]:
    if shown.failed or shown.reports:
        return False, "a restore failed"
    return (True, "") if shown.restored else (None, "no claim was restored by a load")


def _failed(shown: Shown) -> tuple[bool | None, str]:
    if not shown.failed:
        return None, "no load of a claim failed"
    if shown.outcomes < shown.failed:
        missing = shown.failed - shown.outcomes
        return False, f"{missing} of {shown.failed} failed loads have no outcome for their claim"
    return True, ""
