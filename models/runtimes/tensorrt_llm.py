"""Models the retention of KV blocks in TensorRT-LLM: priorities, durations, a host pool.

Source: TensorRT-LLM, `evictionPolicy.cpp` at 05a91919 (`claimBlock`, `releaseBlock`, `refresh`),
`TokenRangeRetentionConfig` and `KVCacheEventSerializer`, as read from the source. Not read but
inferred: that a reuse without a retention config keeps the priority of a block and loses its
duration (`claimBlock` always overwrites the duration, and the priority only if one is given); that
a block whose children are all in the host pool is a leaf; that a block leaves the host pool as it
is loaded back; that blocks without content are taken first; that a paused request waits behind the
others. `refresh` runs in every step here; nothing that was read says how often it does.

A retention config is part of a request and names ranges of its prompt; the first that contains a
block sets its priority, and how long the block keeps it once it is released. Then the priority is
35 again, and no event says so. The next victim is the leaf of least priority, of these the least
recently released; it is copied to the host pool, if there is one.

Left out: partial reuse, several windows, the priority of decoded blocks, loss of events, what
`updated` says of a priority, and the least priority of what is copied to the host pool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, ClassVar, Final, NamedTuple

from models.inference import Inference
from models.model import Action, Emitted, Model, Next, Signal, fact, signal
from models.premises import forbids
from models.shims import Shim
from spec.claims.claim import Mode
from spec.events.alphabet import Kind

__all__ = [
    "DEFAULT",
    "INFERENCES",
    "VARIANTS",
    "Ask",
    "Block",
    "Range",
    "Scheduler",
    "State",
    "TensorrtLlm",
]

DEFAULT: Final = 35
"""The priority of a block without a retention config."""


class Scheduler(StrEnum):
    """What happens to started requests when another does not fit."""

    GUARANTEED_NO_EVICT = "guaranteed_no_evict"
    MAX_UTILIZATION = "max_utilization"


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
    def contents(self) -> tuple[str, ...]:
        """What its blocks hold, each the parent of the next."""
        own = (f"{self.request_id}.{at}" for at in range(self.own))
        return (*own,) if self.object_id is None else (self.object_id, *own)

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
    copied, with its priority, the oldest first. `clocks` are, of each holder with a duration, the
    steps from its call until the duration is over.
    """

    free: tuple[int, ...]
    blocks: tuple[Block, ...]
    host: tuple[tuple[str, int], ...] = ()
    running: tuple[tuple[str, tuple[int, ...]], ...] = ()
    waiting: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    clocks: tuple[tuple[str, int], ...] = ()

    @property
    def arrived(self) -> tuple[str, ...]:
        """The requests that came."""
        return (*self.waiting, *(name for name, _ in self.running), *self.ended)


