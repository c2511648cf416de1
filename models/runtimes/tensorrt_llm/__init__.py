"""The retention of KV blocks in TensorRT-LLM: priorities, durations, a host pool."""

from __future__ import annotations

from models.runtimes.tensorrt_llm.model import INFERENCES, VARIANTS

__all__ = ["INFERENCES", "VARIANTS"]
