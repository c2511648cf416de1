"""Models the tiers of HiCache, method by method: see `models.runtimes.sglang_hicache.model`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from models.framework.model import Emitted, Model, Next, Signal, fact, signal
from spec.events.alphabet import Kind
from spec.events.fields import RUNTIME

__all__ = ["Gone", "Node", "Prompt", "State", "Strategy", "Tiers", "Write"]


class Strategy(StrEnum):
    """Which of the leaves without a lock is evicted first."""

    LRU = "lru"
    FIFO = "fifo"
    LFU = "lfu"
    PRIORITY = "priority"


class Write(StrEnum):
    """When a node is copied to the host."""

    THROUGH = "write_through"
    SELECTIVE = "write_through_selective"
    BACK = "write_back"


class Gone(StrEnum):
    """What is made of a page of L3 that is gone between `exists` and `get`."""

    COMPUTED = "computed"
    COUNTED = "counted"
    GARBLED = "garbled"


class Prompt(NamedTuple):
    """A request: a prefix that others may have, and its own pages."""

    request_id: str
    object_id: str | None
    own: int = 0


class Node(NamedTuple):
    """A node that is on the GPU; one that is not `good` has the content of no prefix."""

    name: str
    parent: str | None
    blocks: tuple[int, ...]
    locks: int = 0
    hits: int = 1
    good: bool = True


class State(NamedTuple):
    """The three tiers, and the requests.

    `gpu` are nodes, in the order of their last match, or where the strategy is FIFO of their
    insertion; `host` and `l3` what has a copy there. `waiting` are requests, each with whether L3
    promised its prefix when it came.
    """

    gpu: tuple[Node, ...] = ()
    host: tuple[str, ...] = ()
    l3: frozenset[str] = frozenset()
    waiting: tuple[tuple[str, bool], ...] = ()
    running: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()

    @property
    def arrived(self) -> tuple[str, ...]:
        """The requests that came."""
        return (*(name for name, _ in self.waiting), *self.running, *self.ended)

    def find(self, name: str | None) -> Node | None:
        """The node of this name, if it is on the GPU."""
        return next((node for node in self.gpu if node.name == name), None)


class Tiers(Model[State]):
    """The GPU, the host pool and L3, and what requests make of them.

    A prefix is a holder from the first request on that has it.

    Args:
        gpu: pages on the GPU.
        prompts: the requests.
        pages: of each prefix how many.
        priorities: of each prefix that of the requests that have it.
        host: pages of the host pool.
        l3: whether copies go on to L3, which may drop them at any time.
        strategy: which leaf is evicted.
        write: when a node is copied.
        threshold: the least pages that are loaded back.
        quota: the most pages that are loaded back.
        gone: what is made of a page that is gone.
        one_by_one: requests come in the order of `prompts`, each after the end of the one before.
    """

    def __init__(
        self,
        gpu: int = 2,
        prompts: tuple[Prompt, ...] = (
            Prompt("r1", "a", 1),
            Prompt("r2", "a"),
            Prompt("r3", None, 2),
        ),
        pages: Mapping[str, int] | None = None,
        priorities: Mapping[str, int] | None = None,
        *,
        host: int = 2,
        l3: bool = False,
        strategy: Strategy = Strategy.LRU,
        write: Write = Write.THROUGH,
        threshold: int = 1,
        quota: int | None = None,
        gone: Gone = Gone.COMPUTED,
        one_by_one: bool = False,
    ) -> None:
        self.size, self.host, self.l3 = gpu, host, l3
        self.strategy, self.write, self.gone = strategy, write, gone
        self.one_by_one = one_by_one
        self.least, self.most = threshold, gpu if quota is None else quota
        self.prompts = {each.request_id: each for each in prompts}
        shared = {each.object_id: 1 for each in prompts if each.object_id is not None}
        self.priorities = {**dict.fromkeys(shared, 0), **(priorities or {})}
        own = {each.request_id: each.own for each in prompts}
        self.pages = {**own, **shared, **(pages or {})}
        self.requests, self.holders = tuple(self.prompts), tuple(shared)

    def _to(self, name: str | None, word: str, **fields: Any) -> list[Signal]:
        """A signal about a prefix; what only one request has is of no holder."""
        if name not in self.holders:
            return []
        footprint = self.pages[name]
        about = {"object_id": name, "predicate": f"leading_prefix_at_least({footprint})"}
        return [
            signal(word, name, owner_scope=f"owner:{name}", footprint=footprint, **about, **fields)
        ]

    def _prefixes(self, names: Iterable[str]) -> set[str | None]:
        return {self.prompts[name].object_id for name in names}

    def _arrive(self, state: State, prompt: Prompt) -> Next[State]:
        """L3 is asked for a prefix that is neither on the GPU nor on the host (`exists`)."""
        name, prefix = prompt.request_id, prompt.object_id
        promised = prefix in state.l3 - {*state.host} and state.find(prefix) is None
        emits: list[Emitted] = []
        if prefix is not None and prefix not in self._prefixes(state.arrived):
            emits += self._to(prefix, "generate", priority=self.priorities[prefix])
        needed = {"needed": prompt.own, "usable": self.size}
        emits.append(fact(Kind.REQUEST_ARRIVED, request_id=name, **needed))
        return Next(state._replace(waiting=(*state.waiting, (name, promised))), tuple(emits))

    def _evictable(self, state: State) -> list[Node]:
        """The leaves without a lock, the next victim first."""
        parents = {node.parent for node in state.gpu}
        leaves = [node for node in state.gpu if not node.locks and node.name not in parents]
        ranks: Mapping[Strategy, Callable[[Node], int]] = {
            Strategy.LFU: lambda node: node.hits,
            Strategy.PRIORITY: lambda node: self.priorities.get(node.name, 0),
        }
        return sorted(leaves, key=ranks.get(self.strategy, lambda node: 0))

    def _free(self, state: State) -> list[int]:
        used = {block for node in state.gpu for block in node.blocks}
        return [block for block in range(self.size) if block not in used]

    def _fits(self, state: State, prompt: Prompt) -> bool:
        found = state.find(prompt.object_id)
        locked = [node for node in state.gpu if node.locks or node is found]
        shared = 0 if found or prompt.object_id is None else self.pages[prompt.object_id]
        return shared + prompt.own + sum(len(node.blocks) for node in locked) <= self.size

    def _start(self, state: State, prompt: Prompt, *, promised: bool) -> Next[State]:
        """Match and lock, load back or compute what is missing, and add what is the request's."""
        name, prefix = prompt.request_id, prompt.object_id
        after = state._replace(waiting=state.waiting[1:], running=(*state.running, name))
        emits: list[Emitted] = []
        if prefix is not None:
            after, emits = self._match(after, prompt, prefix, promised)
        if prompt.own:
            after, lost, blocks = self._take(after, prompt, prompt.own)
            emits += [*lost, self._cached(prompt, name, blocks)]
            node = Node(name, prefix, blocks, locks=1)
            after, copied = self._copied(after._replace(gpu=(*after.gpu, node)), node)
            emits += copied
        return Next(after, tuple(emits))

    def _match(
        self, state: State, prompt: Prompt, prefix: str, promised: bool
    ) -> tuple[State, list[Emitted]]:
        """The prefix of a request, from the first tier that has it, locked."""
        about = {"request_id": prompt.request_id, "object_id": prefix}
        back = {"request_id": prompt.request_id, "from_tier": True}
        size, found, emits = self.pages[prefix], state.find(prefix), list[Emitted]()
        held = size if found and found.good else 0
        emits.append(fact(Kind.PREFIX_LOOKUP, **about, held=held, asked=size))
        if prefix not in self._prefixes((*state.running[:-1], *state.ended)):
            emits += self._to(prefix, "inc_lock_ref")
        if found:
            node = found._replace(hits=found.hits + 1, locks=found.locks + 1)
            return self._again(state, found, node, prompt, emits)
        on_host = prefix in state.host
        missing = promised and not on_host and prefix not in state.l3
        loads = (on_host or promised) and not missing and self.least <= size <= self.most
        if on_host or promised:
            word = "host_hit" if on_host else "storage_hit"
            emits += self._to(prefix, word, request_id=prompt.request_id)
        after, lost, blocks = self._take(state, prompt, size, keep=prefix)
        emits += lost
        node = Node(prefix, None, blocks, locks=1)
        if missing:
            emits.append(fact(Kind.LOAD_FAILED, **about))
            node = node._replace(good=self.gone is not Gone.GARBLED)
        if loads:
            places = {"block_ids": blocks, "positions": tuple(range(size))}
            emits.append(fact(Kind.LOAD_FINISHED, **about, **places))
            emits += self._to(prefix, "load_back", **back)
        if loads or (missing and self.gone is not Gone.COMPUTED):
            emits += self._to(prefix, "cached_tokens", **back)
            emits += self._to(prefix, "cached_tokens_details", **back)
        after = after._replace(gpu=(*after.gpu, node))
        if loads or not node.good:
            return after, [*emits, fact(Kind.PREFIX_REUSED, **about)]
        after, copied = self._copied(after, node)
        return after, [*emits, self._cached(prompt, prefix, blocks), *copied]

    def _again(
        self, state: State, old: Node, node: Node, prompt: Prompt, emits: list[Emitted]
    ) -> tuple[State, list[Emitted]]:
        """A node that is on the GPU is matched once more."""
        moves = self.strategy is not Strategy.FIFO
        rest = tuple(each for each in state.gpu if each is not old)
        kept = tuple(node if each is old else each for each in state.gpu)
        after, copied = self._copied(state._replace(gpu=(*rest, node) if moves else kept), node)
        said = self._to(node.name, "cached_tokens", request_id=prompt.request_id)
        about = {"request_id": prompt.request_id, "object_id": node.name}
        return after, [*emits, *said, fact(Kind.PREFIX_REUSED, **about), *copied]

    def _cached(self, prompt: Prompt, name: str, blocks: tuple[int, ...]) -> Emitted:
        places = {"block_ids": blocks, "positions": tuple(range(len(blocks)))}
        return fact(Kind.BLOCK_CACHED, request_id=prompt.request_id, object_id=name, **places)

    def _copied(self, state: State, node: Node) -> tuple[State, list[Emitted]]:
        """Copy a node to the host if the write policy says so now."""
        due = {Write.THROUGH: 1, Write.SELECTIVE: 2}.get(self.write)
        return self._copy(state, node) if due is not None and due <= node.hits else (state, [])

    def _copy(
        self, state: State, node: Node, keep: str | None = None
    ) -> tuple[State, list[Emitted]]:
        """Copy a node to the host and on to L3; nodes that are not on the GPU give way, but not
        what is about to be loaded (`keep`).
        """
        if node.name in state.host or not node.good:
            return state, []
        emits: list[Emitted] = []
        host = state.host
        for old in state.host:
            gives_way = state.find(old) is None and old != keep
            if gives_way and self._room(host) < len(node.blocks):
                host = tuple(name for name in host if name != old)
                if old not in state.l3:
                    emits.append(fact(Kind.HOST_COPY_LOST, object_id=old))
        after = state._replace(host=host)
        if self._room(host) < len(node.blocks):
            return after, emits
        emits.append(fact(Kind.STORE_FINISHED, object_id=node.name))
        emits += self._to(node.name, "write_backup")
        l3 = state.l3 | {node.name} if self.l3 else state.l3
        return after._replace(host=(*host, node.name), l3=l3), emits

    def _room(self, host: tuple[str, ...]) -> int:
        return self.host - sum(self.pages[name] for name in host)

    def _take(
        self, state: State, prompt: Prompt, need: int, keep: str | None = None
    ) -> tuple[State, list[Emitted], tuple[int, ...]]:
        """Take free pages; leaves are evicted until there are enough."""
        emits: list[Emitted] = []
        after = state
        while len(self._free(after)) < need:
            victim = self._evictable(after)[0]
            ranks = self._ranks(after)
            if self.write is Write.BACK:
                after, copied = self._copy(after, victim, keep)
                emits += copied
            ranked = {"lowest_priority": min(ranks)} if ranks else {}
            gone: dict[str, Any] = {"block_ids": victim.blocks}
            emits.append(fact(Kind.BLOCK_EVICTED, request_id=prompt.request_id, **gone, **ranked))
            emits += self._to(victim.name, "BlockRemoved", **gone)
            after = after._replace(gpu=tuple(n for n in after.gpu if n.name != victim.name))
        return after, emits, tuple(self._free(after)[:need])

    def _ranks(self, state: State) -> list[int]:
        """The priorities of the prefixes that could be evicted."""
        came, leaves = self._prefixes(state.arrived), self._evictable(state)
        return [self.priorities[node.name] for node in leaves if node.name in came]

    def _finish(self, state: State, prompt: Prompt) -> Next[State]:
        """The locks of a request go (`dec_lock_ref`)."""
        mine = {prompt.object_id, prompt.request_id}
        gpu = tuple(n._replace(locks=n.locks - 1) if n.name in mine else n for n in state.gpu)
        running = tuple(name for name in state.running if name != prompt.request_id)
        ended = tuple(sorted((*state.ended, prompt.request_id)))
        done = state._replace(gpu=gpu, running=running, ended=ended)
        finished = fact(Kind.REQUEST_FINISHED, request_id=prompt.request_id)
        node = done.find(prompt.object_id)
        unlocked = node is not None and not node.locks
        said = self._to(prompt.object_id, "dec_lock_ref", by=RUNTIME) if unlocked else []
        return Next(done, (finished, *said))
