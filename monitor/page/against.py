"""Compares two runs: verdicts, losses, refusals, and how long losses waited for their report."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from monitor.report.headline import headline
from monitor.timeline.items import (
    Axis,
    ClaimBegun,
    ClaimEnded,
    Happened,
    Link,
    Linked,
    StreamBegun,
)
from spec.events.alphabet import BLOCKS_GONE, Kind

if TYPE_CHECKING:
    from monitor.report.verdict import Report
    from monitor.timeline.items import Item

__all__ = ["MOST_CLAIMS", "Run", "compared"]

MOST_CLAIMS: Final = 200
"""Claims whose verdict changed that are listed."""


class Run:
    """What is compared of a run; give it each item of its timeline.

    Attributes:
        claims: the verdict of each claim, by its id; of several periods the last.
        events: losses and refusals, by the words for them.
        latencies: of each loss that was reported, how long that took, on the axis.
    """

    def __init__(self) -> None:
        self.claims: dict[str, str] = {}
        self.events: Counter[str] = Counter()
        self.latencies: list[int] = []
        self.axis = Axis.LINES
        self._names: dict[int, str] = {}

    def take(self, item: Item) -> None:
        """Take the next item of the timeline."""
        if isinstance(item, Happened):
            if item.event.kind in BLOCKS_GONE and any(item.lost):
                self.events["losses"] += 1
            elif item.event.kind is Kind.REQUEST_REFUSED:
                self.events["refusals"] += 1
        elif isinstance(item, Link):
            if item.kind is Linked.LOSS:
                self.latencies.append(item.target.point.at - item.source.point.at)
        elif isinstance(item, ClaimBegun):
            self._names[item.claim] = item.claim_id
        elif isinstance(item, ClaimEnded):
            self.claims[self._names.pop(item.claim)] = item.verdict
        elif isinstance(item, StreamBegun):
            self.axis = item.axis


def compared(run: Run, report: Report, other: Run, against: Report) -> dict[str, Any]:
    """The rows of the comparison, each with the value here and there, and the changed claims."""

    def broken(of: Report) -> str:
        names = [name for name, verdict in of.obligations.items() if verdict == "violated"]
        return ", ".join(names) or "none"

    rows = [
        ["verdict", report.verdict, against.verdict],
        ["violated obligations", broken(report), broken(against)],
        ["losses of claimed blocks", run.events["losses"], other.events["losses"]],
        ["refused requests", run.events["refusals"], other.events["refusals"]],
        ["loss to report, median", _middle(run), _middle(other)],
        ["loss to report, longest", _longest(run), _longest(other)],
    ]
    names = [*dict.fromkeys([*run.claims, *other.claims])]
    changed = [
        [name, run.claims.get(name, "not there"), other.claims.get(name, "not there")]
        for name in names
        if run.claims.get(name) != other.claims.get(name)
    ]
    return {
        "files": [[i.file for i in each.inputs] for each in (report, against)],
        "headlines": [headline(report), headline(against)],
        "rows": [[str(cell) for cell in row] for row in rows],
        "claims": changed[:MOST_CLAIMS],
        "more": max(0, len(changed) - MOST_CLAIMS),
    }


def _said(value: float, axis: Axis) -> str:
    return f"{value / 1e6:g} ms" if axis is Axis.TIME else f"{value:g} lines"


def _middle(run: Run) -> str:
    return _said(median(run.latencies), run.axis) if run.latencies else "no loss was reported"


def _longest(run: Run) -> str:
    return _said(max(run.latencies), run.axis) if run.latencies else "no loss was reported"
