"""Models the block pool of vLLM: a free queue in LRU order, cached blocks, prefix reuse.

Source: vLLM 0.32.0, `vllm/v1/core/block_pool.py` (`get_new_blocks`, `touch`, `free_blocks`,
`_maybe_evict_cached_block`, `BlockHashToBlockMap`) and `kv_cache_manager.py`
(`get_computed_blocks`, `allocate_slots`).
The policy `no_admit` is that of the prototype of "Resident KV Claims", section 4.3: write no-admit.
Hard exclusion of a claim's blocks from the victims is `models.runtimes.vllm_pool_exclusion`.

A request looks up the longest cached prefix of its prompt, takes these blocks out of the free queue
and the rest from its head. A block that is taken from the queue loses what it cached. When a
request is finished its blocks go back, the last one first: those that cache something to the end of
the queue, the others to its head.

vLLM has no call by which a client asks for a prefix to be kept (the envelope of KV hints that 0.32
takes executes nothing). `keep` is that wish: the pool never learns of it, and does the same without
it. `BlockRemoved` names hashes of blocks; that it is of an object is what a reader makes of it, who
knows the hashes. A block is cached when it is allocated, before it is computed. The last token of a
prompt is always computed, so a prompt here goes on behind its full blocks, in a block that is not
counted; where an instance is compared with a recorded trace, prompts say how they end.

Left out: tokens within a block, decoding, preemption, several cache groups, the null block, and the
reset of the cache.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple

from models.framework.blocks import cached_facts, filed_again, freed, hits
from models.framework.model import Action, Emitted, Model, Next, fact, signal
from models.framework.symmetry import alike
from spec.events.alphabet import Kind

__all__ = ["Policy", "Prompt", "State", "VllmPool"]


class Policy(StrEnum):
    """What the pool does about blocks that a client wants to keep."""

    NATIVE = "native"
    NO_ADMIT = "no_admit"


class Prompt(NamedTuple):
    """A request: the object that its prompt begins with, how many blocks of it, and its own.

    `between` are blocks between these that it has in common with the own parts of other prompts:
    the request, and how many of the first blocks of its own part. `tail` are blocks behind its
    whole ones, which are taken and never cached. The last block of an
    `exact` prompt is computed even where it is cached, because its last token is. One that is not
    `admitted` caches nothing.
    """

    request_id: str
    object_id: str
    shared: int
    own: int
    tail: int = 0
    exact: bool = False
    admitted: bool = True
    between: tuple[tuple[str, int], ...] = ()

    @property
    def before(self) -> int:
        """How many blocks are before its own part."""
        return self.shared + sum(size for _, size in self.between)

    @property
    def reusable(self) -> int:
        """How many of its first blocks it can find in the cache."""
        return self.before + self.own - self.exact

    @property
    def blocks(self) -> int:
        """The blocks that it uses."""
        return self.before + self.own + self.tail


class State(NamedTuple):
    """The pool.

    `free` are the blocks that no request uses, the next victim first; `cached` says of each block
    the object and the position that it holds. `waiting` and `running` are requests, the latter with
    their blocks; `ended` are those that finished. `set_by` are the holders who asked for something.
    `again` are the blocks that cache what another one did before them, in that order.
    """

    free: tuple[int, ...]
    cached: tuple[tuple[str, int] | None, ...]
    running: tuple[tuple[str, tuple[int, ...]], ...] = ()
    waiting: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    set_by: tuple[str, ...] = ()
    again: tuple[int, ...] = ()


class VllmPool(Model[State]):
    """The block pool of vLLM.

    Args:
        blocks: usable blocks of the pool.
        prompts: the requests that may arrive, each once.
        objects: the size in blocks of each prefix that a client may ask to keep.
        policy: what the pool does about it.
    """

    name: ClassVar = "vllm_pool"
    about: ClassVar = "The block pool of vLLM: LRU free queue, prefix reuse, no claim anywhere."
    source: ClassVar = "vLLM 0.32.0, vllm/v1/core/block_pool.py and kv_cache_manager.py"
    left_out: ClassVar = "tokens within a block, decoding, preemption, cache groups, resets"
    by_name: ClassVar = ("ended",)

    def __init__(
        self,
        blocks: int = 4,
        prompts: tuple[Prompt, ...] = (Prompt("r1", "a", 2, 0), Prompt("r2", "b", 0, 3)),
        objects: Mapping[str, int] | None = None,
        policy: Policy = Policy.NATIVE,
    ) -> None:
        self.blocks, self.policy = blocks, policy
        self.objects = {"a": 2} if objects is None else dict(objects)
        self.prompts = {each.request_id: each for each in prompts}
        self.requests = tuple(self.prompts)
        self.holders = tuple(self.objects)

    def initial(self) -> Iterator[State]:
        """An empty cache; the queue is in the order of block ids."""
        yield State(tuple(range(self.blocks)), (None,) * self.blocks)

    def actions(self, state: State) -> Iterator[Action]:
        """Clients ask and submit; the scheduler admits the first that waits; requests finish."""
        for holder in self.objects:
            if holder not in state.set_by:
                yield Action("keep", (holder,))
        known = {*state.waiting, *state.ended, *(name for name, _ in state.running)}
        for name in self.requests:
            if name not in known:
                yield Action("arrive", (name,))
        if state.waiting and self._fits(state, self.prompts[state.waiting[0]]):
            yield Action("admit", (state.waiting[0],))
        for name, _ in state.running:
            yield Action("finish", (name,))

    def apply(self, state: State, action: Action) -> Next[State]:
        """The pool after an action."""
        name = str(action.what[0])
        match action.name:
            case "keep":
                return self._keep(state, name)
            case "arrive":
                return self._arrive(state, self.prompts[name])
            case "admit":
                return self._admit(state, self.prompts[name])
        return self._finish(state, name)

    def _keep(self, state: State, holder: str) -> Next[State]:
        asked = signal("keep", holder, object_id=holder, **self._asked(holder))
        return Next(state._replace(set_by=(*state.set_by, holder)), (asked,))

    def _asked(self, holder: str) -> dict[str, Any]:
        """What a client states that wants a prefix to be kept."""
        return {
            "predicate": f"leading_prefix_at_least({self.objects[holder]})",
            "footprint": self.objects[holder],
            "owner_scope": f"owner:{holder}",
        }

    def _arrive(self, state: State, prompt: Prompt) -> Next[State]:
        came = fact(
            Kind.REQUEST_ARRIVED,
            request_id=prompt.request_id,
            needed=prompt.own + prompt.tail,
            usable=self.blocks,
        )
        return Next(state._replace(waiting=(*state.waiting, prompt.request_id)), (came,))

    def _hits(self, state: State, prompt: Prompt) -> tuple[int, ...]:
        """The blocks of the longest cached prefix of a prompt (`get_computed_blocks`)."""
        return hits(state.cached, _contents(prompt)[: prompt.reusable], state.again)

    def _fits(self, state: State, prompt: Prompt) -> bool:
        found = self._hits(state, prompt)
        free = len(state.free) - sum(block in state.free for block in found)
        return prompt.blocks - len(found) <= free

    def _admit(self, state: State, prompt: Prompt) -> Next[State]:
        """Reuse what is cached, take the rest from the head of the queue (`allocate_slots`)."""
        contents = _contents(prompt)
        found = self._hits(state, prompt)
        free = tuple(block for block in state.free if block not in found)
        need = prompt.blocks - len(found)
        taken = self._victims(state, free, need)
        free = tuple(block for block in free if block not in taken)
        cached = list(state.cached)
        emits: list[Emitted] = []
        if prompt.shared:
            asked = min(prompt.shared, prompt.reusable)
            about = {"request_id": prompt.request_id, "object_id": prompt.object_id}
            emits.append(
                fact(Kind.PREFIX_LOOKUP, **about, held=min(len(found), asked), asked=asked)
            )
        gone = tuple(block for block in taken if cached[block] is not None)
        if gone:
            emits.append(fact(Kind.BLOCK_EVICTED, request_id=prompt.request_id, block_ids=gone))
            emits += self._removed(cached[block] for block in gone)
        for block in gone:
            cached[block] = None
        new, filled = contents[len(found) :], tuple[int, ...]()
        if prompt.admitted and (self.policy is not Policy.NO_ADMIT or not prompt.own):
            filled = taken[: len(new)]
            for block, content in zip(taken, new, strict=False):
                cached[block] = content
            emits += cached_facts(prompt.request_id, zip(taken, new, strict=False))
        after = state._replace(
            free=free,
            cached=tuple(cached),
            running=(*state.running, (prompt.request_id, (*found, *taken))),
            waiting=state.waiting[1:],
            again=filed_again(cached, state.again, filled),
        )
        return Next(after, tuple(emits))

    def _victims(self, state: State, free: tuple[int, ...], need: int) -> tuple[int, ...]:
        """The blocks that are taken from the queue: the first (`get_new_blocks`)."""
        return free[:need]

    def _removed(self, contents: Iterable[tuple[str, int] | None]) -> list[Emitted]:
        """The KV event of blocks that were evicted, for each object that clients know of."""
        names = dict.fromkeys(content[0] for content in contents if content)
        return [
            signal("BlockRemoved", name, object_id=name) for name in names if name in self.objects
        ]

    def _finish(self, state: State, name: str) -> Next[State]:
        """The blocks that no other request uses are free again, the last one first: what caches
        something at the end of the queue, the rest at its head (`free_blocks`).
        """
        blocks = dict(state.running)[name]
        running = tuple(each for each in state.running if each[0] != name)
        used = {block for _, others in running for block in others}
        back = [block for block in reversed(blocks) if block not in used]
        done = state._replace(
            free=freed(state.free, state.cached, back),
            running=running,
            ended=tuple(sorted((*state.ended, name))),
        )
        return Next(done, (fact(Kind.REQUEST_FINISHED, request_id=name),))

    def canonical(self, state: State) -> tuple[State, tuple[int, ...]]:
        """Blocks are named by their place: first those of the queue, then those in use."""
        used = [block for _, blocks in state.running for block in blocks]
        order = tuple(dict.fromkeys((*state.free, *used)))
        if order == tuple(range(self.blocks)):
            return state, ()
        names = [0] * self.blocks
        for name, block in enumerate(order):
            names[block] = name
        renamed = state._replace(
            free=tuple(names[block] for block in state.free),
            cached=tuple(state.cached[block] for block in order),
            running=tuple(
                (name, tuple(names[b] for b in blocks)) for name, blocks in state.running
            ),
            again=tuple(names[block] for block in state.again),
        )
        return renamed, tuple(names)

    @property
    def interchangeable(self) -> Iterable[Iterable[tuple[str, ...]]]:
        """Requests that differ in their names alone, and objects with the requests for them.

        None where prompts begin with parts of others: those name requests themselves.
        """
        if any(prompt.between for prompt in self.prompts.values()):
            return ()
        prompts = self.prompts.values()
        objects = dict.fromkeys((*self.objects, *(prompt.object_id for prompt in prompts)))
        of = {
            name: sorted((p for p in prompts if p.object_id == name), key=lambda p: p[2:])
            for name in objects
        }
        return alike(
            [
                *((prompt[1:], (prompt.request_id,)) for prompt in prompts),
                *(
                    (
                        (self.objects.get(name), *(prompt[2:] for prompt in its)),
                        (name, f"owner:{name}", *(prompt.request_id for prompt in its)),
                    )
                    for name, its in of.items()
                ),
            ]
        )

    @property
    def always(self) -> Mapping[str, Callable[[State], bool]]:
        """No block is both free and in use, and none is missing."""

        def accounted(state: State) -> bool:
            used = {block for _, blocks in state.running for block in blocks}
            return len(state.free) + len(used) == self.blocks and not used & set(state.free)

        return {"every block is free or in use": accounted}

    @property
    def reachable(self) -> Mapping[str, Callable[[State], bool]]:
        """A prefix that a client asked to keep can be gone."""

        def lost(state: State) -> bool:
            held = Counter(content[0] for content in state.cached if content)
            done = len(state.ended) == len(self.requests)
            return done and any(held[name] < self.objects[name] for name in state.set_by)

        return {"a prefix that was asked for is gone": lost}


def _contents(prompt: Prompt) -> tuple[tuple[str, int], ...]:
    """What the blocks of a prompt hold: the shared object first, then what is its own."""
    parts = (prompt.object_id, prompt.shared), *prompt.between, (prompt.request_id, prompt.own)
    return tuple((name, at) for name, size in parts for at in range(size))
