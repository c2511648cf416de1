"""The monitor itself: records in, verdicts out. It reads no file and raises on no stream."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from monitor.compile import compile_mode
from monitor.stream import Stream
from spec.modes import MODES, Bundle
from spec.verdicts import Verdict, pool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from monitor.claim import ClaimRun, Finding
    from monitor.records import At, Record
    from spec.claims import Mode

__all__ = ["ClaimVerdict", "Conclusion", "ModeVerdict", "Monitor"]


class ModeVerdict(StrEnum):
    """Whether the mode was kept, over everything read."""

    KEPT = "kept"
    VIOLATED = "violated"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """One claim with the finding of each obligation."""

    claim: ClaimRun
    verdict: Verdict
    findings: dict[str, Finding]


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The verdict on a mode, why, and what it rests on."""

    verdict: ModeVerdict
    why: str
    obligations: dict[str, Verdict]
    claims: tuple[ClaimVerdict, ...]
    read: int
    unknown: dict[str, int]
    rejected: int


@dataclass(slots=True)
class Monitor:
    """Judges streams by one bundle of one mode, whatever mode a claim declares.

    Args:
        only: judge this claim id alone.
        strict: an obligation that no claim exercised makes the verdict inconclusive.
    """

    mode: Mode
    bundle: Bundle = Bundle.CONTRACT
    only: str | None = None
    strict: bool = False
    _streams: dict[tuple[str, str], Stream] = field(default_factory=dict)
    _unknown: Counter[str] = field(default_factory=Counter)
    _read: int = 0
    _rejected: int = 0

    def take(self, record: Record) -> None:
        """One line of a stream."""
        self._read += 1
        if record.unknown is not None:
            self._unknown[record.unknown] += 1
        stream = self._stream(record.at.file, record.stamp.stream)
        stream.stamp(record.stamp, record.at)
        for event, at in record.events:
            stream.take(event, at)

    def reject(self, at: At) -> None:
        """A line of this file could not be read: what it said is missing from every stream of it."""
        self._rejected += 1
        for (file, _), stream in self._streams.items():
            if file == at.file:
                stream.lose(at, f"line {at.line} could not be read")

    def _stream(self, file: str, name: str) -> Stream:
        key = (file, name)
        if key not in self._streams:
            self._streams[key] = Stream(compile_mode(self.mode, self.bundle), name)
        return self._streams[key]

    def conclude(self) -> Conclusion:
        """The verdict, every stream being finished."""
        claims = tuple(self._claims())
        names = MODES[self.mode].names(self.bundle)
        obligations = {n: pool(c.findings[n].verdict for c in claims) for n in names}
        verdict, why = self._decide(claims, obligations)
        return Conclusion(
            verdict, why, obligations, claims, self._read, dict(self._unknown), self._rejected
        )

    def _claims(self) -> Iterable[ClaimVerdict]:
        for stream in self._streams.values():
            for claim in stream.claims.values():
                if self.only in (None, claim.claim_id):
                    findings = dict(claim.findings())
                    yield ClaimVerdict(claim, pool(f.verdict for f in findings.values()), findings)

    def _decide(
        self, claims: tuple[ClaimVerdict, ...], obligations: dict[str, Verdict]
    ) -> tuple[ModeVerdict, str]:
        def having(verdict: Verdict) -> str:
            return ", ".join(n for n, v in obligations.items() if v is verdict)

        if broken := having(Verdict.VIOLATED):
            return ModeVerdict.VIOLATED, f"violated: {broken}"
        if self._rejected:
            lines = "1 line" if self._rejected == 1 else f"{self._rejected} lines"
            return ModeVerdict.INCONCLUSIVE, f"{lines} could not be read"
        if self.only is not None and not claims:
            return ModeVerdict.INCONCLUSIVE, f"claim {self.only} does not occur"
        if not any(self._judged(c.claim) for c in claims):
            return ModeVerdict.INCONCLUSIVE, f"no {self._entry} claim"
        if unclear := having(Verdict.INCONCLUSIVE):
            return ModeVerdict.INCONCLUSIVE, f"inconclusive: {unclear}"
        if owed := having(Verdict.PENDING):
            return ModeVerdict.INCONCLUSIVE, f"still owed when the stream ended: {owed}"
        idle = having(Verdict.UNEXERCISED)
        if idle and self.strict:
            return ModeVerdict.INCONCLUSIVE, f"exercised by no claim: {idle}"
        return ModeVerdict.KEPT, f"exercised by no claim: {idle}" if idle else "all exercised"

    @property
    def _entry(self) -> str:
        return "accepted" if self._accepts else "registered"

    @property
    def _accepts(self) -> bool:
        return "explicit_acceptance" in MODES[self.mode].names(self.bundle)

    def _judged(self, claim: ClaimRun) -> bool:
        return claim.accepted or (claim.registered and not self._accepts)
