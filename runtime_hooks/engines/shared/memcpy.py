"""Offloads to host memory on a machine without a GPU: vLLM's stock spec, with copies by the CPU.

Name it in the engine's configuration, by the package of the version (`v0_31` for vLLM 0.31):

    KVTransferConfig(
        kv_connector="OffloadingConnector",
        kv_role="kv_both",
        kv_connector_extra_config={
            "cpu_bytes_to_use": 64 << 20,
            "spec_name": "MemcpyOffloadingSpec",
            "spec_module_path": "runtime_hooks.engines.v0_32.memcpy",
        },
    )

The scheduler, the connector and the manager of the tier are vLLM's own.
"""

from __future__ import annotations

import time
from typing import Any

import torch
from vllm.v1.kv_offload.base import OffloadingWorker, TransferResult
from vllm.v1.kv_offload.cpu.spec import CPUOffloadingSpec

__all__ = ["MemcpyOffloadingSpec", "MemcpyWorker"]


class MemcpyWorker(OffloadingWorker):
    """Copies blocks to host memory and back, synchronously; a chunk is a block of every tensor.

    It states the bytes and the seconds of each copy, which vLLM's metrics count.
    """

    def __init__(self, tensors: list[Any], chunks: int, cpu: list[Any] | None = None) -> None:
        self._gpu = tensors
        self._cpu = cpu or [torch.empty((chunks, t.shape[1]), dtype=t.dtype) for t in tensors]
        self._finished: list[TransferResult] = []

    def submit_store(self, job_id: int, src_spec: Any, dst_spec: Any) -> bool:
        """Copy blocks to chunks."""
        began = time.perf_counter()
        for gpu, cpu in zip(self._gpu, self._cpu, strict=True):
            cpu[dst_spec.block_ids] = gpu[src_spec.block_ids].to(cpu.device)
        return self._finish(job_id, len(dst_spec.block_ids), began)

    def submit_load(self, job_id: int, src_spec: Any, dst_spec: Any, **_: Any) -> bool:
        """Copy chunks to blocks."""
        began = time.perf_counter()
        for gpu, cpu in zip(self._gpu, self._cpu, strict=True):
            gpu[dst_spec.block_ids] = cpu[src_spec.block_ids].to(gpu.device)
        return self._finish(job_id, len(src_spec.block_ids), began)

    def get_finished(self) -> list[TransferResult]:
        """The jobs since the last call."""
        finished, self._finished = self._finished, []
        return finished

    def _finish(self, job_id: int, blocks: int, began: float) -> bool:
        size = blocks * sum(cpu[0].nbytes for cpu in self._cpu)
        self._finished.append(TransferResult(job_id, True, size, time.perf_counter() - began))
        return True

    def wait(self, job_ids: set[int]) -> None:
        """Nothing is ever under way."""


class MemcpyOffloadingSpec(CPUOffloadingSpec):
    """The stock spec with this worker."""

    def get_worker(self, kv_caches: Any) -> OffloadingWorker:
        """The worker for these caches."""
        if self.blocks_per_chunk != 1:
            raise ValueError("a chunk must be one block: leave block_size out")
        return MemcpyWorker([each.tensor for each in kv_caches.tensors], self.num_chunks)
