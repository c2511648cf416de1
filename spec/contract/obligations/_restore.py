"""Defines terms of two obligations: what a request does with a claim on the offload tier."""

from __future__ import annotations

from spec.contract.ledgers import kind, now
from spec.contract.vocabulary import c, e
from spec.events.alphabet import Kind

__all__ = ["back", "computed", "finished", "needs", "ours", "reused"]

ours = e.mine & e.here
finished = e.here & kind(Kind.REQUEST_FINISHED)
reused = ours & kind(Kind.PREFIX_REUSED)
computed = ours & kind(Kind.BLOCK_CACHED) & ~e.found
needs = ours & kind(Kind.CLAIM_RESTORE_REQUIRED)
back = e.mine & kind(Kind.LOAD_FINISHED, Kind.BLOCK_CACHED) & (c.threshold <= now.lead)
