"""Models retention directives in vLLM: a priority queue beside the LRU list of free blocks.

Source: draft pull request 10, "KV-Cache eviction prioritization API" (branch retention-minimal,
2026-05-21), `vllm/v1/core/priority_eviction_queue.py` and its hooks in `block_pool.py`, as the pull
request and its commits state them; the pool itself is that of `models.runtimes.vllm_pool`.

A request may state token ranges with a priority and a duration, and a scope. When its blocks are
full, each gets an entry in the sidecar. Freed blocks with an entry at or above the threshold go to
a heap by (priority, time of freeing); the LRU list is drained first. The last commit stamps tuples
with a generation, so that one from before a reuse is skipped; `generations=False` is the queue
before it. Where the sources are silent, it is assumed that directives apply to reused blocks too;
that whoever raises an entry owns it from then on (`escalator_owns`); that nobody owns an entry that
was set without a scope; that expired blocks go to the end of the LRU list; and that an entry goes
with its block's content. The default of the threshold is not stated; the tests there use 0.

The branch says nothing to a client. The results `deferred` and `applied` are those of the action
`vllm.set_priority` of another branch: here a directive is deferred when it is parsed, and applied
when an entry is set.

Left out: what the pool's model leaves out, ranges that begin behind the prompt's first block, and
the check that priorities do not rise along a prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Final, NamedTuple

from models.inference import Inference
from models.model import Action, Emitted, Model, Next, fact, signal
from models.shims import Shim
from spec.claims.claim import Mode
from spec.events.alphabet import Kind

__all__ = ["INFERENCES", "VARIANTS", "Ask", "Directive", "Entry", "Retention", "State"]


class Directive(NamedTuple):
    """The first `covers` blocks of a prompt are kept by this priority, for so many steps."""

    priority: int
    covers: int
    duration: int | None = None


class Ask(NamedTuple):
    """A request: the object that its prompt begins with, how many blocks of it, and its own.

    `directives` is None where the field is absent.
    """

    request_id: str
    object_id: str
    shared: int
    own: int = 0
    directives: tuple[Directive, ...] | None = None
    scope: str | None = None


class Entry(NamedTuple):
    """What the sidecar has of a block; `left` are the steps to its expiry, `holder` the request
    whose directive it is.
    """

    priority: int
    left: int | None
    scope: str | None
    holder: str


class State(NamedTuple):
    """The pool.

    `free` is the LRU list, `heap` the tuples (priority, block) in the order of freeing, stale ones
    included, `inside` the blocks of `_in_queue`, and `sidecar` the entries by block. The rest is as
    in the model of the pool.
    """

    free: tuple[int, ...]
    cached: tuple[tuple[str, int] | None, ...]
    running: tuple[tuple[str, tuple[int, ...]], ...] = ()
    waiting: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    heap: tuple[tuple[int, int], ...] = ()
    inside: tuple[int, ...] = ()
    sidecar: tuple[tuple[int, Entry], ...] = ()


ASKS: Final = (
    Ask("a1", "a", 1, directives=(Directive(50, 1),), scope="s"),
    Ask("a2", "a", 1, directives=(Directive(90, 1),), scope="s"),
    Ask("b1", "b", 1, directives=(Directive(70, 1),), scope="t"),
    Ask("c1", "c", 0, own=1),
)
"""An object that is raised from 50 to 90, one at 70, and a request that needs a block."""


class Retention(Model[State]):
    """The block pool with a priority queue.

    Args:
        blocks: usable blocks of the pool.
        asks: the requests that may arrive, each once.
        threshold: entries below it stay in the LRU list (`_PRIORITY_THRESHOLD`).
        generations: whether tuples carry the generation of their block.
        escalator_owns: whether an entry is owned by the scope that raised it.
    """

    name: ClassVar = "retention"
    about: ClassVar = "Retention directives in vLLM: a priority queue beside the LRU list."
    source: ClassVar = "draft pull request 10, vllm/v1/core/priority_eviction_queue.py, 2026-05-21"
    left_out: ClassVar = "what vllm_pool leaves out, ranges in mid-prompt, the check of the order"

    def __init__(
        self,
        blocks: int = 2,
        asks: tuple[Ask, ...] = ASKS,
        threshold: int = 0,
        *,
        generations: bool = True,
        escalator_owns: bool = True,
    ) -> None:
        self.blocks, self.threshold = blocks, threshold
        self.generations, self.escalator_owns = generations, escalator_owns
        self.asks = {ask.request_id: ask for ask in asks}
        self.requests = tuple(self.asks)
        self.holders = tuple(name for name, ask in self.asks.items() if ask.directives)

    def initial(self) -> Iterator[State]:
        """An empty cache; the list is in the order of block ids."""
        yield State(tuple(range(self.blocks)), (None,) * self.blocks)

    def actions(self, state: State) -> Iterator[Action]:
        """As in the pool; and the clock goes on while an entry can expire."""
        known = {*state.waiting, *state.ended, *dict(state.running)}
        for name in self.requests:
            if name not in known:
                yield Action("arrive", (name,))
        if state.waiting and self._fits(state, self.asks[state.waiting[0]]):
            yield Action("admit", (state.waiting[0],))
        for name, _ in state.running:
            yield Action("finish", (name,))
        if any(entry.left for _, entry in state.sidecar):
            yield Action("tick")

    def apply(self, state: State, action: Action) -> Next[State]:
        """The pool after an action."""
        match action.name:
            case "arrive":
                return self._arrive(state, self.asks[str(action.what[0])])
            case "admit":
                return _Pool(self, state).admit(self.asks[str(action.what[0])])
            case "finish":
                return _Pool(self, state).finish(str(action.what[0]))
        return _Pool(self, state).tick()

    def _arrive(self, state: State, ask: Ask) -> Next[State]:
        name = ask.request_id
        emits: list[Emitted] = [
            fact(Kind.REQUEST_ARRIVED, request_id=name, needed=ask.own, usable=self.blocks)
        ]
        if ask.directives:
            emits += [self.call("retention_directives", ask), self.call("deferred", ask)]
        return Next(state._replace(waiting=(*state.waiting, name)), tuple(emits))

    @staticmethod
    def call(name: str, ask: Ask) -> Emitted:
        """A call or message about the first directive of a request, with what it states."""
        first = (ask.directives or ())[0]
        lasts = {} if first.duration is None else {"duration": f"{first.duration} steps"}
        return signal(
            name,
            ask.request_id,
            object_id=ask.object_id,
            predicate=f"leading_prefix_at_least({first.covers})",
            footprint=first.covers,
            owner_scope=ask.scope or "anonymous",
            priority=first.priority,
            **lasts,
        )

    def contents(self, ask: Ask) -> tuple[tuple[str, int], ...]:
        """What the blocks of a request hold: the shared object first, then what is its own."""
        shared = [(ask.object_id, at) for at in range(ask.shared)]
        return (*shared, *((ask.request_id, at) for at in range(ask.own)))

    def hits(self, state: State, ask: Ask) -> tuple[int, ...]:
        """The blocks of the longest cached prefix of a prompt."""
        places = {content: block for block, content in enumerate(state.cached) if content}
        found: list[int] = []
        for content in self.contents(ask):
            if content not in places:
                break
            found.append(places[content])
        return tuple(found)

    def _fits(self, state: State, ask: Ask) -> bool:
        hits = self.hits(state, ask)
        return ask.shared + ask.own - len(hits) <= len({*state.free, *state.inside} - {*hits})

    @property
    def always(self) -> Mapping[str, Callable[[State], bool]]:
        """Blocks are accounted for; the queue gives up the block of the lowest priority."""

        def accounted(state: State) -> bool:
            used = {block for _, blocks in state.running for block in blocks}
            free = [*state.free, *state.inside]
            return len({*free}) == len(free) == self.blocks - len(used) and not used & {*free}

        def ordered(state: State) -> bool:
            current = {block: entry.priority for block, entry in state.sidecar}
            victim = _Pool(self, state).pop_lowest() if state.inside else None
            return victim is None or current[victim] == min(current[b] for b in state.inside)

        return {
            "every block is free, queued or in use": accounted,
            "the victim has the lowest priority in the queue": ordered,
        }

    @property
    def reachable(self) -> Mapping[str, Callable[[State], bool]]:
        """Every request can end."""
        return {"every request has ended": lambda state: len(state.ended) == len(self.asks)}


class _Pool:
    """`BlockPool` and `PriorityEvictionQueue`, on lists that they change."""

    def __init__(self, model: Retention, state: State) -> None:
        self.model, self.state, self.emits = model, state, list[Emitted]()
        self.free, self.cached, self.heap = [*state.free], [*state.cached], [*state.heap]
        self.inside, self.sidecar = {*state.inside}, dict(state.sidecar)

    def admit(self, ask: Ask) -> Next[State]:
        """Reuse what is cached, allocate the rest, cache it and apply the directives."""
        name, contents = ask.request_id, self.model.contents(ask)
        hits = self.model.hits(self.state, ask)
        self.touch(hits)
        evictable = {*self.free, *self.inside}
        ranks = [entry.priority for block, entry in self.sidecar.items() if block in evictable]
        taken = self.get_new_blocks(len(contents) - len(hits))
        if ask.shared:
            about = {"request_id": name, "object_id": ask.object_id}
            held = min(len(hits), ask.shared)
            self.emits.append(fact(Kind.PREFIX_LOOKUP, **about, held=held, asked=ask.shared))
        gone = tuple(block for block in taken if self.cached[block] is not None)
        if gone:
            lowest = {"lowest_priority": min(ranks)} if ranks else {}
            self.emits.append(fact(Kind.BLOCK_EVICTED, request_id=name, block_ids=gone, **lowest))
            self.drop(gone, "runtime")
        pairs = list(zip(taken, contents[len(hits) :], strict=True))
        for block, content in pairs:
            self.cached[block] = content
        for object_id in dict.fromkeys(content[0] for _, content in pairs):
            own = [(block, at) for block, (holder, at) in pairs if holder == object_id]
            self.emits.append(
                fact(
                    Kind.BLOCK_CACHED,
                    request_id=name,
                    object_id=object_id,
                    block_ids=tuple(block for block, _ in own),
                    positions=tuple(at for _, at in own),
                )
            )
        self.apply_directives(ask, (*hits, *taken))
        return self.done(
            running=(*self.state.running, (name, (*hits, *taken))), waiting=self.state.waiting[1:]
        )

    def touch(self, hits: tuple[int, ...]) -> None:
        """Take reused blocks out of the queue, whose heap keeps their tuples, or of the list."""
        self.inside -= {*hits}
        self.free = [block for block in self.free if block not in hits]

    def get_new_blocks(self, count: int) -> list[int]:
        """The LRU list first, then the queue by priority."""
        if self.inside:
            self.drain_expired()
        taken, self.free = self.free[:count], self.free[count:]
        while len(taken) < count:
            taken.append(self.pop_lowest())
        return taken

    def drain_expired(self) -> None:
        """Queued blocks whose entry is over go to the LRU list."""
        over = [block for _, block in sorted(self.heap) if block in self.inside]
        for block in dict.fromkeys(over):
            if self.sidecar[block].left == 0:
                self.inside.remove(block)
                self.free.append(block)

    def pop_lowest(self) -> int:
        """The block of the least tuple whose block is in the queue."""
        while True:
            least = min(self.heap, key=lambda each: each[0])
            self.heap.remove(least)
            if least[1] in self.inside:
                self.inside.remove(least[1])
                return least[1]

    def try_insert(self, block: int) -> bool:
        """Put a freed block in the queue, if it has an entry that is not over.

        A tuple of an older generation is skipped when it is popped: it is left out at once.
        """
        entry = self.sidecar.get(block)
        if entry is None or entry.left == 0 or entry.priority < self.model.threshold:
            return False
        if self.model.generations:
            self.heap = [each for each in self.heap if each[1] != block]
        self.heap.append((entry.priority, block))
        self.inside.add(block)
        return True

    def apply_directives(self, ask: Ask, blocks: tuple[int, ...]) -> None:
        """Of each block the highest directive that covers it, by the rules of ownership."""
        if ask.directives is None and ask.scope is None:
            return
        sets, replaced = False, set[int]()
        for at, block in enumerate(blocks):
            covering = [each for each in ask.directives or () if at < each.covers]
            best = max(covering, key=lambda each: each.priority, default=None)
            entry = self.sidecar.get(block)
            if entry is not None and entry.left == 0:
                entry = None
            owns = entry is not None and ask.scope is not None and ask.scope == entry.scope
            if best is None:
                replaced |= {block} if owns else set()
            elif entry is None or best.priority > entry.priority or owns:
                sets = True
                scope = ask.scope if entry is None or self.model.escalator_owns else entry.scope
                before = self.sidecar.get(block)
                new = Entry(best.priority, best.duration, scope, ask.request_id)
                self.sidecar[block] = new
                self.ends(before, ask.scope or "anonymous")
        self.drop(tuple(replaced), ask.scope or "anonymous")
        if sets:
            self.emits += [self.model.call("entry_set", ask), self.model.call("applied", ask)]

    def drop(self, blocks: tuple[int, ...], by: str) -> None:
        """The entries of these blocks go."""
        for block in blocks:
            self.ends(self.sidecar.pop(block, None), by)

    def ends(self, entry: Entry | None, by: str) -> None:
        """An entry went; the last of its holder is the end of what the holder asked for."""
        if entry and all(entry.holder != other.holder for other in self.sidecar.values()):
            about = self.model.asks[entry.holder].object_id
            self.emits.append(signal("entry_dropped", entry.holder, object_id=about, by=by))

    def finish(self, name: str) -> Next[State]:
        """The blocks that no other request uses are freed, the last one first."""
        blocks = dict(self.state.running)[name]
        running = tuple(each for each in self.state.running if each[0] != name)
        used = {block for _, others in running for block in others}
        back = [block for block in reversed(blocks) if block not in used]
        self.free += [block for block in back if not self.try_insert(block)]
        self.emits.append(fact(Kind.REQUEST_FINISHED, request_id=name))
        return self.done(running=running, ended=tuple(sorted((*self.state.ended, name))))

    def tick(self) -> Next[State]:
        """A step of the clock: entries run out, and nothing is said of it."""
        over = {entry.holder for entry in self.sidecar.values() if entry.left == 1}
        for holder in sorted(over):
            about = self.model.asks[holder].object_id
            self.emits.append(signal("ttl_elapsed", holder, object_id=about))
        for block, entry in self.sidecar.items():
            if entry.left:
                self.sidecar[block] = entry._replace(left=entry.left - 1)
        return self.done()

    def done(self, **changed: Any) -> Next[State]:
        """The state after it, and what was emitted."""
        after = self.state._replace(
            free=tuple(self.free),
            cached=tuple(self.cached),
            heap=tuple(self.heap),
            inside=tuple(sorted(self.inside)),
            sidecar=tuple(sorted(self.sidecar.items())),
            **changed,
        )
        return Next(after, tuple(self.emits))


VARIANTS: Final[Mapping[str, Callable[[], Model[Any]]]] = {
    "generations": Retention,
    "stale_tuples": lambda: Retention(generations=False),
}

_ENTRY: Final = frozenset({"entry_set"})
_DROPPED: Final = {"entry_dropped": Kind.CLAIM_RETIRED}
_LOW: Final = (
    Ask("b1", "b", 1, directives=(Directive(10, 1),), scope="t"),
    Ask("a1", "a", 1, directives=(Directive(40, 1),), scope="s"),
    Ask("c1", "c", 0, own=1),
)
_LASTING: Final = (
    Ask("a1", "a", 1, directives=(Directive(50, 1, duration=1),), scope="s"),
    Ask("c1", "c", 0, own=1),
)
_HIGHEST: Final = (
    Ask("a1", "a", 1, directives=(Directive(100, 1),), scope="s"),
    Ask("c1", "c", 0, own=2),
)

INFERENCES: Final = (
    Inference(
        name="priority -> soft_priority without generations",
        feature="blocks of the lowest priority are evicted first",
        mode=Mode.SOFT_PRIORITY,
        shim=Shim(Mode.SOFT_PRIORITY, _ENTRY, _DROPPED),
        model=VARIANTS["stale_tuples"],
        tracked="a2",
        premises=("retention_priority",),
    ),
    Inference(
        name="priority below the threshold -> soft_priority",
        feature="each directive states a priority from 0 to 100",
        mode=Mode.SOFT_PRIORITY,
        shim=Shim(Mode.SOFT_PRIORITY, _ENTRY, _DROPPED),
        model=lambda: Retention(asks=_LOW, threshold=60),
        tracked="a1",
        premises=("retention_priority",),
    ),
    Inference(
        name="TTL on the block -> expiring",
        feature="a directive has a duration, after which its blocks count as unprioritised",
        mode=Mode.EXPIRING,
        shim=Shim(Mode.EXPIRING, _ENTRY, {**_DROPPED, "ttl_elapsed": Kind.DURATION_ELAPSED}),
        model=lambda: Retention(asks=_LASTING),
        tracked="a1",
        premises=("duration_metadata",),
        parent="duration_metadata -> expiring",
        adds="an expiry that neither the queue nor any event tells of",
    ),
    Inference(
        name="hint applied -> accepted claim",
        feature="vllm.set_priority answers applied or deferred",
        mode=Mode.EXPIRING,
        shim=Shim(
            Mode.EXPIRING,
            means={
                "retention_directives": Kind.CLAIM_REGISTERED,
                "deferred": Kind.CLAIM_ACCEPTED,
                "entry_set": Kind.CLAIM_COMMITTED,
                "applied": Kind.CLAIM_ACCEPTED,
            },
        ),
        model=lambda: Retention(asks=_LASTING),
        tracked="a1",
        concludes="explicit_acceptance",
        premises=("request_hint_result",),
    ),
    Inference(
        name="highest priority -> hard_protected",
        feature="blocks of priority 100 are evicted last",
        mode=Mode.HARD_PROTECTED,
        shim=Shim(Mode.HARD_PROTECTED, _ENTRY, _DROPPED),
        model=lambda: Retention(asks=_HIGHEST),
        tracked="a1",
        premises=("retention_priority",),
    ),
)
