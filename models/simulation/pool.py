"""Simulates the pool of KV blocks of one engine: cached contents, users, and the free queue.

Source: vLLM 0.32.0, `vllm/v1/core/block_pool.py` (`BlockPool.get_new_blocks`, `touch`,
`free_blocks`, `cache_full_blocks`) and `kv_cache_utils.py` (`FreeKVCacheBlockQueue`), for one group
of full-attention layers. The null block is left out: `blocks` are the usable ones.

A key stands for the content of a full block with all that precedes it. Several blocks can hold one
key, because vLLM computes the last block of a prompt again even where it is cached. A lookup finds
the block that was cached first.
"""

from __future__ import annotations

from collections import OrderedDict
from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["Pool", "RankedPool"]


class Pool:
    """The blocks of one engine, evicted in the order of their last use.

    The free queue of vLLM always has the blocks that cache no key before those that do. It is kept
    as two queues: a stack of the former, and the latter in the order of eviction.

    Args:
        blocks: usable blocks.
        caches: whether contents stay when no request uses them.

    Attributes:
        held: for each block that a policy excludes from eviction, how often.
    """

    def __init__(self, blocks: int, *, caches: bool = True) -> None:
        self.blocks = blocks
        self.held: dict[int, int] = {}
        self._caches = caches
        self._places: dict[int, int | dict[int, None]] = {}
        self._keys: list[int | None] = [None] * blocks
        self._users = [0] * blocks
        self._blank = list(range(blocks - 1, -1, -1))
        self._queue: OrderedDict[int, None] = OrderedDict()

    @property
    def free(self) -> int:
        """The blocks that no request uses and no policy holds."""
        return len(self._blank) + len(self._queue)

    def __contains__(self, key: int) -> bool:
        return key in self._places

    def find(self, keys: Sequence[int], most: int) -> list[int]:
        """The blocks of the longest cached prefix of these keys, at most so many."""
        places, found = self._places, []
        for key in keys[:most] if most < len(keys) else keys:
            place = places.get(key)
            if place is None:
                break
            found.append(place if isinstance(place, int) else next(iter(place)))
        return found

    def unused(self, blocks: Iterable[int]) -> int:
        """How many of these blocks are in the free queue."""
        users = self._users
        return sum(not users[block] for block in blocks)

    def touch(self, blocks: Iterable[int]) -> None:
        """Add a user to blocks; those in the free queue leave it."""
        users = self._users
        for block in blocks:
            if not users[block]:
                self._leave(block)
            users[block] += 1

    def take(self, count: int) -> tuple[list[int], list[int]]:
        """Take blocks from the head of the free queue.

        Returns:
            The blocks, each with one user, and the keys of the contents that were evicted. There
            must be as many free blocks.
        """
        blank, keys, places = self._blank, self._keys, self._places
        spare = min(count, len(blank))
        taken = blank[: -spare - 1 : -1] if spare else []
        if spare:
            del blank[-spare:]
        victims: list[int] = []
        for _ in range(count - spare):
            block = self._next()
            key = keys[block]
            assert key is not None
            keys[block] = None
            victims.append(key)
            place = places.pop(key)
            if not isinstance(place, int):
                del place[block]
                if place:
                    places[key] = place
            taken.append(block)
        users = self._users
        for block in taken:
            users[block] = 1
        return taken, victims

    def store(self, blocks: Sequence[int], keys: Sequence[int]) -> None:
        """Cache these keys, each in its block, which must be in use and cache none."""
        if not self._caches:
            return
        places, of = self._places, self._keys
        for block, key in zip(blocks, keys, strict=True):
            of[block] = key
            place = places.get(key)
            if place is None:
                places[key] = block
            elif isinstance(place, int):
                places[key] = {place: None, block: None}
            else:
                place[block] = None

    def give_back(self, blocks: Iterable[int]) -> None:
        """Remove a user from blocks, the first victim first; unused ones enter the free queue."""
        users, keys, blank = self._users, self._keys, list[int]()
        for block in blocks:
            users[block] -= 1
            if not users[block]:
                key = keys[block]
                if key is None:
                    blank.append(block)
                else:
                    self._enter(block, key)
        if blank:
            self._blank += blank[::-1]

    def hold(self, blocks: Iterable[int]) -> None:
        """Exclude blocks from eviction, in addition to any other use of them."""
        blocks = list(blocks)
        self.touch(blocks)
        for block in blocks:
            self.held[block] = self.held.get(block, 0) + 1

    def release(self, blocks: Iterable[int]) -> None:
        """End one exclusion of each of these blocks, the first victim first."""
        blocks = list(blocks)
        for block in blocks:
            self.held[block] -= 1
            if not self.held[block]:
                del self.held[block]
        self.give_back(blocks)

    def _next(self) -> int:
        """Take the next victim out of the queue."""
        return self._queue.popitem(last=False)[0]

    def _enter(self, block: int, key: int) -> None:
        """Put an unused block that caches a key into the queue."""
        self._queue[block] = None

    def _leave(self, block: int) -> None:
        """Take an unused block that caches a key out of the queue."""
        del self._queue[block]


class RankedPool(Pool):
    """A pool whose policy ranks contents: unranked blocks are evicted first, then the lowest rank.

    Blocks of one rank are evicted in the order in which they became free.

    Args:
        rank: the rank of a key, or None.
        over: the keys whose rank is over when blocks are taken.
    """

    def __init__(
        self,
        blocks: int,
        rank: Callable[[int], float | None],
        over: Callable[[], Iterable[int]] = tuple,
    ) -> None:
        super().__init__(blocks)
        self._rank, self._over = rank, over
        self._ranked: dict[int, int] = {}  # unused blocks, with the number of their entry
        self._heap: list[tuple[float, int, int]] = []  # rank, number, block; some are outdated
        self._number = 0

    @property
    def free(self) -> int:
        """The blocks that no request uses and no policy holds."""
        return len(self._blank) + len(self._queue) + len(self._ranked)

    def take(self, count: int) -> tuple[list[int], list[int]]:
        """Take blocks from the head of the free queue, after those whose rank is over left it."""
        over = list(self._over())
        if over:
            self.rank(sorted(over, key=self._freed))
        return super().take(count)

    def rank(self, keys: Iterable[int]) -> None:
        """Rank the unused blocks of these keys anew, in this order."""
        for key in keys:
            place = self._places.get(key, {})
            for block in [place] if isinstance(place, int) else list(place):
                if not self._users[block] and (
                    block in self._ranked or self._rank(key) is not None
                ):
                    self._leave(block)
                    self._enter(block, key)

    def _freed(self, key: int) -> int:
        """When the block of a key became free, as a number."""
        place = self._places.get(key, -1)
        return self._ranked.get(place if isinstance(place, int) else next(iter(place)), 0)

    def _next(self) -> int:
        if self._queue:
            return super()._next()
        while True:
            _, number, block = heappop(self._heap)
            if self._ranked.get(block) == number:
                del self._ranked[block]
                return block

    def _enter(self, block: int, key: int) -> None:
        rank = self._rank(key)
        if rank is None:
            super()._enter(block, key)
            return
        self._number += 1
        self._ranked[block] = self._number
        heappush(self._heap, (rank, self._number, block))
        if len(self._heap) > 2 * self.blocks + 64:
            self._heap = [each for each in self._heap if self._ranked.get(each[2]) == each[1]]
            self._heap.sort()

    def _leave(self, block: int) -> None:
        if self._ranked.pop(block, None) is None:
            super()._leave(block)
