"""Observes offloading in the scheduler of vLLM: stores, loads, and their failures."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from vllm.distributed.kv_transfer.kv_connector.v1.offloading_connector import OffloadingConnector
from vllm.v1.kv_offload.base import LookupResult, ReqContext
from vllm.v1.request import RequestStatus

from runtime_hooks.claims.arrivals import Refusal
from runtime_hooks.engines.shared.worker import FAILED_STORES, FAULTS
from runtime_hooks.trace.names import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from runtime_hooks.controller.controller import Controller
    from runtime_hooks.engines.shared.blocks import BlockHooks
    from runtime_hooks.engines.shared.steps import StepHooks
    from runtime_hooks.engines.shared.wraps import Wraps
    from runtime_hooks.settings.config import Drill

__all__ = ["OffloadHooks", "manager_of", "primary_of"]

_PRIMARY: Final = "primary_tier"
_LOADS: Final = (RequestStatus.WAITING_FOR_REMOTE_KVS, RequestStatus.FINISHED_ABORTED)


def manager_of(scheduler: Any) -> Any:
    """The manager of the engine's offload tier; None where it has none that can be hooked.

    What a subclass of the connector does is not known. Of several tiers it manages all.
    """
    connector = scheduler.connector
    if type(connector) is not OffloadingConnector or connector.connector_scheduler is None:
        return None
    if connector.connector_scheduler.config.blocks_per_chunk != 1:
        return None
    return connector.connector_scheduler.manager


def primary_of(manager: Any) -> Any:
    """The manager of the tier that requests load from: of several tiers, the first one.

    The copies of claims are in this tier, and kept there. vLLM's `TieringOffloadingManager` writes
    what it stores to the other tiers as well, and brings it back from there (a promotion).
    """
    return getattr(manager, _PRIMARY, manager)


class WorkerFault(Exception):
    """An exception of the plugin in an offloading worker, by its class; that worker logged it."""


class OffloadHooks:
    """The hooks on the offloading of one scheduler.

    It is also the tier that the controller uses (`runtime_hooks.tracking.offloaded.OffloadTier`).
    """

    def __init__(self, scheduler: Any, manager: Any, drill: Drill) -> None:
        self._scheduler, self._manager = scheduler, manager
        self._primary = primary_of(manager)
        self._context = ReqContext("resident-claims")
        self._prepare_load = self._primary.prepare_load
        self._complete_load = self._primary.complete_load
        self._fail_loads, self._fail_stores = Counter(drill.fail_loads), Counter(drill.fail_stores)
        self._kept: Counter[bytes] = Counter()  # copies that are excluded from eviction
        self._failing: set[str] = set()  # requests whose load fails by the drill
        self._aborted: set[str] = set()  # aborted requests whose load is under way
        self._unstored: dict[int, set[bytes]] = {}  # contents of failed stores, by job

    def has(self, keys: Sequence[bytes]) -> list[bytes]:
        """The copies that can be loaded."""
        lookup = self._primary.lookup
        return [key for key in keys if lookup(key, self._context) is LookupResult.HIT]

    def keep(self, keys: Sequence[bytes]) -> None:
        """Exclude copies from eviction: vLLM evicts nothing that is being read."""
        self._prepare_load(keys, self._context)
        self._kept.update(keys)

    def drop(self, keys: Sequence[bytes]) -> None:
        """End that exclusion."""
        kept = [key for key in keys if self._kept[key]]
        self._kept.subtract(kept)
        self._complete_load(kept, self._context)

    def restore(self) -> None:
        """End every exclusion."""
        self.drop([*self._kept.elements()])

    def install(
        self, controller: Controller, wraps: Wraps, steps: StepHooks, blocks: BlockHooks
    ) -> None:
        """Wrap the methods."""
        self._controller, self._wraps, self._steps, self._blocks = controller, wraps, steps, blocks
        wraps.put(self._primary, "prepare_load", self._loading)
        wraps.put(self._manager, "complete_store", self._stored)
        wraps.put(self._primary, "prepare_store", self._storing)
        wraps.put(self._primary, "reset_cache", self._reset)
        if self._primary is not self._manager:
            wraps.put(self._primary, "prepare_write", self._storing)
            wraps.put(self._primary, "complete_write", self._promoted)
        connector = self._scheduler.connector.connector_scheduler
        wraps.put(connector, "get_num_new_matched_tokens", self._matched)
        wraps.put(connector, "update_connector_output", self._output)
        wraps.put(self._scheduler, "_update_waiting_for_remote_kv", self._loaded)
        wraps.put(self._scheduler, "_handle_invalid_blocks", self._invalid)
        wraps.put(self._scheduler, "_free_blocks", self._free_blocks)
        steps.before_output, steps.keeps_blocks = self._let_fail, self._still_loads

    # The tier.

    def _loading(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def prepare_load(keys: Any, req_context: Any) -> Any:
            wanted = list(keys)
            spec = call(wanted, req_context)
            self._wraps.attempt("prepare_load", self._begin, req_context.req_id, wanted)
            return spec

        return prepare_load

    def _begin(self, request_id: str, keys: list[bytes]) -> None:
        """A load begins. With several groups it may end within a block, which is then computed."""
        request, groups = self._scheduler.requests[request_id], self._blocks.groups
        size = self._scheduler.hash_block_size
        prompt = self._blocks.keys(request, self._blocks.given * size)
        whole = [*{*groups.every(prompt)}.intersection(keys)]
        used = [key for key, _ in self._cached(request_id)]
        for claim in self._controller.offloaded.loading(request_id, whole, used) or [""]:
            if self._fail_loads[claim]:
                self._fail_loads[claim] -= 1
                self._failing.add(request_id)

    def _stored(self, call: Callable[..., None]) -> Callable[..., None]:
        def complete_store(keys: Any, req_context: Any, success: bool = True) -> None:
            done, failing = list(keys), list[str]()
            if success:
                self._wraps.attempt("complete_store", self._fail_store, done, failing)
            failed = any(not keys.isdisjoint(done) for keys in self._unstored.values())
            success = success and not (failed or failing)
            call(done, req_context, success)
            if success:
                self._wraps.attempt("complete_store", self._controller.offloaded.stored, done)

        return complete_store

    def _promoted(self, call: Callable[..., None]) -> Callable[..., None]:
        def complete_write(keys: Any, req_context: Any, success: bool = True) -> None:
            done = list(keys)
            call(done, req_context, success)
            if success:
                self._wraps.attempt("complete_write", self._controller.offloaded.found, done)

        return complete_write

    def _fail_store(self, keys: list[bytes], failing: list[str]) -> None:
        """Drill: let a store fail, for the claims that the drill names."""
        failing += [
            c for c in self._controller.offloaded.claims_on(keys) or [""] if self._fail_stores[c]
        ]
        for claim in failing:
            self._fail_stores[claim] -= 1

    def _output(self, call: Callable[[Any], None]) -> Callable[[Any], None]:
        """Read what the workers report besides: vLLM takes every store to succeed."""

        def update_connector_output(connector_output: Any) -> None:
            meta = connector_output.kv_connector_worker_meta
            self._wraps.attempt("update_connector_output", self._note_unstored, meta)
            for fault in getattr(meta, FAULTS, ()):  # before a transfer counts that is not checked
                self._wraps.note("OffloadingWorker", WorkerFault(fault))
            call(connector_output)

        return update_connector_output

    def _note_unstored(self, meta: Any) -> None:
        """Note failed stores. The ranks of an engine may report one job in different steps."""
        jobs = self._scheduler.connector.connector_scheduler._jobs
        for job in self._unstored.keys() - jobs.keys():
            del self._unstored[job]
        for job in getattr(meta, FAILED_STORES, set()) & jobs.keys():
            self._unstored[job] = set(jobs[job].keys)

    def _storing(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def prepare_store(keys: Any, req_context: Any) -> Any:
            output = call(keys, req_context)
            if output is not None and output.evicted_keys:
                self._wraps.attempt(
                    "prepare_store", self._controller.offloaded.lost, output.evicted_keys
                )
            return output

        return prepare_store

    def _reset(self, call: Callable[[], None]) -> Callable[[], None]:
        def reset_cache() -> None:
            call()
            self._kept.clear()
            self._wraps.attempt("reset_cache", self._controller.offloaded.lost, None)

        return reset_cache

    # Loads.

    def _matched(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Keep a request from running without a claim that it can use and that is away."""

        def get_num_new_matched_tokens(request: Any, computed: int, **named: Any) -> Any:
            loads, later = call(request, computed, **named)
            refused: list[Refusal] = []
            if loads is not None:
                about = (request, computed, loads, refused)
                self._wraps.attempt("get_num_new_matched_tokens", self._withhold, *about)
            self._steps.refused_late += refused
            return (None, False) if refused else (loads, later)

        return get_num_new_matched_tokens

    def _withhold(self, request: Any, computed: int, loads: int, refused: list[Refusal]) -> None:
        size = self._scheduler.hash_block_size
        asked = self._blocks.could_use(request, computed // size)
        keys, found = self._blocks.keys(request, asked * size), (computed + loads) // size
        if claims := self._controller.offloaded.withheld(request.request_id, keys, found):
            refused.append(self._controller.not_restored(request.request_id, claims))

    def _loaded(self, call: Callable[[Any], None]) -> Callable[[Any], None]:
        def update_waiting_for_remote_kv(request: Any) -> None:
            failed = request.request_id in self._scheduler.failed_recving_kv_req_ids
            self._blocks.loaded, self._blocks.all_loaded = request.request_id, not failed
            call(request)
            self._blocks.loaded = None
            if not failed:
                self._wraps.attempt("_update_waiting_for_remote_kv", self._report_loaded, request)

        return update_waiting_for_remote_kv

    def _report_loaded(self, request: Any) -> None:
        cached = list(self._cached(request.request_id))
        if self._controller.offloaded.loaded(request.request_id, cached):
            # It looks up nothing else, so it does not find blocks that others computed meanwhile.
            found = sum(place.group == self._blocks.groups.lead for _, place in cached)
            self._blocks.report_found(request, found, found, {key for key, _ in cached})

    def _cached(self, request_id: str) -> Iterator[tuple[bytes, Place]]:
        """The cached blocks of a request, with their contents."""
        for block, place in self._blocks_of(request_id):
            if block.block_hash:
                yield block.block_hash, place

    def _blocks_of(self, request_id: str) -> Iterator[tuple[Any, Place]]:
        """The blocks of a request in each group of caches, without those that it skips."""
        position = self._blocks.groups.position
        groups = self._scheduler.kv_cache_manager.get_blocks(request_id).blocks
        for group, blocks in enumerate(groups):
            for number, block in enumerate(blocks):
                if not block.is_null:
                    yield block, Place(position(group, number), block.block_id, group)

    def _invalid(self, call: Callable[..., set[str]]) -> Callable[..., set[str]]:
        """With several groups vLLM raises an exception here: it handles failed requests alone."""

        def handle_invalid_blocks(invalid_block_ids: Any, num_scheduled_tokens: Any) -> set[str]:
            self._wraps.attempt("_handle_invalid_blocks", self._refuse, invalid_block_ids)
            if not self._blocks.groups.several:
                return call(invalid_block_ids, num_scheduled_tokens)
            every = {request.request_id for request in self._scheduler.kv_holding_waiting}
            about = (every, self._failed, invalid_block_ids)  # after a fault no load is trusted
            failed = self._wraps.instead("_handle_invalid_blocks", *about)
            ended: set[str] = self._scheduler._handle_failed_recving(failed)
            return ended

        return handle_invalid_blocks

    def _failed(self, invalid: set[int]) -> set[str]:
        """The requests whose blocks were not loaded: vLLM ends them, or begins them anew."""
        return {request.request_id for request in self._reached(invalid)}

    def _refuse(self, invalid: set[int]) -> None:
        """Refuse the requests whose claimed blocks were not loaded; vLLM handles the others."""
        for request in self._reached(invalid):
            claims = self._controller.offloaded.failed(request.request_id)
            if claims and not request.is_finished():
                self._steps.refuse(self._controller.not_restored(request.request_id, claims))

    def _reached(self, invalid: set[int]) -> list[Any]:
        """The requests that wait for the load of any of these blocks."""
        aborted = [self._scheduler.requests[request_id] for request_id in self._aborted]
        return [
            request
            for request in [*self._scheduler.kv_holding_waiting, *aborted]
            if request.status in _LOADS
            if any(place.block in invalid for _, place in self._blocks_of(request.request_id))
        ]

    def _still_loads(self, request: Any) -> bool:
        """Whether a load still writes to the blocks of a request that ends."""
        aborted: str = request.request_id
        late = aborted in self._scheduler.requests and self._controller.offloaded.under_way(aborted)
        if late:
            self._aborted.add(aborted)
        return late

    def _free_blocks(self, call: Callable[[Any], None]) -> Callable[[Any], None]:
        def free_blocks(request: Any) -> None:
            back: list[tuple[bytes, Place]] = []
            self._wraps.attempt("_free_blocks", self._loaded_blocks, request, back)
            request_id = request.request_id
            call(request)
            if back:
                self._wraps.attempt(
                    "_free_blocks", self._controller.offloaded.loaded_unused, request_id, back
                )
            if request_id in self._aborted:
                self._aborted.discard(request_id)
                self._wraps.attempt("_free_blocks", self._steps.freed, request_id)

        return free_blocks

    def _loaded_blocks(self, request: Any, back: list[tuple[bytes, Place]]) -> None:
        """Collect the blocks of an aborted request whose load came back, with their contents."""
        aborted = request.status == RequestStatus.FINISHED_ABORTED
        if aborted and self._controller.offloaded.under_way(request.request_id):
            groups, keys = self._blocks.groups, self._blocks.keys(request, request.num_tokens)
            places = (place for _, place in self._blocks_of(request.request_id))
            back += [(groups.key(keys[p.at], p.group), p) for p in places if p.at < len(keys)]

    def _let_fail(self, model_runner_output: Any) -> None:
        """Drill: report loads that succeeded as failed, as the worker would."""
        output = model_runner_output.kv_connector_output
        for request_id in self._failing & set(output.finished_recving or ()) if output else ():
            self._failing.discard(request_id)
            blocks = self._blocks_of(request_id)
            bad = {place.block for block, place in blocks if not block.block_hash}
            output.invalid_block_ids = {*(output.invalid_block_ids or ()), *bad}
