"""Checks small traces by the naive projection: slow, and independent of the monitor."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

from monitor.check.limits import MOST_BYTES, MOST_LINES
from monitor.check.parts import Trusted, input_of, place_of, text_of
from monitor.check.stated import Stated
from monitor.check.theorem import Theorem
from monitor.check.whole import Asked, Part, Read, by_each, by_one
from monitor.engine import decide
from monitor.evaluate.own_mode import owes_nothing, unclear_mode
from monitor.input.errors import InputError
from monitor.input.records import CANONICAL
from monitor.input.sources import read
from monitor.report.verdict import (
    REFERENCE,
    Applies,
    ClaimReport,
    Events,
    Forgotten,
    ModeReport,
    ObligationReport,
    Unjudged,
    UnjudgedClaim,
)
from spec.claims.claim import Mode
from spec.contract.modes import MODES
from spec.contract.obligations import OBLIGATIONS
from spec.language.verdicts import Verdict, pool
from spec.projection.lines import Line
from spec.projection.naive import Naive
from spec.projection.outcome import outcome_of
from spec.projection.pool import TooLarge

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from monitor.input.records import At, Record
    from monitor.input.sources import Source
    from monitor.report.verdict import Report
    from spec.contract.modes import Bundle
    from spec.projection.case import Case, Finding
    from spec.projection.outcome import ClaimOutcome
    from spec.projection.pool import Claim

__all__ = ["MOST_PAIRS", "MOST_STEPS", "check_by_reference"]

MOST_STEPS: Final = 1_000_000
"""Events, times claims, times requests and one: as often an observer of each obligation moves."""

MOST_PAIRS: Final = 20_000_000
"""Pairs of blocks that are named or committed, times requests and one: which are one is asked."""

_SMALLER: Final = "judge it without --reference"
_UNKNOWN: Final = "from here on events about the claim may be missing"


class _Part(NamedTuple):
    """One stream of one file, taken in."""

    file: str
    stream: str
    records: list[Record]
    naive: Naive


def check_by_reference(
    paths: Sequence[str],
    mode: Mode | None,
    bundle: Bundle,
    *,
    claim: str | None = None,
    strict: bool = False,
    stdin: BinaryIO | None = None,
) -> Report:
    """Judge trace files by one bundle of one mode, or each claim by the mode that it states, as
    `monitor.check.files.check` does.

    Raises:
        InputError: a file or a line of it cannot be read, or there is more of it than is judged so.
    """
    source, trusted, stated = read(paths, stdin=stdin), Trusted(), Stated(tuple(Mode), claim)
    records, unknown = list(_small(source)), Counter[str]()
    for record in records:
        if record.unknown is not None:
            unknown[record.unknown] += 1
        trusted.note(record)
        stated.note(record)
    inputs = [input_of(account) for account in source.accounts]
    whole = Read(inputs, Events(len(records), dict(unknown), 0), trusted.report())
    asked = Asked(bundle, strict, claim, REFERENCE)
    if mode is not None:
        one = _Judged(records, mode, asked, own=False)
        return by_one(asked, whole, one.part(), _others(one.streams, claim))
    modes = [each for each in Mode if each in stated.modes]
    judged = [_Judged(records, each, asked, own=True) for each in modes or [Mode.BEST_EFFORT]]
    parts = [each.part(stated.forms(each.mode)) for each in judged if each.claims]
    unjudged = _unjudged(judged, claim, stated)
    if unjudged.turned_away:  # owed nothing only where no mode at all finds otherwise
        others = [_Judged(records, each, asked, own=True) for each in Mode if each not in modes]
        unjudged = _unjudged([*judged, *others], claim, stated)
    return by_each(asked, whole, parts, unjudged)


class _Judged:
    """Every stream, judged by one mode; where `own`, the claims alone that ask for it by name."""

    def __init__(self, records: list[Record], mode: Mode, asked: Asked, *, own: bool) -> None:
        self.mode, self._asked, self._theorem = mode, asked, Theorem(mode)
        streams: dict[tuple[str, str], list[Record]] = {}
        for record in records:
            self._theorem.note(record)
            streams.setdefault((record.at.file, record.stamp.stream), []).append(record)
        self.streams = [_judged(*at, each, mode, asked.bundle) for at, each in streams.items()]
        found = [each for part in self.streams for each in _claims(part, mode, asked.claim)]
        self.claims = [each for each in found if not (own and _unclear(each.claim))]

    def part(self, read_from: Iterable[str] = ()) -> Part:
        """What it came to."""
        judged = [each.report for each in self.claims if not each.outcome.torn]
        names = MODES[self.mode].names(self._asked.bundle)
        obligations = {n: pool(each.obligations[n].verdict for each in judged) for n in names}
        absent = _absent(self.streams, self.claims, self._asked.claim)
        verdict, why = decide(obligations, absent, strict=self._asked.strict)
        report = ModeReport(
            mode=self.mode,
            verdict=verdict,
            why=why,
            obligations=obligations,
            forgotten=Forgotten(0, {}, {}),
            theorem=_applies(self._theorem.left(_left(self.streams))),
            read_from=sorted(read_from),
        )
        return Part(report, [each.report for each in self.claims])


def _small(source: Source) -> Iterator[Record]:
    """The records of a source, as long as there are not too many."""
    for record in source:
        lines = sum(account.lines for account in source.accounts)
        if lines > MOST_LINES or source.text > MOST_BYTES:
            most = f"{MOST_LINES} lines or {MOST_BYTES >> 20} MiB"
            why = (
                f"more than {most}, and the reference projection delivers each event to each claim"
            )
            raise InputError(record.at.file, why, hint=_SMALLER)
        if record.stamp.alone:
            hint = "leave out --reference, and name the files of all ranks"
            raise InputError(record.at.file, record.stamp.alone, line=record.at.line, hint=hint)
        yield record


def _judged(file: str, stream: str, records: list[Record], mode: Mode, bundle: Bundle) -> _Part:
    lines, form = list(_lines(records)), records[0].stamp.form
    naive = Naive(lines, mode, bundle, form.first)
    steps = len(lines) * len(naive.cases) * (1 + len(naive.requests))
    if steps > MOST_STEPS:
        why = f"it has so many claims and requests that the reference needs {steps} steps"
        raise InputError(file, why, hint=_SMALLER)
    blocks = sum(len(e.block_ids) + (e.footprint or 0) for line in lines for e in line.events)
    if blocks * blocks * (1 + len(naive.requests)) > MOST_PAIRS:
        why = f"it has too many blocks for the reference: {blocks} are named or committed"
        raise InputError(file, why, hint=_SMALLER)
    try:
        for _ in naive:
            pass
        naive.finish()
    except TooLarge as error:
        raise InputError(file, error.cause, hint=_SMALLER) from None
    return _Part(file, stream, records, naive)


def _lines(records: Iterable[Record]) -> Iterator[Line]:
    """What a stream says, for the projection; its lines are numbered as they were read."""
    form = None
    for number, record in enumerate(records, 1):
        stamp = record.stamp
        form = form or stamp.form
        yield Line(
            number,
            tuple(event for event, _ in record.events),
            stamp.sequence,
            stamp.time_ns,
            skips=stamp.form.skips,
            mark=stamp.mark,
            observes=stamp.observes,
            derived=form.derived,
            foreign=stamp.form is not form,
            doubts=tuple((doubt.claim_id, doubt.only) for doubt in record.doubts),
        )


# What it came to.


class _Found(NamedTuple):
    report: ClaimReport
    outcome: ClaimOutcome
    claim: Claim


def _claims(part: _Part, mode: Mode, only: str | None) -> Iterator[_Found]:
    for name, outcome in outcome_of(part.naive).claims.items():
        if only not in (None, name):
            continue
        found = {n: _finding(part, n, each, outcome) for n, each in outcome.findings.items()}
        case = part.naive.cases[name]
        verdicts = {} if outcome.torn else {n: each.verdict for n, each in found.items()}
        verdict, why = decide(verdicts, _missing(part, case, outcome))
        stream, state = text_of(part.stream), outcome.state
        asked = case.claim.mode
        report = ClaimReport(name, stream, state, verdict, found, why, asked, mode)
        yield _Found(report, outcome, case.claim)


def _finding(part: _Part, name: str, found: Finding, outcome: ClaimOutcome) -> ObligationReport:
    observer = OBLIGATIONS[name]
    at = None if found.at is None else place_of(part.records[found.at - 1].at)
    if found.verdict is Verdict.SATISFIED and not outcome.entered:
        return ObligationReport(
            Verdict.UNEXERCISED, None, "the claim was never accepted or registered"
        )
    if found.verdict is Verdict.INCONCLUSIVE:
        return ObligationReport(found.verdict, at, _UNKNOWN)
    rule = next((rule for rule in observer.rules if rule.name == found.rule), None)
    if rule is None:
        return ObligationReport(found.verdict, None, observer.state(observer.initial).says)
    state = observer.state(rule.to)
    shown = rule.why if state.verdict is Verdict.VIOLATED else state.says
    return ObligationReport(found.verdict, at, shown, rule.allowed)


def _missing(part: _Part, case: Case, outcome: ClaimOutcome) -> str:
    if case.claim.other_mode in MODES:
        return f"it was accepted in another mode, {case.claim.other_mode}"
    return "" if outcome.entered else f"not {_entry(part)}"


def _entry(part: _Part) -> str:
    return "accepted" if "explicit_acceptance" in part.naive.names else "registered"


def _absent(parts: list[_Part], claims: list[_Found], only: str | None) -> str:
    """What keeps the whole from being judged, if anything."""
    if only is not None and not claims:
        return f"claim {only} does not occur"
    if torn := next((each for each in claims if each.outcome.torn), None):
        return f"claim {torn.claim.claim_id} asked for one mode and was accepted in another"
    if not any(each.outcome.entered for each in claims):
        return f"no {_entry(parts[0])} claim" if parts else "no claim"
    if cut := next((part for part in parts if part.naive.order.cut is not None), None):
        return f"{text_of(cut.stream)}: {cut.naive.order.why}"
    return _spread(parts)


def _spread(parts: list[_Part]) -> str:
    """A run of which one file accepts the claims and another does not, if there is one."""
    for stream in dict.fromkeys(part.stream for part in parts):
        run = [part for part in parts if part.stream == stream]
        sides = [outcome_of(part.naive).claims for part in run]
        inside = [{name for name, each in side.items() if each.entered} for side in sides]
        known = set[str]().union(*inside)
        torn = any(known & side.keys() - ours for side, ours in zip(sides, inside, strict=True))
        if known and (torn or not all(inside)):
            entry = _entry(parts[0])
            return f"run {text_of(stream)} continues in a file in which its claims are not {entry}"
        if any(_goes_on(part, [p for p in run if p is not part]) for part in run):
            name = text_of(stream)
            return (
                f"stream {name} continues in another file, and claims are alive where one file ends"
            )
    return ""


def _goes_on(part: _Part, others: list[_Part]) -> bool:
    """Whether a claim of this mode is alive where the lines of a file end, the stream has not the
    end that it promised, and another file may go on with it.
    """
    claims = outcome_of(part.naive).claims
    whole = part.naive.order.opened is not None and part.naive.order.cut is None
    alive = {name for name, case in part.naive.cases.items() if case.claim.alive}
    return (
        not whole
        and any(_may_go_on_in(part, other) for other in others)
        and any(name in alive for name, each in claims.items() if each.entered)
    )


def _may_go_on_in(part: _Part, other: _Part) -> bool:
    """Whether the other file may hold the lines that follow: recorded lines of another form, or
    with numbers that begin before these end, are of another engine of the run.
    """
    form, ours, theirs = part.records[0].stamp.form, _numbers(part), _numbers(other)
    if form is CANONICAL:
        return True
    same = other.records[0].stamp.form is form
    return same and (not ours or not theirs or theirs[0] > ours[-1])


def _numbers(part: _Part) -> list[int]:
    numbers = (record.stamp.sequence for record in part.records)
    return [number for number in numbers if number is not None]


def _others(parts: list[_Part], only: str | None) -> dict[Mode, int]:
    """How many claims of other modes there are."""
    cases = [case for part in parts for case in part.naive.cases.values()]
    met = [case.claim for case in cases if case.claim.met and only in (None, case.claim.claim_id)]
    naive = parts[0].naive if parts else None
    others = Counter(claim.mode for claim in met if naive and not naive.is_judged(claim))
    return {Mode(mode): number for mode, number in others.items() if mode is not None}


def _unclear(claim: Claim) -> str:
    return unclear_mode(claim.mode, claim.other_mode)


def _unjudged(judged: Sequence[_Judged], only: str | None, stated: Stated) -> Unjudged:
    """The claims that no mode judges, where each is judged by its own."""
    every = [(part, case) for each in judged for part in each.streams for case in _unclear_of(part)]
    owed = {
        (part.file, part.stream, case.claim.claim_id)
        for part, case in every
        if not _owes_nothing(case)
    }
    claims: list[UnjudgedClaim] = []
    turned_away: list[UnjudgedClaim] = []
    for part in judged[0].streams:
        for claim in (case.claim for case in _unclear_of(part)):
            if only not in (None, claim.claim_id):
                continue
            named = UnjudgedClaim(
                claim_id=claim.claim_id,
                stream=text_of(part.stream),
                state=claim.state,
                why=_unclear(claim),
                declared_mode=claim.mode,
                hint=stated.usual(part.stream),
            )
            blocks = (part.file, part.stream, claim.claim_id) in owed
            (claims if blocks else turned_away).append(named)
    return Unjudged(claims, 0, turned_away)


def _unclear_of(part: _Part) -> Iterator[Case]:
    cases = part.naive.cases.values()
    return (case for case in cases if case.claim.met and _unclear(case.claim))


def _owes_nothing(case: Case) -> bool:
    claim, found = case.claim, (each.verdict for each in dict(case.findings()).values())
    entered = claim.accepted or bool(claim.facts["committed"]) or claim.responsible
    return owes_nothing(claim.mode, claim.state, found, entered=entered)


def _applies(left: tuple[At | None, str] | None) -> Applies:
    if left is None:
        return Applies(True)
    at, why = left
    return Applies(False, None if at is None else place_of(at), why)


def _left(parts: list[_Part]) -> Iterator[tuple[At | None, str]]:
    """Where each stream leaves what the theorem assumes first, and how."""
    for part in parts:
        if part.naive.left is not None:
            at, why = part.naive.left
            yield part.records[at - 1].at, why
