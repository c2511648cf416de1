"""Models the priority queue of retention directives, method by method: see
`models.runtimes.retention.model`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from models.framework.blocks import Content, Slot, cached_facts, filed_again, hits
from models.framework.model import Emitted, Next, fact, signal
from spec.events.alphabet import Kind

__all__ = ["Ask", "Directive", "Entry", "Pool", "Settings", "State"]


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

    @property
    def contents(self) -> tuple[Content, ...]:
        """What its blocks hold: the shared object first, then what is its own."""
        shared = [(self.object_id, at) for at in range(self.shared)]
        return (*shared, *((self.request_id, at) for at in range(self.own)))

    def call(self, name: str) -> Emitted:
        """A call or message about its first directive, with what that states."""
        first = (self.directives or ())[0]
        lasts = {} if first.duration is None else {"duration": f"{first.duration} steps"}
        return signal(
            name,
            self.request_id,
            object_id=self.object_id,
            predicate=f"leading_prefix_at_least({first.covers})",
            footprint=first.covers,
            owner_scope=self.scope or "anonymous",
            priority=first.priority,
            **lasts,
        )


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
    cached: tuple[Slot, ...]
    running: tuple[tuple[str, tuple[int, ...]], ...] = ()
    waiting: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    heap: tuple[tuple[int, int], ...] = ()
    inside: tuple[int, ...] = ()
    sidecar: tuple[tuple[int, Entry], ...] = ()
    again: tuple[int, ...] = ()


class Settings(NamedTuple):
    """The requests by their ids, and how the queue is set up: see `Retention`."""

    asks: Mapping[str, Ask]
    threshold: int
    generations: bool
    escalator_owns: bool


class Pool:
    """`BlockPool` and `PriorityEvictionQueue`, on lists that they change."""

    def __init__(self, settings: Settings, state: State) -> None:
        self.settings, self.state, self.emits = settings, state, list[Emitted]()
        self.free, self.cached, self.heap = [*state.free], [*state.cached], [*state.heap]
        self.inside, self.sidecar = {*state.inside}, dict(state.sidecar)

    def admit(self, ask: Ask) -> Next[State]:
        """Reuse what is cached, allocate the rest, cache it and apply the directives."""
        name, contents = ask.request_id, ask.contents
        found = hits(self.cached, contents, self.state.again)
        self.touch(found)
        evictable = {*self.free, *self.inside}
        ranks = [entry.priority for block, entry in self.sidecar.items() if block in evictable]
        taken = self.get_new_blocks(len(contents) - len(found))
        if ask.shared:
            about = {"request_id": name, "object_id": ask.object_id}
            held = min(len(found), ask.shared)
            self.emits.append(fact(Kind.PREFIX_LOOKUP, **about, held=held, asked=ask.shared))
        gone = tuple(block for block in taken if self.cached[block] is not None)
        if gone:
            lowest = {"lowest_priority": min(ranks)} if ranks else {}
            self.emits.append(fact(Kind.BLOCK_EVICTED, request_id=name, block_ids=gone, **lowest))
            self.drop(gone, "runtime")
        pairs = list(zip(taken, contents[len(found) :], strict=True))
        for block, content in pairs:
            self.cached[block] = content
        self.emits += cached_facts(name, pairs)
        self.apply_directives(ask, (*found, *taken))
        return self.done(
            running=(*self.state.running, (name, (*found, *taken))),
            waiting=self.state.waiting[1:],
            again=filed_again(self.cached, self.state.again, taken),
        )

    def touch(self, blocks: tuple[int, ...]) -> None:
        """Take reused blocks out of the queue, whose heap keeps their tuples, or of the list."""
        self.inside -= {*blocks}
        self.free = [block for block in self.free if block not in blocks]

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
        queued = [block for _, block in self.heap if block in self.inside]
        for block in dict.fromkeys(queued):
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
        if entry is None or entry.left == 0 or entry.priority < self.settings.threshold:
            return False
        if self.settings.generations:
            self.heap = [each for each in self.heap if each[1] != block]
        self.heap.append((entry.priority, block))
        self.inside.add(block)
        return True

    def apply_directives(self, ask: Ask, blocks: tuple[int, ...]) -> None:
        """Of each block the highest directive that covers it, by the rules of ownership."""
        if ask.directives is None and ask.scope is None:
            return
        sets, cleared = False, list[int]()
        for at, block in enumerate(blocks):
            covering = [each for each in ask.directives or () if at < each.covers]
            best = max(covering, key=lambda each: each.priority, default=None)
            entry = self.sidecar.get(block)
            if entry is not None and entry.left == 0:
                entry = None
            owns = entry is not None and ask.scope is not None and ask.scope == entry.scope
            if best is None:
                cleared += [block] if owns else []
            elif entry is None or best.priority > entry.priority or owns:
                sets = True
                scope = ask.scope if entry is None or self.settings.escalator_owns else entry.scope
                before = self.sidecar.get(block)
                new = Entry(best.priority, best.duration, scope, ask.request_id)
                self.sidecar[block] = new
                self.ends(before, ask.scope or "anonymous")
        self.drop(tuple(cleared), ask.scope or "anonymous")
        if sets:
            self.emits += [ask.call("apply_directives"), ask.call("applied")]

    def drop(self, blocks: tuple[int, ...], by: str) -> None:
        """The entries of these blocks go."""
        for block in blocks:
            self.ends(self.sidecar.pop(block, None), by)

    def ends(self, entry: Entry | None, by: str) -> None:
        """An entry went; the last of its holder is the end of what the holder asked for."""
        if entry and all(entry.holder != other.holder for other in self.sidecar.values()):
            about = self.settings.asks[entry.holder].object_id
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
            about = self.settings.asks[holder].object_id
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
