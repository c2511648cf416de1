"""Offloading that does not bring back what was stored."""

from __future__ import annotations

from typing import Any

from vllm.v1.kv_offload.base import TransferResult

from runtime_hooks.engines.v0_32.memcpy import MemcpyOffloadingSpec, MemcpyWorker


class FailingWorker(MemcpyWorker):
    """Says of each load that it failed."""

    def submit_load(self, job_id: int, src_spec: Any, dst_spec: Any) -> bool:
        self._finished.append(TransferResult(job_id, False))
        return True


class CorruptingWorker(MemcpyWorker):
    """Brings back other bytes, and says that all went well."""

    def submit_load(self, job_id: int, src_spec: Any, dst_spec: Any) -> bool:
        super().submit_load(job_id, src_spec, dst_spec)
        for tensor in self._gpu:
            tensor[dst_spec.block_ids[-1]] ^= 1
        return True


class FailingSpec(MemcpyOffloadingSpec):
    """With the first of these."""

    def get_worker(self, kv_caches: Any) -> MemcpyWorker:
        return FailingWorker([each.tensor for each in kv_caches.tensors], self.num_chunks)


class CorruptingSpec(MemcpyOffloadingSpec):
    """With the second."""

    def get_worker(self, kv_caches: Any) -> MemcpyWorker:
        return CorruptingWorker([each.tensor for each in kv_caches.tensors], self.num_chunks)