class TensorrtLlm(Model[State]):
    """The primary and the host pool of TensorRT-LLM, for requests that come once each.

    Args:
        blocks: blocks of the primary pool.
        asks: the requests. Each is the holder of what it asks for its prefix.
        host: blocks of the host pool.
        in_order: requests come in the order of `asks`, not in any.
        scheduler: what happens to started requests.
    """

    name: ClassVar = "tensorrt_llm"
    about: ClassVar = "Retention priority and duration of blocks, a host pool, and KV events."
    source: ClassVar = "TensorRT-LLM, evictionPolicy.cpp at 05a91919; KVCacheEventSerializer"
    left_out: ClassVar = "partial reuse, windows, decoded blocks, loss of events, minimum priority"

    def __init__(
        self,
        blocks: int = 2,
        asks: tuple[Ask, ...] = (
            Ask("r1", "a", 1, (Range(0, 1, 80, 2),)),
            Ask("r2", "a"),
            Ask("r3", "b", 0, (Range(0, None, 50),)),
        ),
        host: int = 1,
        scheduler: Scheduler = Scheduler.GUARANTEED_NO_EVICT,
        in_order: bool = False,
    ) -> None:
        self.size, self.host, self.scheduler, self.in_order = blocks, host, scheduler, in_order
        self.asks = {each.request_id: each for each in asks}
        self.requests = tuple(self.asks)
        self.configs = {name: r for name, ask in self.asks.items() if (r := ask.retention(0))}
        self.holders = self.requests

    def initial(self) -> Iterator[State]:
        """Empty pools."""
        yield State(tuple(range(self.size)), (Block(),) * self.size)

    def actions(self, state: State) -> Iterator[Action]:
        """Requests come and end; before a step of time the scheduler starts what fits."""
        coming = [name for name in self.requests if name not in state.arrived]
        for name in coming[:1] if self.in_order else coming:
            yield Action("arrive", (name,))
        if state.waiting:
            if self._fits(state, self.asks[state.waiting[0]]):
                yield Action("start", (state.waiting[0],))
            elif state.running and self.scheduler is Scheduler.MAX_UTILIZATION:
                yield Action("pause", (state.running[-1][0],))
        for name, _ in state.running:
            yield Action("finish", (name,))
        idle = not (state.waiting and self._fits(state, self.asks[state.waiting[0]]))
        if idle and (state.clocks or any(block.left is not None for block in state.blocks)):
            yield Action("step")

    def apply(self, state: State, action: Action) -> Next[State]:
        """The pools after an action."""
        if action.name == "step":
            return self._step(state)
        ask = self.asks[str(action.what[0])]
        if action.name == "arrive":
            return self._arrive(state, ask)
        if action.name == "start":
            return self._start(state, ask)
        done = self._release(state, ask.request_id)
        if action.name == "pause":
            return Next(done._replace(waiting=(*done.waiting, ask.request_id)))
        ended = tuple(sorted((*state.ended, ask.request_id)))
        finished = fact(Kind.REQUEST_FINISHED, request_id=ask.request_id)
        said = [self._to(ask.request_id, "request_done", by="runtime")] * bool(ask.object_id)
        return Next(done._replace(ended=ended), (finished, *said))

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
        started = (*(name for name, _ in state.running), *state.ended)
        return [n for n in started if n in self.configs and content in self.asks[n].contents]

    def _stated(self, name: str) -> dict[str, Any]:
        config = self.configs[name]
        lasts = {} if config.steps is None else {"duration": f"{config.steps} steps"}
        return {"priority": config.priority, **lasts}

    def _arrive(self, state: State, ask: Ask) -> Next[State]:
        """The duration that the client means counts from here."""
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
            emits.append(self._to(name, "started"))
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
        if name in self.configs:
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
            yield from self._to_all(state, content, "updated_to_primary", request_id=name)
            return
        yield fact(Kind.BLOCK_CACHED, **about)
        if content == ask.object_id and name in self.configs:
            yield self._to(name, "stored", **self._stated(name))

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
        emits += self._to_all(state, content, word, block_ids=(taken,))
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
        blocks = state.blocks
        for at, block in enumerate(blocks):
            if block.left == 1:
                blocks = _with(blocks, at, Block(block.content, block.parent))
                emits += self._to_all(state, str(block.content), "refresh", by="runtime")
            elif block.left is not None:
                blocks = _with(blocks, at, block._replace(left=block.left - 1))
        clocks = tuple(each for each in clocks if each[1])
        return Next(state._replace(clocks=clocks, blocks=blocks), tuple(emits))

    @property
    def always(self) -> Mapping[str, Callable[[State], bool]]:
        """Blocks are accounted for, the tree is whole, and a deadline runs in free blocks alone."""

        def accounted(state: State) -> bool:
            used = {at for _, blocks in state.running for at in blocks}
            return len(state.free) + len(used) == self.size and not used & set(state.free)

        def once(state: State) -> bool:
            held = [block.content for block in state.blocks if block.content is not None]
            held += [content for content, _ in state.host]
            return len(set(held)) == len(held) and len(state.host) <= self.host

        def only_free(state: State) -> bool:
            return all(b.left is None or at in state.free for at, b in enumerate(state.blocks))

        def rooted(state: State) -> bool:
            there = {block.content for block in state.blocks}
            return {block.parent for block in state.blocks} <= there | {None}

        return {
            "every block is free or in use": accounted,
            "the parent of a block of the primary pool is there, too": rooted,
            "a content is in one pool": once,
            "a deadline counts while a block is free": only_free,
        }

    @property
    def reachable(self) -> Mapping[str, Callable[[State], bool]]:
        """What becomes of a duration, and of an evicted block."""

        def kept(state: State) -> bool:
            over = set(state.arrived) - {name for name, _ in state.clocks}
            lasting = {n for n, config in self.configs.items() if config.steps is not None} & over
            raised = {b.content for b in state.blocks if b.priority > DEFAULT and b.left is None}
            free = {state.blocks[at].content for at in state.free}
            return any(self.asks[name].object_id in raised & free for name in lasting)

        return {
            "a free block keeps its priority after its duration, with no deadline": kept,
            "an evicted block is in the host pool": lambda state: bool(state.host),
        }


def _with(blocks: tuple[Block, ...], at: int, new: Block) -> tuple[Block, ...]:
    return (*blocks[:at], new, *blocks[at + 1 :])


