"""Defines what is concluded of claims and of a mode, and the rule by which it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from monitor.evaluate.own_mode import owes_nothing
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monitor.evaluate.claim import ClaimRun
    from monitor.evaluate.observer_state import Finding
    from spec.claims.claim import Mode

__all__ = ["ClaimVerdict", "Conclusion", "ModeVerdict", "decide"]


class ModeVerdict(StrEnum):
    """Whether the mode was kept, over everything read."""

    KEPT = "kept"
    VIOLATED = "violated"
    INCONCLUSIVE = "inconclusive"


class ClaimVerdict(msgspec.Struct, frozen=True, gc=False):
    """One claim of a file, with the finding of each obligation.

    What one that never entered satisfies it did not exercise. The verdict follows the rule of the
    mode's; a claim that never entered is inconclusive. `other` is the mode that it asked for, where
    that is another one; then it counts for nothing. Nor does one of which it is `unclear` by which
    mode it goes, where each is judged by its own.
    """

    file: str
    claim: ClaimRun
    entered: bool
    verdict: ModeVerdict
    why: str
    findings: Mapping[str, Finding]
    other: Mode | None = None
    unclear: bool = False

    @property
    def judged(self) -> bool:
        """Whether it counts for the mode."""
        return self.other is None and not self.unclear

    @property
    def owes_nothing(self) -> bool:
        """Whether it states no mode, and was turned away (`owes_nothing`)."""
        claim, found = self.claim, (each.verdict for each in self.findings.values())
        entered = claim.accepted or claim.committed or claim.responsible
        return owes_nothing(claim.declared_mode, claim.state, found, entered=entered)


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The verdict on a mode, why, and what it rests on.

    `absent` says what keeps the whole from being judged; it is empty where nothing does.
    `forgotten` are those not among the `claims`: one of each kind, with how many there are.
    """

    verdict: ModeVerdict
    why: str
    absent: str
    obligations: dict[str, Verdict]
    claims: tuple[ClaimVerdict, ...]
    forgotten: tuple[tuple[ClaimVerdict, int], ...]
    read: int
    unknown: dict[str, int]
    rejected: int


def decide(
    obligations: dict[str, Verdict], absent: str, *, strict: bool = False
) -> tuple[ModeVerdict, str]:
    """The rule by which the verdicts of obligations make one, and what decided it."""

    def having(verdict: Verdict) -> list[str]:
        return [name for name, found in obligations.items() if found is verdict]

    def counted(names: list[str], what: str) -> str:
        return f"{len(names)} of {len(obligations)} obligations {what}: {', '.join(names)}"

    if broken := having(Verdict.VIOLATED):
        return ModeVerdict.VIOLATED, f"not kept: {', '.join(broken)}"
    if absent:
        return ModeVerdict.INCONCLUSIVE, absent
    if unclear := having(Verdict.INCONCLUSIVE):
        return ModeVerdict.INCONCLUSIVE, counted(unclear, "undetermined")
    if owed := having(Verdict.PENDING):
        return ModeVerdict.INCONCLUSIVE, counted(owed, "still owed when the stream ended")
    idle = having(Verdict.UNEXERCISED)
    if idle and strict:
        return ModeVerdict.INCONCLUSIVE, counted(idle, "not exercised")
    if idle:
        return ModeVerdict.KEPT, f"not exercised: {', '.join(idle)}"
    return ModeVerdict.KEPT, "every obligation exercised"
