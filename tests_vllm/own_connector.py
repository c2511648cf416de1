"""A KV connector that vLLM does not know: it saves blocks to memory, by the engine's own hashes.

An engine names it by its module (`kv_connector_module_path`). `Plan` says how it loads, how loads
fail, and how long it keeps the blocks of requests that ended.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import torch
from vllm.config import KVTransferConfig
from vllm.distributed.kv_transfer.kv_connector.v1.base import (
    KVConnectorBase_V1,
    KVConnectorMetadata,
    KVConnectorTransferResults,
)
from vllm.v1.request import RequestStatus

__all__ = ["PLAN", "OwnConnector", "Plan", "owning"]

_ENDED_WELL: Final = (RequestStatus.FINISHED_LENGTH_CAPPED, RequestStatus.FINISHED_STOPPED)


@dataclass
class Plan:
    """What the connector does.

    Attributes:
        steps: that a load takes; 0 loads within the step that uses it.
        fails: the part of the loads that fail.
        fail_next: so many loads fail next.
        names_blocks: a failed load names the blocks; otherwise, the request.
        keeps: the part of the requests whose blocks it keeps after their end, for some steps.
        asks_again: the part of the look-ups that it leaves open.
        invalid: blocks that it reports as not loaded with the next step, whosesoever they are.
        failed: loads that failed so far.
        kept: requests whose blocks it keeps, with the steps that are left.
        changed: blocks that were something else when it read them after a request.
    """

    steps: int = 0
    fails: float = 0.0
    fail_next: int = 0
    names_blocks: bool = True
    keeps: float = 0.0
    asks_again: float = 0.0
    source: random.Random = field(default_factory=lambda: random.Random(0))
    invalid: set[int] = field(default_factory=set)
    failed: int = 0
    kept: dict[str, int] = field(default_factory=dict)
    changed: int = 0
    saved: dict[bytes, list[torch.Tensor]] = field(default_factory=dict)


PLAN = Plan()
"""That of the engine of this process; tests replace what is in it."""


@dataclass
class _Step(KVConnectorMetadata):  # type: ignore[misc]
    """What the worker has to do: blocks by their contents, for each request."""

    saves: list[tuple[bytes, int]] = field(default_factory=list)
    loads: dict[str, list[tuple[bytes, int]]] = field(default_factory=dict)
    keeps: dict[str, list[tuple[bytes, int]]] = field(default_factory=dict)


class OwnConnector(KVConnectorBase_V1):  # type: ignore[misc]
    """The connector, in the scheduler and in the worker."""

    def __init__(self, vllm_config: Any, role: Any, kv_cache_config: Any) -> None:
        super().__init__(vllm_config, role, kv_cache_config)
        self._size = vllm_config.cache_config.block_size
        self._requests: dict[str, Any] = {}
        self._found: dict[str, int] = {}  # blocks in the pool, by request
        self._step = _Step()
        self._known: set[bytes] = set()
        self._asked: set[str] = set()
        self._caches: list[torch.Tensor] = []
        self._late: dict[str, tuple[int, list[tuple[bytes, int]]]] = {}
        self._sends: dict[str, list[tuple[bytes, int]]] = {}
        self._invalid: set[int] = set()
        self._failed_now = False

    # In the scheduler.

    def on_new_request(self, request: Any) -> None:
        self._requests[request.request_id] = request

    def get_num_new_matched_tokens(
        self, request: Any, num_computed_tokens: int
    ) -> tuple[int | None, bool]:
        name = request.request_id
        if name not in self._asked and PLAN.source.random() < PLAN.asks_again:
            self._asked.add(name)
            return None, False
        first, most = num_computed_tokens // self._size, (request.num_tokens - 1) // self._size
        end = first
        while end < most and request.block_hashes[end] in self._known:
            end += 1
        self._found[name] = first
        return (end - first) * self._size, PLAN.steps > 0 and end > first

    def update_state_after_alloc(self, request: Any, blocks: Any, num_external_tokens: int) -> None:
        if num_external_tokens > 0:
            first = self._found[request.request_id]
            numbers = range(first, first + num_external_tokens // self._size)
            (ids,) = blocks.get_block_ids()
            pairs = [(request.block_hashes[number], ids[number]) for number in numbers]
            self._step.loads[request.request_id] = pairs

    def build_connector_meta(self, scheduler_output: Any) -> _Step:
        step, self._step = self._step, _Step()
        for name, tokens in scheduler_output.num_scheduled_tokens.items():
            request = self._requests[name]
            done = (request.num_computed_tokens + tokens) // self._size
            (ids,) = self._kv_cache_manager.get_block_ids(name)
            pairs = zip(request.block_hashes[:done], ids, strict=False)
            step.saves += [pair for pair in pairs if pair[0] not in self._known]
            self._known.update(key for key, _ in step.saves)
        return step

    def request_finished(self, request: Any, block_ids: list[int]) -> tuple[bool, None]:
        name = request.request_id
        self._asked.discard(name)
        if request.status in _ENDED_WELL and PLAN.source.random() < PLAN.keeps:
            pairs = zip(request.block_hashes, block_ids, strict=False)
            self._step.keeps[name] = [pair for pair in pairs if pair[0] in self._known]
            return True, None
        return False, None

    def update_connector_output(self, connector_output: Any) -> None:
        if connector_output.invalid_block_ids or connector_output.failed_recving:
            self._known &= PLAN.saved.keys()  # what was to be saved in that step was not

    # In the worker.

    def register_kv_caches(self, kv_caches: dict[str, torch.Tensor]) -> None:
        self._caches = list(kv_caches.values())

    def start_load_kv(self, forward_context: Any, **kwargs: Any) -> None:
        step: Any = self._get_connector_metadata()
        for name, pairs in step.loads.items():
            if PLAN.steps:
                self._late[name] = (PLAN.steps, pairs)
            else:
                self._load(pairs)

    def _load(self, pairs: list[tuple[bytes, int]]) -> bool:
        """Fill blocks; returns whether that failed."""
        bad, fails = PLAN.source.randrange(len(pairs)), PLAN.source.random() < PLAN.fails
        if PLAN.fail_next:
            PLAN.fail_next, fails = PLAN.fail_next - 1, True
        wrong = {block for key, block in pairs if key not in PLAN.saved}
        wrong |= {pairs[bad][1]} if fails else set()
        for key, block in pairs:
            parts = PLAN.saved.get(key, [])
            for cache, part in zip(self._caches, parts, strict=bool(parts)):
                cache[block] = 0.0 if block in wrong else part
        if wrong:
            PLAN.failed += 1
            self._failed_now = True
            if PLAN.names_blocks or not PLAN.steps:
                self._invalid |= wrong
        return bool(wrong)

    def wait_for_layer_load(self, layer_name: str) -> None:
        return

    def save_kv_layer(
        self, layer_name: str, kv_layer: Any, attn_metadata: Any, **kwargs: Any
    ) -> None:
        return

    def wait_for_save(self) -> None:
        step: Any = self._get_connector_metadata()
        if not (self._failed_now and not PLAN.steps):  # else some of it is computed from nothing
            PLAN.saved.update((key, self._read(block)) for key, block in step.saves)
        self._failed_now = False
        for name, pairs in step.keeps.items():
            self._sends[name], PLAN.kept[name] = pairs, PLAN.source.randrange(1, 4)

    def _read(self, block: int) -> list[torch.Tensor]:
        return [cache[block].clone() for cache in self._caches]

    def get_transfer_results(self, finished_req_ids: set[str]) -> KVConnectorTransferResults:
        found = KVConnectorTransferResults()
        for name, (steps, pairs) in list(self._late.items()):
            self._late[name] = (steps - 1, pairs)
            if steps <= 1:
                del self._late[name]
                if self._load(pairs) and not PLAN.names_blocks:
                    found.failed_recving.add(name)
                found.finished_recving.add(name)
        for name, steps in list(PLAN.kept.items()):
            PLAN.kept[name] = steps - 1
            if steps <= 1:
                del PLAN.kept[name]
                PLAN.changed += self._changed(self._sends.pop(name))
                found.finished_sending.add(name)
        return found

    def _changed(self, pairs: Iterable[tuple[bytes, int]]) -> int:
        """How many of these blocks are something else by now."""
        both = ((PLAN.saved.get(key), self._read(block)) for key, block in pairs)
        return sum(
            saved is not None and not all(map(torch.equal, saved, there)) for saved, there in both
        )

    def get_block_ids_with_load_errors(self) -> set[int]:
        found, self._invalid = self._invalid | PLAN.invalid, set()
        PLAN.invalid = set()
        return found


def owning(policy: str = "fail", **plan: Any) -> dict[str, Any]:
    """The configuration of an engine with this connector, which does what `plan` says."""
    vars(PLAN).update(vars(Plan(**plan)))
    return {
        "kv_transfer_config": KVTransferConfig(
            kv_connector=OwnConnector.__name__,
            kv_connector_module_path=__name__,
            kv_role="kv_both",
            kv_load_failure_policy=policy,
        )
    }
