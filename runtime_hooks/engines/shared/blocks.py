"""Observes blocks of vLLM: cached, computed, looked up, evicted, lost, reset.

vLLM caches blocks before they are computed, within `allocate_slots`. The controller receives them
when the output of their step has arrived.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from vllm.v1.request import RequestStatus

from runtime_hooks.engines.shared.requests import keys_of, loadable

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from runtime_hooks.claims.groups import Groups
    from runtime_hooks.controller.controller import Controller
    from runtime_hooks.engines.shared.wraps import Wraps

__all__ = ["BlockHooks"]

Cached: TypeAlias = tuple[str | None, int, list[Any], list[Any], int]
"""Blocks cached in one call: the request that computes them (None: a connector loads them), the
number of the first in its group of caches, the blocks, their keys, and the group. A block that was
left out has no key.
"""


class BlockHooks:
    """The hooks on the block pool of one scheduler, and on the manager above it.

    Args:
        groups: of its caches.
    """

    def __init__(self, scheduler: Any, groups: Groups) -> None:
        self.groups = groups
        self._size: int = scheduler.hash_block_size
        self._manager = scheduler.kv_cache_manager
        self._pool = scheduler.kv_cache_manager.block_pool
        self._fresh: list[Cached] = []  # in the step that is being scheduled
        self._steps: deque[tuple[Any, list[Cached]]] = deque()  # scheduled and not computed yet
        self._removed: list[int] = []  # blocks that left the cache within the present call
        self._for: str | None = None  # the request that blocks are allocated for
        self.filled = 0  # the first blocks of a request, found or loaded, where some are loaded
        self.given = 0  # the same of the request that got blocks last
        self.no_room: str | None = None  # the last request of this step that got no blocks
        self.not_admitted: set[str] = set()  # requests of which only loaded blocks are cached
        self.loaded: str | None = None  # the request whose loaded blocks are being cached
        self.all_loaded = True  # the whole load came back, so nothing of it is computed

    def install(self, controller: Controller, wraps: Wraps) -> None:
        """Wrap the methods."""
        self._controller, self._wraps = controller, wraps
        wraps.put(self._manager, "allocate_slots", self._allocate_slots)
        if self.groups.sparse:
            wraps.put(self._manager, "get_computed_blocks", self._get_computed_blocks)
        wraps.put(self._pool, "get_new_blocks", self._get_new_blocks)
        wraps.put(self._pool, "cache_full_blocks", self._cache_full_blocks)
        wraps.put(self._pool, "cache_partial_block", self._cache_partial_block)
        wraps.put(self._pool, "evict_blocks", self._evict_blocks)
        wraps.put(self._pool, "reset_prefix_cache", self._reset_prefix_cache)
        wraps.put(self._pool.cached_block_hash_to_block, "pop", self._pop)

    def uncomputed(self) -> set[int]:
        """The blocks that are cached and not computed yet."""
        steps = [*(fresh for _, fresh in self._steps), self._fresh]
        return {b.block_id for fresh in steps for _, _, blocks, _, _ in fresh for b in blocks}

    def scheduled(self, output: Any) -> None:
        """A step was scheduled: it will compute the blocks that were cached for it."""
        self._steps.append((output, self._fresh))
        self._fresh, self.no_room = [], None

    def computed(self, output: Any) -> None:
        """A step was computed: its blocks hold their contents, if they are still cached."""
        if not any(step is output for step, _ in self._steps):
            return  # its scheduling was not observed
        while self._steps:
            step, fresh = self._steps.popleft()
            for request_id, start, blocks, keys, group in fresh:
                both = zip(blocks, keys, strict=True)
                gone = (i for i, (b, key) in enumerate(both) if not key or b.block_hash is not key)
                for last, end in pairwise((-1, *gone, len(blocks))):
                    pairs = [(keys[i], blocks[i].block_id) for i in range(last + 1, end)]
                    if pairs:
                        self._controller.tracker.cached(request_id, start + last + 1, pairs, group)
            if step is output:
                break

    def _allocate_slots(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def allocate_slots(
            request: Any,
            num_new_tokens: int,
            num_new_computed_tokens: int = 0,
            new_computed_blocks: Any = None,
            num_lookahead_tokens: int = 0,
            num_external_computed_tokens: int = 0,
            *args: Any,
            **named: Any,
        ) -> Any:
            found, loads = num_new_computed_tokens, num_external_computed_tokens
            self._for = request.request_id
            self.filled = (found + loads) // self._size if loads > 0 else 0
            about = (new_computed_blocks, num_lookahead_tokens, loads)
            blocks = call(request, num_new_tokens, found, *about, *args, **named)
            self._for, self.given, self.filled = None, self.filled, 0
            if blocks is None:
                self.no_room = request.request_id
            elif not request.num_computed_tokens and request.status is not RequestStatus.RUNNING:
                self._wraps.attempt("allocate_slots", self._look_up, request, found, loads)
            return blocks

        return allocate_slots

    def _get_computed_blocks(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def get_computed_blocks(request: Any, *args: Any, **named: Any) -> Any:
            blocks, found, boundary = call(request, *args, **named)
            about = (0, self._end_of_claim, request, found)
            return blocks, found, self._wraps.instead("get_computed_blocks", *about) or boundary

        return get_computed_blocks

    def _end_of_claim(self, request: Any, found: int) -> int:
        """The position in tokens at which a hit on a claim on the prompt of a request ends; 0 for
        none.

        vLLM caches the end of a window, and a state, where it expects a hit to end. That is the
        end of the prompt, and the boundary that this method states. With EAGLE a hit ends one block
        before the claim.

        Args:
            found: the tokens that the request finds in the cache, and does not compute.
        """
        if not self._controller.claims:
            return 0
        end = self._controller.tracker.end_to_cache(self.keys(request, request.num_prompt_tokens))
        return (end - self.groups.drops) * self._size if end * self._size > found else 0

    def keys(self, request: Any, tokens: int) -> list[bytes]:
        """The keys of the whole blocks of a request's first tokens, in the group `lead`."""
        return keys_of(request, tokens, self._size, self.groups.lead)

    def could_use(self, request: Any, found: int) -> int:
        """How many blocks a request can use of those that it looks up.

        It cannot use the block with the last token of its prompt. Of missing blocks it can use as
        many as it allows to load. With a draft model vLLM does not use the last block found.

        Args:
            found: the blocks that it found in the cache.
        """
        if request.skip_reading_prefix_cache:
            return 0
        if self.groups.drops:
            return found
        limit, load = int(request.num_tokens - 1) // self._size, loadable(request)
        limit -= limit % self.groups.align
        return limit if load is None else min(limit, found + load // self._size)

    def _look_up(self, request: Any, tokens: int, loads: int) -> None:
        """Report what a request found in the cache; what is loaded was not found.

        ExampleConnector answers with fewer than no tokens where it has less of a prompt than the
        cache. vLLM computes these tokens again, as if the request had not asked for them.
        """
        if not self._controller.claims:
            return
        found = (tokens + min(loads, 0)) // self._size
        asked = found if loads < 0 else self.could_use(request, found)
        if asked and self._controller.tracker.begins(self.keys(request, self._size)):
            self.report_found(request, asked, found)

    def report_found(
        self, request: Any, asked: int, found: int, uses: Container[bytes] | None = None
    ) -> None:
        """Report the look-up of a request.

        Args:
            asked: how many blocks it can use.
            found: how many of the first ones it found.
            uses: the contents that it has, if it loaded some of them.
        """
        keys = self.keys(request, asked * self._size)
        self._controller.tracker.look_up(request.request_id, keys, found, uses)

    def _get_new_blocks(self, call: Callable[[int], Any]) -> Callable[[int], Any]:
        removed = self._removed

        def get_new_blocks(num_blocks: int) -> Any:
            blocks = call(num_blocks)
            if removed:
                taken = tuple(removed)
                removed.clear()
                tracker = self._controller.tracker
                self._wraps.attempt("get_new_blocks", tracker.evicted, taken, self._for)
            return blocks

        return get_new_blocks

    def _pop(self, call: Callable[..., Any]) -> Callable[..., Any]:
        removed = self._removed

        def pop(key: Any, block_id: int) -> Any:
            block = call(key, block_id)
            if block is not None:
                removed.append(block_id)
            return block

        return pop

    def _cache_full_blocks(self, call: Callable[..., None]) -> Callable[..., None]:
        def cache_full_blocks(
            request: Any,
            blocks: list[Any],
            num_cached_blocks: int,
            num_full_blocks: int,
            block_size: int,
            kv_cache_group_id: int,
            *args: Any,
            **named: Any,
        ) -> None:
            if self._wraps.instead("cache_full_blocks", False, self._keeps_out, request):
                return
            about = (num_cached_blocks, num_full_blocks, block_size, kv_cache_group_id)
            call(request, blocks, *about, *args, **named)
            if num_cached_blocks < num_full_blocks:
                new = blocks[num_cached_blocks:num_full_blocks]
                part = (request.request_id, num_cached_blocks, new, kv_cache_group_id)
                self._wraps.attempt("cache_full_blocks", self._note_fresh, *part)

        return cache_full_blocks

    def _cache_partial_block(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Note states: this method caches them, too, with the key of a whole block."""

        def cache_partial_block(
            request: Any,
            block: Any,
            num_tokens: int,
            kv_cache_group_id: int,
            block_size: int,
            *args: Any,
            **named: Any,
        ) -> Any:
            if self._wraps.instead("cache_partial_block", False, self._keeps_out, request):
                return None
            before = block.block_hash
            about = (num_tokens, kv_cache_group_id, block_size)
            key = call(request, block, *about, *args, **named)
            if block.block_hash is not before:
                number = num_tokens // block_size - 1
                part = (request.request_id, number, [block], kv_cache_group_id)
                self._wraps.attempt("cache_partial_block", self._note_fresh, *part)
            return key

        return cache_partial_block

    def _keeps_out(self, request: Any) -> bool:
        """Whether the blocks of a request are kept out of the cache."""
        return request.request_id in self.not_admitted and request.request_id != self.loaded

    def _note_fresh(self, request_id: str, start: int, blocks: list[Any], group: int) -> None:
        """These blocks of a request, from this one of a group on, are cached."""
        if self.all_loaded and request_id == self.loaded:
            return
        keys = [block.block_hash for block in blocks]
        end = max(0, self.filled - start)
        for by, first, last in ((None, 0, end), (request_id, end, len(blocks))):
            if part := blocks[first:last]:
                self._fresh.append((by, start + first, part, keys[first:last], group))

    def _evict_blocks(self, call: Callable[[Any], None]) -> Callable[[Any], None]:
        removed = self._removed

        def evict_blocks(block_ids: Any) -> None:
            call(block_ids)
            if removed:
                lost = tuple(removed)
                removed.clear()
                self._wraps.attempt("evict_blocks", self._controller.tracker.lost, lost)

        return evict_blocks

    def _reset_prefix_cache(self, call: Callable[[], bool]) -> Callable[[], bool]:
        def reset_prefix_cache() -> bool:
            done, old = False, self._pool.cached_block_hash_to_block
            self._wraps.attempt("reset_prefix_cache", self._controller.tracker.before_reset)
            try:
                done = call()
            finally:
                self._wraps.attempt(
                    "reset_prefix_cache", self._controller.tracker.after_reset, done
                )
            if done:
                self._wraps.attempt("reset_prefix_cache", self._follow, old)
            return done

        return reset_prefix_cache

    def _follow(self, old: Any) -> None:
        """The pool has a new map in the place of this one."""
        self._wraps.forget(old)
        self._wraps.put(self._pool.cached_block_hash_to_block, "pop", self._pop)
