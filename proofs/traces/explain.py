"""Explains a trace: what each event changed, for which claim and why.

The monitor takes one record at a time; the state of each claim is compared with its previous state.
The verdicts are the monitor's.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BufferedReader
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple

import msgspec

from monitor.check.again import seekable
from monitor.check.files import Records, check_each
from monitor.check.whole import Asked
from monitor.engine import ModeVerdict, Monitor
from monitor.evaluate.compile import CLAIM_REGISTERS
from monitor.input.errors import InputError
from monitor.input.records import At, Record, Stamp, at_line
from monitor.input.sources import read
from monitor.report.verdict import ModeChoice, UnjudgedClaim
from proofs.traces.itf import ITF, events_of
from spec import __version__
from spec.claims.claim import Mode
from spec.claims.states import ClaimState
from spec.contract.modes import Bundle
from spec.digest import spec_digest
from spec.events.alphabet import FACTS
from spec.events.fields import fields_of
from spec.files.json_text import decode_json
from spec.files.plain import open_plain
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from monitor.evaluate.claim import ClaimRun
    from monitor.evaluate.observer_state import Finding
    from monitor.input.sources import Account
    from spec.events.canonical import Event

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


class _Whole(NamedTuple):
    """The verdict over all modes."""

    verdict: ModeVerdict
    why: str
    obligations: dict[str, Verdict]
    unjudged: list[UnjudgedClaim]


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
        mode: the one to judge by; None: each claim by the mode that it states.
        claim: explain only the claim with this id.

    Raises:
        InputError: the trace or a line of it cannot be read.
        SpecError: an ITF trace is of another specification, or carries no events.
    """
    if mode is not None:
        monitor = Monitor(mode, bundle, only=claim)
        taken = _take(_records(trace, stdin), [monitor])
        found = monitor.conclude()
        whole = _Whole(found.verdict, found.why, found.obligations, [])
        return _explained(trace, ModeChoice(mode), bundle, claim, whole, [monitor], taken)
    with seekable([trace], stdin) as copy:

        def again(_: object = None) -> Records:
            if copy is not None:
                copy.seek(0)
            return _records(trace, copy)

        report = check_each(Asked(bundle, strict=False, claim=claim), again)
        monitors = [Monitor(each.mode, bundle, only=claim, own=True) for each in report.modes]
        taken = _take(again(), monitors)
    whole = _Whole(report.verdict, report.why, report.obligations, report.unjudged.claims)
    return _explained(trace, ModeChoice.AUTO, bundle, claim, whole, monitors, taken)


class _Taken(NamedTuple):
    """A record, its number, and what it changed: each change with the place of its monitor."""

    number: int
    record: Record
    changes: list[tuple[int, Change]]


def _take(records: Iterable[Record], monitors: Sequence[Monitor]) -> list[_Taken]:
    """Judge the records; those that changed something, and the last."""
    standing: list[dict[tuple[str, str], _Standing]] = [{} for _ in monitors]
    taken: list[_Taken] = []
    last = None
    for number, record in enumerate(records, start=1):
        changes = []
        for place, (monitor, known) in enumerate(zip(monitors, standing, strict=True)):
            monitor.take(record)
            found = _changes(monitor.claims_of(record), known)
            changes += [(place, change) for change in found]
        last = _Taken(number, record, changes)
        if changes:
            taken.append(last)
    return taken if last is None or last.changes else [*taken, last]


def _explained(
    trace: str,
    mode: ModeChoice,
    bundle: Bundle,
    claim: str | None,
    whole: _Whole,
    monitors: Sequence[Monitor],
    taken: Sequence[_Taken],
) -> Explanation:
    auto = mode is ModeChoice.AUTO
    judged = [
        [each for each in monitor.conclude().claims if each.judged or not auto]
        for monitor in monitors
    ]
    names = [{(c.file, c.claim.stream, c.claim.claim_id) for c in claims} for claims in judged]
    steps: list[Step] = []
    stop: Stop | None = None
    for number, record, changed in taken:
        at, stream = record.at, record.stamp.stream
        own = [(at.file, stream, change.claim) in names[place] for place, change in changed]
        changes = [c for (_, c), its in zip(changed, own, strict=True) if its or not auto]
        events = [_happened(event) for event, _ in record.events]
        if changes:
            steps.append(Step(number, at.line, at.sequence, events, changes))
        wrong = [change for change in changes if change.after in _WRONG]
        if wrong and stop is None:
            stop = Stop(number, at.line, events, wrong)
    read = taken[-1].number if taken else 0
    fine = read if stop is None else stop.number - 1
    return Explanation(
        schema=SCHEMA,
        tool=__version__,
        spec=spec_digest(),
        trace=trace.encode("utf-8", "replace").decode("utf-8"),
        mode=mode,
        bundle=bundle,
        claim=claim,
        verdict=whole.verdict,
        why=whole.why,
        read=read,
        fine=fine if monitors else 0,
        stop=stop,
        owed=[
            Change(each.claim.claim_id, name, "", found.verdict, found.why)
            for claims in judged
            for each in claims
            for name, found in each.findings.items()
            if found.verdict is Verdict.PENDING
        ],
        unexercised=[n for n, found in whole.obligations.items() if found is Verdict.UNEXERCISED],
        steps=steps,
        modes=[monitor.mode for monitor in monitors],
        unjudged=whole.unjudged,
    )


