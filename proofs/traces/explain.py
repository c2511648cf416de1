"""Explains a trace: what each event changed, for which claim and why.

The streams take one record at a time; the state of each claim that was moved is compared with its
previous state.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple, cast

import msgspec

from monitor.check.conclude import Asked, concluded, found_in
from monitor.core import Streams
from monitor.input.errors import InputError, utf8
from monitor.input.records import Record, Stamp, at_line
from monitor.input.sources import Source
from monitor.report.verdict import ModeChoice, UnjudgedClaim
from monitor.results import obligation_said
from proofs.traces.itf import ITF, events_of
from spec import __version__
from spec.claims.states import ClaimState, Mode
from spec.contract.modes import Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.digest import spec_digest
from spec.events.alphabet import FACTS
from spec.events.fields import fields_of
from spec.files.json_text import decode_json
from spec.files.plain import read_plain
from spec.language.verdicts import Verdict
from spec.stream.generate import AT
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from monitor.input.records import At
    from monitor.report.verdict import Report
    from spec.events.canonical import Event
    from spec.stream.claim import Claim

__all__ = ["SCHEMA", "Change", "Explanation", "Happened", "Step", "Stop", "explain"]

SCHEMA: Final = "resident-claims/story/1"


class Happened(msgspec.Struct, frozen=True):
    """One event: `about` names the claim, the request and the other fields."""

    kind: str
    fact: bool
    about: str


class Change(msgspec.Struct, frozen=True):
    """A change of one value of a claim, as text before and after.

    `what` is an obligation, or one of `lifecycle` (as reported), `responsible`, `held`, `copy` and
    `trusted`. `why` is the rule's; `allowed` says what was expected instead.
    """

    claim: str
    what: str
    before: str
    after: str
    why: str = ""
    allowed: str = ""


class Step(msgspec.Struct, frozen=True):
    """One line of the trace that changed something."""

    number: int
    line: int
    sequence: int | None
    events: list[Happened]
    changes: list[Change]


class Stop(msgspec.Struct, frozen=True):
    """The first line with a violation or an inconclusive verdict, with these changes."""

    number: int
    line: int
    events: list[Happened]
    changes: list[Change]


class Explanation(msgspec.Struct, frozen=True):
    """The explanation of a trace. `fine` counts the events of the longest prefix without a
    violation or an inconclusive verdict.

    `stop` is the event after it, or null; `owed` is what was still owed at the end; `unexercised`
    are the obligations that were not exercised. `steps` contains only events that changed
    something. `modes` are those by which claims are judged: the `mode` that was asked for, or, by
    `auto`, those that claims state; the claims that state none are `unjudged`, and no step is
    about them.
    """

    schema: str
    tool: str
    spec: str
    trace: str
    mode: ModeChoice
    bundle: Bundle
    claim: str | None
    verdict: ModeVerdict
    why: str
    read: int
    fine: int
    stop: Stop | None
    owed: list[Change]
    unexercised: list[str]
    steps: list[Step]
    modes: list[Mode] = []
    unjudged: list[UnjudgedClaim] = []


def explain(
    trace: str,
    mode: Mode | None,
    bundle: Bundle,
    *,
    claim: str | None = None,
    stdin: BinaryIO | None = None,
) -> Explanation:
    """Explain a trace, event by event, for one bundle of one mode, or of the modes that its claims
    state.

    Args:
        trace: a file that the monitor reads, `-` for standard input, or a run in ITF.
        mode: the one that judges claims that state it, or none; None: each claim is judged by the
            mode that it states.
        claim: explain only the claim with this id.

    Raises:
        InputError: the trace or a line of it cannot be read.
        SpecError: an ITF trace is of another specification, or carries no events.
    """
    asked = Asked(mode, bundle, claim=claim)
    streams = Streams(mode, bundle, only=claim, watched=True)
    source = _of_itf(trace) if trace.endswith(ITF) else Source([trace], stdin=stdin)
    taken = _take(source, streams, asked)
    streams.finish()
    accounts = source.accounts if isinstance(source, Source) else []
    report = concluded(asked, found_in(streams, accounts))
    return _explained(trace, asked, report, streams, taken)


class _Taken(NamedTuple):
    """A record, its number, and what it changed."""

    number: int
    record: Record
    changes: list[Change]


def _take(records: Iterable[Record], streams: Streams, asked: Asked) -> list[_Taken]:
    """Judge the records; those that changed something, and the last."""
    standing: dict[Claim, _Standing] = {}
    taken: list[_Taken] = []
    last = None
    for number, record in enumerate(records, start=1):
        streams.take(record)
        changes = [
            change
            for _, claim in streams.moved()
            if asked.claim in (None, claim.claim_id)
            and claim.mode is not None
            and asked.mode in (None, claim.mode)
            for change in _compared(claim, standing.setdefault(claim, _Standing()))
        ]
        last = _Taken(number, record, changes)
        if changes:
            taken.append(last)
    return taken if last is None or last.changes else [*taken, last]


def _explained(
    trace: str, asked: Asked, report: Report, streams: Streams, taken: Sequence[_Taken]
) -> Explanation:
    steps: list[Step] = []
    stop: Stop | None = None
    for number, record, changes in taken:
        at, events = record.at, [_happened(event) for event, _ in record.events]
        if changes:
            steps.append(Step(number, at.line, at.sequence, events, changes))
        wrong = [change for change in changes if change.after in _WRONG]
        if wrong and stop is None:
            stop = Stop(number, at.line, events, wrong)
    read = report.events.read
    fine = read if stop is None else stop.number - 1
    modes = [each.mode for each in report.modes]
    return Explanation(
        schema=SCHEMA,
        tool=__version__,
        spec=spec_digest(),
        trace=utf8(trace),
        mode=report.mode,
        bundle=asked.bundle,
        claim=asked.claim,
        verdict=report.verdict,
        why=report.why,
        read=read,
        fine=fine if modes else 0,
        stop=stop,
        owed=[
            Change(each.claim_id, name, "", found.verdict, found.why)
            for each in report.claims
            for name, found in each.obligations.items()
            if found.verdict is Verdict.PENDING
        ],
        unexercised=[n for n, found in report.obligations.items() if found is Verdict.UNEXERCISED],
        steps=steps,
        modes=modes,
        unjudged=report.unjudged.claims,
    )


_MOST: Final = 1 << 26  # bytes of an ITF trace
_WRONG: Final = (Verdict.VIOLATED, Verdict.INCONCLUSIVE)


def _of_itf(trace: str) -> Iterator[Record]:
    """The events in an ITF trace, one a record."""
    try:
        document: Any = decode_json(read_plain(trace, _MOST), object)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise InputError(trace, reason, hint="name an ITF trace in JSON") from None
    for line, event in enumerate(events_of(document), start=1):
        at = at_line(trace, line, event.sequence)
        yield Record(at, Stamp(event.stream, event.sequence, event.time_ns), ((event, at),))


@dataclass(slots=True)
class _Standing:
    """The last state of a claim, as text, and the verdict on each obligation."""

    texts: dict[str, str] = field(default_factory=lambda: dict(_BEFORE))
    unclear: bool = False
    verdicts: dict[str, Verdict] = field(default_factory=dict)


def _compared(claim: Claim, known: _Standing) -> Iterator[Change]:
    """What changed of a claim since it was compared last."""
    name, texts, before = claim.claim_id, _texts(claim), known.texts
    for what, text in texts.items():
        if text.partition(" of ")[0] != before[what].partition(" of ")[0]:
            yield Change(name, what, before[what], text)
    if claim.unclear is not None and not known.unclear:
        yield Change(name, "trusted", "yes", "no", claim.unclear.text)
    findings = claim.findings()
    for obligation, found in findings.items():
        was = known.verdicts.get(obligation, Verdict.UNEXERCISED)
        if found.verdict is not was:
            said = obligation_said(obligation, found)
            allowed = said.allowed if found.verdict is Verdict.VIOLATED else ""
            why = said.why
            if found.verdict is Verdict.UNEXERCISED and found.reason is None:
                why = _idle(claim, obligation) or why
            yield Change(name, obligation, was, found.verdict, why, allowed)
    known.texts, known.unclear = texts, claim.unclear is not None
    known.verdicts = {obligation: found.verdict for obligation, found in findings.items()}


def _idle(claim: Claim, obligation: str) -> str:
    """What the state says to which an observer was last led, of those that are not exercised."""
    place, states = claim.names.index(obligation), OBLIGATIONS[obligation].states
    idle = [
        (cast("At", stand.at).line, states[stand.state].says)
        for scope in claim.scopes
        if (stand := scope.stands[place]) is not None
        and stand.at is not None
        and states[stand.state].verdict is Verdict.UNEXERCISED
    ]
    return max(idle)[1] if idle else ""


_BEFORE: Final[dict[str, str]] = {
    "lifecycle": str(ClaimState.SUBMITTED),
    "responsible": "no",
    "held": "0",
    "copy": "no",
}


def _texts(claim: Claim) -> dict[str, str]:
    lead, copy = claim.facts[AT["lead"]], claim.facts[AT["host"]]
    return {
        "lifecycle": str(claim.state),
        "responsible": "yes" if claim.responsible else "no",
        "held": f"{'unknown' if lead is None else lead} of {claim.threshold}",
        "copy": "unknown" if copy is None else "yes" if copy else "no",
    }


def _happened(event: Event) -> Happened:
    return Happened(event.kind, event.kind in FACTS, ", ".join(_about(event)))


def _about(event: Event) -> Iterator[str]:
    if event.claim_id is not None:
        yield event.claim_id
    if event.request_id is not None:
        yield event.request_id
    for name in fields_of(event.kind):
        value = getattr(event, name)
        if name in ("claim_id", "request_id", "positions") or value in (None, False, ()):
            continue
        if name == "block_ids":
            yield f"{len(value)} block{'' if len(value) == 1 else 's'}"
        elif name == "blocking_claim_ids":
            yield f"blames {' and '.join(value)}"
        elif name in ("proof", "capacity"):
            counts = msgspec.structs.asdict(value)
            yield f"{name}: {', '.join(f'{part} {count}' for part, count in counts.items())}"
        else:
            yield f"{name.replace('_', ' ')} {'yes' if value is True else value}"
