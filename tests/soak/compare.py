"""Compares what a disturbed follower wrote with a check of the clean lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from monitor.check.files import check
from monitor.follow.verdict_line import ClaimLine, VerdictLine, ViolationLine
from monitor.report.verdict import ClaimReport
from spec.claims.states import TERMINAL, ClaimState
from spec.contract.modes import Bundle
from spec.language.verdicts import Verdict
from spec.stream.outcome import ModeVerdict

__all__ = ["Difference", "Due", "compared", "due_of"]

_NOTHING = {Verdict.INCONCLUSIVE, Verdict.PENDING, Verdict.UNEXERCISED}


class Difference(Exception):
    """A verdict is not what it must be."""


class Due(NamedTuple):
    """What a check of the clean lines says of a claim; `verdict` is None where it is not judged.

    `broken` is the number of the line at which it was first violated, if it was.
    """

    verdict: ModeVerdict | None
    obligations: dict[str, Verdict]
    broken: int | None = None


def due_of(path: Path) -> dict[tuple[str, str], Due]:
    """What a check of clean lines says of each claim, by stream and id."""
    report = check([str(path)], None, Bundle.CONTRACT)
    found = {
        (claim.stream, claim.claim_id): Due(
            claim.verdict,
            {name: each.verdict for name, each in claim.obligations.items()},
            _broken(claim),
        )
        for claim in report.claims
    }
    for each in (*report.unjudged.claims, *report.unjudged.turned_away):
        found[each.stream, each.claim_id] = Due(None, {})
    return found


def _broken(claim: ClaimReport) -> int | None:
    found = (e.at for e in claim.obligations.values() if e.verdict is Verdict.VIOLATED)
    return min((at.sequence for at in found if at and at.sequence is not None), default=None)


def compared(
    lines: Iterable[VerdictLine], due: Mapping[tuple[str, str], Due], *, whole: bool
) -> Counter[str]:
    """How many claims of one source have an equal verdict, an inconclusive one, or none at all.

    Args:
        whole: the source lost nothing, and every claim has an equal verdict.

    Raises:
        Difference: a verdict differs, or a line was written twice.
    """
    lines, counts = list(lines), Counter[str]()
    _once(lines, whole=whole)
    last: dict[tuple[str, str], ClaimLine] = {}
    for line in lines:
        key = line.stream, line.claim_id
        counts["lines"] += 1
        if isinstance(line, ClaimLine):
            last[key] = line
        elif due.get(key, Due(None, {})).obligations.get(line.obligation) is not Verdict.VIOLATED:
            raise Difference(f"{line}, and the check says {due.get(key)}")
    for key, line in last.items():
        counts[_claim(line, due.get(key), whole=whole)] += 1
    if absent := due.keys() - last.keys():
        counts["absent"] += len(absent)
        if whole:
            raise Difference(f"there is no verdict on {min(absent)}, and nothing was lost")
    return counts


def _once(lines: list[VerdictLine], *, whole: bool) -> None:
    """No line is there twice; where nothing was lost, no violation is stated twice either."""
    ids = Counter(line.id for line in lines)
    stated = Counter(
        (line.stream, line.claim_id, line.obligation)
        for line in lines
        if isinstance(line, ViolationLine) and whole
    )
    for found in (ids, stated):
        for key, number in found.most_common(1):
            if number > 1:
                raise Difference(f"{key} was written {number} times")


def _claim(line: ClaimLine, due: Due | None, *, whole: bool) -> str:
    """Whether the last verdict on a claim is equal or inconclusive, or was stated when it was over,
    and later lines about it were lost; raises Difference.
    """
    if due is not None and due.verdict is None:
        right = line.mode is None or not line.entered
    else:
        right = due is not None and line.verdict is due.verdict and _same(line, due, whole)
    if right:
        return "equal"
    if not whole and due is not None and _is_before(line, due):
        return "before"
    if whole or line.verdict is not ModeVerdict.INCONCLUSIVE or not _allowed(line, due):
        raise Difference(f"{line}, and the check says {due}")
    return "inconclusive"


def _is_before(line: ClaimLine, due: Due) -> bool:
    """Whether a claim was over, and only what came after that violated it: a claim that is over
    keeps its verdict until an event is about it.
    """
    kept = line.verdict is ModeVerdict.KEPT and not line.final
    at, over = line.at.sequence, ClaimState(line.state) in TERMINAL
    return kept and over and None not in (at, due.broken) and (due.broken or 0) > (at or 0)


def _same(line: ClaimLine, due: Due, whole: bool) -> bool:
    exercised = {n: v for n, v in due.obligations.items() if v is not Verdict.UNEXERCISED}
    return line.obligations == exercised if whole else _allowed(line, due)


def _allowed(line: ClaimLine, due: Due | None) -> bool:
    """Whether each obligation has the verdict that it must have, or none."""
    obligations = {} if due is None else due.obligations
    return all(
        verdict in _NOTHING or verdict == obligations.get(name)
        for name, verdict in line.obligations.items()
    )
