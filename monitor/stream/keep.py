"""States what a stream keeps of claims and requests that are over, and how many it follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from monitor.pool.seen import IDS
from monitor.stream.retired_claims import REMEMBERED

if TYPE_CHECKING:
    from collections.abc import Callable

    from monitor.evaluate.claim import ClaimRun
    from monitor.pool.seen import Seen
    from monitor.stream.order import Order

__all__ = ["Keep"]


@dataclass(frozen=True, slots=True)
class Keep:
    """What is kept of claims that are over.

    Args:
        ended: how many stay in hand; those that were over before are forgotten. None for all.
        records: of how many of those something is remembered.
        one: a claim id that stays in hand.
        elsewhere: whether another mode judges the claim of an id. Where that is given, claims that
            asked for another mode are guests: they are followed for the sake of the pool alone.
        on_retired: called with each claim that is retired.
        seen: knows those of which nothing else is known; one for each stream, by default.
        order: of the lines; one for each stream, by default.
        live: how many claims of a stream are followed that have not ended; None for all. An event
            about one more is left out, as if its line were missing.
        requests: the same of requests of which something is known.
        ids: of so many claims of which there is no record, at least the id is remembered.
        ended_requests: how many of a stream's requests that ended are remembered; by default as
            many as `Requests` does.
        troubled: claims of one mode that are over and stay in hand because they were violated or
            could not be judged; by default a thousand.
    """

    ended: int | None = None
    records: int = REMEMBERED
    one: str | None = None
    elsewhere: Callable[[str], bool] | None = None
    on_retired: Callable[[ClaimRun], None] | None = None
    seen: Seen | None = None
    order: Order | None = None
    live: int | None = None
    requests: int | None = None
    ids: int = IDS
    ended_requests: int | None = None
    troubled: int | None = None
