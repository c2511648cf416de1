"""Models retention directives in vLLM: a priority queue beside the LRU list of free blocks.

Source: draft pull request 10 of hyeongyun0916's fork of vLLM, "KV-Cache eviction prioritization
API" (branch retention-minimal, 2026-05-21; it would replace vllm-project #38514),
`vllm/v1/core/priority_eviction_queue.py` and its hooks in `block_pool.py`, as the pull request and
its commits state them; the pool itself is that of `models.runtimes.vllm_pool`.

A request may state token ranges with a priority and a duration, and a scope. When its blocks are
full, each gets an entry in the sidecar. Freed blocks with an entry at or above the threshold go to
a heap by (priority, time of freeing); the LRU list is drained first. The last commit stamps tuples
with a generation, so that one from before a reuse is skipped; `generations=False` leaves that out.
The same commit brought the threshold and the draining of expired blocks, which are here in both.
Where the sources are silent, it is assumed that directives apply to reused blocks too;
that the client that raises an entry owns it from then on (`escalator_owns`); that no client owns an
entry that was set without a scope; that expired blocks go to the end of the LRU list; and that an
entry goes with its block's content. The default of the threshold is not stated; it is above 50, as
tests that use priority 50 lower it to 0.

The branch says nothing to a client. The results `deferred` and `applied` are those of the action
`vllm.set_priority` of another branch: here a directive is deferred when it is parsed, and applied
when an entry is set.

Left out: what the pool's model leaves out, ranges that begin behind the prompt's first block, and
the check that priorities do not rise along a prompt.

Names are not interchangeable: requests of an instance differ in their directives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Final

from models.framework.blocks import hits
from models.framework.inference import Inference
from models.framework.model import Action, Emitted, Model, Next, fact
from models.framework.premises import only_ranks
from models.framework.shims import Shim
from models.runtimes.retention.queue import Ask, Directive, Entry, Pool, Settings, State
from spec.claims.states import Mode
from spec.events.alphabet import Kind

__all__ = ["INFERENCES", "VARIANTS", "Ask", "Directive", "Entry", "Retention", "State"]


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
    source: ClassVar = "draft pull request 10 of a fork of vLLM (for RFC 37003), 2026-05-21"
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
        self.blocks = blocks
        self.asks = {ask.request_id: ask for ask in asks}
        self.settings = Settings(self.asks, threshold, generations, escalator_owns)
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
                return Pool(self.settings, state).admit(self.asks[str(action.what[0])])
            case "finish":
                return Pool(self.settings, state).finish(str(action.what[0]))
        return Pool(self.settings, state).tick()

    def _arrive(self, state: State, ask: Ask) -> Next[State]:
        name = ask.request_id
        emits: list[Emitted] = [
            fact(Kind.REQUEST_ARRIVED, request_id=name, needed=ask.own, usable=self.blocks)
        ]
        if ask.directives:
            emits += [ask.call("retention_directives"), ask.call("deferred")]
        return Next(state._replace(waiting=(*state.waiting, name)), tuple(emits))

    def _fits(self, state: State, ask: Ask) -> bool:
        found = hits(state.cached, ask.contents, state.again)
        return ask.shared + ask.own - len(found) <= len({*state.free, *state.inside} - {*found})

    @property
    def always(self) -> Mapping[str, Callable[[State], bool]]:
        """Blocks are accounted for; the queue gives up the block of the lowest priority."""

        def accounted(state: State) -> bool:
            used = {block for _, blocks in state.running for block in blocks}
            free = [*state.free, *state.inside]
            return len({*free}) == len(free) == self.blocks - len(used) and not used & {*free}

        def ordered(state: State) -> bool:
            current = {block: entry.priority for block, entry in state.sidecar}
            victim = Pool(self.settings, state).pop_lowest() if state.inside else None
            return victim is None or current[victim] == min(current[b] for b in state.inside)

        return {
            "every block is free, queued or in use": accounted,
            "the victim has the lowest priority in the queue": ordered,
        }

    @property
    def reachable(self) -> Mapping[str, Callable[[State], bool]]:
        """Every request can end."""
        return {"every request has ended": lambda state: len(state.ended) == len(self.asks)}


VARIANTS: Final[Mapping[str, Callable[[], Model[Any]]]] = {
    "generations": Retention,
    "stale_tuples": lambda: Retention(generations=False),
}

_ENTRY: Final = frozenset({"apply_directives"})
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
        adds="As before the last commit of the branch: a tuple of the heap from before the reuse "
        "still has the old priority.",
    ),
    Inference(
        name="priority below the threshold -> soft_priority",
        feature="each directive states a priority from 0 to 100",
        mode=Mode.SOFT_PRIORITY,
        shim=Shim(Mode.SOFT_PRIORITY, _ENTRY, _DROPPED),
        model=lambda: Retention(asks=_LOW, threshold=60),
        tracked="a1",
        premises=("retention_priority",),
        adds="Blocks below the threshold stay in the LRU list, whatever their priority.",
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
        adds="An expired entry counts as none, and no event says so.",
    ),
    Inference(
        name="hint applied -> accepted claim",
        feature="vllm.set_priority answers applied or deferred, where deferred means parsed",
        mode=Mode.EXPIRING,
        shim=Shim(
            Mode.EXPIRING,
            means={
                "retention_directives": Kind.CLAIM_REGISTERED,
                "deferred": Kind.CLAIM_ACCEPTED,
                "apply_directives": Kind.CLAIM_COMMITTED,
                "applied": Kind.CLAIM_ACCEPTED,
            },
        ),
        model=lambda: Retention(asks=_LASTING),
        tracked="a1",
        concludes="explicit_acceptance",
        adds="The directive was parsed. No entry is set yet; where the rules of ownership forbid "
        "it, none will be.",
        premises=("request_hint_result",),
    ),
    Inference(
        name="highest priority -> hard_protected",
        feature="blocks of priority 100 are evicted last",
        mode=Mode.HARD_PROTECTED,
        shim=Shim(Mode.HARD_PROTECTED, _ENTRY, _DROPPED),
        model=lambda: Retention(asks=_HIGHEST),
        tracked="a1",
        adds="The priority ranks victims: where there is no other, the block is one.",
        also=(only_ranks("retention_priority"),),
    ),
)
