"""Defines the environment of each mode: the kinds of events that its theorem covers."""

from __future__ import annotations

from spec.claims.states import Mode
from spec.events.alphabet import Kind

__all__ = ["ENVIRONMENTS"]

ENVIRONMENTS: dict[Mode, frozenset[Kind]] = dict.fromkeys(Mode, frozenset(Kind))
"""Every check prints it, and the monitor says where a stream leaves it."""
