"""Counts the verdicts of a report, and renders the verdict as one sentence with counts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from spec.language.prose import counted, printable
from spec.language.verdicts import Verdict
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from monitor.report.verdict import ClaimReport, ModeReport, Report

__all__ = ["Tally", "headline", "summary", "tallies"]


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


def headline(report: Report) -> str:
    """The verdict over all modes, with the modes, claims and obligations that it is about."""
    found = tallies(report)
    unjudged = len(report.unjudged.claims) + report.unjudged.forgotten
    if len(found) == 1 and not unjudged:
        return _one(found[0])
    total = sum(each.total for each in found) + unjudged
    about = f"{counted(len(found), 'mode')}, {counted(total, 'claim')}"
    if report.verdict is ModeVerdict.INCONCLUSIVE:
        whole = f"{about}; {report.why}" if found else report.why
        return f"inconclusive: {printable(whole)}"
    if report.verdict is ModeVerdict.VIOLATED:
        broken = [each for each in found if each.mode.verdict is ModeVerdict.VIOLATED]
        rest = f"; {counted(unjudged, 'claim')} not judged" if unjudged else ""
        return f"violated: {about}; {'; '.join(map(_not_kept, broken))}{rest}"
    each_in = ", ".join(f"{each.mode.mode} in {_part(each, several=True)}" for each in found)
    number = sum(len(each.pooled) for each in found)
    idle = sum(len(each.having(Verdict.UNEXERCISED)) for each in found)
    return f"kept: {about}; {each_in}; {_exercised(number, idle)}"


def summary(found: Tally) -> str:
    """The verdict of one of several modes, in short."""
    part, verdict = found.mode, found.mode.verdict
    if verdict is ModeVerdict.VIOLATED:
        return (
            f"violated in {_part(found, several=True)}: {', '.join(found.having(Verdict.VIOLATED))}"
        )
    if verdict is ModeVerdict.KEPT:
        idle = len(found.having(Verdict.UNEXERCISED))
        return f"kept in {_part(found, several=True)}: {_exercised(len(found.pooled), idle)}"
    return f"inconclusive: {printable(part.why)}"


def _one(found: Tally) -> str:
    part, total = found.mode, found.total
    if part.verdict is ModeVerdict.VIOLATED:
        broken = found.having(Verdict.VIOLATED)
        what = f"{len(broken)} of {len(found.pooled)} obligations: {', '.join(broken)}"
        return f"violated: {what}; {part.mode} was not kept in {_part(found)}"
    if part.verdict is ModeVerdict.KEPT:
        idle = found.having(Verdict.UNEXERCISED)
        what = _exercised(len(found.pooled), len(idle))
        what += f": {', '.join(idle)}" if idle else ""
        rest = total - found.claims[part.verdict]
        more = f"; {rest} cannot be judged" if rest else ""
        return f"kept: {what}; {part.mode} was kept in {_part(found)}{more}"
    return f"inconclusive: {printable(part.why)}"


def _not_kept(found: Tally) -> str:
    names = ", ".join(found.having(Verdict.VIOLATED))
    return f"{found.mode.mode} was not kept in {_part(found, several=True)}: {names}"


def _exercised(number: int, idle: int) -> str:
    sentence = f"{number - idle} of {number} obligations exercised"
    return f"{sentence}, {idle} not put to the test" if idle else sentence


def _part(found: Tally, *, several: bool = False) -> str:
    """How many of the claims of a mode, which may be one of several, have its verdict."""
    alike, total = found.claims[found.mode.verdict], found.total
    if alike == total == 1:
        return "its one claim" if several else "the one claim"
    its = "its " if several else ""
    return f"all {its}{alike} claims" if alike == total else f"{alike} of {its}{total} claims"
