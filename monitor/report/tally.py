"""Counts the verdicts of a report: each obligation over the claims that a mode judged."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from monitor.report.verdict import ClaimReport, ModeReport, Report

__all__ = ["Tally", "tallies"]


class Tally:
    """What the claims that one mode judged came to, those that were forgotten among them.

    Attributes:
        mode: the part of the report.
        claims: how many have each verdict of a mode.
        total: how many were judged.
        found: for each obligation how many claims have each verdict.
        pooled: for each obligation the verdict over all that were judged, as the report has it.
    """

    def __init__(self, part: ModeReport, claims: list[ClaimReport]) -> None:
        self.mode, forgotten = part, part.forgotten
        listed: Counter[str] = Counter(claim.verdict for claim in claims)
        self.claims = listed + Counter(forgotten.verdicts)
        self.total = self.claims.total()
        self.found: dict[str, Counter[Verdict]] = {
            name: Counter(forgotten.obligations.get(name, {})) for name in part.obligations
        }
        for claim in claims:
            for name, counts in self.found.items():
                counts[claim.obligations[name].verdict] += 1
        self.pooled = part.obligations

    def having(self, *verdicts: Verdict) -> list[str]:
        """The obligations of which one of these is the verdict over all claims."""
        return [name for name, verdict in self.pooled.items() if verdict in verdicts]


def tallies(report: Report) -> list[Tally]:
    """One for each mode that judged claims."""
    claims = report.claims
    return [Tally(part, [c for c in claims if c.mode is part.mode]) for part in report.modes]
