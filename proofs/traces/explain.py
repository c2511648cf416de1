"""Explains a trace: what each event changed, for which claim and why.

The monitor takes one record at a time; the state of each claim is compared with its previous state.
The verdicts are the monitor's.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BufferedReader
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import msgspec

from monitor.engine import ModeVerdict, Monitor
from monitor.evaluate.compile import CLAIM_REGISTERS
from monitor.input.errors import InputError
from monitor.input.records import At, Record, Stamp
from monitor.input.sources import read
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
    from collections.abc import Iterable, Iterator

    from monitor.evaluate.claim import ClaimRun
    from monitor.evaluate.observer_state import Finding
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
    something.
    """

    schema: str
    tool: str
    spec: str
    trace: str
    mode: Mode
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


def explain(
    trace: str,
    mode: Mode,
    bundle: Bundle,
    *,
    claim: str | None = None,
    stdin: BinaryIO | None = None,
) -> Explanation:
    """Explain a trace, event by event, for one bundle of one mode.

    Args:
        trace: a file that the monitor reads, `-` for standard input, or a run in ITF.
        claim: explain only the claim with this id.

    Raises:
        InputError: the trace or a line of it cannot be read.
        SpecError: an ITF trace is of another specification, or carries no events.
    """
    monitor = Monitor(mode, bundle, only=claim)
    standing: dict[tuple[str, str], _Standing] = {}
    steps: list[Step] = []
    stop: Stop | None = None
    number = 0
    for number, record in enumerate(_records(trace, stdin), start=1):
        monitor.take(record)
        changes = list(_changes(monitor.claims_of(record), standing))
        events = [_happened(event) for event, _ in record.events]
        if changes:
            steps.append(Step(number, record.at.line, record.at.sequence, events, changes))
        wrong = [change for change in changes if change.after in _WRONG]
        if wrong and stop is None:
            stop = Stop(number, record.at.line, events, wrong)
    conclusion = monitor.conclude()
    owed = [
        Change(judged.claim.claim_id, name, "", found.verdict, found.why)
        for judged in conclusion.claims
        for name, found in judged.findings.items()
        if found.verdict is Verdict.PENDING
    ]
    fine = number if stop is None else stop.number - 1
    return Explanation(
        schema=SCHEMA,
        tool=__version__,
        spec=spec_digest(),
        trace=trace.encode("utf-8", "replace").decode("utf-8"),
        mode=mode,
        bundle=bundle,
        claim=claim,
        verdict=conclusion.verdict,
        why=conclusion.why,
        read=conclusion.read,
        fine=fine,
        stop=stop,
        owed=owed,
        unexercised=[
            name
            for name, verdict in conclusion.obligations.items()
            if verdict is Verdict.UNEXERCISED
        ],
        steps=steps,
    )


_MOST: Final = 1 << 26  # bytes of an ITF trace
_WRONG: Final = (Verdict.VIOLATED, Verdict.INCONCLUSIVE)


def _records(trace: str, stdin: BinaryIO | None) -> Iterable[Record]:
    return _of_itf(trace) if trace.endswith(ITF) else read([trace], stdin=stdin)


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
        at = At(trace, line, event.sequence)
        yield Record(at, Stamp(event.stream, event.sequence, event.time_ns), ((event, at),))


@dataclass(slots=True)
class _Standing:
    """The last state of a claim: as text, and the values it was read from."""

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
            claim.facts is known.facts  # a new object after every event delivered to the claim
            and claim.state is known.lifecycle
            and claim.taint is known.taint
            and len(claim.requests) == known.requests
        ):
            continue
        yield from _compared(claim, known)
        known.facts, known.requests = claim.facts, len(claim.requests)
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
