"""Models the radix cache of SGLang with HiCache: lock references, strategies, three tiers.

Source: SGLang at bbe9c7e, `radix_cache.py` (`match_prefix`, `inc_lock_ref`, `evict`) and
`hiradix_cache.py` (`write_backup`, `load_back`, prefetch from L3), as read from the source; what
happens to a page that is gone between `exists` and `get` is as reported in the issues 31108 (its
content is used unchecked) and 31885 (it is counted as a hit, and computed again). Not read but
inferred: that L3 is asked when a request comes, and that `cached_tokens` counts what it promised;
that the host pool gives up only nodes that are not on the GPU, the oldest first; that a node whose
copy the host pool cannot take is evicted without one; that write_through_selective copies at the
second hit.

A request matches the longest prefix on the GPU and locks it up to the root. What is only on the
host is loaded back, whole or not at all; if not, it is computed, and nothing says so. Victims are
whole leaves without a lock, by the strategy. A prefix is one node here, and what a request adds to
it another.

Left out: splits of nodes, requests of different priority for one prefix, loads in progress, the
stay of prefetched pages in the host pool, the policies by which a prefetch ends, and the 256 tokens
from which on there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, ClassVar, Final, NamedTuple

from models.inference import Inference
from models.model import Action, Emitted, Model, Next, Signal, fact, signal
from models.shims import Shim
from spec.claims.claim import Mode
from spec.events.alphabet import Kind

__all__ = [
    "INFERENCES",
    "VARIANTS",
    "Gone",
    "Node",
    "Prompt",
    "SglangHicache",
    "State",
    "Strategy",
    "Write",
]


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


class SglangHicache(Model[State]):
    """The radix cache with HiCache, for requests that come once each.

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

    name: ClassVar = "sglang_hicache"
    about: ClassVar = "The radix cache of SGLang with HiCache: locks, strategies, three tiers."
    source: ClassVar = "SGLang at bbe9c7e, radix_cache.py and hiradix_cache.py; 31108, 31885"
    left_out: ClassVar = "splits of nodes, loads in progress, ends and threshold of a prefetch"

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

    def initial(self) -> Iterator[State]:
        """Empty tiers."""
        yield State()

    def actions(self, state: State) -> Iterator[Action]:
        """Requests come; the first that waits starts if it fits; requests end; L3 drops pages."""
        coming = [name for name in self.requests if name not in state.arrived]
        if self.one_by_one:
            coming = [] if state.waiting or state.running else coming[:1]
        for name in coming:
            yield Action("arrive", (name,))
        if state.waiting and self._fits(state, self.prompts[state.waiting[0][0]]):
            yield Action("start", (state.waiting[0][0],))
        for name in state.running:
            yield Action("finish", (name,))
        for name in sorted(state.l3):
            yield Action("drop_from_l3", (name,))

    def apply(self, state: State, action: Action) -> Next[State]:
        """The tiers after an action."""
        name = str(action.what[0])
        match action.name:
            case "arrive":
                return self._arrive(state, self.prompts[name])
            case "start":
                return self._start(state, self.prompts[name], promised=state.waiting[0][1])
            case "finish":
                return self._finish(state, self.prompts[name])
        lost = () if name in state.host else (fact(Kind.HOST_COPY_LOST, object_id=name),)
        return Next(state._replace(l3=state.l3 - {name}), lost)

    def _to(self, name: str | None, word: str, **fields: Any) -> list[Signal]:
        """A signal about a prefix; what only one request has is nobody's."""
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
            emits += self._to(prefix, "host_hit", request_id=prompt.request_id)
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
        return Next(done, (finished,))

    @property
    def always(self) -> Mapping[str, Callable[[State], bool]]:
        """Pages, locks and the tree are accounted for."""

        def pages(state: State) -> bool:
            used = [block for node in state.gpu for block in node.blocks]
            return len(used) == len(set(used)) <= self.size and self._room(state.host) >= 0

        def locks(state: State) -> bool:
            users = [self.prompts[name] for name in state.running]
            uses = [n for p in users for n in (p.object_id, p.request_id)]
            return all(node.locks == uses.count(node.name) for node in state.gpu)

        def rooted(state: State) -> bool:
            return all(node.parent is None or state.find(node.parent) for node in state.gpu)

        return {
            "a page has one node, and the host pool holds what it can": pages,
            "a node has a lock for each running request that uses it": locks,
            "the parent of a node on the GPU is on the GPU": rooted,
        }

    @property
    def reachable(self) -> Mapping[str, Callable[[State], bool]]:
        """What becomes of a prefix that a request has had."""

        def gone(state: State) -> bool:
            done = self._prefixes(state.ended) - {None}
            return any(state.find(name) is None for name in done)

        return {"a prefix that was computed is not on the GPU": gone}


