"""The block pool of vLLM: its free queue, prefix reuse, and what people infer from its features."""

from __future__ import annotations

from models.runtimes.vllm_pool.inferences import INFERENCES, VARIANTS
from models.runtimes.vllm_pool.model import Policy, Prompt, State, VllmPool
from models.runtimes.vllm_pool.of_trace import INSTANCES
from models.runtimes.vllm_pool.of_trace import pools_of as OF_TRACE

__all__ = [
    "INFERENCES",
    "INSTANCES",
    "OF_TRACE",
    "VARIANTS",
    "Policy",
    "Prompt",
    "State",
    "VllmPool",
]
