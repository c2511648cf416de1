"""Claims of different priority: was a block taken where one of lower priority could have been?"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING, Final

from monitor.evaluate.doubt import RIVALS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from monitor.evaluate.claim import ClaimRun
    from monitor.evaluate.view import View
    from monitor.input.records import At

__all__ = ["Ranks", "is_ranked"]

_UNSTATED: Final = "a claim of lower priority held blocks, and nobody states whether one could go"
_TOOK: Final = (
    "the event took a block of the lowest priority that could go, and nobody states whether there "
    "was another"
)
_TOO_HIGH: Final = "the event took a block of lower priority than any that could go, as stated"
_NOBODY: Final = "a block of a priority could go that no claim is known to hold"


def is_ranked(claim: ClaimRun) -> bool:
    """Whether the claim has a place among those of other priorities: it is not over."""
    return claim.priority is not None and claim.watched


class Ranks:
    """The priorities of the ranked claims of a stream that hold blocks."""

    def __init__(self) -> None:
        self._holding: dict[str, int] = {}
        self._priorities: list[int] = []  # of these, in order

    def note(self, claim: ClaimRun) -> None:
        """A claim may hold blocks now that it did not, or none that it did."""
        name, holds = claim.claim_id, is_ranked(claim) and bool(claim.held)
        if holds == (name in self._holding):
            return
        if holds:
            self._holding[name] = claim.priority or 0
            insort(self._priorities, self._holding[name])
        else:
            self.forget(claim)

    def forget(self, claim: ClaimRun) -> None:
        """The claim has no place among the others any more."""
        if (priority := self._holding.pop(claim.claim_id, None)) is not None:
            del self._priorities[bisect_left(self._priorities, priority)]

    def judge(
        self,
        losers: Iterable[tuple[ClaimRun, View]],
        lowest: int | None,
        least: int | None,
        lost: tuple[At | None, str] | None,
    ) -> None:
        """Ranked claims lost blocks by one event: what each had beside it after the whole event.

        Args:
            losers: each with the event as it sees it.
            lowest: the lowest priority of which a block could be taken, None where not stated.
            least: the lowest of a block that was taken, None where nobody knows the blocks.
            lost: since when nobody knows who holds blocks, and why.
        """
        losers = list(losers)
        taken = {claim.priority or 0 for claim, _ in losers}
        least = max(taken, default=0) if least is None else least
        for claim, view in losers:
            rank = claim.priority or 0
            view.spared = bool(self._priorities) and self._priorities[-1] > rank
            if lost is not None:
                claim.doubt(RIVALS, lost[0], f"{lost[1]}, so nobody knows who holds blocks")
            elif self._priorities and self._priorities[0] < rank:
                view.passed, unknown = self._passed(rank, lowest, least, taken)
                if unknown:
                    claim.doubt(RIVALS, view.at, unknown)

    def _passed(
        self, rank: int, lowest: int | None, least: int, taken: set[int]
    ) -> tuple[bool, str]:
        """Whether a block of lower priority could have been taken instead, or why it is unknown."""
        if lowest is None:
            return False, _UNSTATED
        if lowest > least:
            return False, _TOO_HIGH
        if lowest >= rank:
            return False, ""
        if lowest == least or lowest in taken:
            return False, _TOOK
        between: Sequence[int] = self._priorities[bisect_left(self._priorities, lowest) :]
        return (True, "") if between and between[0] < rank else (False, _NOBODY)
