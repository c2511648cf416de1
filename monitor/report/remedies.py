"""Says the shortest thing to do about an inconclusive verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spec.contract.modes import MODES
from spec.language.verdicts import Verdict
from spec.stream.codes import Code
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from monitor.report.verdict import Report

__all__ = ["REMEDIES", "remedy"]

REMEDIES: Final = {code.number: code.remedy for code in Code}
"""What to do about each reason that has a code."""


def remedy(report: Report) -> str:
    """What to do where no finding and no claim of the report says it; empty where one does."""
    if report.verdict is not ModeVerdict.INCONCLUSIVE or report.unjudged.claims:
        return ""
    if report.events.late:
        return "use a larger window of --reorder"
    if report.claim is not None and not report.claims:
        return "name a claim that occurs, or leave out --claim"
    findings = [found for claim in report.claims for found in claim.obligations.values()]
    if any(found.verdict is Verdict.INCONCLUSIVE and found.code for found in findings):
        return ""
    if report.breaks:
        return REMEDIES[report.breaks[0].code]
    if " continues in " in report.why:
        return "check the files of a run as one: cat FILE... | resident-claims check -"
    if report.others and not report.claims:
        return "leave out --mode, and each claim is judged by the mode that it states"
    if any(found.verdict is Verdict.PENDING for found in findings):
        return "report what is owed, or read the stream until it is due"
    if report.why.startswith("no "):
        if any(each.form for each in report.inputs):
            return "watch it: resident-claims watch REGISTRY FILE --until-eof"
        watched = any(MODES[part.mode].constants["watched"] for part in report.modes)
        return f"state claim_{'registered' if watched else 'accepted'} of each claim"
    if report.events.rejected or not report.modes:
        return ""
    mode = next(part.mode for part in report.modes if part.verdict is report.verdict)
    return f"record what puts them to the test: resident-claims samples {mode}"
