"""Orders the free blocks of vLLM 0.32: ranked blocks are evicted after all others.

A free block with a rank is kept in a queue of that rank instead of vLLM's free queue, and still
counts as free. Blocks are taken from these queues once the free queue is empty, the lowest rank
first. Nothing here scans blocks or claims. The methods are wrapped when the first rank is given.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

from vllm.v1.core.kv_cache_utils import FreeKVCacheBlockQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runtime_hooks.engines.shared.wraps import Wraps

__all__ = ["RankedQueue"]


class RankedQueue:
    """The free queue of one pool."""

    def __init__(self, pool: Any) -> None:
        self._pool, self._queue = pool, pool.free_block_queue
        self._wraps: Wraps | None = None
        self._wrapped = False
        self._ranks: dict[int, int] = {}  # of blocks, free or in use
        self._at: dict[int, FreeKVCacheBlockQueue] = {}  # the queue of each ranked free block
        self._queues: dict[int, FreeKVCacheBlockQueue] = {}  # by rank
        self._heap: list[int] = []  # the ranks of these queues

    def install(self, wraps: Wraps) -> None:
        """Wrap the methods as soon as there is a rank."""
        self._wraps = wraps

    def rank(self, ranks: Mapping[int, int | None]) -> None:
        """Set or remove the ranks of blocks; those that are free change queues, in order."""
        if self._wraps is not None and not self._wrapped:
            self._wrapped = True
            self._wraps.put(self._queue, "popleft_n", self._popleft_n)
            self._wraps.put(self._queue, "append_n", self._append_n)
            self._wraps.put(self._queue, "remove", self._remove)
        for block_id, rank in ranks.items():
            block = self._pool.blocks[block_id]
            free = block.ref_cnt == 0
            if free:
                self._queue.remove(block)
            if rank is None:
                self._ranks.pop(block_id, None)
            else:
                self._ranks[block_id] = rank
            if free and block.block_hash is None:
                self._queue.prepend_n([block])  # as the pool does with uncached blocks
            elif free:
                self._queue.append_n([block])

    def lowest(self) -> int | None:
        """The lowest rank of a free block."""
        while self._heap and not self._queues[self._heap[0]].num_free_blocks:
            del self._queues[heapq.heappop(self._heap)]
        return self._heap[0] if self._heap else None

    def clear(self) -> None:
        """Put every ranked free block back into vLLM's queue; its methods must be restored."""
        for block_id in list(self._at):
            block = self._pool.blocks[block_id]
            self._dequeue(block)
            self._queue.append(block)
        self._ranks.clear()

    def _append_n(self, call: Callable[[list[Any]], None]) -> Callable[[list[Any]], None]:
        ranks = self._ranks

        def append_n(blocks: list[Any]) -> None:
            if not ranks:
                call(blocks)
                return
            call([block for block in blocks if block.block_id not in ranks])
            for block in blocks:
                if block.block_id in ranks:
                    self._enqueue(block)

        return append_n

    def _remove(self, call: Callable[[Any], None]) -> Callable[[Any], None]:
        def remove(block: Any) -> None:
            if block.block_id in self._at:
                self._dequeue(block)
            else:
                call(block)

        return remove

    def _popleft_n(self, call: Callable[[int], list[Any]]) -> Callable[[int], list[Any]]:
        def popleft_n(n: int) -> list[Any]:
            unranked = self._queue.num_free_blocks - len(self._at)
            if n <= unranked:
                return call(n)
            taken = call(unranked)
            while len(taken) < n and (rank := self.lowest()) is not None:
                block = self._queues[rank].fake_free_list_head.next_free_block
                self._dequeue(block)
                taken.append(block)
            return taken

        return popleft_n

    def _enqueue(self, block: Any) -> None:
        rank = self._ranks[block.block_id]
        queue = self._queues.get(rank)
        if queue is None:
            queue = self._queues[rank] = FreeKVCacheBlockQueue([])
            heapq.heappush(self._heap, rank)
        queue.append(block)
        self._at[block.block_id] = queue
        self._queue.num_free_blocks += 1

    def _dequeue(self, block: Any) -> None:
        self._at.pop(block.block_id).remove(block)
        self._queue.num_free_blocks -= 1