_HIGH: Final = Ask("r1", "a", 0, (Range(0, 1, 80),))
_HIGHEST: Final = Ask("r1", "a", 0, (Range(0, 1, 100),))
_BRIEF: Final = Ask("r1", "a", 0, (Range(0, 1, 80, 2),))
_LOW: Final = Ask("r2", "b", 0, (Range(0, 1, 50),))
_REUSE: Final = (_HIGH, Ask("r3", None, 1), _LOW, Ask("r5", "a"), Ask("r4", None, 1))

VARIANTS: Final[Mapping[str, Callable[[], Model[Any]]]] = {
    "guaranteed_no_evict": TensorrtLlm,
    "max_utilization": lambda: TensorrtLlm(scheduler=Scheduler.MAX_UTILIZATION),
    "no_host": lambda: TensorrtLlm(host=0),
    "durations": lambda: TensorrtLlm(2, (_BRIEF, _LOW, Ask("r3", None, 1)), host=0),
    "reuse_without_config": lambda: TensorrtLlm(2, _REUSE, host=0, in_order=True),
    "highest": lambda: TensorrtLlm(1, (_HIGHEST, Ask("r2", None, 1)), host=0),
    "no_evict": lambda: TensorrtLlm(1, (Ask("r1", "a"), Ask("r2", None, 1)), host=0),
}


_REMOVED: Final = {"removed": Kind.CLAIM_BLOCK_LOST}
_ELAPSED: Final = {"ttl_elapsed": Kind.DURATION_ELAPSED}


def _inference(
    name: str,
    feature: str,
    mode: Mode,
    accepts: str,
    variant: str,
    means: Mapping[str, Kind] | None = None,
    **given: Any,
) -> Inference:
    """An inference about what the first request has, in a variant of the model."""
    shim = Shim(mode, frozenset({accepts}), means or {})
    return Inference(name, feature, mode, shim, VARIANTS[variant], "r1", **given)


INFERENCES: Final = (
    _inference(
        "priority_value_in_event -> soft_priority",
        "the priority that a stored event states",
        Mode.SOFT_PRIORITY,
        "stored",
        "durations",
        _REMOVED,
        premises=("priority_value_in_event",),
        row=1,
    ),
    _inference(
        "priority stated -> soft_priority under reuse without config",
        "retentionPriority of a KvCacheRetentionConfig",
        Mode.SOFT_PRIORITY,
        "claim_block",
        "reuse_without_config",
        _REMOVED,
        premises=("retention_priority",),
        parent="priority_value_in_event -> soft_priority",
        adds="The priority is of the block: a prefix that was evicted has the default priority "
        "when a request without a config computes it again.",
    ),
    _inference(
        "retention priority 100 -> hard_protected",
        "retentionPriority of a KvCacheRetentionConfig, the highest",
        Mode.HARD_PROTECTED,
        "claim_block",
        "highest",
        premises=("retention_priority",),
    ),
    _inference(
        "duration_metadata -> expiring",
        "durationMs of a KvCacheRetentionConfig",
        Mode.EXPIRING,
        "retention_config",
        "durations",
        _ELAPSED,
        premises=("duration_metadata",),
        row=2,
    ),
    _inference(
        "TTL on the block -> expiring (TensorRT-LLM)",
        "durationMs of a KvCacheRetentionConfig, with a hook on refresh()",
        Mode.EXPIRING,
        "retention_config",
        "durations",
        {**_ELAPSED, "refresh": Kind.CLAIM_EXPIRED},
        premises=("duration_metadata",),
        parent="duration_metadata -> expiring",
        adds="The reset of the priority is no expiry even where it is reported: it counts from the "
        "release of the block, and nothing keeps the block until then.",
    ),
    _inference(
        "active_no_evict -> future_resident hard_protected",
        "GUARANTEED_NO_EVICT",
        Mode.HARD_PROTECTED,
        "started",
        "no_evict",
        premises=("active_no_evict",),
        also=(forbids("active_no_evict", Mode.HARD_PROTECTED, "It is about requests that run."),),
        row=3,
    ),
    _inference(
        "guaranteed no-evict -> hard_protected",
        "GUARANTEED_NO_EVICT, for as long as the request runs",
        Mode.HARD_PROTECTED,
        "started",
        "no_evict",
        {"request_done": Kind.CLAIM_RETIRED},
        premises=("active_no_evict",),
        parent="active_no_evict -> future_resident hard_protected",
        adds="The blocks of a request are no victims while it runs, but no report says when that "
        "ends.",
    ),
)
"""False inferences from the retention and the scheduler of TensorRT-LLM."""
