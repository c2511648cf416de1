"""Checks loads in the offloading worker of vLLM, and reports transfers that failed.

The stock worker asserts that every transfer succeeds, so a failure would end the engine. Here a
failed load is reported as invalid blocks, as connectors report it to the scheduler. A failed store
is reported together with the completed jobs.
"""

from __future__ import annotations

import hashlib
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Final

from vllm.distributed.kv_transfer.kv_connector.v1.offloading.common import (
    OffloadingWorkerMetadata,
)
from vllm.distributed.kv_transfer.kv_connector.v1.offloading.worker import (
    OffloadingConnectorWorker,
)
from vllm.distributed.kv_transfer.kv_connector.v1.offloading_connector import OffloadingConnector
from vllm.v1.kv_offload.base import OffloadingWorker, TransferResult

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FAILED_STORES", "CheckedWorker", "check_workers"]

FAILED_STORES: Final = "resident_claims_failed_stores"
"""The attribute that adds the ids of failed jobs to vLLM's report of completed jobs."""


_TIERS: Final = "secondary_tier_configs"


class CheckedWorker(OffloadingWorker):
    """A worker whose transfers may fail: it says so itself, or other bytes came back.

    Args:
        caches: the KV cache (vLLM's `CanonicalKVCaches`).
        digests: whether to compare what is loaded with what was stored, by digests.
    """

    def __init__(self, worker: OffloadingWorker, caches: Any, *, digests: bool) -> None:
        self._worker, self._check = worker, digests
        self._pages = [  # of each group of caches: its tensors, and the bytes of a block in each
            [(caches.tensors[ref.tensor_idx].tensor, ref.page_size_bytes) for ref in refs]
            for refs in caches.group_data_refs
        ]
        self._digests: dict[int, bytes] = {}  # of the stored bytes, by chunk
        self._stores: dict[int, list[int]] = {}  # chunks, by job
        self._loads: dict[int, list[tuple[int, int, int]]] = {}  # chunk, block and group, by job
        self._failed: set[int] = set()  # blocks whose load failed
        self._unstored: set[int] = set()  # jobs whose store failed
        self._refused: list[TransferResult] = []

    def submit_store(self, job_id: int, src_spec: Any, dst_spec: Any) -> bool:
        """Store blocks, and remember their digests."""
        chunks = [int(chunk) for chunk in dst_spec.block_ids]
        self._stores[job_id] = chunks
        if self._check:
            digests = (self._digest(*block) for block in _blocks(src_spec))
            self._digests.update(zip(chunks, digests, strict=True))
        return self._submitted(job_id, self._worker.submit_store(job_id, src_spec, dst_spec))

    def submit_load(self, job_id: int, src_spec: Any, dst_spec: Any, **named: Any) -> bool:
        """Load blocks, and remember which; `named` are what later versions of vLLM add."""
        pairs = zip(src_spec.block_ids, _blocks(dst_spec), strict=True)
        self._loads[job_id] = [(int(chunk), *block) for chunk, block in pairs]
        return self._submitted(
            job_id, self._worker.submit_load(job_id, src_spec, dst_spec, **named)
        )

    def get_finished(self) -> list[TransferResult]:
        """The finished jobs; `take_failed` and `take_unstored` say which of them failed."""
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
        """Wait until these jobs are finished."""
        self._worker.wait(job_ids - {result.job_id for result in self._refused})

    def shutdown(self) -> None:
        """Shut down."""
        self._worker.shutdown()

    def _submitted(self, job_id: int, accepted: bool) -> bool:
        """A job that the worker does not accept counts as failed."""
        if not accepted:
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
        if loaded and not (result.success and all(self._same(*each) for each in loaded)):
            self._failed.update(block for _, block, _ in loaded)
        return result if result.success else TransferResult(result.job_id, True)

    def _same(self, chunk: int, block: int, group: int) -> bool:
        return not self._check or self._digests.get(chunk) == self._digest(block, group)

    def _digest(self, block: int, group: int) -> bytes:
        content = hashlib.blake2b(digest_size=16)
        for tensor, size in self._pages[group]:
            content.update(tensor[block, :size].contiguous().cpu().numpy().tobytes())
        return content.digest()


def _blocks(spec: Any) -> list[tuple[int, int]]:
    """The blocks of a transfer, each with its group of caches."""
    groups = chain(*(repeat(at, size) for at, size in enumerate(spec.group_sizes)))
    return [(int(block), group) for block, group in zip(spec.block_ids, groups, strict=True)]


def check_workers(*, digests: bool) -> Callable[[], None]:
    """Hook every offloading worker that is made from now on; returns a function that ends this."""
    made = OffloadingConnectorWorker._init_worker
    built = OffloadingConnectorWorker.build_connector_worker_meta
    summed = OffloadingWorkerMetadata.aggregate

    def init_worker(self: Any, kv_caches: Any) -> None:
        made(self, kv_caches)
        if self.spec.blocks_per_chunk == 1:
            # What a chunk has from another tier was stored by no worker.
            alone = not getattr(self.spec, _TIERS, ())
            self.worker = CheckedWorker(self.worker, kv_caches, digests=digests and alone)

    def build_meta(self: Any) -> Any:
        meta = built(self)
        if meta is not None and isinstance(self.worker, CheckedWorker):
            setattr(meta, FAILED_STORES, self.worker.take_unstored())
        return meta

    def load_errors(self: Any) -> set[int]:
        worker = self.connector_worker.worker if self.connector_worker else None
        return worker.take_failed() if isinstance(worker, CheckedWorker) else set()

    def aggregate(self: OffloadingWorkerMetadata, other: Any) -> Any:
        """What the workers of several ranks report: a store failed if it failed on one of them."""
        whole = summed(self, other)
        failed = getattr(self, FAILED_STORES, set()) | getattr(other, FAILED_STORES, set())
        setattr(whole, FAILED_STORES, failed)
        return whole

    OffloadingWorkerMetadata.aggregate = aggregate
    OffloadingConnectorWorker._init_worker = init_worker
    OffloadingConnectorWorker.build_connector_worker_meta = build_meta
    OffloadingConnector.get_block_ids_with_load_errors = load_errors

    def end() -> None:
        OffloadingWorkerMetadata.aggregate = summed
        OffloadingConnectorWorker._init_worker = made
        OffloadingConnectorWorker.build_connector_worker_meta = built
        del OffloadingConnector.get_block_ids_with_load_errors

    return end
