"""The worker's side of vLLM 0.32's offloading: bytes are checked, and what fails is reported.

The stock worker asserts that every transfer succeeds, so one that fails would end the engine. Here
a failed load is reported as invalid blocks, by which the scheduler learns of failed loads of any
connector, and a failed store with the jobs that are completed.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from vllm.distributed.kv_transfer.kv_connector.v1.offloading.worker import (
    OffloadingConnectorWorker,
)
from vllm.distributed.kv_transfer.kv_connector.v1.offloading_connector import OffloadingConnector
from vllm.v1.kv_offload.base import OffloadingWorker, TransferResult

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FAILED_STORES", "CheckedWorker", "check_workers"]

FAILED_STORES: Final = "resident_claims_failed_stores"
"""The attribute of vLLM's report of completed jobs that has the ids of those that failed."""


class CheckedWorker(OffloadingWorker):
    """A worker whose transfers may fail: by its own word, or because other bytes came back.

    Args:
        tensors: the KV cache, each with blocks in its first dimension.
        digests: whether bytes are compared, by their digests.
    """

    def __init__(self, worker: OffloadingWorker, tensors: list[Any], *, digests: bool) -> None:
        self._worker, self._tensors, self._check = worker, tensors, digests
        self._digests: dict[int, bytes] = {}  # of what was stored, by chunk
        self._stores: dict[int, list[int]] = {}  # chunks, by job
        self._loads: dict[int, list[tuple[int, int]]] = {}  # chunks and blocks, by job
        self._failed: set[int] = set()  # blocks that were not loaded
        self._unstored: set[int] = set()  # jobs
        self._refused: list[TransferResult] = []

    def submit_store(self, job_id: int, src_spec: Any, dst_spec: Any) -> bool:
        """Remember what is stored, and store it."""
        chunks = [int(chunk) for chunk in dst_spec.block_ids]
        self._stores[job_id] = chunks
        if self._check:
            blocks = (int(block) for block in src_spec.block_ids)
            self._digests.update(zip(chunks, map(self._digest, blocks), strict=True))
        return self._taken(job_id, self._worker.submit_store(job_id, src_spec, dst_spec))

    def submit_load(self, job_id: int, src_spec: Any, dst_spec: Any) -> bool:
        """Remember what is loaded, and load it."""
        pairs = zip(src_spec.block_ids, dst_spec.block_ids, strict=True)
        self._loads[job_id] = [(int(chunk), int(block)) for chunk, block in pairs]
        return self._taken(job_id, self._worker.submit_load(job_id, src_spec, dst_spec))

    def get_finished(self) -> list[TransferResult]:
        """What is finished; what of it failed is told by `take_failed` and `take_unstored`."""
        refused, self._refused = self._refused, []
        return [self._settle(result) for result in (*refused, *self._worker.get_finished())]

    def take_failed(self) -> set[int]:
        """The blocks whose load failed since the last call."""
        failed, self._failed = self._failed, set()
        return failed

    def take_unstored(self) -> set[int]:
        """The jobs whose store failed since the last call."""
        unstored, self._unstored = self._unstored, set()
        return unstored

    def wait(self, job_ids: set[int]) -> None:
        """Until these are finished."""
        self._worker.wait(job_ids - {result.job_id for result in self._refused})

    def shutdown(self) -> None:
        """No more."""
        self._worker.shutdown()

    def _taken(self, job_id: int, taken: bool) -> bool:
        """A job that the worker does not take has failed."""
        if not taken:
            self._refused.append(TransferResult(job_id, False))
        return True

    def _settle(self, result: TransferResult) -> TransferResult:
        if result.job_id in self._stores:
            chunks = self._stores.pop(result.job_id)
            if not result.success:
                self._unstored.add(result.job_id)
                for chunk in chunks:
                    self._digests.pop(chunk, None)
        loaded = self._loads.pop(result.job_id, [])
        if loaded and not (result.success and all(self._same(*pair) for pair in loaded)):
            self._failed.update(block for _, block in loaded)
        return result if result.success else TransferResult(result.job_id, True)

    def _same(self, chunk: int, block: int) -> bool:
        return not self._check or self._digests.get(chunk) == self._digest(block)

    def _digest(self, block: int) -> bytes:
        content = hashlib.blake2b(digest_size=16)
        for tensor in self._tensors:
            content.update(tensor[block].contiguous().cpu().numpy().tobytes())
        return content.digest()


def check_workers(*, digests: bool) -> Callable[[], None]:
    """Have every offloading worker that is made from now on checked; returns what ends that."""
    made = OffloadingConnectorWorker._init_worker
    built = OffloadingConnectorWorker.build_connector_worker_meta

    def init_worker(self: Any, kv_caches: Any) -> None:
        made(self, kv_caches)
        tensors = [each.tensor for each in kv_caches.tensors]
        if self.spec.blocks_per_chunk == 1:
            self.worker = CheckedWorker(self.worker, tensors, digests=digests)

    def build_meta(self: Any) -> Any:
        meta = built(self)
        if meta is not None and isinstance(self.worker, CheckedWorker):
            setattr(meta, FAILED_STORES, self.worker.take_unstored())
        return meta

    def load_errors(self: Any) -> set[int]:
        worker = self.connector_worker.worker if self.connector_worker else None
        return worker.take_failed() if isinstance(worker, CheckedWorker) else set()

    OffloadingConnectorWorker._init_worker = init_worker
    OffloadingConnectorWorker.build_connector_worker_meta = build_meta
    OffloadingConnector.get_block_ids_with_load_errors = load_errors

    def end() -> None:
        OffloadingConnectorWorker._init_worker = made
        OffloadingConnectorWorker.build_connector_worker_meta = built
        del OffloadingConnector.get_block_ids_with_load_errors

    return end
