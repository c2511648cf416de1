"""What vLLM 0.32 does with blocks: cached, computed, taken as victims, lost, reset.

Blocks are cached by vLLM before they are computed, within `allocate_slots`. They are told when the
output of their step has come.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from runtime_hooks.engines.v0_32.engine import keys_of, loadable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runtime_hooks.custody.keeper import Keeper
    from runtime_hooks.engines.v0_32.wraps import Wraps

__all__ = ["BlockHooks"]

Cached: TypeAlias = tuple[str, int, list[Any], list[bytes]]
"""Blocks that were cached in one call: for which request, the position of the first, the blocks,
their keys.
"""


class BlockHooks:
    """The hooks on the block pool of one scheduler, and on the manager above it."""

    def __init__(self, scheduler: Any) -> None:
        self._size: int = scheduler.block_size
        self._manager = scheduler.kv_cache_manager
        self._pool = scheduler.kv_cache_manager.block_pool
        self._fresh: list[Cached] = []  # of the step that is being scheduled
        self._steps: deque[tuple[Any, list[Cached]]] = deque()  # scheduled, and not computed yet
        self._gone: list[int] = []  # blocks that left the cache within the present call
        self._for: str | None = None  # the request for which blocks are taken
        self.no_room: str | None = None  # the last request of the step that got no blocks
        self.not_admitted: set[str] = set()  # requests that are not cached but for what was loaded
        self.loaded: str | None = None  # the request whose loaded blocks are being cached
        self.back = True  # all of these came back, and need not be computed

    def install(self, keeper: Keeper, wraps: Wraps) -> None:
        """Wrap the methods."""
        self._keeper, self._wraps = keeper, wraps
        wraps.put(self._manager, "allocate_slots", self._allocate_slots)
        wraps.put(self._pool, "get_new_blocks", self._get_new_blocks)
        wraps.put(self._pool, "cache_full_blocks", self._cache_full_blocks)
        wraps.put(self._pool, "evict_blocks", self._evict_blocks)
        wraps.put(self._pool, "reset_prefix_cache", self._reset_prefix_cache)
        wraps.put(self._pool.cached_block_hash_to_block, "pop", self._pop)

    def uncomputed(self) -> set[int]:
        """Blocks that are cached and whose content is not there yet."""
        steps = [*(fresh for _, fresh in self._steps), self._fresh]
        return {b.block_id for fresh in steps for _, _, blocks, _ in fresh for b in blocks}

    def scheduled(self, output: Any) -> None:
        """A step was scheduled: what was cached for it will be computed."""
        self._steps.append((output, self._fresh))
        self._fresh, self.no_room = [], None

    def computed(self, output: Any) -> None:
        """A step was computed: its blocks hold what they are filed under, if they still are."""
        while self._steps:
            step, fresh = self._steps.popleft()
            for request_id, start, blocks, keys in fresh:
                gone = (i for i, block in enumerate(blocks) if block.block_hash is not keys[i])
                for last, end in pairwise((-1, *gone, len(blocks))):
                    pairs = [(keys[i], blocks[i].block_id) for i in range(last + 1, end)]
                    if pairs:
                        self._keeper.custody.cached(request_id, start + last + 1, pairs)
            if step is output:
                break

    def _allocate_slots(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def allocate_slots(
            request: Any,
            num_new_tokens: int,
            num_new_computed_tokens: int = 0,
            *args: Any,
            **named: Any,
        ) -> Any:
            self._for = request.request_id
            blocks = call(request, num_new_tokens, num_new_computed_tokens, *args, **named)
            self._for = None
            if blocks is None:
                self.no_room = request.request_id
            elif self._keeper.claims and not request.num_computed_tokens:
                self._wraps.attempt(
                    "allocate_slots", self._look_up, request, num_new_computed_tokens
                )
            return blocks

        return allocate_slots

    def could_use(self, request: Any, found: int) -> int:
        """How many blocks a request can use of those that it looks for, where it found so many: not
        the one with the last token of its prompt, and of what is not there what it lets be loaded.

        Where another model drafts vLLM does not use the last block that it finds.
        """
        if request.skip_reading_prefix_cache:
            return 0
        if self._manager.coordinator.eagle_group_ids:
            return found
        limit, load = int(request.num_tokens - 1) // self._size, loadable(request)
        return limit if load is None else min(limit, found + load // self._size)

    def _look_up(self, request: Any, tokens: int) -> None:
        found = tokens // self._size
        asked = self.could_use(request, found)
        if asked and self._keeper.custody.concerned(keys_of(request, self._size, self._size)[0]):
            (blocks,) = self._manager.get_block_ids(request.request_id)
            self.tell_found(request, asked, blocks[:found])

    def tell_found(self, request: Any, asked: int, blocks: Sequence[int]) -> None:
        """What a request found of the first blocks that it can use: these, as far as what they are
        filed under is computed.
        """
        keys, uncomputed = keys_of(request, asked * self._size, self._size), self.uncomputed()
        custody, found = self._keeper.custody, 0
        for key, block in zip(keys, blocks, strict=False):
            if block in uncomputed and not custody.there(key):
                break
            found += 1
        custody.look_up(request.request_id, keys, found)

    def _get_new_blocks(self, call: Callable[[int], Any]) -> Callable[[int], Any]:
        gone = self._gone

        def get_new_blocks(num_blocks: int) -> Any:
            blocks = call(num_blocks)
            if gone:
                taken = tuple(gone)
                gone.clear()
                custody = self._keeper.custody
                self._wraps.attempt("get_new_blocks", custody.evicted, taken, self._for)
            return blocks

        return get_new_blocks

    def _pop(self, call: Callable[..., Any]) -> Callable[..., Any]:
        gone = self._gone

        def pop(key: Any, block_id: int) -> Any:
            block = call(key, block_id)
            if block is not None:
                gone.append(block_id)
            return block

        return pop

    def _cache_full_blocks(self, call: Callable[..., None]) -> Callable[..., None]:
        def cache_full_blocks(
            request: Any,
            blocks: list[Any],
            num_cached_blocks: int,
            num_full_blocks: int,
            *args: Any,
            **named: Any,
        ) -> None:
            if request.request_id in self.not_admitted and request.request_id != self.loaded:
                return
            call(request, blocks, num_cached_blocks, num_full_blocks, *args, **named)
            back = self.back and request.request_id == self.loaded
            if num_cached_blocks < num_full_blocks and not back:
                new = blocks[num_cached_blocks:num_full_blocks]
                keys = [block.block_hash for block in new]
                self._fresh.append((request.request_id, num_cached_blocks, new, keys))

        return cache_full_blocks

    def _evict_blocks(self, call: Callable[[Any], None]) -> Callable[[Any], None]:
        gone = self._gone

        def evict_blocks(block_ids: Any) -> None:
            call(block_ids)
            if gone:
                lost = tuple(gone)
                gone.clear()
                self._wraps.attempt("evict_blocks", self._keeper.custody.lost, lost)

        return evict_blocks

    def _reset_prefix_cache(self, call: Callable[[], bool]) -> Callable[[], bool]:
        def reset_prefix_cache() -> bool:
            done = False
            self._wraps.attempt("reset_prefix_cache", self._keeper.custody.before_reset)
            try:
                done = call()
            finally:
                self._wraps.attempt("reset_prefix_cache", self._keeper.custody.after_reset, done)
            if done:  # the pool has a new map
                self._wraps.put(self._pool.cached_block_hash_to_block, "pop", self._pop)
            return done

        return reset_prefix_cache
