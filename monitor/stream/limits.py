"""Defines how much of a stream is followed at once."""

from __future__ import annotations

from typing import NamedTuple

from monitor.pool.seen import IDS
from monitor.stream.keep import Keep

__all__ = ["Limits"]


class Limits(NamedTuple):
    """Limits of each stream, as `Keep` has them."""

    live: int | None = None
    requests: int | None = None
    ids: int = IDS

    def keep(self, ended: int) -> Keep:
        """What is kept of claims within these limits, and so many that ended."""
        return Keep(ended=ended, live=self.live, requests=self.requests, ids=self.ids)
