"""Models the pools of TensorRT-LLM, method by method: see `models.runtimes.tensorrt_llm.model`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from models.framework.model import Emitted, Model, Next, Signal, fact, signal
from spec.events.alphabet import Kind

__all__ = ["DEFAULT", "Ask", "Block", "Pools", "Range", "State"]

DEFAULT: Final = 35
"""The priority of a block without a retention config."""


class Range(NamedTuple):
    """Blocks of a prompt from `start` to before `end`, their priority, and for how many steps."""

    start: int = 0
    end: int | None = None
    priority: int = DEFAULT
    steps: int | None = None


class Ask(NamedTuple):
    """A request: a prefix of one block that others may have, its own blocks, its config."""

    request_id: str
    object_id: str | None
    own: int = 0
    ranges: tuple[Range, ...] = ()

    @property
    def owned(self) -> tuple[str, ...]:
        """What its own blocks hold."""
        return tuple(f"{self.request_id}.{at}" for at in range(self.own))

    @property
    def contents(self) -> tuple[str, ...]:
        """What its blocks hold, each the parent of the next."""
        return self.owned if self.object_id is None else (self.object_id, *self.owned)

    def retention(self, at: int) -> Range | None:
        """The first range that contains a block."""
        inside = (r for r in self.ranges if r.start <= at and (r.end is None or at < r.end))
        return next(inside, None)


class Block(NamedTuple):
    """A block of the primary pool; `left` are the steps to its deadline while it is free."""

    content: str | None = None
    parent: str | None = None
    priority: int = DEFAULT
    steps: int | None = None
    left: int | None = None


class State(NamedTuple):
    """Both pools, and the requests.

    `free` are the blocks that no request uses, the least recently released first; `host` what was
    copied, with its priority, the oldest first. `paused` are requests that were paused at least
    once. `clocks` are, of each holder with a duration, the steps from its call until it is over.
    """

    free: tuple[int, ...]
    blocks: tuple[Block, ...]
    host: tuple[tuple[str, int], ...] = ()
    running: tuple[tuple[str, tuple[int, ...]], ...] = ()
    waiting: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    paused: frozenset[str] = frozenset()
    clocks: tuple[tuple[str, int], ...] = ()

    @property
    def arrived(self) -> tuple[str, ...]:
        """The requests that came."""
        return (*self.waiting, *(name for name, _ in self.running), *self.ended)


class Pools(Model[State]):
    """Both pools, and what requests and time make of them."""

    def __init__(self, blocks: int, asks: tuple[Ask, ...], host: int) -> None:
        self.size, self.host = blocks, host
        self.asks = {each.request_id: each for each in asks}
        self.requests = self.holders = tuple(self.asks)
        self.configs = {name: r for name, ask in self.asks.items() if (r := ask.retention(0))}

    def _to(self, name: str, word: str, **fields: Any) -> Signal:
        """A signal about what a request has."""
        return signal(
            word,
            name,
            object_id=self.asks[name].object_id,
            predicate="leading_prefix_at_least(1)",
            footprint=1,
            owner_scope=f"owner:{name}",
            **fields,
        )

    def _to_all(self, state: State, content: str, word: str, **fields: Any) -> list[Signal]:
        """The same about all whose config is about what a block holds."""
        return [self._to(name, word, **fields) for name in self._of(state, content)]

    def _of(self, state: State, content: str) -> list[str]:
        """The started requests that stated a priority for what a block holds."""
        started = {*(name for name, _ in state.running), *state.ended, *state.paused}
        stated = [name for name in self.configs if name in started]
        return [name for name in stated if content in self.asks[name].contents]

    def _stated(self, name: str) -> dict[str, Any]:
        config = self.configs[name]
        lasts = {} if config.steps is None else {"duration": f"{config.steps} steps"}
        return {"priority": config.priority, **lasts}

    def _arrive(self, state: State, ask: Ask) -> Next[State]:
        """The duration of a claim counts from here; that of a block, from its release."""
        name, config = ask.request_id, self.configs.get(ask.request_id)
        came = fact(Kind.REQUEST_ARRIVED, request_id=name, needed=ask.own, usable=self.size)
        after = state._replace(waiting=(*state.waiting, name))
        if config is None:
            return Next(after, (came,))
        if config.steps is not None:
            after = after._replace(clocks=(*state.clocks, (name, config.steps)))
        copied = ask.object_id in dict(state.host)
        found = (fact(Kind.HOST_COPY_FOUND, object_id=ask.object_id),) * copied
        return Next(after, (self._to(name, "retention_config", **self._stated(name)), *found, came))

    def _hits(self, state: State, ask: Ask) -> list[int]:
        """The blocks of the longest cached prefix; -1 stands for one in the host pool."""
        places = {block.content: at for at, block in enumerate(state.blocks)}
        places |= {content: -1 for content, _ in state.host}
        found: list[int] = []
        for content in ask.contents:
            if content not in places:
                break
            found.append(places[content])
        return found

    def _fits(self, state: State, ask: Ask) -> bool:
        present = {at for at in self._hits(state, ask) if at >= 0}
        return len(ask.contents) - len(present) <= len(set(state.free) - present)

    def _start(self, state: State, ask: Ask) -> Next[State]:
        """Claim what is cached, load what is in the host pool, compute the rest."""
        name, hits = ask.request_id, self._hits(state, ask)
        about = {"request_id": name, "object_id": ask.object_id}
        there, known = bool(hits) and hits[0] >= 0, {block.content for block in state.blocks}
        emits: list[Emitted] = []
        if ask.object_id is not None:
            emits += [self._to(name, "started")] * (name not in state.paused)
            emits.append(fact(Kind.PREFIX_LOOKUP, **about, held=int(there), asked=1))
        if hits and not there:
            emits.append(fact(Kind.HOST_COPY_FOUND, object_id=ask.object_id))
        copied = {content: rank for content, rank in state.host if content in ask.contents}
        after = state._replace(
            free=tuple(at for at in state.free if at not in hits), waiting=state.waiting[1:]
        )
        used: list[int] = []
        for at, content in enumerate(ask.contents):
            taken, before = hits[at] if at < len(hits) else -1, copied.get(content, DEFAULT)
            if content in known:
                before = state.blocks[taken].priority
            else:
                taken, after, lost = self._take(after, name, set(copied))
                emits += [*lost, *self._fill(state, ask, content, taken)]
                host = tuple(each for each in after.host if each[0] != content)
                after = after._replace(host=host)
            config = ask.retention(at)
            new = Block(
                content,
                ask.contents[at - 1] if at else None,
                before if config is None else config.priority,
                None if config is None else config.steps,
            )
            after = after._replace(blocks=_with(after.blocks, taken, new))
            used.append(taken)
        if name in self.configs and name not in state.paused:
            emits.append(self._to(name, "claim_block", **self._stated(name)))
        if hits and ask.object_id is not None:
            emits.append(fact(Kind.PREFIX_REUSED, **about))
        return Next(after._replace(running=(*after.running, (name, tuple(used)))), tuple(emits))

    def _fill(self, state: State, ask: Ask, content: str, block: int) -> Iterator[Emitted]:
        """A block gets its content: from the host pool (`updated`), or computed (`stored`)."""
        name = ask.request_id
        about = {"request_id": name, "object_id": content, "block_ids": (block,), "positions": (0,)}
        if content in dict(state.host):
            yield fact(Kind.LOAD_FINISHED, **about)
            yield fact(Kind.HOST_COPY_LOST, object_id=content)
            back: dict[str, Any] = {"request_id": name, "from_tier": True}
            yield from self._to_all(state, content, "updated_to_primary", **back)
            return
        yield fact(Kind.BLOCK_CACHED, **about)
        if content == ask.object_id and name in self.configs and name not in state.paused:
            yield self._to(name, "stored", priority=self.configs[name].priority)

    def _leaves(self, state: State) -> list[int]:
        """The free blocks that are no parent of a block of the primary pool."""
        parents = {block.parent for block in state.blocks if block.content is not None}
        return [at for at in state.free if state.blocks[at].content not in parents - {None}]

    def _victim(self, state: State) -> int:
        """Prioritised LRU: of the least priority, the one that was released first."""
        blocks = state.blocks
        empty = [at for at in state.free if blocks[at].content is None]
        return (empty or sorted(self._leaves(state), key=lambda at: blocks[at].priority))[0]

    def _take(self, state: State, name: str, keep: set[str]) -> tuple[int, State, list[Emitted]]:
        """Take a block; what it holds is copied to the host pool, where the least gives way.

        Args:
            keep: what the request is about to load from there.
        """
        taken = self._victim(state)
        content, _, priority, *_ = state.blocks[taken]
        after = state._replace(
            free=tuple(at for at in state.free if at != taken),
            blocks=_with(state.blocks, taken, Block()),
        )
        if content is None:
            return taken, after, []
        emits: list[Emitted] = []
        host = state.host
        if len(host) == self.host and (old := [each for each in host if each[0] not in keep]):
            gone = min(old, key=lambda each: each[1])
            host = tuple(each for each in host if each != gone)
            emits.append(fact(Kind.HOST_COPY_LOST, object_id=gone[0]))
            emits += self._to_all(state, gone[0], "removed")
        word = "removed"
        if len(host) < self.host:
            word, host = "updated_to_secondary", (*host, (content, priority))
            emits.append(fact(Kind.STORE_FINISHED, object_id=content))
        ranks = self._ranks(state)
        ranked = {"lowest_priority": min(ranks)} if ranks else {}
        emits.append(fact(Kind.BLOCK_EVICTED, request_id=name, block_ids=(taken,), **ranked))
        emits += self._to_all(state, content, word, block_ids=(taken,), by="runtime")
        return taken, after._replace(host=host), emits

    def _ranks(self, state: State) -> list[int]:
        """Of each block that could be taken the priority that was stated for it, if one was."""
        stated = (self._of(state, str(state.blocks[at].content)) for at in self._leaves(state))
        return [max(self.configs[n].priority for n in names) for names in stated if names]

    def _release(self, state: State, name: str) -> State:
        """The blocks of a request go to the queue, the last one first; durations begin."""
        running = tuple(each for each in state.running if each[0] != name)
        used = {at for _, blocks in running for at in blocks}
        back = tuple(at for at in reversed(dict(state.running)[name]) if at not in used)
        blocks = state.blocks
        for at in back:
            blocks = _with(blocks, at, blocks[at]._replace(left=blocks[at].steps))
        return state._replace(free=state.free + back, running=running, blocks=blocks)

    def _step(self, state: State) -> Next[State]:
        """Time passes: durations of holders end, and those of free blocks (`refresh`)."""
        clocks = tuple((name, left - 1) for name, left in state.clocks)
        emits: list[Emitted] = []
        for name, left in clocks:
            emits += [self._to(name, "ttl_elapsed")] * (left == 0)
        blocks, free = state.blocks, state.free
        for at, block in enumerate(blocks):
            if block.left == 1:
                free = (*(each for each in free if each != at), at)
                blocks = _with(blocks, at, Block(block.content, block.parent))
                emits += self._to_all(state, str(block.content), "refresh", by="runtime")
            elif block.left is not None:
                blocks = _with(blocks, at, block._replace(left=block.left - 1))
        clocks = tuple(each for each in clocks if each[1])
        return Next(state._replace(clocks=clocks, blocks=blocks, free=free), tuple(emits))


def _with(blocks: tuple[Block, ...], at: int, new: Block) -> tuple[Block, ...]:
    return (*blocks[:at], new, *blocks[at + 1 :])
