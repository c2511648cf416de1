"""Offloads to several tiers without a GPU: vLLM's tiering spec, with copies by the CPU.

Name `MemcpyTieringSpec` as `runtime_hooks.engines.shared.memcpy` says, with `secondary_tiers`. The
managers of all tiers are vLLM's own; they share the first one's memory through a mapped file.
"""

from __future__ import annotations

from typing import Any

import torch
from vllm.v1.kv_offload.base import OffloadingWorker
from vllm.v1.kv_offload.cpu.shared_offload_region import SharedOffloadRegion
from vllm.v1.kv_offload.tiering.spec import TieringOffloadingSpec

from runtime_hooks.engines.shared.memcpy import MemcpyWorker

__all__ = ["MemcpyTieringSpec"]


class _Worker(MemcpyWorker):
    """Copies to and from the region that the tiers share."""

    def __init__(self, tensors: list[Any], region: Any) -> None:
        gpu = [tensor.view(torch.int8) for tensor in tensors]
        super().__init__(gpu, 0, [region.create_next_worker_view(t.shape[1]) for t in gpu])
        self._region = region

    def shutdown(self) -> None:
        """Let the region go."""
        self._cpu.clear()
        self._region.cleanup()


class MemcpyTieringSpec(TieringOffloadingSpec):
    """The tiering spec with this worker."""

    def get_worker(self, kv_caches: Any) -> OffloadingWorker:
        """The worker for these caches."""
        if self.blocks_per_chunk != 1:
            raise ValueError("a chunk must be one block: leave block_size out")
        region = SharedOffloadRegion(
            engine_id=self._engine_id,
            num_chunks=self.num_chunks,
            rank=self.config.parallel.rank,
            kv_bytes_per_chunk=self.kv_bytes_per_chunk,
            cpu_page_size=self.cpu_page_size_per_worker,
        )
        return _Worker([each.tensor for each in kv_caches.tensors], region)
