"""Policies that choose victims by what is known of contents alone."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, ClassVar

from models.simulation.policies.base import Policy
from models.simulation.pool import Pool, RankedPool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from models.simulation.policies.base import Host
    from models.simulation.request import Run, Workload

__all__ = ["NoReuse", "Oracle"]


class NoReuse(Policy):
    """First come, first served without reuse: contents go when a request ends.

    Source: vLLM 0.32.0 with `enable_prefix_caching=False`.
    """

    name: ClassVar = "no_reuse"

    def pool(self, engine: Host) -> Pool:
        """A pool that caches no content."""
        return Pool(engine.blocks, caches=False)


class _Pool(RankedPool):
    """Evicts second blocks with one content first: a look-up finds the block cached first."""

    def _enter(self, block: int, key: int) -> None:
        place = self._places[key]
        if isinstance(place, int) or next(iter(place)) == block:
            super()._enter(block, key)
        else:
            Pool._enter(self, block, key)


class Oracle(Policy):
    """Evicts the content whose next use is the furthest away, by the order of the workload.

    Source: L. A. Belady, A study of replacement algorithms for a virtual-storage computer, IBM
    Systems Journal 5(2), 1966. It is optimal for pages of one cost and a known order. Here the
    order is estimated: a turn counts as arriving after its pauses, without the time of answers.
    """

    name: ClassVar = "oracle"

    def __init__(self, uses: dict[int, array[int]], places: dict[str, int]) -> None:
        self._uses, self._places = uses, places
        self._at = 0

    @classmethod
    def made(cls, workload: Workload, blocks: int, options: Any) -> Callable[[], Policy]:
        """Note for each key the requests that use it, in order; engines share the notes."""
        times: dict[str, float] = {}
        for request in workload:
            times[request.id] = request.arrives + times.get(request.after or "", 0.0)
        order = sorted(workload, key=lambda request: times[request.id])
        uses: dict[int, array[int]] = {}
        for place, request in enumerate(order):
            for key in request.keys[: (request.prompt - 1) // workload.block]:
                uses.setdefault(key, array("Q")).append(place)
        places = {request.id: place for place, request in enumerate(order)}
        return lambda: cls(uses, places)

    def pool(self, engine: Host) -> Pool:
        """A pool that ranks by the next use."""
        return _Pool(engine.blocks, self._next_use)

    def placed(self, engine: Host, run: Run) -> None:
        """Note how far the workload is; blocks that the request did not use are used later."""
        self._at = max(self._at, self._places[run.request.id])
        assert isinstance(engine.pool, RankedPool)
        engine.pool.rank(run.keys[: run.stored])

    def lost(self, engine: Host, run: Run, victims: Sequence[int]) -> None:
        """Forget contents that no request will use."""
        for key in victims:
            uses = self._uses.get(key)
            if uses is not None and uses[-1] <= self._at:
                del self._uses[key]

    def _next_use(self, key: int) -> float:
        uses = self._uses.get(key)
        if uses is None:
            return -float("inf")
        place = bisect_right(uses, self._at)
        return -float(uses[place]) if place < len(uses) else -float("inf")
