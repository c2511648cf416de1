"""Offloading that goes wrong: a spec for each way in which it does."""

from __future__ import annotations

from typing import Any, ClassVar

from vllm.distributed import get_tensor_model_parallel_rank
from vllm.v1.kv_offload.base import TransferResult

from runtime_hooks.engines.shared.memcpy import MemcpyOffloadingSpec, MemcpyWorker
from runtime_hooks.engines.shared.worker import CheckedWorker


class FailingWorker(MemcpyWorker):
    """Says of each load that it failed."""

    def submit_load(self, job_id: int, src_spec: Any, dst_spec: Any, **named: Any) -> bool:
        self._finished.append(TransferResult(job_id, False))
        return True


class RefusingWorker(MemcpyWorker):
    """Takes no load."""

    def submit_load(self, job_id: int, src_spec: Any, dst_spec: Any, **named: Any) -> bool:
        return False


class CorruptingWorker(MemcpyWorker):
    """Brings back other bytes, and says that all went well."""

    def submit_load(self, job_id: int, src_spec: Any, dst_spec: Any, **named: Any) -> bool:
        super().submit_load(job_id, src_spec, dst_spec, **named)
        for tensor in self._gpu:
            tensor[dst_spec.block_ids[-1]] ^= 1
        return True


class UnstoringWorker(MemcpyWorker):
    """Says of the first store that it failed."""

    stored = False

    def submit_store(self, job_id: int, src_spec: Any, dst_spec: Any) -> bool:
        if self.stored:
            return super().submit_store(job_id, src_spec, dst_spec)
        self.stored = True
        self._finished.append(TransferResult(job_id, False))
        return True


class SlowWorker(MemcpyWorker):
    """Says that a load is finished when it is asked for the third time after it began."""

    def __init__(self, tensors: list[Any], chunks: int) -> None:
        super().__init__(tensors, chunks)
        self._late: list[list[TransferResult]] = [[], [], []]

    def submit_load(self, job_id: int, src_spec: Any, dst_spec: Any, **named: Any) -> bool:
        super().submit_load(job_id, src_spec, dst_spec, **named)
        self._late[-1].append(self._finished.pop())
        return True

    def get_finished(self) -> list[TransferResult]:
        self._late.append([])
        return [*super().get_finished(), *self._late.pop(0)]


class UncheckedWorker(MemcpyWorker):
    """Copies as it should, in a process in which the plugin cannot compare a load."""

    def __init__(self, tensors: list[Any], chunks: int) -> None:
        super().__init__(tensors, chunks)

        def fail(*_: Any) -> bool:
            raise RuntimeError("the plugin fails")

        CheckedWorker._same = fail


class _Spec(MemcpyOffloadingSpec):
    """A worker of a class, on every rank of an engine or on the second one only."""

    worker: ClassVar[type[MemcpyWorker]]
    second_only: ClassVar[bool] = False

    def get_worker(self, kv_caches: Any) -> MemcpyWorker:
        usual = self.second_only and get_tensor_model_parallel_rank() != 1
        kind = MemcpyWorker if usual else self.worker
        return kind([each.tensor for each in kv_caches.tensors], self.num_chunks)


class FailingSpec(_Spec):
    worker = FailingWorker


class RefusingSpec(_Spec):
    worker = RefusingWorker


class CorruptingSpec(_Spec):
    worker = CorruptingWorker


class UnstoringSpec(_Spec):
    worker = UnstoringWorker


class SlowSpec(_Spec):
    worker = SlowWorker


class SecondFailingSpec(FailingSpec):
    second_only = True


class SecondUnstoringSpec(UnstoringSpec):
    second_only = True


class SecondUncheckedSpec(_Spec):
    worker = UncheckedWorker
    second_only = True
