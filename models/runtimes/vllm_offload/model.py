"""Models vLLM's OffloadingConnector, and the boundary at which its scheduler takes a failed load.

Source: vLLM 0.32.0.
* `v1/core/sched/scheduler.py`: `schedule` (look-ups), `_update_waiting_for_remote_kv`,
  `_update_requests_with_invalid_blocks`, `_handle_invalid_blocks`, `update_from_output`;
* `distributed/kv_transfer/kv_connector/v1/offloading/scheduler.py` (`_lookup_complete_chunks`,
  `update_state_after_alloc`, the stores and their fences), `worker.py` (`get_finished`);
* `v1/kv_offload/cpu/manager.py` (`prepare_store`), `v1/core/block_pool.py` (the free queue).

A request looks up its prefix in the pool, and then what is missing in the tier. What the tier has
is loaded between steps, and cached when it is there; what neither has is computed, and a store of
it begins. A store does not keep the blocks of a request that ended. A request that is given them is
fenced behind the store: the copy is whole, but complete only after the eviction, and perhaps after
the end of that request (so recorded of 0.32.0 on a CPU). Its KV event has by default no tokens.

A load that fails: upstream cannot report it, because the worker asserts that each transfer
succeeded, and the engine ends (`Policy.UPSTREAM`). `FAIL`, the default, and `RECOMPUTE` are what
the scheduler does with blocks that a connector reports as invalid (`kv_load_failure_policy`): it
ends the request with an error, or keeps what was loaded before the first bad block, and computes
the rest. If nothing was, it asks the tier again. The messages name requests, never a claim.

Left out: tokens within a block, decoding, what requests compute beyond an object (it is neither
cached nor stored), preemption, aborts, resets, several cache groups and workers, tiers behind the
CPU. An object's copy is stored, evicted and lost as a whole: so traces are accepted, and rejected
only by a named instance (`of_trace.py` says why). A client asks for an object before the first
request on it comes. That a load fails is chosen by the run, at any load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, ClassVar, Final, NamedTuple

from models.framework.blocks import filed_again, freed, hits
from models.framework.claims import leading
from models.framework.model import Action, Emitted, Model, Next, fact, signal
from models.framework.symmetry import alike_for
from spec.events.alphabet import Kind

__all__ = ["ERRORS", "FAILING", "Policy", "State", "VllmOffload"]

FAILING: Final = "Failing 1 request(s)"
"""The line in the log where a load failed, and the policy is `fail`."""

ERRORS: Final = "request_success:error"
"""The counter of requests that ended with an error."""


class Policy(StrEnum):
    """What becomes of a load that fails."""

    UPSTREAM = "upstream"
    FAIL = "fail"
    RECOMPUTE = "recompute"


class State(NamedTuple):
    """The engine.

    `free` is the free queue, the next victim first; `cached` says of each block the object and the
    position that it holds. Requests that load (`loading`) and that run have blocks. `tier` are the
    objects that have chunks in the tier, the next to be evicted first; `storing` are those whose
    store is under way, `copied` those that ever had a copy. `over`: the engine has ended. `again`
    are the blocks that cache what another one did before them, in that order.
    """

    free: tuple[int, ...]
    cached: tuple[tuple[str, int] | None, ...]
    asked: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    loading: tuple[tuple[str, tuple[int, ...]], ...] = ()
    running: tuple[tuple[str, tuple[int, ...]], ...] = ()
    storing: tuple[str, ...] = ()
    tier: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    over: bool = False
    again: tuple[int, ...] = ()


class VllmOffload(Model[State]):
    """The connector and the scheduler.

    Args:
        blocks: usable blocks of the pool.
        chunks: blocks of the tier.
        objects: the size in blocks of each prefix; a client may ask to have any of them offloaded.
        prompts: the requests that may arrive, each once, in any order, and the object of each.
        policy: what becomes of a load that fails.
        lag: a store may still be under way when the next request is scheduled.
        exact: the last token of a prompt is in the last block of its object, so that is not found.
    """

    name: ClassVar = "vllm_offload"
    about: ClassVar = "The OffloadingConnector of vLLM: stores, loads, and loads that fail."
    source: ClassVar = "vLLM 0.32.0, the offloading connector and v1/core/sched/scheduler.py"
    left_out: ClassVar = "parts of blocks, decoding, preemption, aborts, resets, groups, more tiers"
    by_name: ClassVar = ("asked", "copied", "ended")

    def __init__(
        self,
        blocks: int = 2,
        chunks: int = 3,
        objects: Mapping[str, int] | None = None,
        prompts: Mapping[str, str] | None = None,
        policy: Policy = Policy.FAIL,
        *,
        lag: bool = True,
        exact: bool = False,
    ) -> None:
        self.blocks, self.chunks, self.policy = blocks, chunks, policy
        self.lag, self.exact = lag, exact
        self.objects = {"a": 1, "b": 2} if objects is None else dict(objects)
        self.prompts = {"r1": "a", "r2": "b", "r3": "a"} if prompts is None else dict(prompts)
        self.requests = tuple(self.prompts)
        self.holders = tuple(self.objects)

    def initial(self) -> Iterator[State]:
        """Nothing is cached, and the tier is empty."""
        yield State(tuple(range(self.blocks)), (None,) * self.blocks)

    def actions(self, state: State) -> Iterator[Action]:
        """What clients, the scheduler and the transfers can do next."""
        if state.over:
            return
        known = {*state.waiting, *state.ended, *dict(state.loading), *dict(state.running)}
        begun = {self.prompts[name] for name in known}
        for holder in self.objects:
            if holder not in state.asked and holder not in begun:
                yield Action("ask", (holder,))
        for name in self.requests:
            if name not in known:
                yield Action("arrive", (name,))
        if (following := self._next(state)) is not None:
            yield Action("schedule", (following,))
        for object_id in state.storing:
            yield Action("store", (object_id,))
        for name, blocks in state.loading:
            yield Action("load", (name,))
            for position in range(self._held(state, blocks), len(blocks)):
                yield Action("fail", (name, position))
        for name, _ in state.running:
            yield Action("finish", (name,))

    def _loads(self, state: State) -> set[str]:
        return {self.prompts[name] for name, _ in state.loading}

    def _next(self, state: State) -> str | None:
        """The first that waits for no transfer, if there are blocks for it (`schedule`).

        A request whose prefix is in a store or a load that is under way is skipped. A step in which
        blocks were taken from a store is over when that store is.
        """
        if any(len(self._hits(state, each)) < self.objects[each] for each in state.storing):
            return None
        pending = {*state.storing, *self._loads(state)}
        for name in state.waiting:
            object_id = self.prompts[name]
            there, size = self._hits(state, object_id, self.exact), self.objects[object_id]
            if len(there) < size and object_id in pending:
                continue
            free = sum(block not in there for block in state.free)
            return name if size - len(there) <= free else None
        return None

    def _hits(self, state: State, object_id: str, but: int = 0) -> tuple[int, ...]:
        """The blocks of the longest cached prefix, less the last ones (`get_computed_blocks`)."""
        contents = ((object_id, at) for at in range(self.objects[object_id] - but))
        return hits(state.cached, contents, state.again)

    @staticmethod
    def _held(state: State, blocks: tuple[int, ...]) -> int:
        """How many of a request's blocks were found in the cache."""
        return sum(state.cached[block] is not None for block in blocks)

    def apply(self, state: State, action: Action) -> Next[State]:
        """The engine after an action."""
        name = str(action.what[0])
        match action.name:
            case "ask":
                asked = tuple(sorted((*state.asked, name)))
                return Next(state._replace(asked=asked), self._says("asked", state, name))
            case "arrive":
                came = fact(Kind.REQUEST_ARRIVED, request_id=name, needed=0, usable=self.blocks)
                return Next(state._replace(waiting=(*state.waiting, name)), (came,))
            case "schedule":
                return self._schedule(state, name)
            case "store":
                return self._stored(state, name)
            case "load":
                return self._loaded(state, name)
            case "fail":
                return self._failed(state, name, int(action.what[1]))
        return self._finish(state, name)

    def _schedule(self, state: State, name: str) -> Next[State]:
        """Look up, allocate, and load, or run at once."""
        object_id = self.prompts[name]
        size, hits = self.objects[object_id], self._hits(state, object_id, self.exact)
        about = {"request_id": name, "object_id": object_id}
        found = fact(Kind.PREFIX_LOOKUP, **about, held=len(hits), asked=size - self.exact)
        loads = len(hits) < size and object_id in state.tier
        says = self._says("required", state, object_id, name) if loads else ()
        state = state._replace(waiting=tuple(each for each in state.waiting if each != name))
        state, taken, gone = self._take(state, name, size - len(hits), hits)
        blocks, emits = (*hits, *taken), (found, *says, *gone)
        if loads:
            return Next(state._replace(loading=(*state.loading, (name, blocks))), emits)
        return _after(emits, self._run(state, name, blocks, len(hits)))

    def _take(
        self, state: State, name: str, need: int, hits: tuple[int, ...]
    ) -> tuple[State, tuple[int, ...], tuple[Emitted, ...]]:
        """Blocks from the head of the queue; what they held is evicted.

        Those that were found leave the queue, too.
        """
        free = tuple(block for block in state.free if block not in hits)
        taken, free = free[:need], free[need:]
        gone = tuple(block for block in taken if state.cached[block] is not None)
        cached = tuple(None if block in gone else held for block, held in enumerate(state.cached))
        evicted = (fact(Kind.BLOCK_EVICTED, request_id=name, block_ids=gone),) if gone else ()
        again = filed_again(cached, state.again, ())
        return state._replace(free=free, cached=cached, again=again), taken, evicted

    def _run(self, state: State, name: str, blocks: tuple[int, ...], done: int) -> Next[State]:
        """Reuse an object, or compute and cache what is missing of it, and begin to store it."""
        state = state._replace(running=(*state.running, (name, blocks)))
        about = {"request_id": name, "object_id": self.prompts[name]}
        if done == len(blocks):
            return Next(state, (fact(Kind.PREFIX_REUSED, **about),))
        state, filled = self._cache(state, name, blocks[:done], blocks[done:])
        computed = fact(Kind.BLOCK_CACHED, **about, **filled)
        emits = (computed, *self._says("computed", state, self.prompts[name], name))
        return _after(emits, self._prepare_store(state, self.prompts[name]))

    def _cache(
        self, state: State, name: str, before: tuple[int, ...], new: tuple[int, ...]
    ) -> tuple[State, dict[str, tuple[int, ...]]]:
        """Blocks of a request hold their content from now on (`cache_blocks`)."""
        positions = tuple(range(len(before), len(before) + len(new)))
        cached = list(state.cached)
        for block, at in zip(new, positions, strict=True):
            cached[block] = self.prompts[name], at
        again = filed_again(cached, state.again, new)
        state = state._replace(cached=tuple(cached), again=again)
        return state, {"block_ids": new, "positions": positions}

    def _prepare_store(self, state: State, object_id: str) -> Next[State]:
        """Make room in the tier, and begin; nothing is stored where there is no room.

        Neither what is being stored nor what is being loaded gives room.
        """
        if object_id in state.tier:
            return Next(state)
        used, tier = {*state.storing, *self._loads(state)}, state.tier
        for other in state.tier:
            if other not in used and not self._room((*tier, object_id)):
                tier = tuple(each for each in tier if each != other)
        if not self._room((*tier, object_id)):
            return Next(state)
        gone = (each for each in state.tier if each not in tier)
        emits = tuple(fact(Kind.HOST_COPY_LOST, object_id=each) for each in gone)
        state = state._replace(tier=(*tier, object_id), storing=(*state.storing, object_id))
        return _after(emits, Next(state) if self.lag else self._stored(state, object_id))

    def _room(self, tier: tuple[str, ...]) -> bool:
        return sum(self.objects[each] for each in tier) <= self.chunks

    def _stored(self, state: State, object_id: str) -> Next[State]:
        """A store is complete."""
        storing = tuple(each for each in state.storing if each != object_id)
        copied = tuple(sorted({*state.copied, object_id}))
        emits = self._says("stored", state, object_id)
        state = state._replace(storing=storing, copied=copied)
        return Next(state, (fact(Kind.STORE_FINISHED, object_id=object_id), *emits))

    def _loaded(self, state: State, name: str) -> Next[State]:
        """A load is complete: its blocks are cached, and the request reuses them."""
        blocks = dict(state.loading)[name]
        says = self._says("loaded", state, self.prompts[name], name)
        return self._go_on(_without(state, name), name, blocks, len(blocks), *says)

    def _go_on(
        self, state: State, name: str, blocks: tuple[int, ...], done: int, *says: Emitted
    ) -> Next[State]:
        """What a load brought is cached, and the request runs with its first blocks done."""
        held = self._held(state, blocks)
        emits: tuple[Emitted, ...] = ()
        if done > held:
            state, brought = self._cache(state, name, blocks[:held], blocks[held:done])
            about = {"request_id": name, "object_id": self.prompts[name]}
            emits = (fact(Kind.LOAD_FINISHED, **about, **brought), *says)
        return _after(emits, self._run(state, name, blocks, done))

    def _failed(self, state: State, name: str, bad: int) -> Next[State]:
        """A load fails, from this block on (`_handle_invalid_blocks`)."""
        object_id, blocks = self.prompts[name], dict(state.loading)[name]
        failed = fact(Kind.LOAD_FAILED, request_id=name, object_id=object_id)
        if self.policy is Policy.UPSTREAM:
            return Next(state._replace(over=True), (failed,))
        emits = (failed, *self._says("failed", state, object_id, name))
        state = _without(state, name)
        if self.policy is Policy.FAIL:
            state = state._replace(running=(*state.running, (name, blocks)))
            return _after(emits, self._finish(state, name))
        if bad:
            return _after(emits, self._go_on(state, name, blocks, bad))
        free = freed(state.free, state.cached, blocks[::-1])  # nothing is valid: it asks again
        return Next(state._replace(free=free, waiting=(name, *state.waiting)), emits)

    def _finish(self, state: State, name: str) -> Next[State]:
        """The blocks that no other request uses are free again.

        The tier, too, evicts last what a request used that ended last.
        """
        blocks, object_id = dict(state.running)[name], self.prompts[name]
        running = tuple(each for each in state.running if each[0] != name)
        used = {b for each in (*state.loading, *running) for b in each[1]}
        free = freed(state.free, state.cached, (b for b in reversed(blocks) if b not in used))
        tier = tuple(sorted(state.tier, key=lambda each: each == object_id))
        ended = tuple(sorted((*state.ended, name)))
        state = state._replace(free=free, running=running, tier=tier, ended=ended)
        return Next(state, (fact(Kind.REQUEST_FINISHED, request_id=name),))

    def _says(
        self, what: str, state: State, object_id: str, name: str | None = None
    ) -> tuple[Emitted, ...]:
        """What vLLM says: KV events about hashes, counters, and log lines.

        Only a reader with the hashes of a prompt knows which object an event is about. Counters
        name nothing, a log line requests: `holder` is each reader. Events and counters name no
        request: `request_id` is that of the step, and `from_tier` a conclusion.
        """
        of: dict[str, Any] = {} if name is None else {"request_id": name}
        mine = [object_id] if object_id in state.asked else []
        back = "BlockStored:GPU:again" if object_id in state.copied else "BlockStored:GPU"
        failed = (FAILING, ERRORS) if self.policy is Policy.FAIL else ("Recovered",)
        match what:
            case "asked":
                return (signal("max_offload_tokens", object_id, **self._wanted(object_id)),)
            case "stored":
                return tuple(signal("BlockStored:CPU", each) for each in mine)
            case "computed":
                return tuple(signal(back, each, from_tier=True, **of) for each in mine)
            case "loaded":
                counted = (signal("load_bytes", each, from_tier=True, **of) for each in state.asked)
                return *(signal(back, each, from_tier=True, **of) for each in mine), *counted
            case "required":
                return tuple(signal("num_external_cached_tokens", each, **of) for each in mine)
        said: dict[str, Any] = {"outcome": "refusal", **of}
        return tuple(signal(word, each, **said) for word in failed for each in state.asked)

    def _wanted(self, object_id: str) -> dict[str, Any]:
        return leading(object_id, self.objects[object_id], f"owner:{object_id}")

    @property
    def interchangeable(self) -> Iterable[Iterable[tuple[str, ...]]]:
        """Requests for one object, and objects of one size with the requests for them."""
        return alike_for(self.objects, self.prompts)

    @property
    def always(self) -> Mapping[str, Callable[[State], bool]]:
        """Blocks and chunks are accounted for, and what loads has a copy."""

        def accounted(state: State) -> bool:
            used = {b for each in (*state.loading, *state.running) for b in each[1]}
            return len(state.free) + len(used) == self.blocks and not used & set(state.free)

        return {
            "every block is free or in use": accounted,
            "the tier has room": lambda state: self._room(state.tier),
            "what is being loaded was stored": lambda state: self._loads(state) <= {*state.copied},
            "what is being loaded stays": lambda state: self._loads(state) <= {*state.tier},
        }

    @property
    def reachable(self) -> Mapping[str, Callable[[State], bool]]:
        """A copy can be evicted for another; a request can fail for ever; the engine can end."""
        found: dict[str, Callable[[State], bool]] = {}
        if sum(self.objects.values()) > self.chunks:
            found["a copy is gone"] = lambda state: not {*state.copied} <= {*state.tier}
        if self.policy is Policy.RECOMPUTE:
            found["a request asks, fails, and asks again for ever"] = self.livelocks
        if self.policy is Policy.UPSTREAM:
            found["the engine ends"] = lambda state: state.over
        return found

    def livelocks(self, state: State) -> bool:
        """Nothing but scheduling and failing again leads from this state back to it."""
        after = state
        for _ in range(self.blocks):
            if (name := self._next(after)) is None:
                return False
            after = self.apply(after, Action("schedule", (name,))).state
            if name not in dict(after.loading):
                return False
            after = self.apply(after, Action("fail", (name, 0))).state
            if after == state:
                return True
        return False


def _after(emits: tuple[Emitted, ...], then: Next[State]) -> Next[State]:
    return Next(then.state, emits + then.emits)


def _without(state: State, name: str) -> State:
    return state._replace(loading=tuple(each for each in state.loading if each[0] != name))
