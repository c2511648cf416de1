"""Defines the environment of each mode: the kinds of events that its theorem covers."""

from __future__ import annotations

from spec.claims.claim import Mode
from spec.events.alphabet import Kind

__all__ = ["ENVIRONMENTS"]

_ALL = frozenset(Kind) - {Kind.STREAM_DISORDER}  # a run is in order; readers of files notice

ENVIRONMENTS: dict[Mode, frozenset[Kind]] = dict.fromkeys(Mode, _ALL)
"""Every check prints it, and the monitor says where a stream leaves it."""
