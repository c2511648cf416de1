"""Reports the routes to claims of routed_reuse: cost, rank, and whether the prefix was reused.

The process that chose the rank states the cost and the rank with the request. Whether the claim's
prefix is reused is known when blocks are allocated for the request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime_hooks.trace.names import name_of
from spec.claims.states import Mode
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runtime_hooks.claims.entry import Entry
    from runtime_hooks.trace.emitter import Emitter

__all__ = ["Placements"]


class Placements:
    """The requests that were routed for claims, until each is served."""

    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter
        self._routed: dict[str, dict[Entry, None]] = {}  # claims whose hit is not known, by request

    def routed(self, request_id: str, entries: Iterable[Entry], cost: int, worker: str) -> None:
        """A request arrives that was routed for these claims, as far as they are of routed_reuse.

        Args:
            cost: in the router's units.
            worker: the rank.
        """
        for entry in entries:
            if entry.claim.protection_mode is not Mode.ROUTED_REUSE:
                continue
            about = {"claim_id": entry.claim_id, "request_id": name_of(request_id)}
            emitter = self._emitter
            emitter.fact(Kind.REQUEST_ROUTED, **about, cost=cost, worker=worker)
            emitter.report(Kind.ROUTE_COST_REPORTED, **about, cost=cost)
            emitter.report(Kind.ROUTE_PLACEMENT_REPORTED, **about, worker=worker)
            self._routed.setdefault(request_id, {})[entry] = None

    def served(self, entry: Entry, request_id: str, *, hit: bool) -> None:
        """A request was given blocks: whether it reuses all that it can use of a claim's prefix."""
        claims = self._routed.get(request_id)
        if claims is not None and entry in claims:
            del claims[entry]
            about = {"claim_id": entry.claim_id, "request_id": name_of(request_id)}
            self._emitter.fact(Kind.REUSE_SERVED, **about, hit=hit)
            self._emitter.report(Kind.ROUTE_REUSE_REPORTED, **about, hit=hit)

    def ended(self, request_id: str) -> None:
        """A request ended, served or not."""
        self._routed.pop(request_id, None)
