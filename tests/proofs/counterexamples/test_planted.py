"""Tests that a mistake in a model is noticed: what the suite says of an inference changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from models.counterexamples import RECORDED
from models.framework.model import Fact, Next
from models.registry import inferences
from models.runtimes.continuum.scheduler import Scheduler
from models.runtimes.kv_lease import KvLease
from models.runtimes.lmcache import Adapter, LMCachePins, LMCacheRetrieve
from models.runtimes.sglang_hicache.tiers import Node, Tiers
from models.runtimes.tensorrt_llm import pools
from models.runtimes.tensorrt_llm.pools import Pools
from models.runtimes.vllm_pool import model as vllm_pool
from proofs.counterexamples.page import recorded
from proofs.counterexamples.refute import refute
from proofs.counterexamples.suite import row_of
from spec.events.canonical import as_jsonl

ROWS: Final = {row.inference: row for row in recorded().rows}
INFERENCES: Final = {each.name: each for each in inferences()}

Plant = Callable[[pytest.MonkeyPatch], None]
Found = dict[str, Any]


def found(name: str) -> Found:
    """What the suite has of an inference, by the model as it is now."""
    refutation = refute(INFERENCES[name])
    row = row_of(refutation, ROWS[name].runtime)
    return {"broken": row.broken, "verdict": row.verdict, "trace": as_jsonl(refutation.events)}


def was(name: str) -> Found:
    """What the recorded suite has of it."""
    row = ROWS[name]
    trace = (RECORDED / str(row.trace)).read_bytes()
    return {"broken": row.broken, "verdict": row.verdict, "trace": trace}


def lru(patch: pytest.MonkeyPatch) -> None:
    """TensorRT-LLM: the least recently released leaf is the victim, whatever its priority."""
    patch.setattr(Pools, "_victim", lambda self, state: self._leaves(state)[0])


def ttl_from_the_start(patch: pytest.MonkeyPatch) -> None:
    """Continuum: a TTL counts from the start of a turn of one step, and not from its end."""
    unpin = Scheduler.unpin_requests_regular

    def early(self: Scheduler) -> None:
        self.pinned = [pin._replace(left=max(0, pin.left - 1)) for pin in self.pinned]
        unpin(self)

    patch.setattr(Scheduler, "unpin_requests_regular", early)


def priority_stays(patch: pytest.MonkeyPatch) -> None:
    """TensorRT-LLM: `refresh` resets no priority."""
    step = Pools._step

    def kept(self: Pools, state: pools.State) -> Next[pools.State]:
        after, emits = step(self, state)
        old = {block.content: block.priority for block in state.blocks}
        blocks = tuple(
            each._replace(priority=old.get(each.content, each.priority)) for each in after.blocks
        )
        return Next(after._replace(blocks=blocks), emits)

    patch.setattr(Pools, "_step", kept)


def cached_blocks_go_first(patch: pytest.MonkeyPatch) -> None:
    """vLLM: blocks that cache something go to the head of the free queue."""
    patch.setattr(vllm_pool, "freed", lambda free, cached, back: (*back, *free))


def no_counter(patch: pytest.MonkeyPatch) -> None:
    """LMCache: a forced unpin is reported by nothing."""
    unpin = LMCachePins._force_unpin

    def silent(self: LMCachePins, state: Any, object_id: str) -> Next[Any]:
        after, emits = unpin(self, state, object_id)
        shown = tuple(e for e in emits if isinstance(e, Fact) or e.name != "forced_unpin_count")
        return Next(after, shown)

    patch.setattr(LMCachePins, "_force_unpin", silent)


def pins_stay(patch: pytest.MonkeyPatch) -> None:
    """LMCache: no pin is ended by a timeout."""
    patch.setattr(LMCachePins, "_force_unpin", lambda self, state, object_id: Next(state))


def failures_are_reported(patch: pytest.MonkeyPatch) -> None:
    """LMCache: the adapter reports the blocks of a failed retrieve."""
    begin = LMCacheRetrieve.__init__
    patch.setattr(
        LMCacheRetrieve,
        "__init__",
        lambda self, *_, **sizes: begin(self, Adapter.IN_PROCESS, **sizes),
    )


def every_drop_is_recorded(patch: pytest.MonkeyPatch) -> None:
    """Continuum: a pin that is dropped under pressure leaves a record, too."""
    unpin = Scheduler.unpin_request
    patch.setattr(Scheduler, "unpin_request", lambda self, pin, by, **_: unpin(self, pin, by))


def priority_ranks(patch: pytest.MonkeyPatch) -> None:
    """SGLang: victims are ranked by the priority of requests, whatever the strategy."""
    victims = Tiers._evictable

    def ranked(self: Tiers, *given: Any) -> list[Node]:
        found = victims(self, *given)
        return sorted(found, key=lambda node: self.priorities.get(node.name, 0))

    patch.setattr(Tiers, "_evictable", ranked)


def reads_are_checked(patch: pytest.MonkeyPatch) -> None:
    """NIXL: the decode engine does not read after the end of the lease."""
    begin = KvLease.__init__
    patch.setattr(KvLease, "__init__", lambda self, *sizes, **_: begin(self, *sizes, checks=True))


RUN: Final = {"trace"}
BROKEN: Final = {"broken", *RUN}
NOTHING: Final = {"verdict", *BROKEN}

PLANTED: Final[dict[Plant, tuple[str, set[str]]]] = {
    lru: ("priority_value_in_event -> soft_priority", RUN),
    ttl_from_the_start: ("pin without a job id -> expiring", NOTHING),
    priority_stays: ("priority_value_in_event -> soft_priority", NOTHING),
    cached_blocks_go_first: ("write no-admit -> hard_protected", RUN),
    no_counter: ("forced unpin -> demotable", RUN),
    pins_stay: ("pin -> hard_protected", BROKEN),
    failures_are_reported: ("silent retrieve success -> restored", NOTHING),
    every_drop_is_recorded: ("record of a pin -> hard_protected", BROKEN),
    priority_ranks: ("request priority -> soft_priority", NOTHING),
    reads_are_checked: ("lease -> offloadable", BROKEN),
}
"""What is changed in a model, an inference about it, and what is found to be another: the shortest
run alone, the obligations that break with it, or that there is a run that shows it at all.
"""


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_change_is_noticed(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a change in the model of a runtime, what is found of an inference is another."""
    plant(monkeypatch)
    name, changed = PLANTED[plant]
    before, after = was(name), found(name)
    assert changed == {each for each in before if before[each] != after[each]}


def test_without_a_change_nothing_is() -> None:
    """Without a change it is the same, so that the difference is that of the change."""
    assert was("forced unpin -> demotable") == found("forced unpin -> demotable")
