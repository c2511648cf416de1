"""Simulates engines: requests arrive, wait for blocks, are computed and decoded, and end.

It abstracts the scheduler of vLLM 0.32.0 (`vllm/v1/core/sched/scheduler.py`): requests are admitted
first come, first served, when their prompt fits; the answer takes a block when it needs one; where
none is free, the request that was admitted last is preempted. What is left out is listed in
docs/decisions/0054.
"""

from __future__ import annotations

from array import array
from collections import deque
from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING, Any

from models.simulation.policies.base import DEFER
from models.simulation.request import FRESH, Run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from models.simulation.cost import Cost
    from models.simulation.outcome import Tally
    from models.simulation.policies.base import Host, Policy
    from models.simulation.request import Request, Workload

__all__ = ["Engine", "simulate"]

_END, _TIMER, _ARRIVAL, _GROWTH = range(4)
"""Kinds of events, in the order in which those of one instant happen."""


class Engine:
    """One engine: a pool, the requests that wait and those that run.

    Attributes:
        name: its number.
        blocks: usable blocks of its pool.
        running: in the order of admission.
    """

    def __init__(self, name: int, simulation: _Simulation, policy: Policy, blocks: int) -> None:
        self.name, self.policy, self.blocks = name, policy, blocks
        self.waiting: deque[Run] = deque()
        self.running: dict[Run, None] = {}
        self._simulation = simulation
        self._ready = 0.0  # when the prompts admitted so far are computed
        self._timers = 0
        self._preempted = -inf  # when a request was last preempted
        self.pool = policy.pool(self)

    @property
    def now(self) -> float:
        """Seconds since the start of the workload."""
        return self._simulation.now

    @property
    def block(self) -> int:
        """Tokens of a block."""
        return self._simulation.block

    @property
    def tally(self) -> Tally:
        """What the simulation counts."""
        return self._simulation.tally

    @property
    def load(self) -> int:
        """The requests that wait or run."""
        return len(self.waiting) + len(self.running)

    def wake(self, at: float, what: Any) -> None:
        """Call `policy.wakes` with `what` at this time."""
        self._timers += 1
        self._simulation.push(at, _TIMER, 0, (self, what))

    def woken(self, what: Any) -> None:
        """A time of the policy came; None is the step after a preemption."""
        if what is not None:
            self._timers -= 1
            self.policy.wakes(self, what)

    def arrive(self, run: Run) -> None:
        """Queue a request, or refuse or defer it as the policy decides."""
        run.engine = self.name
        if run.needed > self.pool.blocks:
            self.refuse(run, "too_large")
            return
        reason = self.policy.arrives(self, run)
        if reason is None:
            self.waiting.append(run)
        elif reason is not DEFER:
            self.refuse(run, reason)
        elif not run.deferred:
            run.deferred = True
            self.tally.found.deferred += 1

    def refuse(self, run: Run, reason: str) -> None:
        """End a request without an answer."""
        run.ended = self.now
        self.tally.refused(run, reason)
        self.policy.refused(self, run)
        self._simulation.followed(run)

    def admit(self) -> None:
        """Admit requests in turn while the next one fits."""
        waiting, most = self.waiting, self._simulation.max_running
        if self._preempted == self.now:  # `schedule` admits no request in such a step
            self._simulation.push(self.now + self._simulation.cost.step_s, _TIMER, 0, (self, None))
            self._preempted = -inf
            return
        self.policy.passes(self)
        while waiting and len(self.running) < most:
            run = self.policy.next(self)
            if not self._place(run):
                if self.running or self._timers:
                    break
                if self.policy.yields(self):
                    continue
                waiting.remove(run)
                self.policy.leaves(self, run)
                self.refuse(run, "no_blocks")
                continue
            self.policy.leaves(self, run)
            if waiting[0] is run:
                waiting.popleft()
            else:
                waiting.remove(run)

    def _place(self, run: Run) -> bool:
        """Allocate the blocks of a prompt, if they are free (`KVCacheManager.allocate_slots`)."""
        simulation, pool, keys = self._simulation, self.pool, run.keys
        block = simulation.block
        tokens = run.request.prompt + run.generated
        most = (tokens - 1) // block
        found = pool.find(keys, most)
        hit = len(found)
        need = -(-tokens // block) - hit
        free = pool.free
        if need > free or (need + hit > free and need + pool.unused(found) > free):
            return False
        loaded = self.policy.beyond(keys, hit, tokens // block)
        pool.touch(found)
        taken, victims = pool.take(need)
        run.stored = tokens // block
        pool.store(taken[: run.stored - hit], keys[hit : run.stored])
        run.blocks = found + taken
        simulation.admissions += 1
        run.number = simulation.admissions
        self.running[run] = None
        now = simulation.now
        if not run.preempted:
            run.admitted, run.hit, run.loaded = now, hit, loaded
        computed = tokens - (hit + loaded) * block
        simulation.tally.computed(run, hit + loaded, computed)
        if victims:
            self._lost(run, victims)
        self.policy.placed(self, run)
        self._ready = max(now, self._ready) + simulation.cost.prefill(computed, loaded)
        run.since = self._ready + simulation.cost.step_s
        if run.first == inf:
            run.first = run.since
        run.step = -tokens % block
        self._await(run)
        return True

    def _await(self, run: Run) -> None:
        """Schedule the next block of an answer, or its end."""
        simulation = self._simulation
        steps = run.request.output - 1 - run.generated
        kind = _GROWTH if run.step < steps else _END
        at = run.since + min(run.step, max(steps, 0)) * simulation.cost.decode_s
        simulation.push(at, kind, run.number, (self, run))

    def grow(self, run: Run) -> None:
        """Give an answer its next block; preempt requests where none is free."""
        self._store(run, (run.request.prompt + run.generated + run.step) // self._simulation.block)
        while not self.pool.free:
            if len(self.running) == 1:
                if self.policy.yields(self):
                    continue
                self._leave(run)
                self.refuse(run, "no_blocks")
                return
            victim = self.policy.victim(self)
            self._preempt(victim)
            if victim is run:
                return
        taken, victims = self.pool.take(1)
        run.blocks += taken
        if victims:
            self._lost(run, victims)
        run.step += self._simulation.block
        self._await(run)

    def _preempt(self, run: Run) -> None:
        """Give back all blocks of a request; it waits as the first (`_preempt_request`)."""
        simulation, request = self._simulation, run.request
        if simulation.now >= run.since:
            decode_s = simulation.cost.decode_s
            steps = int((simulation.now - run.since) / decode_s) if decode_s else run.step
            self._store(run, (request.prompt + run.generated + steps) // simulation.block)
            run.generated = min(run.generated + 1 + steps, request.output - 1)
        self._leave(run)
        run.preempted += 1
        run.number = 0
        self.tally.found.preempted += 1
        self.waiting.appendleft(run)
        self.policy.preempted(self, run)
        self._preempted = simulation.now

    def finish(self, run: Run) -> None:
        """Store what is full, and give back the blocks, the last one first (`free`)."""
        request = run.request
        self._store(run, (request.prompt + max(request.output, 1) - 1) // self._simulation.block)
        self.policy.ends(self, run)
        self._leave(run)
        self.policy.ended(self, run)
        run.ended = self.now
        self.tally.served(run)
        self._simulation.followed(run)

    def _leave(self, run: Run) -> None:
        self.pool.give_back(reversed(run.blocks))
        run.blocks = []
        del self.running[run]

    def _store(self, run: Run, full: int) -> None:
        """Cache the blocks of an answer that are full."""
        full = min(full, len(run.blocks))
        if full > run.stored:
            self.pool.store(run.blocks[run.stored : full], run.keys[run.stored : full])
            run.stored = full

    def _lost(self, run: Run, victims: list[int]) -> None:
        run.victims += victims
        self.tally.lost(victims)
        self.policy.lost(self, run, victims)


class _Simulation:
    """The clock, the events to come, and the engines."""

    def __init__(
        self,
        workload: Workload,
        policies: Sequence[Policy],
        blocks: int,
        cost: Cost,
        max_running: int,
        tally: Tally,
    ) -> None:
        self.block, self.cost, self.max_running, self.tally = (
            workload.block, cost, max_running, tally,
        )  # fmt: skip
        self.now, self.admissions = 0.0, 0
        self.engines = [Engine(n, self, each, blocks) for n, each in enumerate(policies)]
        self._events: list[tuple[float, int, int, int, tuple[Engine | None, Any]]] = []
        self._pushed, self._fresh = 0, FRESH
        self._requests = workload.requests
        self._turns: dict[str, list[int]] = {}
        self._firsts = array("Q")
        for number, request in enumerate(workload):
            if request.after is None:
                self._firsts.append(number)
            else:
                self._turns.setdefault(request.after, []).append(number)

    def push(self, at: float, kind: int, order: int, what: tuple[Engine | None, Any]) -> None:
        """Add an event."""
        self._pushed += 1
        heappush(self._events, (at, kind, order, self._pushed, what))

    def followed(self, run: Run) -> None:
        """A request ended: the turns after it come when their pauses are over."""
        for number in self._turns.pop(run.request.id, ()):
            self.push(self.now + self._requests[number].arrives, _ARRIVAL, 0, (None, number))

    def run(self, route: Callable[[Sequence[Host], Run], int], done: Callable[[], object]) -> None:
        """Let all requests arrive and end."""
        events, requests = self._events, self._requests
        firsts = (requests[number] for number in self._firsts)
        coming = next(firsts, None)
        while events or coming is not None:
            due = inf if coming is None else coming.arrives
            now = self.now = min(due, events[0][0]) if events else due
            changed: dict[Engine, None] = {}
            while events and events[0][0] <= now:
                _, kind, number, _, (engine, what) = heappop(events)
                if engine is None:
                    self._arrive(requests[what], route, changed)
                    continue
                changed[engine] = None
                if kind == _TIMER:
                    engine.woken(what)
                elif what.number == number:  # it was not preempted meanwhile
                    if kind == _END:
                        engine.finish(what)
                        done()
                    else:
                        engine.grow(what)
            while coming is not None and coming.arrives <= now:
                self._arrive(coming, route, changed)
                coming = next(firsts, None)
            for engine in changed:
                engine.admit()

    def _arrive(
        self,
        request: Request,
        route: Callable[[Sequence[Host], Run], int],
        changed: dict[Engine, None],
    ) -> None:
        run = Run(request, self.block, self.now, self._fresh)
        self._fresh -= len(run.keys)
        at = 0
        if len(self.engines) > 1:
            home = self.engines[0].policy.home(self.engines, run)
            at = route(self.engines, run) if home is None else home
        engine = self.engines[at]
        changed[engine] = None
        engine.arrive(run)


def simulate(
    workload: Workload,
    policies: Iterable[Policy],
    blocks: int,
    *,
    cost: Cost,
    tally: Tally,
    route: Callable[[Sequence[Host], Run], int],
    max_running: int = 256,
    done: Callable[[], object] = lambda: None,
) -> list[Engine]:
    """Replay a workload, and return the engines as they are at its end.

    Args:
        policies: one for each engine.
        blocks: usable blocks of each engine's pool.
        route: chooses the engine of a request.
        max_running: requests that an engine runs at once.
        done: called when a request was served.
    """
    made = _Simulation(workload, list(policies), blocks, cost, max_running, tally)
    made.run(route, done)
    return made.engines
