"""Small synthetic traces made of plain dicts for tests to change.

A line says nothing of its order: `text` numbers the lines of each stream, and leaves alone what a
test has set.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from monitor.check.files import check
from spec.claims.states import Mode
from spec.contract.modes import Bundle

if TYPE_CHECKING:
    from pathlib import Path

    from monitor.report.verdict import ClaimReport, Report

Line = dict[str, Any]
Trace = list[Line]

CLAIM, OTHER, RUN = "claim:a", "claim:b", "run-1"
START_NS = 1_000_000


def text(trace: Trace) -> bytes:
    """The trace as JSON lines, each stream numbered from 0 and timed from `START_NS`.

    The reference lifecycle is numbered from 1.
    """
    order = {
        "kind": "sequence",
        "hook_scope": "event_sequence",
        "lifecycle_generation": "event_sequence",
    }
    clock = {"kind": "time_ns", "hook_scope": "monotonic_ns"}
    seen: Counter[str] = Counter()
    lines = []
    for line in trace:
        stream = str(line.get("stream") or line.get("hook_scope") or line.get("run_id"))
        form = next((key for key in order if key in line), "")
        defaults = {clock.get(form, "timestamp_ns"): START_NS + 1000 * seen[stream]}
        if form:
            defaults[order[form]] = seen[stream] + (form == "lifecycle_generation")
        seen[stream] += 1
        lines.append(json.dumps({**defaults, **line}))
    return "\n".join(lines).encode() + b"\n"


def judge(
    trace: Trace,
    mode: Mode | None,
    bundle: Bundle = Bundle.CONTRACT,
    *,
    claim: str | None = None,
    strict: bool = False,
    lenient: bool = False,
) -> Report:
    """The report on one trace, read from standard input."""
    stdin = io.BytesIO(text(trace))
    return check(["-"], mode, bundle, claim=claim, strict=strict, lenient=lenient, stdin=stdin)


def write(path: Path, trace: Trace) -> str:
    """The trace in a file; its name."""
    path.write_bytes(text(trace))
    return str(path)


def claim_of(report: Report, claim: str = CLAIM, stream: str | None = None) -> ClaimReport:
    """The one claim of this id in the report."""
    (found,) = (c for c in report.claims if c.claim_id == claim and stream in (None, c.stream))
    return found


def verdicts(report: Report, claim: str = CLAIM, stream: str | None = None) -> dict[str, str]:
    """Each obligation's verdict for one claim."""
    obligations = claim_of(report, claim, stream).obligations
    return {name: str(obligation.verdict) for name, obligation in obligations.items()}


def having(report: Report, verdict: str, claim: str = CLAIM) -> set[str]:
    """The obligations of one claim that have this verdict."""
    return {name for name, found in verdicts(report, claim).items() if found == verdict}


def at(trace: Trace, event: str, nth: int = 0) -> int:
    """The index of the nth line of this event or kind."""
    found = [i for i, e in enumerate(trace) if event in (e.get("event"), e.get("kind"))]
    return found[nth]


def without(trace: Trace, *events: str) -> Trace:
    """The trace without the lines of these events or kinds."""
    return [e for e in trace if e.get("event", e.get("kind")) not in events]


def changed(trace: Trace, event: str, nth: int = 0, **fields: Any) -> Trace:
    """The trace with fields of the nth line of this event changed."""
    index = at(trace, event, nth)
    return [*trace[:index], {**trace[index], **fields}, *trace[index + 1 :]]


def moved(trace: Trace, event: str, before: str) -> Trace:
    """The trace with the first line of one event moved before the first of another."""
    line = trace[at(trace, event)]
    rest = [e for e in trace if e is not line]
    index = at(rest, before)
    return [*rest[:index], line, *rest[index:]]


def put(trace: Trace, before: str, *lines: Line, nth: int = 0) -> Trace:
    """The trace with lines put before the nth line of an event."""
    index = at(trace, before, nth)
    return [*trace[:index], *lines, *trace[index:]]
