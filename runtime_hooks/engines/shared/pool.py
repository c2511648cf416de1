"""Gives the controller access to the block pool of vLLM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime_hooks.engines.shared.free_queue import RankedQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from vllm.v1.core.block_pool import BlockPool

__all__ = ["VllmPool"]


class VllmPool:
    """The block pool as the controller needs it (`runtime_hooks.controller.controller.Pool`).

    Args:
        uncomputed: the blocks that are cached and not computed yet.
    """

    def __init__(self, pool: BlockPool, uncomputed: Callable[[], set[int]]) -> None:
        self._pool, self._uncomputed = pool, uncomputed
        self.queue = RankedQueue(pool)
        self.usable = pool.num_gpu_blocks - 1  # one is the null block
        self._held: dict[int, None] = {}  # once each, so that a fault can hold or free none twice

    def hold(self, blocks: Sequence[int]) -> None:
        """Exclude blocks from eviction: vLLM evicts free blocks only, and these count as used."""
        for block in blocks:
            if block not in self._held:
                self._pool.touch([self._pool.blocks[block]])
                self._held[block] = None

    def release(self, blocks: Sequence[int]) -> None:
        """End the exclusion."""
        held = [block for block in dict.fromkeys(blocks) if block in self._held]
        free = [self._pool.blocks[block] for block in held]
        for block in held:
            del self._held[block]
        self._pool.free_blocks(free)

    def keep_only(self, blocks: Collection[int]) -> None:
        """End the exclusion of all other blocks."""
        self.release([block for block in self._held if block not in blocks])

    def restore(self) -> None:
        """Leave the pool as the engine would have it; its methods must be restored."""
        self.queue.clear()
        self.keep_only(())

    def drop(self, blocks: Sequence[int]) -> None:
        """Remove blocks from the cache; requests that use them go on."""
        self._pool.evict_blocks(set(blocks))

    def rank(self, ranks: Mapping[int, int | None]) -> None:
        """Rank blocks: those without a rank are evicted first, then the lowest rank."""
        self.queue.rank(ranks)

    def lowest(self) -> int | None:
        """The lowest rank of a free block."""
        return self.queue.lowest()

    def unused(self, blocks: Iterable[int]) -> Iterable[int]:
        """Those of these blocks that are free."""
        return [block for block in blocks if not self._pool.blocks[block].ref_cnt]

    def used(self) -> int:
        """How many blocks are not free, as vLLM counts its usage."""
        free: int = self._pool.free_block_queue.num_free_blocks
        return int(self.usable) - free

    def alone(self, blocks: Iterable[int]) -> int:
        """How many of these excluded blocks nobody else uses."""
        return sum(self._pool.blocks[block].ref_cnt == 1 for block in blocks)

    def find(self, keys: Sequence[bytes]) -> Iterable[tuple[bytes, int]]:
        """Pairs of content and block for those of these contents that are cached and computed."""
        return list(self._found(keys))

    def _found(self, keys: Sequence[bytes]) -> Iterator[tuple[bytes, int]]:
        uncomputed, cached = self._uncomputed(), self._pool.cached_block_hash_to_block._cache
        for key in keys:
            found = cached.get(key)
            if found is not None:
                blocks = list(found) if isinstance(found, dict) else [found.block_id]
                yield from ((key, block) for block in blocks if block not in uncomputed)
