"""Defines the outcome of a stream by the naive projection: each claim, and the mode."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from spec.claims.claim import Mode
from spec.claims.states import ClaimState
from spec.contract.modes import MODES, Bundle
from spec.language.verdicts import Verdict, pool
from spec.projection.case import Case, Finding
from spec.projection.lines import Line
from spec.projection.naive import Naive

__all__ = ["ClaimOutcome", "ModeVerdict", "Outcome", "judge", "outcome_of"]


class ModeVerdict(StrEnum):
    """Whether the mode was kept."""

    KEPT = "kept"
    VIOLATED = "violated"
    INCONCLUSIVE = "inconclusive"


class ClaimOutcome(NamedTuple):
    """One claim that a line named: where it stands, as reported, and each of its obligations.

    It has `entered` if anything was owed to it: it was accepted, or it is watched. It is `torn` if
    it goes by two modes: then it counts for neither.
    """

    state: ClaimState
    entered: bool
    torn: bool
    findings: dict[str, Finding]


class Outcome(NamedTuple):
    """The verdict on a mode, each obligation of its bundle, and the claims that it judges."""

    verdict: ModeVerdict
    obligations: dict[str, Verdict]
    claims: dict[str, ClaimOutcome]


def judge(
    lines: Iterable[Line],
    mode: Mode,
    bundle: Bundle = Bundle.CONTRACT,
    first: tuple[int, ...] = (0,),
) -> Outcome:
    """Judge a whole stream by the naive projection.

    Args:
        first: the sequence numbers that it may begin with.

    Raises:
        TooLarge: it counts more blocks than are looked at one by one.
    """
    naive = Naive(lines, mode, bundle, first)
    for _ in naive:
        pass
    naive.finish()
    return outcome_of(naive)


def outcome_of(naive: Naive) -> Outcome:
    """What the lines that were taken in come to."""
    met = {name: case for name, case in naive.cases.items() if case.claim.met}
    claims = {
        name: ClaimOutcome(
            case.claim.state, _entered(naive, case), case.claim.torn, dict(case.findings())
        )
        for name, case in met.items()
        if naive.is_judged(case.claim)
    }
    obligations = {name: _pooled(name, claims.values()) for name in naive.names}
    return Outcome(_decide(naive, obligations, claims), obligations, claims)


def _entered(naive: Naive, case: Case) -> bool:
    claim = case.claim
    watched = naive.constants["watched"] and claim.state is not ClaimState.REFUSED
    accepted = claim.accepted or (watched and claim.introduced)
    return accepted and claim.other_mode not in MODES


def _pooled(name: str, claims: Iterable[ClaimOutcome]) -> Verdict:
    """Over all claims; one that never entered cannot show that anything is kept."""
    found = [(claim.findings[name].verdict, claim.entered) for claim in claims if not claim.torn]
    shown = (verdict for verdict, entered in found if entered or verdict is not Verdict.SATISFIED)
    return pool(shown)


def _decide(
    naive: Naive, obligations: dict[str, Verdict], claims: dict[str, ClaimOutcome]
) -> ModeVerdict:
    found = set(obligations.values())
    if Verdict.VIOLATED in found:
        return ModeVerdict.VIOLATED
    whole = any(claim.entered for claim in claims.values()) and naive.order.cut is None
    whole = whole and not any(claim.torn for claim in claims.values())
    unclear = found & {Verdict.INCONCLUSIVE, Verdict.PENDING}
    return ModeVerdict.KEPT if whole and not unclear else ModeVerdict.INCONCLUSIVE