_TWICE: Final = (Prompt("r1", "a"), Prompt("r3", None, 1), Prompt("r2", "a"))
_L3: Final[Mapping[str, Any]] = {
    "gpu": 1,
    "prompts": _TWICE,
    "host": 1,
    "l3": True,
    "one_by_one": True,
}
_RANKED: Final[Mapping[str, Any]] = {
    "prompts": (Prompt("r1", "a"), Prompt("r2", "b"), Prompt("r3", None, 1)),
    "priorities": {"a": 9, "b": 1},
    "host": 0,
}

VARIANTS: Final[Mapping[str, Callable[[], Model[Any]]]] = {
    "write_through": SglangHicache,
    "write_through_selective": lambda: SglangHicache(write=Write.SELECTIVE),
    "write_back": lambda: SglangHicache(write=Write.BACK),
    "priority": lambda: SglangHicache(**_RANKED, strategy=Strategy.PRIORITY),
    "priority_ignored": lambda: SglangHicache(**_RANKED),
    "no_host": lambda: SglangHicache(1, (Prompt("r1", "a"), Prompt("r2", None, 1)), host=0),
    "short_span": lambda: SglangHicache(1, _TWICE, host=2, threshold=2, one_by_one=True),
    "one_hit": lambda: SglangHicache(1, _TWICE, host=1, write=Write.SELECTIVE),
    "l3": lambda: SglangHicache(**_L3),
    "l3_counted": lambda: SglangHicache(**_L3, gone=Gone.COUNTED),
    "l3_garbled": lambda: SglangHicache(**_L3, gone=Gone.GARBLED),
}

_REMOVED: Final = {"BlockRemoved": Kind.CLAIM_BLOCK_LOST}
_LEAVES: Final = {
    "write_backup": Kind.CLAIM_OFFLOADED,
    "host_hit": Kind.CLAIM_RESTORE_REQUIRED,
}
_RETURNS: Final = {**_LEAVES, "load_back": Kind.CLAIM_RESTORED}
_COUNTED: Final = {
    "cached_tokens": Kind.CLAIM_MATERIALIZED,
    "BlockRemoved": Kind.CLAIM_UNMATERIALIZED,
}


def _inference(
    name: str,
    feature: str,
    mode: Mode,
    variant: str,
    means: Mapping[str, Kind] | None = None,
    accepts: str = "generate",
    **given: Any,
) -> Inference:
    """An inference about the prefix a, in a variant of the model."""
    shim = Shim(mode, frozenset({accepts}), means or {})
    return Inference(name, feature, mode, shim, VARIANTS[variant], "a", **given)


INFERENCES: Final = (
    _inference(
        "lock reference -> hard_protected",
        "inc_lock_ref: what a request uses is protected up to the root",
        Mode.HARD_PROTECTED,
        "no_host",
        accepts="inc_lock_ref",
        premises=("lock_reference",),
    ),
    _inference(
        "request priority -> soft_priority",
        "the priority of a request, with the eviction strategy lru",
        Mode.SOFT_PRIORITY,
        "priority_ignored",
        _REMOVED,
        premises=("retention_priority",),
    ),
    _inference(
        "load back -> offloadable",
        "HiCache: what is on the host is loaded back when a request needs it",
        Mode.OFFLOADABLE,
        "short_span",
        _RETURNS,
        premises=("load_back",),
    ),
    _inference(
        "write_through_selective -> offloadable",
        "HiCache: nodes are copied to the host after a number of hits",
        Mode.OFFLOADABLE,
        "one_hit",
        _RETURNS,
        premises=("storage_tier",),
        parent="storage_tier -> offloadable",
        adds="A prefix that was not hit often enough is evicted without a copy.",
    ),
    _inference(
        "hit in L3 -> offloadable",
        "HiCache: pages that exist in L3 are prefetched",
        Mode.OFFLOADABLE,
        "l3",
        _RETURNS,
        premises=("storage_tier", "load_back"),
        parent="storage_tier -> offloadable",
        adds="A page is gone between `exists` and `get`, and the prefix is computed.",
    ),
    _inference(
        "cached tokens of a storage hit -> restored",
        "cached_tokens_details: tokens that came from storage",
        Mode.OFFLOADABLE,
        "l3_garbled",
        {**_LEAVES, "cached_tokens_details": Kind.CLAIM_RESTORED},
        concludes="offload_restorability",
        premises=("cached_token_telemetry", "load_back"),
    ),
    _inference(
        "cached-token count -> materialized",
        "cached_tokens of a request",
        Mode.BEST_EFFORT,
        "l3_counted",
        _COUNTED,
        concludes="materialization_predicate",
        premises=("cached_token_telemetry",),
    ),
)
"""False inferences from the radix cache and HiCache, about the prefix a."""
