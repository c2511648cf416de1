"""Continuum: when a turn of an agent's job ends, its blocks stay pinned for a TTL."""

from __future__ import annotations

from models.runtimes.continuum.model import INFERENCES, VARIANTS

__all__ = ["INFERENCES", "VARIANTS"]
