"""vLLM's OffloadingConnector, and the boundary at which its scheduler takes a failed load."""

from __future__ import annotations

from models.runtimes.vllm_offload.inferences import INFERENCES, VARIANTS
from models.runtimes.vllm_offload.of_trace import INSTANCES
from models.runtimes.vllm_offload.of_trace import connectors_of as OF_TRACE

__all__ = ["INFERENCES", "INSTANCES", "OF_TRACE", "VARIANTS"]
