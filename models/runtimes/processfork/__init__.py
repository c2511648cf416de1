"""The cache layer of ProcessFork: snapshots of a worker's KV pages, and their restore."""

from __future__ import annotations

from models.runtimes.processfork.model import INFERENCES, VARIANTS

__all__ = ["INFERENCES", "VARIANTS"]
