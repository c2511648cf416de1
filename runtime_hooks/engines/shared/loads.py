"""Observes a KV connector by its base class, where it is no offload tier of claims.

`KVConnectorBase_V1` reports to the scheduler which tokens a request loads, when a load has ended,
which blocks were not loaded, and for which requests that ended blocks stay in use. No conclusion is
drawn from what it does not report (`UNOBSERVED` of `runtime_hooks.engines.shared.engine`): blocks
count as cached where vLLM caches them, and a claim that would rest on copies is rejected.

A connector may leave the blocks of a request that ended for another engine to read, and name the
lease, as NixlConnector does. Leases are no events of claims, and have a file of their own.
"""

from __future__ import annotations

import time
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from runtime_hooks.trace.names import name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from runtime_hooks.engines.shared.blocks import BlockHooks
    from runtime_hooks.engines.shared.steps import StepHooks
    from runtime_hooks.engines.shared.wraps import Wraps
    from runtime_hooks.trace.leases import LeaseLog

__all__ = ["LoadHooks"]

_EXPIRED: Final = "num_kv_expired_reqs"  # of the statistics of NixlConnector
_NAMED: Final = ("remote_engine_id", "remote_request_id")


class LoadHooks:
    """The hooks on the loads of one scheduler.

    A load within a step (`num_external_computed_tokens` of `allocate_slots`) is seen by the hooks
    on blocks.
    """

    def __init__(self, scheduler: Any, blocks: BlockHooks, leases: LeaseLog) -> None:
        self._scheduler, self._blocks, self._leases = scheduler, blocks, leases
        self._leased: dict[str, str] = {}  # leases of this engine, by request
        self._step: Any = None  # whose output reports blocks that were not loaded

    def install(self, wraps: Wraps, steps: StepHooks) -> None:
        """Wrap the methods."""
        self._wraps = wraps
        wraps.put(self._scheduler, "_update_waiting_for_remote_kv", self._loaded)
        wraps.put(self._scheduler, "_handle_invalid_blocks", self._invalid)
        wraps.put(self._scheduler, "_connector_finished", self._finished)
        wraps.put(self._scheduler, "_update_from_kv_xfer_finished", self._transferred)
        wraps.put(self._scheduler, "_free_blocks", self._free_blocks)
        self._steps = steps
        steps.step_computed, steps.keeps_blocks = self._computed, self._keeps_blocks

    # Blocks of requests that ended.

    def _keeps_blocks(self, request: Any) -> bool:
        """Whether the connector still reads or writes the blocks of a request that ended."""
        return request.request_id in self._scheduler.requests

    def _free_blocks(self, call: Callable[[Any], None]) -> Callable[[Any], None]:
        def free_blocks(request: Any) -> None:
            call(request)
            self._wraps.attempt("_free_blocks", self._steps.freed, request.request_id)

        return free_blocks

    # Leases.

    def _finished(self, call: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def connector_finished(request: Any) -> Any:
            delayed, params = call(request)
            if delayed:
                self._wraps.attempt("_connector_finished", self._lease, request, params)
            return delayed, params

        return connector_finished

    def _lease(self, request: Any, params: Any) -> None:
        if lease := _lease_of(params):
            self._leased[request.request_id] = lease
            groups = params.get("remote_block_ids")
            sizes = [len(ids) for ids in groups or () if isinstance(ids, list)]
            self._leases.began(lease, sum(sizes))

    def _transferred(self, call: Callable[[Any], None]) -> Callable[[Any], None]:
        def update_from_kv_xfer_finished(kv_connector_output: Any) -> None:
            self._wraps.attempt("_update_from_kv_xfer_finished", self._note, kv_connector_output)
            call(kv_connector_output)

        return update_from_kv_xfer_finished

    def _note(self, transfers: Any) -> None:
        """Note the leases and the reads that have ended. A step counts the leases that ended by
        their time, and does not name them.
        """
        sent = sorted(transfers.finished_sending or ())
        stats = getattr(transfers.kv_connector_stats, "data", None)
        ended = stats.get(_EXPIRED) if isinstance(stats, dict) else None
        expired = len(ended) if isinstance(ended, list) else 0
        for request_id in sent:
            if lease := self._leased.pop(request_id, ""):
                all_or_none = expired in (0, len(sent))
                self._leases.ended(lease, expired=bool(expired) if all_or_none else None)
        for request_id in sorted(transfers.finished_recving or ()):
            if lease := _lease_of(self._scheduler.requests[request_id].kv_transfer_params):
                self._leases.read(lease, request_id)

    # Loads.

    def _loaded(self, call: Callable[[Any], None]) -> Callable[[Any], None]:
        """A load has ended on which a request waited: what vLLM caches now was loaded."""

        def update_waiting_for_remote_kv(request: Any) -> None:
            self._blocks.filled = request.num_computed_tokens // self._scheduler.block_size
            try:
                call(request)
            finally:
                self._blocks.filled = 0

        return update_waiting_for_remote_kv

    def _computed(self, step: Any, output: Any) -> None:
        """A step was computed. If it reports invalid blocks, what is valid is not known yet."""
        transfers = output.kv_connector_output
        if transfers is not None and transfers.invalid_block_ids:
            self._step = step
        else:
            self._blocks.computed(step)

    def _invalid(self, call: Callable[..., set[str]]) -> Callable[..., set[str]]:
        def handle_invalid_blocks(invalid_block_ids: Any, num_scheduled_tokens: Any) -> set[str]:
            affected = call(invalid_block_ids, num_scheduled_tokens)
            about = (affected, self._drop, invalid_block_ids, affected)
            affected = self._wraps.instead("_handle_invalid_blocks", *about)
            self._wraps.attempt("_handle_invalid_blocks", self._blocks.computed, self._step)
            self._step = None
            return affected

        return handle_invalid_blocks

    def _drop(self, invalid: Collection[int], affected: set[str]) -> set[str]:
        """Remove from the cache the blocks that were not loaded, and those computed from them;
        return the requests whose output of this step vLLM must ignore.

        vLLM leaves such blocks in the cache, and requests that share them go on, though the request
        that computes them again may do so in parts, be preempted or aborted. Here that request
        computes them, and those that share them are preempted. Blocks that no request uses by now
        are removed, too.
        """
        scheduler, manager = self._scheduler, self._scheduler.kv_cache_manager
        wrong, reached, sharing = set[int](), set(affected), list[Any]()
        for request in scheduler.running:
            (blocks,) = manager.get_block_ids(request.request_id)
            shares = not wrong.isdisjoint(blocks)
            if not shares and request.request_id not in affected:
                continue
            reached.add(request.request_id)
            valid = sum(1 for _ in takewhile(lambda b: b not in wrong and b not in invalid, blocks))
            manager.block_pool.evict_blocks(set(blocks[valid:]))
            wrong.update(blocks[valid:])
            if shares:
                sharing.append(request)
            else:
                self._cache_again(request.request_id, valid)
        known = range(len(manager.block_pool.blocks))
        manager.block_pool.evict_blocks({block for block in invalid if block in known})
        if scheduler.recompute_kv_load_failures:
            for request in reversed(sharing):  # each becomes the first that waits
                self._preempt(request)
        return reached

    def _cache_again(self, request_id: str, valid: int) -> None:
        """Have all but the valid blocks of a request cached once they are computed."""
        for each in self._scheduler.kv_cache_manager.coordinator.single_type_managers:
            if each.num_cached_block.get(request_id, 0) > valid:
                each.num_cached_block[request_id] = valid

    def _preempt(self, request: Any) -> None:
        """Begin a request anew, as a reset of the cache does with running requests."""
        self._scheduler.running.remove(request)
        self._scheduler._preempt_request(request, time.monotonic(), drop_stale_output=True)
        self._scheduler.prev_step_scheduled_req_ids.discard(request.request_id)


def _lease_of(params: Any) -> str:
    """The lease that the parameters of a transfer are about; empty where they name none."""
    ids = [params.get(name) for name in _NAMED] if isinstance(params, dict) else []
    texts = [name_of(each) for each in ids if isinstance(each, str)]
    return "/".join(texts) if len(texts) == len(_NAMED) else ""
