"""Names the specs that copy by the CPU for configurations of vLLM 0.32."""

from __future__ import annotations

from runtime_hooks.engines.shared.memcpy import MemcpyOffloadingSpec, MemcpyWorker
from runtime_hooks.engines.v0_32.memcpy_tiers import MemcpyTieringSpec

__all__ = ["MemcpyOffloadingSpec", "MemcpyTieringSpec", "MemcpyWorker"]
