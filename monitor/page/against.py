"""Compares two runs: verdicts, losses, refusals, and how long losses waited for their report."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from monitor.input.errors import utf8
from monitor.report.headline import headline
from monitor.timeline.items import Axis, ClaimBegun, ClaimEnded, Happened, Link, Linked, StreamBegun
from spec.events.alphabet import BLOCKS_GONE, Kind
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from monitor.report.verdict import Report
    from monitor.timeline.items import Item
    from spec.claims.states import Mode

__all__ = ["MOST_CLAIMS", "Run", "compared"]

MOST_CLAIMS: Final = 200
"""Claims whose verdict changed that are listed."""


class Run:
    """What is compared of a run; give it each item of its timeline.

    `claims` has the verdict of each claim that is judged, by its id and the name of its stream, of
    several periods the last; `latencies` how long each loss waited for its report.

    Args:
        mode: the one that was asked for; claims that state another are not judged.
    """

    def __init__(self, mode: Mode | None = None) -> None:
        self.claims: dict[str, dict[str, str]] = {}
        self.events: Counter[str] = Counter()
        self.latencies: list[int] = []
        self.axis = Axis.LINES
        self._mode = mode
        self._names: dict[int, tuple[str, int]] = {}
        self._streams: dict[int, str] = {}

    def take(self, item: Item) -> None:
        """Take the next item of the timeline."""
        match item:
            case Happened(event=event, lost=lost):
                self.events["losses"] += event.kind in BLOCKS_GONE and any(lost)
                self.events["refusals"] += event.kind is Kind.REQUEST_REFUSED
            case Link(kind=Linked.LOSS, source=source, target=target):
                self.latencies.append(target.point.at - source.point.at)
            case ClaimBegun(claim=claim, claim_id=name, stream=stream):
                self._names[claim] = name, stream
            case ClaimEnded(claim=claim, mode=mode, verdict=verdict):
                name, stream = self._names.pop(claim)
                if self._mode in (None, mode):
                    self.claims.setdefault(name, {})[self._streams[stream]] = verdict
            case StreamBegun(stream=stream, name=name, axis=axis):
                self._streams[stream], self.axis = utf8(name), axis

    def rows(self, report: Report) -> dict[str, str]:
        """What is compared, by the words for it."""
        broken = [name for name, each in report.obligations.items() if each is Verdict.VIOLATED]
        waits: dict[str, Callable[[list[int]], float]] = {"median": median, "longest": max}
        return {
            "in a sentence": headline(report),
            "verdict": report.verdict,
            "violated obligations": ", ".join(broken) or "none",
            "losses of claimed blocks": str(self.events["losses"]),
            "refused requests": str(self.events["refusals"]),
            **{f"loss to report, {name}": self._length(of) for name, of in waits.items()},
        }

    def _length(self, of: Callable[[list[int]], float]) -> str:
        if not self.latencies:
            return "none reported"
        value = of(self.latencies)
        return f"{value / 1e6:g} ms" if self.axis is Axis.TIME else f"{value:g} lines"


def compared(run: Run, report: Report, other: Run, there: Report) -> dict[str, Any]:
    """Rows with the value here and there, and the claims whose verdicts differ."""
    mine, theirs = run.rows(report), other.rows(there)
    names = dict.fromkeys([*run.claims, *other.claims])
    both = [row for name in names for row in _verdicts(name, run, other)]
    changed = [row for row in both if row[1] != row[2]]
    return {
        "files": [[i.file for i in each.inputs] for each in (report, there)],
        "rows": [[name, mine[name], theirs[name]] for name in mine],
        "claims": changed[:MOST_CLAIMS],
        "more": max(0, len(changed) - MOST_CLAIMS),
    }


def _verdicts(name: str, *runs: Run) -> list[list[str]]:
    """The verdicts on the claims of an id: streams of two runs may have other names, so they are
    compared where one run has the id in several.
    """
    found = [run.claims.get(name, {}) for run in runs]
    if all(len(each) <= 1 for each in found):
        return [[name, *(next(iter(each.values()), "not there") for each in found)]]
    streams = dict.fromkeys(stream for each in found for stream in each)
    return [[f"{name} in {s}", *(each.get(s, "not there") for each in found)] for s in streams]
