"""Claims of different priority: which of two lost blocks first, from when both were registered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.view import View

if TYPE_CHECKING:
    from collections.abc import Iterable

    from monitor.claim import ClaimRun

__all__ = ["compare_losses"]


def compare_losses(
    loser: ClaimRun, view: View, now: int, newest: int, claims: Iterable[ClaimRun]
) -> None:
    """A ranked claim lost a block: tell it, and those that lost one before, how the pair stands.

    Nothing is told of a pair of one rank, of one whose first loss was one event, or twice.

    Args:
        view: the loss as the loser saw it.
        now: the number of the event in its stream.
        newest: the number of the event that registered the last claim.
        claims: all of the pool.
    """
    before, loser.lost_at = loser.lost_at, now
    if loser.priority is None or (before is not None and before > newest):
        return
    for rival in claims:
        if rival.lost_at is None or rival.priority is None or rival.priority == loser.priority:
            continue
        first = before is None or before < rival.registered_at
        if first and loser.registered_at < rival.lost_at < now:
            higher = 1 if rival.priority > loser.priority else -1
            own, other = View(view.kind, view.at, mine=True), View(view.kind, view.at, rival=higher)
            loser.compare(other, own)
            rival.compare(own, View(view.kind, view.at, rival=-higher))
