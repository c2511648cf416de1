"""Orders the free blocks of vLLM: ranked blocks are evicted after all others.

A free block with a rank is kept in a queue of that rank instead of vLLM's free queue, and still
counts as free. Blocks are taken from these queues once the free queue is empty, the lowest rank
first. Nothing here scans blocks or claims. The methods are wrapped when the first rank is given.

If something here fails, every free block goes back into vLLM's queue, vLLM's own method is called,
and there are no ranks any more.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

from vllm.v1.core.kv_cache_utils import FreeKVCacheBlockQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from runtime_hooks.engines.shared.wraps import Wraps

__all__ = ["RankedQueue"]


class RankedQueue:
    """The free queue of one pool."""

    def __init__(self, pool: Any) -> None:
        self._pool, self._queue = pool, pool.free_block_queue
        self._wraps: Wraps | None = None
        self._wrapped, self._broken = False, False
        self._ranks: dict[int, int] = {}  # of blocks, free or in use
        self._at: dict[int, FreeKVCacheBlockQueue] = {}  # the queue of each ranked free block
        self._queues: dict[int, FreeKVCacheBlockQueue] = {}  # by rank
        self._heap: list[int] = []  # the ranks of these queues

    def install(self, wraps: Wraps) -> None:
        """Wrap the methods as soon as there is a rank."""
        self._wraps = wraps

    def rank(self, ranks: Mapping[int, int | None]) -> None:
        """Set or remove the ranks of blocks; those that are free change queues, in order."""
        if self._broken:
            return
        if self._wraps is not None and not self._wrapped:
            self._wrapped = True
            try:
                self._wraps.put(self._queue, "popleft_n", self._popleft_n)
                self._wraps.put(self._queue, "append_n", self._append_n)
                self._wraps.put(self._queue, "remove", self._remove)
            except Exception as fault:  # ranks without one of them would break the queue
                self._give_up("rank", fault)
                return
        for block_id, rank in ranks.items():
            self._set_rank(self._pool.blocks[block_id], rank)
            if self._broken:
                return

    def _set_rank(self, block: Any, rank: int | None) -> None:
        free = block.ref_cnt == 0
        try:
            if free:
                self._queue.remove(block)
            if rank is None:
                self._ranks.pop(block.block_id, None)
            else:
                self._ranks[block.block_id] = rank
            if free and block.block_hash is None:
                self._queue.prepend_n([block])  # as the pool does with uncached blocks
            elif free:
                self._queue.append_n([block])
        except Exception as fault:
            self._give_up("rank", fault, [block] if free else ())

    def lowest(self) -> int | None:
        """The lowest rank of a free block."""
        while self._heap and not self._queues[self._heap[0]].num_free_blocks:
            del self._queues[heapq.heappop(self._heap)]
        return self._heap[0] if self._heap else None

    def clear(self) -> None:
        """Put every ranked free block back into vLLM's queue."""
        there = self._there()
        back = [self._pool.blocks[at] for at in self._at if at not in there]
        self._queue.num_free_blocks = len(there)
        self._at, self._ranks, self._queues, self._heap = {}, {}, {}, []
        for block in back:
            self._queue.append(block)

    def _there(self) -> set[int]:
        """The blocks in vLLM's queue itself."""
        found, block = set(), self._queue.fake_free_list_head.next_free_block
        while block is not None and block.block_id >= 0:
            found.add(block.block_id)
            block = block.next_free_block
        return found

    def _give_up(self, hook: str, fault: Exception, first: Iterable[Any] = ()) -> None:
        """Something failed: leave vLLM's queue complete, with these blocks at its head."""
        self._broken = True
        self.clear()
        there = self._there()
        self._queue.prepend_n([block for block in first if block.block_id not in there])
        if self._wraps is not None:
            self._wraps.note(hook, fault, given_up=True)

    def _append_n(self, call: Callable[[list[Any]], None]) -> Callable[[list[Any]], None]:
        def append_n(blocks: list[Any]) -> None:
            if not self._ranks:
                call(blocks)
                return
            try:
                self._append(call, blocks)
            except Exception as fault:
                self._give_up("append_n", fault)
                there = self._there()
                call([block for block in blocks if block.block_id not in there])

        return append_n

    def _remove(self, call: Callable[[Any], None]) -> Callable[[Any], None]:
        def remove(block: Any) -> None:
            if block.block_id not in self._at:
                call(block)
                return
            try:
                self._dequeue(block)
            except Exception as fault:
                self._give_up("remove", fault)
                if block.block_id in self._there():
                    call(block)

        return remove

    def _popleft_n(self, call: Callable[[int], list[Any]]) -> Callable[[int], list[Any]]:
        def popleft_n(n: int) -> list[Any]:
            unranked = self._queue.num_free_blocks - len(self._at)
            if n <= unranked:
                return call(n)
            taken = call(unranked)
            try:
                self._take(taken, n)
            except Exception as fault:
                self._give_up("popleft_n", fault, taken)
                return call(n)
            return taken

        return popleft_n

    def _take(self, taken: list[Any], n: int) -> None:
        """Take ranked blocks, until there are this many."""
        while len(taken) < n and (rank := self.lowest()) is not None:
            block = self._queues[rank].fake_free_list_head.next_free_block
            taken.append(block)
            self._dequeue(block)

    def _append(self, call: Callable[[list[Any]], None], blocks: list[Any]) -> None:
        ranks = self._ranks
        call([block for block in blocks if block.block_id not in ranks])
        for block in blocks:
            if block.block_id in ranks:
                self._enqueue(block)

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
        self._at[block.block_id].remove(block)
        del self._at[block.block_id]
        self._queue.num_free_blocks -= 1
