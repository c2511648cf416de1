"""Models the radix cache of SGLang with HiCache: lock references, strategies, three tiers.

Source: SGLang at bbe9c7e, `radix_cache.py` (`match_prefix`, `inc_lock_ref`, `evict`) and
`hiradix_cache.py` (`write_backup`, `load_back`, prefetch from L3), as read from the source; what
happens to a page that is gone between `exists` and `get` is as reported in the issues 31108 (its
content is used unchecked) and 31885 (it is counted as a hit, and computed again). Not read but
inferred: that L3 is asked when a request comes, and that `cached_tokens` counts what it promised
(issue 40193 has a hit of which it counts less); that the host pool gives up only nodes that are not
on the GPU, the oldest first; that a node whose copy the host pool cannot take is evicted without
one; that write_through_selective copies at the second hit.

A request matches the longest prefix on the GPU and locks it up to the root. What is only on the
host is loaded back, whole or not at all: not below a threshold, nor over a quota. What is not is
computed, and nothing says so. Victims are whole leaves without a lock, by the strategy. A prefix is
one node here, and what a request adds to it another.

Left out: the strategies mru, filo and slru, splits of nodes, requests of different priority for one
prefix, a load for which there is no room (here a request starts when all of it fits), loads in
progress, the stay of prefetched pages in the host pool, the policies by which a prefetch ends, and
the 256 tokens from which on there is one.

Names are not interchangeable: requests of an instance differ, or come in a fixed order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Final

from models.framework.inference import Inference
from models.framework.model import Action, Model, Next, fact
from models.runtimes.sglang_hicache.tiers import (
    Gone,
    Node,
    Prompt,
    State,
    Strategy,
    Tiers,
    Write,
)
from spec.claims.states import Mode
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


class SglangHicache(Tiers):
    """The radix cache with HiCache, for requests that come once each."""

    name: ClassVar = "sglang_hicache"
    about: ClassVar = "The radix cache of SGLang with HiCache: locks, strategies, three tiers."
    source: ClassVar = "SGLang at bbe9c7e, radix_cache.py and hiradix_cache.py; 31108, 31885"
    left_out: ClassVar = "splits of nodes, loads in progress, ends and threshold of a prefetch"

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
            "a page has one node, and the host pool has room for what it holds": pages,
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
    "storage_hit": Kind.CLAIM_RESTORE_REQUIRED,
}
_RETURNS: Final = {**_LEAVES, "load_back": Kind.CLAIM_RESTORED}
_COUNTED: Final = {
    "cached_tokens": Kind.CLAIM_MATERIALIZED,
    "BlockRemoved": Kind.CLAIM_UNMATERIALIZED,
}


INFERENCES: Final = (
    Inference.of(
        "lock reference -> hard_protected",
        "inc_lock_ref: what a request uses is protected up to the root, until dec_lock_ref",
        Mode.HARD_PROTECTED,
        "inc_lock_ref",
        VARIANTS["no_host"],
        "a",
        {"dec_lock_ref": Kind.CLAIM_RETIRED},
        premises=("lock_reference",),
        parent="active_no_evict -> future_resident hard_protected",
        adds="The lock goes with the last request that uses the node, before the next one comes, "
        "and no report says so.",
    ),
    Inference.of(
        "request priority -> soft_priority",
        "the priority of a request, where the eviction strategy is lru, which ignores it",
        Mode.SOFT_PRIORITY,
        "generate",
        VARIANTS["priority_ignored"],
        "a",
        _REMOVED,
        premises=("retention_priority",),
        adds="Only the eviction strategy `priority` reads it.",
    ),
    Inference.of(
        "load back -> offloadable",
        "HiCache: what is on the host is loaded back when a request needs it",
        Mode.OFFLOADABLE,
        "generate",
        VARIANTS["short_span"],
        "a",
        _RETURNS,
        premises=("load_back",),
        adds="A span below the threshold is not loaded back. It is computed, and nothing says so.",
    ),
    Inference.of(
        "write_through_selective -> offloadable",
        "HiCache: nodes are copied to the host after a number of hits",
        Mode.OFFLOADABLE,
        "generate",
        VARIANTS["one_hit"],
        "a",
        _RETURNS,
        premises=("storage_tier",),
        parent="storage_tier -> offloadable",
        adds="A prefix that was not hit often enough is evicted without a copy.",
    ),
    Inference.of(
        "hit in L3 -> offloadable",
        "HiCache: pages that exist in L3 are prefetched",
        Mode.OFFLOADABLE,
        "generate",
        VARIANTS["l3"],
        "a",
        _RETURNS,
        premises=("storage_tier", "load_back"),
        parent="storage_tier -> offloadable",
        adds="A page is gone between `exists` and `get`, and the prefix is computed.",
    ),
    Inference.of(
        "cached tokens of a storage hit -> restored",
        "cached_tokens_details: tokens that came from storage",
        Mode.OFFLOADABLE,
        "generate",
        VARIANTS["l3_garbled"],
        "a",
        {**_LEAVES, "cached_tokens_details": Kind.CLAIM_RESTORED},
        concludes="offload_restorability",
        premises=("cached_token_telemetry", "load_back"),
    ),
    Inference.of(
        "cached-token count -> materialized",
        "cached_tokens of a request",
        Mode.BEST_EFFORT,
        "generate",
        VARIANTS["l3_counted"],
        "a",
        _COUNTED,
        concludes="materialization_predicate",
        premises=("cached_token_telemetry",),
    ),
)
"""False inferences from the radix cache and HiCache, about the prefix a."""
