"""Models the retention of KV blocks in TensorRT-LLM: priorities, durations, a host pool.

Source: TensorRT-LLM, `evictionPolicy.cpp` at 05a91919 (`claimBlock`, `releaseBlock`, `refresh`),
`TokenRangeRetentionConfig` and `KVCacheEventSerializer`, as read from the source. Not read but
inferred: that a reuse without a retention config keeps the priority of a block and loses its
duration (`claimBlock` always overwrites the duration, and the priority only if one is given); that
a block whose children are all in the host pool is a leaf; that a block leaves the host pool as it
is loaded back; that the host pool gives up what has the least priority, of that the oldest; that
blocks without content are taken first; that an expired block goes to the end of the queue of its
new priority; that a paused request waits behind the others. `refresh` runs in every step here;
nothing that was read says how often it does.

A retention config is part of a request and names ranges of its prompt; the first that contains a
block sets its priority, and how long the block keeps it once it is released. Then the priority is
35 again, and no event says so. The next victim is the leaf of least priority, of these the least
recently released; it is copied to the host pool, if there is one. Ranges are in blocks here.

By `GUARANTEED_NO_EVICT`, the default, a request that has started is never paused; by
`MAX_UTILIZATION` it may be, and its blocks are released. Neither is about what a request leaves
behind.

Left out: partial reuse (on by default), several windows, the priority of decoded blocks, loss of
events, what `updated` says of a priority, durations in the host pool, and the least priority of
what is copied to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, ClassVar, Final

from models.framework.inference import Inference
from models.framework.model import Action, Model, Next, fact
from models.framework.premises import forbids, only_ranks
from models.framework.symmetry import alike
from models.runtimes.tensorrt_llm.pools import DEFAULT, Ask, Block, Pools, Range, State
from spec.claims.states import Mode
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


class Scheduler(StrEnum):
    """What happens to started requests when another does not fit."""

    GUARANTEED_NO_EVICT = "guaranteed_no_evict"
    MAX_UTILIZATION = "max_utilization"


class TensorrtLlm(Pools):
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
    by_name: ClassVar = ("ended", "clocks")

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
        super().__init__(blocks, asks, host)
        self.scheduler, self.in_order = scheduler, in_order

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
            waiting, paused = (*done.waiting, ask.request_id), done.paused | {ask.request_id}
            return Next(done._replace(waiting=waiting, paused=paused))
        ended = tuple(sorted((*state.ended, ask.request_id)))
        finished = fact(Kind.REQUEST_FINISHED, request_id=ask.request_id)
        said = [self._to(ask.request_id, "request_done", by="runtime")] * bool(ask.object_id)
        return Next(done._replace(ended=ended), (finished, *said))

    @property
    def interchangeable(self) -> Iterable[Iterable[tuple[str, ...]]]:
        """Requests in any order with one prefix and config, with what is their own."""
        asks = () if self.in_order else self.asks.values()
        return alike(
            (each[1:], (each.request_id, f"owner:{each.request_id}", *each.owned)) for each in asks
        )

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
            "a deadline counts only while a block is free": only_free,
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

        brief = {self.asks[n].object_id for n, r in self.configs.items() if r.steps is not None}
        plain = [ask for name, ask in self.asks.items() if name not in self.configs]
        found: dict[str, Callable[[State], bool]] = {}
        if any(ask.object_id in brief for ask in plain):
            found["a free block keeps its priority after its duration, with no deadline"] = kept
        if self.host:
            found["an evicted block is in the host pool"] = lambda state: bool(state.host)
        return found


_HIGH: Final = Ask("r1", "a", 0, (Range(0, 1, 80),))
_HIGHEST: Final = Ask("r1", "a", 0, (Range(0, 1, 100),))
_BRIEF: Final = Ask("r1", "a", 0, (Range(0, 1, 80, 2),))
_LOW: Final = Ask("r2", "b", 0, (Range(0, 1, 50),))
_AGAIN: Final = (_HIGH, Ask("r2", None, 1), Ask("r3", "a"), Ask("r4", None, 1), Ask("r5", None, 1))
_REUSE: Final = (_HIGH, Ask("r3", None, 1), _LOW, Ask("r5", "a"), Ask("r4", None, 1))

VARIANTS: Final[Mapping[str, Callable[[], Model[Any]]]] = {
    "guaranteed_no_evict": TensorrtLlm,
    "max_utilization": lambda: TensorrtLlm(scheduler=Scheduler.MAX_UTILIZATION),
    "no_host": lambda: TensorrtLlm(host=0),
    "durations": lambda: TensorrtLlm(2, (_BRIEF, _LOW, Ask("r3", None, 1)), host=0),
    "reuse_without_config": lambda: TensorrtLlm(2, _REUSE, host=0, in_order=True),
    "highest": lambda: TensorrtLlm(1, (_HIGHEST, Ask("r2", None, 1)), host=0),
    "host": lambda: TensorrtLlm(1, (_HIGH, Ask("r3", None, 1), Ask("r4", None, 1)), host=1),
    "tier_movement": lambda: TensorrtLlm(1, _AGAIN, host=1, in_order=True),
    "no_evict": lambda: TensorrtLlm(1, (Ask("r1", "a"), Ask("r2", None, 1)), host=0),
}


_REMOVED: Final = {"removed": Kind.CLAIM_BLOCK_LOST}
_ELAPSED: Final = {"ttl_elapsed": Kind.DURATION_ELAPSED}

INFERENCES: Final = (
    Inference.of(
        "priority_value_in_event -> soft_priority",
        "the priority that a stored event states",
        Mode.SOFT_PRIORITY,
        "stored",
        VARIANTS["durations"],
        "r1",
        _REMOVED,
        premises=("priority_value_in_event",),
        adds="The priority was reset to 35 when its duration was over, and no event said so.",
        row=1,
    ),
    Inference.of(
        "priority stated -> soft_priority under reuse without config",
        "retentionPriority of a KvCacheRetentionConfig",
        Mode.SOFT_PRIORITY,
        "claim_block",
        VARIANTS["reuse_without_config"],
        "r1",
        _REMOVED,
        premises=("retention_priority",),
        parent="priority_value_in_event -> soft_priority",
        adds="The priority is of the block: a prefix that was evicted has the default priority "
        "when a request without a config computes it again.",
    ),
    Inference.of(
        "retention priority 100 -> hard_protected",
        "retentionPriority of a KvCacheRetentionConfig, the highest",
        Mode.HARD_PROTECTED,
        "claim_block",
        VARIANTS["highest"],
        "r1",
        adds="The priority ranks victims: where there is no other, the block is one.",
        also=(only_ranks("retention_priority"),),
    ),
    Inference.of(
        "priority value -> hard_protected",
        "the priority that a stored event states",
        Mode.HARD_PROTECTED,
        "stored",
        VARIANTS["highest"],
        "r1",
        adds='By check C1 of "Resident KV Claims" soft priority is no sound lowering of '
        "hard_protected. The event states what a block has at that time, and is no promise.",
        also=(only_ranks("priority_value_in_event"),),
    ),
    Inference.of(
        "duration_metadata -> expiring",
        "durationMs of a KvCacheRetentionConfig",
        Mode.EXPIRING,
        "retention_config",
        VARIANTS["durations"],
        "r1",
        _ELAPSED,
        premises=("duration_metadata",),
        adds="Nothing is emitted when a duration is over.",
        row=3,
    ),
    Inference.of(
        "TTL on the block -> expiring (TensorRT-LLM)",
        "durationMs of a KvCacheRetentionConfig, with a hook on refresh()",
        Mode.EXPIRING,
        "retention_config",
        VARIANTS["durations"],
        "r1",
        {**_ELAPSED, "refresh": Kind.CLAIM_EXPIRED},
        premises=("duration_metadata",),
        parent="duration_metadata -> expiring",
        adds="The reset of the priority is no expiry even where it is reported: it counts from the "
        "release of the block, and nothing keeps the block until then.",
    ),
    Inference.of(
        "cache level in an updated event -> demotable",
        "the updated event of a block that moves to the host pool",
        Mode.DEMOTABLE,
        "claim_block",
        VARIANTS["host"],
        "r1",
        {"updated_to_secondary": Kind.CLAIM_DEMOTED},
        premises=("lower_cache_level",),
        adds="The event comes with the move and not before it, and names a block.",
    ),
    Inference.of(
        "host pool -> offloadable",
        "the secondary pool: an evicted block is copied and stays in the tree",
        Mode.OFFLOADABLE,
        "claim_block",
        VARIANTS["host"],
        "r1",
        {"updated_to_secondary": Kind.CLAIM_OFFLOADED},
        premises=("storage_tier", "lower_cache_level"),
        parent="storage_tier -> offloadable",
        adds="The copy gives way in the host pool, too, and a removed event names a block.",
    ),
    Inference.of(
        "same_prompt_block_tier_movement -> offloadable (TensorRT-LLM)",
        "updated events: a prompt's blocks move to cache level 1, and back to 0 on reuse",
        Mode.OFFLOADABLE,
        "claim_block",
        VARIANTS["tier_movement"],
        "r1",
        {
            "updated_to_secondary": Kind.CLAIM_OFFLOADED,
            "updated_to_primary": Kind.CLAIM_RESTORED,
        },
        premises=("same_prompt_block_tier_movement",),
        parent="same_prompt_block_tier_movement -> offloadable",
        adds="No event says before the load that a claim must come back.",
    ),
    Inference.of(
        "active_no_evict -> future_resident hard_protected",
        "GUARANTEED_NO_EVICT",
        Mode.HARD_PROTECTED,
        "started",
        VARIANTS["no_evict"],
        "r1",
        premises=("active_no_evict",),
        adds="The policy is about requests that have started and not ended.",
        also=(forbids("active_no_evict", Mode.HARD_PROTECTED, "It is about requests that run."),),
        row=2,
    ),
    Inference.of(
        "guaranteed no-evict -> hard_protected",
        "GUARANTEED_NO_EVICT, for as long as the request runs",
        Mode.HARD_PROTECTED,
        "started",
        VARIANTS["no_evict"],
        "r1",
        {"request_done": Kind.CLAIM_RETIRED},
        premises=("active_no_evict",),
        parent="active_no_evict -> future_resident hard_protected",
        adds="The blocks of a request are no victims while it runs, but no report says when that "
        "ends.",
    ),
)
"""False inferences from the retention and the scheduler of TensorRT-LLM."""
