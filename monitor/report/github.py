"""Renders a report as annotations of GitHub Actions, each at a line of the trace.

Source: GitHub, "Workflow commands for GitHub Actions", setting a notice, warning or error message;
what is escaped, and how, is as in `command.ts` of actions/toolkit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.report.findings import alike, coded, shown_claims
from monitor.report.headline import headline
from spec.language.prose import printable
from spec.language.verdicts import Verdict
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monitor.report.verdict import ClaimReport, Place, Report

__all__ = ["MOST", "as_github"]

MOST: Final = 50
"""Annotations that are written at most, besides the verdict: GitHub shows ten of a step."""

_LEVELS: Final = {
    ModeVerdict.VIOLATED: "error",
    ModeVerdict.INCONCLUSIVE: "warning",
    ModeVerdict.KEPT: "notice",
}
_TITLE: Final = "resident-claims"


def as_github(report: Report) -> str:
    """First the verdict: an error, a warning or a notice. Then an error for each violation, the
    worst claims first, and where the whole is inconclusive a warning for each reason.
    """
    verdict = _line(_LEVELS[report.verdict], None, _TITLE, headline(report))
    found = list(_found(report))
    rest = [f"{len(found) - MOST} more left out"] if len(found) > MOST else []
    return "".join(f"{line}\n" for line in [verdict, *found[:MOST], *rest])


def _found(report: Report) -> Iterator[str]:
    claims = shown_claims(report, verbose=True)
    for claim in claims:
        if claim.verdict is ModeVerdict.VIOLATED:  # of a claim of two modes nothing counts
            yield from _of_claim(claim, Verdict.VIOLATED, "error")
    if report.verdict is not ModeVerdict.INCONCLUSIVE:
        return
    for unjudged in report.unjudged.claims:
        yield _line("warning", None, _TITLE, f"claim {unjudged.claim_id}: {unjudged.why}")
    for claim in claims:
        yield from _of_claim(claim, Verdict.INCONCLUSIVE, "warning")
        yield from _of_claim(claim, Verdict.PENDING, "warning")


def _of_claim(claim: ClaimReport, verdict: Verdict, level: str) -> Iterator[str]:
    """One annotation for all obligations with one and the same finding."""
    for names, found in alike(claim, verdict):
        why = coded(found.why, found.code, found.reason)
        instead = f"; expected instead: {found.allowed}" if found.allowed else ""
        message = f"claim {claim.claim_id}, {claim.mode}: {verdict}, {why}{instead}"
        yield _line(level, found.at, f"{_TITLE}: {', '.join(names)}", message)


def _line(level: str, at: Place | None, title: str, message: str) -> str:
    properties = {} if at is None or at.file == "-" else {"file": at.file, "line": str(at.line)}
    fields = ",".join(f"{n}={_property(v)}" for n, v in {**properties, "title": title}.items())
    return f"::{level} {fields}::{_data(message)}"


def _data(text: str) -> str:
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
