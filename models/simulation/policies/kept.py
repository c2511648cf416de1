"""Policies that keep contents for a time: pins, retention priorities, and an offload tier."""

from __future__ import annotations

from collections import OrderedDict
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

import msgspec

from models.simulation.policies.base import Policy
from models.simulation.policies.prefixes import Prefixes
from models.simulation.pool import Pool, RankedPool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from models.simulation.policies.base import Host
    from models.simulation.request import Workload
    from models.simulation.run import Run

__all__ = ["Offload", "Pin", "Retention", "Seconds"]

Seconds = Annotated[float, msgspec.Meta(gt=0, le=1e9)]
_Priority = Annotated[int, msgspec.Meta(ge=0, le=100)]
_EXPIRY: Final = "expiry"


class _Pinned(msgspec.Struct, frozen=True):
    blocks: list[int]
    until: float


class Pin(Policy):
    """Continuum: the blocks of a turn that calls a tool stay until the next turn of its session
    ends, or for `ttl` seconds. Turns of a session with a pin are admitted first.

    Source: vllm-continuum on vLLM 0.7, `vllm/v1/core/sched/scheduler.py`, without the defects that
    `models.runtimes.continuum` describes. The time to live is fixed, and not that of the tool.
    """

    name: ClassVar = "pin"

    class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
        """`ttl` is in seconds."""

        ttl: Seconds = 40.0

    def __init__(self, ttl: float) -> None:
        self._ttl = ttl
        self._pins: OrderedDict[str, _Pinned] = OrderedDict()  # by session, the first due first
        self._came: dict[str, float] = {}

    @classmethod
    def made(
        cls, workload: Workload, blocks: int, engines: int, options: Any
    ) -> Callable[[], Policy]:
        """Make pins with one time to live."""
        return lambda: cls(options.ttl)

    def arrives(self, engine: Host, run: Run) -> str | None:
        """Note when a session came first."""
        self._came.setdefault(_session(run), run.arrived)
        return None

    def next(self, engine: Host) -> Run:
        """Of the sessions with a pin, or else of all, the request of the one that came first."""
        waiting: Iterable[Run] = engine.waiting
        if self._pins:
            waiting = [run for run in waiting if _session(run) in self._pins] or waiting
        return min(waiting, key=lambda run: self._came[_session(run)])

    def ends(self, engine: Host, run: Run) -> None:
        """Replace the pin of the session."""
        session = _session(run)
        self._unpin(engine, session)
        if run.request.session is not None and run.request.tool is not None:
            engine.pool.hold(run.blocks)
            until = engine.now + self._ttl
            self._pins[session] = _Pinned(run.blocks, until)
            engine.wake(until, _EXPIRY)

    def passes(self, engine: Host) -> None:
        """End the pins whose time is over."""
        while self._pins:
            session = next(iter(self._pins))
            if self._pins[session].until > engine.now:
                break
            self._unpin(engine, session)
            engine.tally.claimed("expired")

    def yields(self, engine: Host) -> bool:
        """End the pin with the latest time."""
        if not self._pins:
            return False
        self._unpin(engine, next(reversed(self._pins)))
        engine.tally.claimed("dropped")
        return True

    def _unpin(self, engine: Host, session: str) -> None:
        pin = self._pins.pop(session, None)
        if pin is not None:
            engine.pool.release(reversed(pin.blocks))


def _session(run: Run) -> str:
    """The session of a request; one without is its own."""
    return run.request.session or f"request:{run.request.id}"


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
    def made(
        cls, workload: Workload, blocks: int, engines: int, options: Any
    ) -> Callable[[], Policy]:
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


class Offload(Policy):
    """A CPU tier: what a request cached is copied to it when the request ends, and loaded on a hit.

    The tier holds `blocks` blocks, and forgets what was used least recently.

    Source: LMCache's local CPU back end, and SGLang's HiCache with the write-through policy
    (`models.runtimes.lmcache`, `models.runtimes.sglang_hicache`). Copies out of the pool cost no
    time; loads take that of the cost model.
    """

    name: ClassVar = "offload"

    class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
        """`blocks` of the tier of each engine."""

        blocks: Annotated[int, msgspec.Meta(ge=1, le=1 << 26)] = 10_000

    def __init__(self, blocks: int) -> None:
        self._blocks = blocks
        self._tier: OrderedDict[int, None] = OrderedDict()

    @classmethod
    def made(
        cls, workload: Workload, blocks: int, engines: int, options: Any
    ) -> Callable[[], Policy]:
        """A tier for each engine."""
        return lambda: cls(options.blocks)

    def beyond(self, keys: Sequence[int], hit: int, most: int) -> int:
        """Count the blocks that the tier has."""
        for at in range(hit, most):
            if keys[at] not in self._tier:
                return at - hit
            self._tier.move_to_end(keys[at])
        return max(most - hit, 0)

    def ends(self, engine: Host, run: Run) -> None:
        """Write the full blocks through."""
        tier = self._tier
        for key in run.keys[: run.stored]:
            tier[key] = None
            tier.move_to_end(key)
        while len(tier) > self._blocks:
            tier.popitem(last=False)
