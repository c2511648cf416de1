"""Reads one repeated run: what was restored, what failed to be, and whether that is as expected."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from monitor.check.conclude import Asked, concluded, found_in
from monitor.core import Streams
from monitor.input.sources import Source
from monitor.repeat.runs import RowKind
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from monitor.input.records import Record
    from monitor.repeat.runs import ListedRun

__all__ = ["MOST_LOADS", "Run", "Shown", "expected", "read_run"]

MOST_LOADS: Final = 10_000
"""Loads of one run that are followed; a run with more is unclear."""

_ENCODE: Final = msgspec.json.Encoder().encode
_FIELDS: Final = Event.__struct_fields__

_Load = tuple[str, str, str]  # stream, claim and request


class Shown(msgspec.Struct, frozen=True):
    """What a trace shows of loads that bring claims back.

    Attributes:
        verdict: on its claims of offloadable.
        broken: why lines are missing, or contradict each other; empty if the sequence is valid.
        restored: reports that a claim was restored, each after its load.
        failed: loads of a claim that failed.
        outcomes: reports of a failed restore that name the claim whose load failed.
        reports: all reports of failed restores.
        latencies_ns: from each failed load to its outcome, where the events state two times.
    """

    verdict: ModeVerdict
    broken: str
    restored: int
    failed: int
    outcomes: int
    reports: int
    latencies_ns: tuple[int, ...]


class Run(msgspec.Struct, frozen=True):
    """One run of a row.

    `met` is None where the run does not decide whether the expectation of its row is met; `why`
    says what it lacks. `sha256` is of its events, whatever bytes state them.
    """

    listed: ListedRun
    shown: Shown
    sha256: str
    met: bool | None
    why: str = ""


@dataclass(slots=True)
class _Loads:
    """The loads of a run, in order."""

    finished: set[_Load] = field(default_factory=set)
    failed: dict[_Load, int | None] = field(default_factory=dict)  # the time of those in hand
    restored: int = 0
    failures: int = 0
    outcomes: int = 0
    reports: int = 0
    latencies_ns: list[int] = field(default_factory=list)

    def note(self, record: Record) -> None:
        for event, _ in record.events:
            if event.claim_id is not None and event.request_id is not None and not event.restated:
                load = (record.stamp.stream, event.claim_id, event.request_id)
                self._event(event, load, record.stamp.time_ns)

    def _event(self, event: Event, load: _Load, time_ns: int | None) -> None:
        match event.kind:
            case Kind.LOAD_FINISHED:
                self.finished.add(load)
            case Kind.CLAIM_RESTORED if load in self.finished:
                self.finished.discard(load)
                self.restored += 1
            case Kind.LOAD_FAILED:
                self.failures += 1
                self.failed[load] = time_ns
            case Kind.CLAIM_RESTORATION_FAILED:
                self.reports += 1
                if load in self.failed and event.outcome_claim_id in (None, event.claim_id):
                    self.outcomes += 1
                    self._time(self.failed.pop(load), time_ns)

    def _time(self, before: int | None, after: int | None) -> None:
        """Events of one moment do not state how long it took."""
        if before is not None and after is not None and before < after:
            self.latencies_ns.append(after - before)


def read_run(kind: RowKind, listed: ListedRun) -> Run:
    """The run in a trace, by the expectation of its row.

    Raises:
        InputError: the trace cannot be read.
    """
    streams, loads = Streams(Mode.OFFLOADABLE), _Loads()
    source, digest = Source([listed.trace]), hashlib.sha256()
    for record in source:
        digest.update(_content(record))
        streams.take(record)
        if loads.failures + len(loads.finished) <= MOST_LOADS:
            loads.note(record)
    streams.finish()
    found = found_in(streams, source.accounts)
    gaps = [f"{gap.text} ({gap.code.number})" for stream in found.streams for gap in stream.gaps]
    if loads.failures + len(loads.finished) > MOST_LOADS:
        gaps.append(f"it has more than {MOST_LOADS} loads")
    report = concluded(Asked(Mode.OFFLOADABLE), found)
    shown = Shown(
        report.verdict,
        gaps[0] if gaps else "",
        loads.restored,
        loads.failures,
        loads.outcomes,
        loads.reports,
        tuple(loads.latencies_ns),
    )
    met, why = expected(kind, shown, report.why)
    return Run(listed, shown, digest.hexdigest(), met, why)


def _content(record: Record) -> bytes:
    """What a line states, in one form for all ways to write it; a file may name its stream."""
    events = [[getattr(event, name) for name in _FIELDS] for event, _ in record.events]
    return _ENCODE((record.stamp.time_ns, events))


def expected(kind: RowKind, shown: Shown, why: str) -> tuple[bool | None, str]:
    """Whether a run shows what its row expects, and why not; None where it leaves that open.

    Args:
        why: the reason of the verdict.
    """
    if kind is RowKind.CONTROL and shown.outcomes:
        return False, "a failed restore has its outcome, in a control"
    if kind is not RowKind.CONTROL and shown.verdict is ModeVerdict.VIOLATED:
        return False, f"offloadable is violated: {why}"
    if shown.broken:
        return None, shown.broken
    if kind is RowKind.CONTROL:
        return _rejected(shown)
    if shown.verdict is not ModeVerdict.KEPT:
        return None, f"offloadable is {shown.verdict}: {why}"
    return _restored(shown) if kind is RowKind.SUCCESS else _failed(shown)


def _rejected(shown: Shown) -> tuple[bool | None, str]:
    """A control reports no failed restore, or the check finds that report violated."""
    if shown.restored and not shown.failed:
        return None, "it shows a restore, and no load that failed"
    if not shown.reports or shown.verdict is ModeVerdict.VIOLATED:
        return True, ""
    why = f"a failed restore is reported, and offloadable is {shown.verdict}"
    return False if shown.verdict is ModeVerdict.KEPT else None, why


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
