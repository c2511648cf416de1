"""Of which kinds of events each mode's theorem speaks: its world."""

from __future__ import annotations

from spec.claims.claim import Mode
from spec.events.alphabet import Kind

__all__ = ["WORLDS"]

_ALL = frozenset(Kind) - {Kind.STREAM_DISORDER}  # a run is in order; readers of files notice

WORLDS: dict[Mode, frozenset[Kind]] = dict.fromkeys(Mode, _ALL)
"""Every check prints it, and the monitor says where a stream leaves it."""