_MOST: Final = 1 << 26  # bytes of an ITF trace
_WRONG: Final = (Verdict.VIOLATED, Verdict.INCONCLUSIVE)


class _Itf:
    """The records of an ITF trace, one for each event."""

    def __init__(self, trace: str) -> None:
        self.accounts: list[Account] = []
        self.size = 0
        self._trace = trace

    def __iter__(self) -> Iterator[Record]:
        return _of_itf(self._trace)

    def batches(self) -> Iterator[Record]:
        """The same."""
        return iter(self)


def _records(trace: str, stdin: BinaryIO | None) -> Records:
    return _Itf(trace) if trace.endswith(ITF) else read([trace], stdin=stdin)


def _content(trace: str) -> bytes:
    """The bytes of a file of limited size; raises OSError or ValueError."""
    with BufferedReader(open_plain(trace)) as file:
        content = file.read(_MOST + 1)
    if len(content) > _MOST:
        raise ValueError(f"it has over {_MOST} bytes")
    return content


def _of_itf(trace: str) -> Iterator[Record]:
    """The events in an ITF trace, one a record."""
    try:
        document: Any = decode_json(_content(trace), object)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise InputError(trace, reason, hint="name an ITF trace in JSON") from None
    for line, event in enumerate(events_of(document), start=1):
        at = at_line(trace, line, event.sequence)
        yield Record(at, Stamp(event.stream, event.sequence, event.time_ns), ((event, at),))


@dataclass(slots=True)
class _Standing:
    """The last state of a claim: as text, and the values it was read from."""

    event: int = 0
    facts: tuple[object, ...] = ()
    requests: int = 0
    lifecycle: ClaimState = ClaimState.SUBMITTED
    texts: dict[str, str] | None = None
    taint: tuple[At | None, str] | None = None
    verdicts: dict[str, Verdict] | None = None


def _changes(
    claims: Iterable[ClaimRun], standing: dict[tuple[str, str], _Standing]
) -> Iterator[Change]:
    for claim in claims:
        known = standing.setdefault((claim.stream, claim.claim_id), _Standing())
        if (
            claim.last_event == known.event
            and claim.facts is known.facts
            and claim.state is known.lifecycle
            and claim.taint is known.taint
            and len(claim.requests) == known.requests
        ):
            continue
        yield from _compared(claim, known)
        known.event, known.facts = claim.last_event, claim.facts
        known.requests = len(claim.requests)
        known.lifecycle, known.taint = claim.state, claim.taint


def _compared(claim: ClaimRun, known: _Standing) -> Iterator[Change]:
    name = claim.claim_id
    texts, before = _texts(claim), known.texts or _BEFORE
    for what, text in texts.items():
        if text.partition(" of ")[0] != before[what].partition(" of ")[0]:
            yield Change(name, what, before[what], text)
    if claim.taint is not None and known.taint is None:
        yield Change(name, "trusted", "yes", "no", claim.taint[1])
    findings = dict(claim.findings())
    verdicts = known.verdicts or {}
    for obligation, found in findings.items():
        was = verdicts.get(obligation, Verdict.UNEXERCISED)
        if found.verdict is not was:
            yield _turned(name, obligation, was, found)
    known.texts = texts
    known.verdicts = {obligation: found.verdict for obligation, found in findings.items()}


def _turned(claim: str, obligation: str, was: Verdict, found: Finding) -> Change:
    allowed = found.allowed if found.verdict is Verdict.VIOLATED else ""
    return Change(claim, obligation, was, found.verdict, found.why, allowed)


_BEFORE: Final = {
    "lifecycle": str(ClaimState.SUBMITTED),
    "responsible": "no",
    "held": "0",
    "copy": "no",
}


def _texts(claim: ClaimRun) -> dict[str, str]:
    facts = dict(zip(CLAIM_REGISTERS, claim.facts, strict=True))
    return {
        "lifecycle": str(claim.state),
        "responsible": "yes" if facts["responsible"] else "no",
        "held": f"{facts['lead']} of {claim.constants.threshold}",
        "copy": "yes" if facts["host"] else "no",
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
        elif name == "proof":
            counts = msgspec.structs.asdict(value)
            yield f"proof: {', '.join(f'{part} {count}' for part, count in counts.items())}"
        else:
            yield f"{name.replace('_', ' ')} {'yes' if value is True else value}"
