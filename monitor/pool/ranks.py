"""Checks evictions among claims of different priority."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING, Final, NamedTuple

from monitor.evaluate.partial_observation import RIVALS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from monitor.evaluate.claim import ClaimRun
    from monitor.evaluate.event_view import EventView
    from monitor.input.records import At

__all__ = ["Evicted", "Ranks", "is_ranked", "is_unsure"]

_UNSTATED: Final = (
    "a claim of lower priority held blocks, and the stream does not state whether one could be "
    "evicted"
)
_TOOK: Final = (
    "the event took a block of the lowest priority that could be evicted, and the stream "
    "does not state whether there was another"
)
_TOO_HIGH: Final = "the event took a block of lower priority than the stated lowest_priority"
_NO_OWNER: Final = "a block could be evicted whose priority no known claim has"
_DISPUTED: Final = "two different priorities of the claim were stated"
_UNKNOWN: Final = "a claim of unknown priority held blocks: none was stated, or two"
_BLURRED: Final = "the event took a block of a claim of unknown priority"


class Evicted(NamedTuple):
    """What one event took.

    `lowest` is the lowest priority of which a block could be taken, None where not stated. `least`
    is the lowest of a block that was taken, None if the blocks are unknown. It is `blurred` if
    a block of a claim went of unknown priority.
    """

    lowest: int | None = None
    least: int | None = None
    blurred: bool = False


def is_ranked(claim: ClaimRun) -> bool:
    """Whether the claim has a place among those of other priorities: it is not over."""
    return claim.priority is not None and claim.watched


def is_unsure(claim: ClaimRun) -> bool:
    """Whether the claim has a place among them, and which is unknown: no priority of it was
    stated, or two.
    """
    if not claim.watched:
        return False
    asked = claim.compiled.ranked and claim.may_be_judged
    return claim.unusual.disputed or (claim.priority is None and asked)


class Ranks:
    """The priorities of the claims of a stream that hold blocks, None if it is unknown."""

    def __init__(self) -> None:
        self._holding: dict[str, int | None] = {}
        self._priorities: list[int] = []  # of these, in order

    def has(self, name: str) -> bool:
        """Whether a claim has a place among the others."""
        return name in self._holding

    def note(self, claim: ClaimRun) -> None:
        """A claim may hold blocks now that it did not, or none that it did, or be ranked anew."""
        name, unsure = claim.claim_id, is_unsure(claim)
        holds = bool(claim.held) and (unsure or is_ranked(claim))
        rank = None if unsure else claim.priority
        if holds == (name in self._holding) and self._holding.get(name, rank) == rank:
            return
        self.forget(claim)
        if holds:
            self._holding[name] = rank
        if holds and rank is not None:
            insort(self._priorities, rank)

    def forget(self, claim: ClaimRun) -> None:
        """The claim has no place among the others any more."""
        if (priority := self._holding.pop(claim.claim_id, None)) is not None:
            del self._priorities[bisect_left(self._priorities, priority)]

    def judge(
        self,
        losers: Iterable[tuple[ClaimRun, EventView]],
        evicted: Evicted,
        lost: tuple[At | None, str] | None,
    ) -> None:
        """Ranked claims lost blocks by one event: what each had beside it after the whole event.

        Args:
            losers: each with the event as it sees it.
            evicted: what went.
            lost: since when the holders of blocks are unknown, and why.
        """
        losers = list(losers)
        taken = {claim.priority or 0 for claim, _ in losers if not claim.unusual.disputed}
        if evicted.least is None:
            evicted = evicted._replace(least=max(taken, default=0))
        for claim, view in losers:
            if not claim.compiled.ranked:
                continue
            if lost is not None:
                claim.doubt(
                    RIVALS, lost[0], f"{lost[1]}, so it is unknown which claims hold blocks"
                )
            elif claim.unusual.disputed:
                claim.doubt(RIVALS, view.at, _DISPUTED)
            else:
                view.lower_priority_available, unknown = self._lower_priority_available(
                    claim.priority or 0, evicted, taken
                )
                if unknown:
                    claim.doubt(RIVALS, view.at, unknown)
            higher = bool(self._priorities) and self._priorities[-1] > (claim.priority or 0)
            view.higher_priority_kept = higher and not claim.unusual.disputed

    def _lower_priority_available(
        self, rank: int, evicted: Evicted, taken: set[int]
    ) -> tuple[bool, str]:
        """Whether a block of lower priority could have been taken instead, or why it is unknown."""
        lowest, least, blurred = evicted.lowest, evicted.least or 0, evicted.blurred
        lower = bool(self._priorities) and self._priorities[0] < rank
        unsure = len(self._holding) > len(self._priorities)
        if lowest is None:
            return False, _UNSTATED if lower else _UNKNOWN if unsure else ""
        if lowest > least and (lower or unsure):
            return False, _TOO_HIGH
        if lowest >= rank:
            return False, _BLURRED if blurred and (lower or unsure) else ""
        if blurred:
            return False, _BLURRED
        if lowest == least and not (lower or unsure):
            return False, ""  # that block went, and no other is left
        if (lowest == least or lowest in taken) and lower:
            return False, _TOOK
        between: Sequence[int] = self._priorities[bisect_left(self._priorities, lowest) :]
        return (True, "") if between and between[0] < rank else (False, _NO_OWNER)
