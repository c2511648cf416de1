"""Tracks observability losses of a pool: what is unknown, and since which line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.evaluate.partial_observation import FAILURES, NAMES, POOL

if TYPE_CHECKING:
    from monitor.evaluate.claim import ClaimRun
    from monitor.input.records import At
    from monitor.requests.request import Request

__all__ = ["ObservabilityLoss"]


class ObservabilityLoss:
    """Where track of a stream's claims and requests was first `lost`, why, and how often.

    `missing` is how often that was because lines may be missing.
    """

    def __init__(self) -> None:
        self.lost: tuple[At | None, str] | None = None
        self.losses = self.missing = 0

    def lose(self, at: At | None, why: str) -> None:
        """From here on the blocks of the pool and the state of its requests are unknown."""
        self.lost, self.losses = self.lost or (at, why), self.losses + 1

    def miss(self, at: At | None, why: str) -> None:
        """The same, and lines may be missing before this one."""
        self.missing += 1
        self.lose(at, why)

    def doubt_pool(self, claim: ClaimRun) -> None:
        """Who else is in the pool matters to a claim."""
        self._doubt(claim, POOL, "which other requests are in the pool", self.lost)

    def doubt_names(self, claim: ClaimRun) -> None:
        """Who is in a registry matters to a claim."""
        self._doubt(claim, NAMES, "which claims were registered", self.lost)

    def doubt_failures(self, claim: ClaimRun, request: Request) -> None:
        """Which restores failed for a request matters to a claim."""
        lost = None if request.losses == self.losses else self.lost
        what = "which restores failed for the request"
        self._doubt(claim, FAILURES, what, request.unnamed or lost)

    def _doubt(
        self,
        claim: ClaimRun,
        fields: frozenset[str],
        what: str,
        lost: tuple[At | None, str] | None,
    ) -> None:
        if lost is not None:
            at, why = lost
            claim.doubt(fields, at, f"{why}, so it is unknown {what}")
