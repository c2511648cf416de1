"""Checks loads in the offloading worker of vLLM, and reports transfers that failed.

The stock worker asserts that every transfer succeeds, so a failure would end the engine. Here a
failed load is reported as invalid blocks, as connectors report it to the scheduler. A failed store
is reported together with the completed jobs.

An exception in the comparison of bytes ends the comparison in this worker, and not the step. It is
reported with the completed jobs, too: the engine core leaves a gap before it takes the transfer.
"""

from __future__ import annotations

import hashlib
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Final, TypeVar

from vllm.distributed.kv_transfer.kv_connector.v1.offloading.common import (
    OffloadingWorkerMetadata,
)
from vllm.distributed.kv_transfer.kv_connector.v1.offloading.worker import (
    OffloadingConnectorWorker,
)
from vllm.distributed.kv_transfer.kv_connector.v1.offloading_connector import OffloadingConnector
from vllm.v1.kv_offload.base import OffloadingWorker, TransferResult

from runtime_hooks.trace.faults import LOG

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FAILED_STORES", "FAULTS", "CheckedWorker", "check_workers"]

T = TypeVar("T")

FAILED_STORES: Final = "resident_claims_failed_stores"
"""The attribute that adds the ids of failed jobs to vLLM's report of completed jobs."""

FAULTS: Final = "resident_claims_faults"
"""The attribute that adds to it the classes of exceptions of the plugin in a worker."""


_TIERS: Final = "secondary_tier_configs"


class CheckedWorker(OffloadingWorker):
    """A worker whose transfers may fail: it says so itself, or other bytes came back.

    `failed` has the blocks whose load failed, `unstored` the jobs whose store failed, and `faults`
    the exception that ended the comparison, each until it is reported.

    Args:
        caches: the KV cache (vLLM's `CanonicalKVCaches`).
        digests: whether to compare what is loaded with what was stored, by digests.
    """

    def __init__(self, worker: OffloadingWorker, caches: Any, *, digests: bool) -> None:
        self._worker, self._caches, self._compares = worker, caches, digests
        self._digests: dict[int, bytes] = {}  # of the stored bytes, by chunk
        self._loads: dict[int, tuple[Any, Any]] = {}  # chunks and blocks, by job
        self._refused: dict[int, TransferResult] = {}  # jobs that the worker did not accept
        self.failed, self.unstored, self.faults = set[int](), set[int](), set[str]()

    def submit_store(self, job_id: int, src_spec: Any, dst_spec: Any) -> bool:
        """Store blocks, and remember their digests. A job that is not accepted counts as failed."""
        self._compare(None, self._remember, src_spec, dst_spec)
        if not self._worker.submit_store(job_id, src_spec, dst_spec):
            self._refused[job_id] = TransferResult(job_id, False)
        return True

    def submit_load(self, job_id: int, src_spec: Any, dst_spec: Any, **named: Any) -> bool:
        """Load blocks, and remember which; `named` are what later versions of vLLM add."""
        self._loads[job_id] = src_spec, dst_spec
        if not self._worker.submit_load(job_id, src_spec, dst_spec, **named):
            self._refused[job_id] = TransferResult(job_id, False)
        return True

    def get_finished(self) -> list[TransferResult]:
        """The finished jobs, each as a success; `failed` and `unstored` say which were none."""
        refused, self._refused = self._refused, {}
        finished = []
        for result in (*refused.values(), *self._worker.get_finished()):
            job_id, good = result.job_id, result.success
            if (load := self._loads.pop(job_id, None)) is not None:
                if not (good and self._compare(True, self._same, *load)):
                    self.failed.update(map(int, load[1].block_ids))
            elif not good:
                self.unstored.add(job_id)
            finished.append(result if good else TransferResult(job_id, True))
        return finished

    def wait(self, job_ids: set[int]) -> None:
        """Wait until these jobs are finished."""
        self._worker.wait(job_ids - self._refused.keys())

    def shutdown(self) -> None:
        """Shut down."""
        self._worker.shutdown()

    def _compare(self, usual: T, act: Callable[..., T], *args: Any) -> T:
        """Call a part of the comparison; where there is none, or it fails, return `usual`."""
        if not self._compares:
            return usual
        try:
            return act(*args)
        except Exception as fault:
            self._compares = False  # no digest is to be trusted from now on
            self.faults.add(type(fault).__name__)
            LOG.exception("resident-claims: loads from the offload tier are no longer compared")
            return usual

    def _remember(self, src_spec: Any, dst_spec: Any) -> None:
        digests = (self._digest(*block) for block in _blocks(src_spec))
        self._digests.update(zip(map(int, dst_spec.block_ids), digests, strict=True))

    def _same(self, src_spec: Any, dst_spec: Any) -> bool:
        """Whether each block has the bytes that were stored in its chunk."""
        pairs = zip(map(int, src_spec.block_ids), _blocks(dst_spec), strict=True)
        return all(self._digests.get(chunk) == self._digest(*block) for chunk, block in pairs)

    def _digest(self, block: int, group: int) -> bytes:
        content = hashlib.blake2b(digest_size=16)
        for ref in self._caches.group_data_refs[group]:
            page = self._caches.tensors[ref.tensor_idx].tensor[block, : ref.page_size_bytes]
            content.update(page.contiguous().cpu().numpy().tobytes())
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
        worker = self.worker
        if meta is not None and isinstance(worker, CheckedWorker):
            setattr(meta, FAILED_STORES, worker.unstored)
            setattr(meta, FAULTS, worker.faults)
            worker.unstored, worker.faults = set(), set()
        return meta

    def load_errors(self: Any) -> set[int]:
        worker = self.connector_worker.worker if self.connector_worker else None
        if not isinstance(worker, CheckedWorker):
            return set()
        failed, worker.failed = worker.failed, set()
        return failed

    def aggregate(self: OffloadingWorkerMetadata, other: Any) -> Any:
        """What the workers of several ranks report: a store failed if it failed on one of them."""
        whole = summed(self, other)
        for name in (FAILED_STORES, FAULTS):
            setattr(whole, name, getattr(self, name, set()) | getattr(other, name, set()))
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
