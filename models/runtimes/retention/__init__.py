"""Retention directives in vLLM: a priority queue beside the LRU list of free blocks."""

from __future__ import annotations

from models.runtimes.retention.model import INFERENCES, VARIANTS

__all__ = ["INFERENCES", "VARIANTS"]
