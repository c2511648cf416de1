"""Policies that keep contents for a time: retention priorities, and an offload tier."""

from __future__ import annotations

from collections import OrderedDict
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec

from models.simulation.policies.base import Policy, Seconds
from models.simulation.policies.prefixes import Prefixes
from models.simulation.pool import Pool, RankedPool

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    from models.simulation.policies.base import Host
    from models.simulation.request import Run, Workload

__all__ = ["Offload", "Retention", "TierBlocks"]

_Priority = Annotated[int, msgspec.Meta(ge=0, le=100)]


class Retention(Policy):
    """Retention priorities with durations: blocks without one are evicted first, then the lowest.

    The prefix that a prompt shares with `shared` sessions has the priority `prefix`, for
    `prefix_ttl` seconds since its last use; the rest of the prompt of a turn that calls a tool has
    the priority `turn`, for `turn_ttl` seconds. A priority of 0 is none.

    Source: TensorRT-LLM's `KvCacheRetentionConfig`, and its form for vLLM (draft pull request 10 of
    a fork, for RFC 37003), which `models.runtimes.retention` models.
    """

    name: ClassVar = "retention"

    class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
        """Priorities, and seconds."""

        prefix: _Priority = 90
        prefix_ttl: Seconds = 3600.0
        turn: _Priority = 50
        turn_ttl: Seconds = 40.0
        shared: Annotated[int, msgspec.Meta(ge=1)] = 2

    def __init__(self, prefixes: Prefixes, options: Options) -> None:
        self._prefixes, self._options = prefixes, options
        self._entries: dict[int, tuple[int, float]] = {}  # priority and end
        self._ends: list[tuple[float, int]] = []

    @classmethod
    def made(cls, workload: Workload, blocks: int, options: Any) -> Callable[[], Policy]:
        """Find the prefixes once, for all engines."""
        prefixes = Prefixes(workload, options.shared)
        return lambda: cls(prefixes, options)

    def pool(self, engine: Host) -> Pool:
        """A pool that ranks by priority, until the time of an entry is over."""
        return RankedPool(
            engine.blocks,
            lambda key: self._rank(key, engine.now),
            lambda: self._over(engine.now),
        )

    def placed(self, engine: Host, run: Run) -> None:
        """Set the priorities of a prompt."""
        options, request = self._options, run.request
        prefix = self._prefixes.of(run.keys, request.prompt)
        size = len(prefix.keys) if prefix else 0
        self._set(run.keys[:size], options.prefix, engine.now + options.prefix_ttl)
        if request.tool is not None:
            self._set(run.keys[size : run.stored], options.turn, engine.now + options.turn_ttl)

    def lost(self, engine: Host, run: Run, victims: Sequence[int]) -> None:
        """An entry goes with its content."""
        for key in victims:
            if key in self._entries and key not in engine.pool:
                del self._entries[key]

    def _set(self, keys: Iterable[int], priority: int, end: float) -> None:
        for key in keys if priority else ():
            if self._entries.get(key, (0, end))[0] <= priority:
                self._entries[key] = (priority, end)
                heappush(self._ends, (end, key))

    def _rank(self, key: int, now: float) -> float | None:
        priority, end = self._entries.get(key, (None, 0.0))
        return priority if end > now else None

    def _over(self, now: float) -> Iterator[int]:
        while self._ends and self._ends[0][0] <= now:
            end, key = heappop(self._ends)
            if self._entries.get(key, (0, 0.0))[1] == end:
                del self._entries[key]
                yield key


TierBlocks = Annotated[int, msgspec.Meta(ge=1, le=1 << 26)]


class Offload(Policy):
    """A CPU tier: the full blocks of a prompt are copied to it when the request ends, and loaded on
    a hit.

    The tier holds `blocks` blocks, and forgets what was used least recently.

    Source: vLLM 0.32.0, `vllm/v1/kv_offload/cpu` (`LRUCachePolicy`, `offload_prompt_only`), and
    LMCache's local CPU back end (`models.runtimes.lmcache`). Copies out of the pool cost no time;
    loads take that of the cost model.
    """

    name: ClassVar = "offload"

    class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
        """`blocks` of the tier of each engine."""

        blocks: TierBlocks = 10_000

    def __init__(self, blocks: int, kept: Container[int] = ()) -> None:
        self._blocks, self._kept = blocks, kept
        self.copies: OrderedDict[int, None] = OrderedDict()

    @classmethod
    def made(cls, workload: Workload, blocks: int, options: Any) -> Callable[[], Policy]:
        """A tier for each engine."""
        return lambda: cls(options.blocks)

    def beyond(self, keys: Sequence[int], hit: int, most: int) -> int:
        """Count the blocks that the tier has."""
        found = hit
        while found < most and keys[found] in self.copies:
            found += 1
        return found - hit

    def ends(self, engine: Host, run: Run) -> None:
        """Copy the prompt; its last block is forgotten first, those of `kept` never."""
        copies = self.copies
        for key in reversed(run.keys[: run.request.prompt // engine.block]):
            copies[key] = None
            copies.move_to_end(key)
        for _ in range(len(copies)):
            if len(copies) <= self._blocks:
                break
            key, _ = copies.popitem(last=False)
            if key in self._kept:
                copies[key] = None
