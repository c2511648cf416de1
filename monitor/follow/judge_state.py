"""Defines what a judge keeps of what it stated, and what a checkpoint keeps of the judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from monitor.check.parts import place_of
from monitor.follow.verdict_line import ClaimLine, Reason, key_of
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from monitor.engine import ClaimVerdict
    from monitor.evaluate.claim import ClaimRun
    from monitor.evaluate.observer_state import Finding
    from monitor.follow.verdict_line import VerdictLine
    from monitor.input.records import At, Record

__all__ = ["JudgeState", "Merging", "Stated", "claim_line", "standing_of", "violated_of"]

_OPEN: Final = (Verdict.INCONCLUSIVE, Verdict.PENDING)


class Merging(Protocol):
    """Something that judges the lines of ranks, which belong to streams of several sources."""

    @property
    def merges(self) -> bool:
        """Whether any rank was met."""

    def take(self, source: str, origin: str, record: Record, size: int) -> list[VerdictLine] | None:
        """What a line decides; None where it is of no rank. Raises InputError."""

    def lose(self, source: str, why: str) -> None:
        """Lines of the ranks in a source may be missing before the next ones."""

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
    stated: list[tuple[str, str, Stated]]
    names: list[str]
    dropped: int
    order: bytes


def _reason_of(found: Finding) -> Reason:
    """Why the verdict on an obligation is not known."""
    return Reason(found.why, None if found.at is None else place_of(found.at))


def violated_of(claim: ClaimRun) -> list[str]:
    """The obligations of a claim that are violated."""
    return [name for name, found in claim.findings() if found.verdict is Verdict.VIOLATED]


def standing_of(claim: ClaimRun) -> str:
    """A digest of what is concluded of a claim."""
    verdicts = [f"{name}: {found.verdict}" for name, found in claim.findings()]
    return key_of("", claim.state, str(claim.accepted), claim.unusual.other_mode, *verdicts)


def claim_line(key: str, source: str, judged: ClaimVerdict, at: At, *, final: bool) -> ClaimLine:
    """The line that states the verdict on a claim.

    Args:
        key: of the line.
        at: the event at which it is so.
        final: the source is over.
    """
    claim = judged.claim
    obligations: dict[str, Verdict] = {
        name: found.verdict
        for name, found in judged.findings.items()
        if found.verdict is not Verdict.UNEXERCISED
    }
    return ClaimLine(
        key,
        source,
        claim.stream,
        claim.claim_id,
        claim.compiled.mode if judged.judged else None,
        claim.state,
        judged.verdict,
        judged.why,
        place_of(at),
        obligations,
        judged.entered,
        final,
        {n: _reason_of(f) for n, f in judged.findings.items() if f.verdict in _OPEN},
    )
