"""Renders a report as JUnit XML: a suite for each mode, a case for each obligation of each
claim.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.report.findings import coded, place
from monitor.report.headline import headline
from spec.cli.junit import JunitCase, junit_suites
from spec.language.prose import counted, printable
from spec.language.verdicts import Verdict
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monitor.report.verdict import ClaimReport, ModeReport, ObligationReport, Report

__all__ = ["as_junit"]

_OPEN: Final = (Verdict.INCONCLUSIVE, Verdict.PENDING)
_WHOLE: Final = "verdict"


def as_junit(report: Report) -> bytes:
    """A violation is a failure, what is open an error, what was not exercised skipped.

    Each suite ends with a case for the mode as a whole, the last suite with one for the report: so
    nothing passes here that the exit code does not let pass.
    """
    suites = [(str(part.mode), list(_of_mode(report, part))) for part in report.modes]
    return junit_suites([*suites, ("monitor check", list(_of_report(report)))])


def _of_mode(report: Report, part: ModeReport) -> Iterator[JunitCase]:
    for claim in report.claims:
        if claim.mode is part.mode:
            for name, found in claim.obligations.items():
                yield _case(part, claim, name, found)
    for name, counts in part.forgotten.obligations.items():
        number = counted(sum(counts.values()), "claim")
        broken = counts.get(Verdict.VIOLATED, 0)
        unclear = sum(counts.get(verdict, 0) for verdict in _OPEN)
        yield JunitCase(
            f"{part.mode}.ended and not listed",
            name,
            failure=f"violated in {broken} of {number}" if broken else "",
            error=f"open in {unclear} of {number}" if unclear and not broken else "",
            output=", ".join(f"{count} {verdict}" for verdict, count in counts.items()),
        )
    yield _whole(part.mode, part.verdict, part.why)


def _case(part: ModeReport, claim: ClaimReport, name: str, found: ObligationReport) -> JunitCase:
    period = f".period {claim.period}" if claim.period > 1 else ""
    group = printable(f"{part.mode}.{claim.stream}.{claim.claim_id}{period}")
    why = printable(coded(found.why, found.code, found.reason))
    at = [] if found.at is None else [place(found.at)]
    counts = claim.verdict is ModeVerdict.VIOLATED  # of a claim of two modes nothing counts
    if found.verdict is Verdict.VIOLATED and counts:
        instead = [f"expected instead: {found.allowed}"] if found.allowed else []
        details = "\n".join([*at, why, *instead])
        return JunitCase(group, name, failure=": ".join([*at, why]), details=details)
    if found.verdict is Verdict.VIOLATED:
        return JunitCase(group, name, error=": ".join(["not judged", printable(claim.why)]))
    if found.verdict in _OPEN:
        return JunitCase(group, name, error=": ".join([str(found.verdict), *at, why]))
    if found.verdict is Verdict.UNEXERCISED:
        return JunitCase(group, name, skipped=f"not exercised: {why}")
    return JunitCase(group, name)


def _of_report(report: Report) -> Iterator[JunitCase]:
    for claim in report.unjudged.claims:
        group = printable(f"not judged.{claim.stream}.{claim.claim_id}")
        yield JunitCase(group, "mode", error=printable(claim.why))
    if number := report.unjudged.forgotten:
        yield JunitCase("not judged", "mode", error=f"{counted(number, 'claim')} that ended")
    yield _whole("monitor check", report.verdict, report.why, headline(report))


def _whole(group: str, verdict: ModeVerdict, why: str, output: str = "") -> JunitCase:
    return JunitCase(
        group,
        _WHOLE,
        failure=printable(why) if verdict is ModeVerdict.VIOLATED else "",
        error=printable(why) if verdict is ModeVerdict.INCONCLUSIVE else "",
        output=output,
    )
