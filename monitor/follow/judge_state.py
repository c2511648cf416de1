"""Defines what a judge keeps of what it stated, and what a checkpoint keeps of the judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, cast

import msgspec

from monitor.check.conclude import place_of
from monitor.follow.verdict_line import ClaimLine, Reason, key_of
from monitor.results import obligation_said
from spec.language.verdicts import Verdict
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from monitor.follow.verdict_line import VerdictLine
    from monitor.input.records import At, Record
    from spec.stream.outcome import ClaimOutcome, Finding

__all__ = ["JudgeState", "Merging", "Stated", "claim_line", "standing_of"]

_OPEN: Final = (Verdict.INCONCLUSIVE, Verdict.PENDING)


class Merging(Protocol):
    """Something that judges the lines of ranks, which belong to streams of several sources."""

    @property
    def merges(self) -> bool:
        """Whether any rank was met."""

    def take(self, source: str, origin: str, record: Record, size: int) -> list[VerdictLine] | None:
        """What a line decides; None where it is of no rank. Raises InputError."""

    def lose(self, source: str, why: str, *, unread: bool = False) -> None:
        """Lines of the ranks in a source may be missing before the next ones, or one was not
        understood.
        """

    def interrupt(self, source: str, why: str) -> None:
        """The numbers of the next lines say whether lines of the ranks in a source are missing."""


class Stated(msgspec.Struct, array_like=True):
    """What was stated of a claim: a digest of the verdict on it, and what it violated."""

    standing: str = ""
    violated: list[str] = []


class JudgeState(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a judge."""

    monitor: bytes
    origin: str
    lines: int
    last: int | None
    streams: dict[str, bool]
    unsure: dict[str, str]
    broken: str
    stated: list[tuple[str, int, str, Stated]]
    names: list[str]
    dropped: int
    order: bytes
    reached: dict[str, list[str]]


def _reason_of(name: str, found: Finding) -> Reason:
    """Why the verdict on an obligation is not known."""
    said = obligation_said(name, found)
    at = None if found.at is None else place_of(cast("At", found.at))
    return Reason(said.why, at, said.code, said.reason)


def standing_of(outcome: ClaimOutcome) -> str:
    """A digest of what is concluded of a claim."""
    verdicts = [f"{name}: {found.verdict}" for name, found in outcome.findings.items()]
    return key_of("", outcome.state, str(outcome.entered), *verdicts)


def claim_line(
    key: str,
    source: str,
    stream: str,
    outcome: ClaimOutcome,
    at: At,
    *,
    judged: bool,
    final: bool,
) -> ClaimLine:
    """The line that states the verdict on a claim.

    Args:
        key: of the line.
        at: the event at which it is so.
        judged: whether its mode is one that is asked about.
        final: the source is over.
    """
    findings = outcome.findings if judged else {}
    obligations: dict[str, Verdict] = {
        name: found.verdict
        for name, found in findings.items()
        if found.verdict is not Verdict.UNEXERCISED
    }
    verdict, why = outcome.verdict, outcome.why
    if not judged:
        verdict, why = ModeVerdict.INCONCLUSIVE, f"it is of another mode, {outcome.mode}"
    return ClaimLine(
        key,
        source,
        stream,
        outcome.claim_id,
        outcome.mode if judged else None,
        outcome.state,
        verdict,
        why,
        place_of(at),
        obligations,
        outcome.entered,
        final,
        {n: _reason_of(n, f) for n, f in findings.items() if f.verdict in _OPEN},
        outcome.period + 1,
    )
