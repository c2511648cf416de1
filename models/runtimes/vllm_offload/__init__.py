"""vLLM's OffloadingConnector, and the boundary at which its scheduler takes a failed load."""

from __future__ import annotations

from models.runtimes.vllm_offload.inferences import INFERENCES, VARIANTS

__all__ = ["INFERENCES", "VARIANTS"]
