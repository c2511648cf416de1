"""States what a claim came to: the record that reports are made of, whichever judge made it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from spec.claims.states import ClaimState, Mode
from spec.contract.modes import MODES, Bundle
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from spec.stream.codes import Reason

__all__ = [
    "ClaimOutcome",
    "Finding",
    "ModeVerdict",
    "absence",
    "decide",
    "names_of",
]


class ModeVerdict(StrEnum):
    """Whether the mode was kept."""

    KEPT = "kept"
    VIOLATED = "violated"
    INCONCLUSIVE = "inconclusive"


class Finding(NamedTuple):
    """What one obligation of one claim came to.

    `at` is the place of the line that decided; `rule` the number of the rule, in the order of its
    observer, and `reason` why nothing is concluded, where that is so.
    """

    verdict: Verdict
    at: object = None
    rule: int | None = None
    reason: Reason | None = None


class ClaimOutcome(NamedTuple):
    """One claim in one period of a stream.

    Attributes:
        mode: the one that judged it; None where it states none and none was given.
        stated_mode: the word by which it states one; `other_mode` a second word, if there is one.
        entered: whether anything was owed to it: it was accepted, or it is watched.
        final: whether only a late report can change the verdict.
        turned_away: whether it was rejected, and nothing else was reported of it.
        why: what decided the verdict.
    """

    claim_id: str
    mode: Mode | None
    stated_mode: str | None
    other_mode: str | None
    state: ClaimState
    entered: bool
    final: bool
    verdict: ModeVerdict
    why: str
    findings: Mapping[str, Finding]
    period: int = 0
    turned_away: bool = False


@cache
def names_of(mode: Mode, bundle: Bundle = Bundle.CONTRACT) -> tuple[str, ...]:
    """The obligations of a mode."""
    return MODES[mode].names(bundle)


def absence(mode: Mode | None, *, entered: bool) -> str:
    """Why a claim cannot be kept, if so: no mode judges it, or it was not entered."""
    if mode is None:
        return "it states no mode"
    watched = MODES[mode].constants["watched"]
    return "" if entered else f"not {'registered' if watched else 'accepted'}"


def decide(
    obligations: Mapping[str, Verdict], absent: str, *, strict: bool = False
) -> tuple[ModeVerdict, str]:
    """The rule by which the verdicts of obligations make one, and what decided it.

    Args:
        absent: why nothing can be kept, if so.
        strict: an obligation that no event exercised makes the verdict inconclusive; otherwise it
            takes all of them.
    """

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
    if idle and (strict or len(idle) == len(obligations)):
        return ModeVerdict.INCONCLUSIVE, counted(idle, "not exercised")
    if idle:
        return ModeVerdict.KEPT, f"not exercised: {', '.join(idle)}"
    return ModeVerdict.KEPT, "every obligation exercised"
