"""Names the spec that copies by the CPU for configurations of vLLM 0.33."""

from __future__ import annotations

from runtime_hooks.engines.shared.memcpy import MemcpyOffloadingSpec, MemcpyWorker

__all__ = ["MemcpyOffloadingSpec", "MemcpyWorker"]
