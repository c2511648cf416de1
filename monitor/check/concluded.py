"""Converts the conclusion of a monitor to a part of a report."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from monitor.check.parts import place_of, text_of
from monitor.check.whole import Part
from monitor.report.verdict import (
    Applies,
    ClaimReport,
    Forgotten,
    ModeReport,
    ObligationReport,
    Unjudged,
    UnjudgedClaim,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from monitor.engine import ClaimVerdict, Conclusion, ModeVerdict
    from monitor.evaluate.observer_state import Finding
    from monitor.input.records import At
    from spec.claims.claim import Mode
    from spec.language.verdicts import Verdict

__all__ = ["others", "part", "unjudged"]


def part(
    mode: Mode,
    conclusion: Conclusion,
    left: tuple[At | None, str] | None,
    read_from: Iterable[str] = (),
) -> Part:
    """What the claims that a mode judges came to.

    Args:
        left: where an assumption of the theorem is left, and how.
        read_from: the recorded forms whose own words for the mode stand for it.
    """
    claims = [_claim(mode, judged) for judged in conclusion.claims if judged.judged]
    report = ModeReport(
        mode=mode,
        verdict=conclusion.verdict,
        why=conclusion.why,
        obligations=conclusion.obligations,
        forgotten=_forgotten(conclusion),
        theorem=_applies(left, conclusion),
        read_from=sorted(read_from),
    )
    return Part(report, claims)


def others(conclusion: Conclusion) -> dict[Mode, int]:
    """How many claims of other modes there are."""
    found: Counter[Mode] = Counter()
    for judged, count in (*((judged, 1) for judged in conclusion.claims), *conclusion.forgotten):
        if judged.other is not None:
            found[judged.other] += count
    return dict(found)


def unjudged(conclusions: Sequence[Conclusion], usual: Callable[[str], Mode | None]) -> Unjudged:
    """The claims of which it is unclear by which mode they go, in what several modes concluded.

    Args:
        usual: the mode that recordings in the form of a stream are mostly judged by.
    """
    # A claim that one mode lists may be forgotten by another, and one alone may find that something
    # is owed to it.
    every = [[each for each in found.claims if each.unclear] for found in conclusions]
    owed = {_key(each) for listed in every for each in listed if not each.owes_nothing}
    named = {_key(each): each for listed in reversed(every) for each in reversed(listed)}
    first = {_key(each) for each in every[0]}
    claims = [_unjudged(each, usual) for key, each in reversed(named.items()) if key in owed]
    away = [_unjudged(each, usual) for each in every[0] if _key(each) not in owed]
    most = max(
        _forgotten_owed(found) + sum(_key(each) in owed for each in listed)
        for found, listed in zip(conclusions, every, strict=True)
    )
    forgotten = max(0, most - len(claims))
    gone = sum(count for each, count in conclusions[0].forgotten if each.unclear)
    return Unjudged(claims, forgotten, away, max(0, gone - forgotten - len(owed - first)))


def _unjudged(judged: ClaimVerdict, usual: Callable[[str], Mode | None]) -> UnjudgedClaim:
    claim = judged.claim
    return UnjudgedClaim(
        claim_id=claim.claim_id,
        stream=text_of(claim.stream),
        state=claim.state,
        why=judged.why,
        declared_mode=claim.declared_mode,
        hint=usual(claim.stream),
    )


def _forgotten_owed(conclusion: Conclusion) -> int:
    """How many claims that are listed no more are unclear, and not owed nothing."""
    unclear = [(each, count) for each, count in conclusion.forgotten if each.unclear]
    return sum(count for each, count in unclear if not each.owes_nothing)


def _key(judged: ClaimVerdict) -> tuple[str, str, str]:
    return judged.file, judged.claim.stream, judged.claim.claim_id


def _applies(left: tuple[At | None, str] | None, conclusion: Conclusion) -> Applies:
    """Whether the theorem applies to what was read, if all lines could be read."""
    if left is None and conclusion.rejected:
        return Applies(False, None, "lines could not be read")
    if left is None:
        return Applies(True)
    at, why = left
    return Applies(False, None if at is None else place_of(at), why)


def _claim(mode: Mode, judged: ClaimVerdict) -> ClaimReport:
    claim = judged.claim
    return ClaimReport(
        claim_id=claim.claim_id,
        stream=text_of(claim.stream),
        state=claim.state,
        verdict=judged.verdict,
        obligations={name: _obligation(found) for name, found in judged.findings.items()},
        why=judged.why,
        declared_mode=claim.declared_mode,
        mode=mode,
    )


def _forgotten(conclusion: Conclusion) -> Forgotten:
    verdicts: Counter[ModeVerdict] = Counter()
    obligations: dict[str, Counter[Verdict]] = {name: Counter() for name in conclusion.obligations}
    for judged, count in conclusion.forgotten:
        if not judged.judged:
            continue
        verdicts[judged.verdict] += count
        for name, found in judged.findings.items():
            obligations[name][found.verdict] += count
    by_name = {name: dict(found) for name, found in obligations.items() if found}
    return Forgotten(verdicts.total(), dict(verdicts), by_name)


def _obligation(found: Finding) -> ObligationReport:
    if found.at is None:
        return _nowhere(found.verdict, found.why, found.allowed)
    return ObligationReport(found.verdict, place_of(found.at), found.why, found.allowed)


@lru_cache(maxsize=256)
def _nowhere(verdict: Verdict, why: str, allowed: str) -> ObligationReport:
    """What no event decided, which very many claims have in common."""
    return ObligationReport(verdict, None, why, allowed)
