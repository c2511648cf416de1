"""Claims of different priority: which of two lost blocks first, from when both were registered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.view import View

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from monitor.claim import ClaimRun

__all__ = ["compare_losses", "is_ranked"]

_MOST: Final = 64  # priorities that were passed over, of one claim
_INFLUENCE: Final = frozenset({"priority_influence"})


def is_ranked(claim: ClaimRun) -> bool:
    """Whether the claim has a place among those of other priorities."""
    return claim.registered and claim.priority is not None


def compare_losses(
    losers: Sequence[tuple[ClaimRun, View]],
    now: int,
    newest: int,
    claims: Iterable[ClaimRun],
    lowest: int | None,
) -> None:
    """Ranked claims lost blocks by one event: tell them, and who lost before, how each pair stands.

    Nothing is told of a pair of one rank, of one whose first loss was one event, or twice; nor
    where the higher one lost when no block of the lower one could be taken.

    Args:
        losers: each with the event as it saw it.
        now: the number of the event in its stream.
        newest: the number of the event that registered the last claim.
        claims: all of the pool.
        lowest: the lowest priority of which a block could be taken, None where of any.
    """
    for loser, view in losers:
        _compare(loser, view, now, newest, claims)
    for loser, view in losers:
        _note(loser, view, now, lowest)


def _compare(
    loser: ClaimRun, view: View, now: int, newest: int, claims: Iterable[ClaimRun]
) -> None:
    before, rank = loser.lost_at, loser.priority
    if rank is None or (before is not None and before > newest):
        return
    for rival in claims:
        if rival.lost_at is None or rival.priority is None or rival.priority == rank:
            continue
        higher = rival.priority > rank
        last = _passed_over(rival, rank) if higher else rival.lost_at
        first = before is None or before < rival.registered_at
        if first and loser.registered_at < last < now:
            sign = 1 if higher else -1
            own, other = View(view.kind, view.at, mine=True), View(view.kind, view.at, rival=sign)
            loser.compare(other, own)
            rival.compare(own, View(view.kind, view.at, rival=-sign))


def _note(loser: ClaimRun, view: View, now: int, lowest: int | None) -> None:
    """The loss has been compared: remember it, and which lower priority it passed over."""
    loser.lost_at, passed = now, loser.passed
    if lowest is not None and (loser.priority is None or lowest >= loser.priority):
        return
    for known in list(passed):  # an earlier loss that passed over no lower one
        if lowest is None or (known is not None and known >= lowest):
            del passed[known]
    passed[lowest] = now
    if len(passed) > _MOST:
        loser.distrust(view.at, "it passed over more priorities than are followed", _INFLUENCE)
        passed.clear()


def _passed_over(claim: ClaimRun, rank: int) -> int:
    """When the claim last lost a block though one of this lower rank could be taken; 0 if never."""
    found = claim.passed.items()
    return max((at for lowest, at in found if lowest is None or lowest <= rank), default=0)
