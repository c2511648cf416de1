"""Claims of different priority: which of two lost blocks first, from when both were registered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.doubt import RIVALS
from monitor.view import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.claim import ClaimRun
    from monitor.records import At

__all__ = ["Ranks", "is_ranked"]

RANKED: Final = 4_000
"""Ranked claims of one stream whose losses are compared."""

PASSED: Final = 64
"""Priorities that were passed over, of one claim."""

_MORE: Final = "more ranked claims lost blocks than are compared"
_INFLUENCE: Final = frozenset({"priority_influence"})


def is_ranked(claim: ClaimRun) -> bool:
    """Whether the claim has a place among those of other priorities."""
    return claim.registered and claim.priority is not None


class Ranks:
    """The ranked claims of a stream that lost a block to eviction, each with its last loss."""

    def __init__(self) -> None:
        self._lost: dict[str, ClaimRun] = {}
        self._told: dict[str, bool] = {}  # whether an order that was told was a wrong one
        self._full = False

    def lose(
        self,
        losers: Sequence[tuple[ClaimRun, View]],
        now: int,
        newest: int,
        lowest: int | None,
    ) -> None:
        """Ranked claims lost blocks by one event: tell them and who lost before how each pair is.

        Nothing is told of a pair of one rank, or of one whose first loss was one event, nor where
        the higher one lost when no block of the lower one could be taken; and no claim is told
        twice what weighs the same.

        Args:
            losers: each with the event as it saw it.
            now: the number of the event in its stream.
            newest: the number of the event that registered the last claim.
            lowest: the lowest priority of which a block could be taken, None where of any.
        """
        for loser, view in losers:
            if not self._stop(loser, view.at):
                self._compare(loser, view, now, newest)
        for loser, view in losers:
            _note(loser, view, now, lowest)
            if not self._full:
                self._lost[loser.claim_id] = loser

    def forget(self, claim: ClaimRun) -> None:
        """The claim has no place among the others any more."""
        self._lost.pop(claim.claim_id, None)
        self._told.pop(claim.claim_id, None)

    def _compare(self, loser: ClaimRun, view: View, now: int, newest: int) -> None:
        before, rank, since = loser.lost_at, loser.priority or 0, loser.registered_at
        if before is not None and before > newest:
            return
        for rival in self._lost.values():
            other = rival.priority or 0
            if other == rank or not (before is None or before < rival.registered_at):
                continue
            wrong = other > rank
            last = _passed_over(rival, rank) if wrong else rival.lost_at or 0
            if since < last < now:
                self._tell(loser, wrong, view, rival_first=True)
                self._tell(rival, wrong, view, rival_first=False)

    def _tell(self, claim: ClaimRun, wrong: bool, loss: View, *, rival_first: bool) -> None:
        """A claim and a rival lost blocks, in the wrong order or not."""
        if self._told.get(claim.claim_id) not in (True, wrong):
            own = View(loss.kind, loss.at, mine=True)
            higher = 1 if wrong == rival_first else -1
            rival = View(loss.kind, loss.at, rival=higher)
            if claim.compare(*((rival, own) if rival_first else (own, rival))):
                self._told[claim.claim_id] = wrong

    def _stop(self, loser: ClaimRun, at: At | None) -> bool:
        """Whether too many lost blocks for this one to be compared."""
        if not self._full and len(self._lost) >= RANKED and loser.claim_id not in self._lost:
            self._full = True
            for claim in self._lost.values():
                claim.doubt(RIVALS, at, _MORE)
            self._lost.clear()
            self._told.clear()
        if self._full:
            loser.doubt(RIVALS, at, _MORE)
        return self._full


def _note(loser: ClaimRun, view: View, now: int, lowest: int | None) -> None:
    """The loss has been compared: remember it, and which lower priority it passed over."""
    loser.lost_at, passed = now, loser.passed
    if lowest is not None and (loser.priority is None or lowest >= loser.priority):
        return
    for known in list(passed):  # an earlier loss that passed over no lower one
        if lowest is None or (known is not None and known >= lowest):
            del passed[known]
    passed[lowest] = now
    if len(passed) > PASSED:
        loser.distrust(view.at, "it passed over more priorities than are followed", _INFLUENCE)
        passed.clear()


def _passed_over(claim: ClaimRun, rank: int) -> int:
    """When the claim last lost a block though one of this lower rank could be taken; 0 if never."""
    found = claim.passed.items()
    return max((at for lowest, at in found if lowest is None or lowest <= rank), default=0)
