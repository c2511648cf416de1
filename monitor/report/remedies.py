"""Says the shortest thing to do about an inconclusive verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spec.language.verdicts import Verdict
from spec.stream.codes import CODES, Code
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from monitor.report.verdict import Report

__all__ = ["remedy"]


def remedy(report: Report) -> str:
    """What to do where no finding and no claim of the report says it; empty where one does.

    It follows from codes and numbers alone: what a reason says in words changes no advice.
    """
    if report.verdict is not ModeVerdict.INCONCLUSIVE or report.unjudged.claims:
        return ""
    findings = [found for claim in report.claims for found in claim.obligations.values()]
    said = {found.code for found in findings if found.verdict is Verdict.INCONCLUSIVE} - {""}
    if report.code == Code.NONE_ACCEPTED.number and any(each.form for each in report.inputs):
        return "watch it: resident-claims watch REGISTRY FILE --until-eof"
    if report.code and report.code not in said:
        return CODES[report.code].remedy
    if said:
        return ""
    if any(found.verdict is Verdict.PENDING for found in findings):
        return "report what is owed, or read the stream until it is due"
    mode = next(part.mode for part in report.modes if part.verdict is report.verdict)
    return f"record what puts them to the test: resident-claims samples {mode}"
