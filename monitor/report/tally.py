"""Counts the verdicts of a report: each obligation over the claims that were judged."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from monitor.report.verdict import Report

__all__ = ["Tally"]


class Tally:
    """What the claims of a report came to, those that were forgotten among them.

    Attributes:
        claims: how many have each verdict of a mode.
        total: how many were judged.
        found: for each obligation how many claims have each verdict.
        pooled: for each obligation the verdict over all that were judged, as the report has it.
    """

    def __init__(self, report: Report) -> None:
        forgotten = report.forgotten
        listed: Counter[str] = Counter(claim.verdict for claim in report.claims)
        self.claims = listed + Counter(forgotten.verdicts)
        self.total = self.claims.total()
        self.found: dict[str, Counter[Verdict]] = {
            name: Counter(forgotten.obligations.get(name, {})) for name in report.obligations
        }
        for claim in report.claims:
            for name, counts in self.found.items():
                counts[claim.obligations[name].verdict] += 1
        self.pooled = report.obligations

    def having(self, *verdicts: Verdict) -> list[str]:
        """The obligations of which one of these is the verdict over all claims."""
        return [name for name, verdict in self.pooled.items() if verdict in verdicts]

    def share(self, name: str) -> str:
        """`(1 of 2 claims)`, where not all claims have the obligation's pooled verdict."""
        number = self.found[name][self.pooled[name]]
        return "" if number == self.total else f"({number} of {self.total} claims)"
