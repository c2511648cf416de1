"""The radix cache of SGLang with HiCache: lock references, strategies, three tiers."""

from __future__ import annotations

from models.runtimes.sglang_hicache.model import INFERENCES, VARIANTS

__all__ = ["INFERENCES", "VARIANTS"]
