"""Runs a resident prefix and an active request through the block pools, over a range of sizes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from models.framework.model import Action
from models.runtimes.vllm_pool import Policy, Prompt, State, VllmPool
from models.runtimes.vllm_pool_exclusion import VllmPoolExclusion

__all__ = ["Cell", "SweepRow", "sweep"]

_RESIDENT, _ACTIVE = "resident", "active"
_BEFORE: Final = (
    Action("arrive", (_RESIDENT,)),
    Action("admit", (_RESIDENT,)),
    Action("finish", (_RESIDENT,)),
    Action("keep", ("prefix",)),
    Action("arrive", (_ACTIVE,)),
)


class Cell(msgspec.Struct, frozen=True):
    """What became of the active request, and how many blocks the resident prefix lost."""

    outcome: str
    lost: int


class SweepRow(msgspec.Struct, frozen=True):
    """The three policies in a pool of so many usable blocks."""

    usable: int
    native: Cell
    no_admit: Cell
    exclusion: Cell


def sweep(resident: int, active: int, usable: Iterable[int]) -> list[SweepRow]:
    """What each policy does in pools of these sizes; both must fit into each by themselves."""
    rows = []
    for blocks in usable:
        prompts = (Prompt(_RESIDENT, "prefix", resident, 0), Prompt(_ACTIVE, "other", 0, active))
        objects = {"prefix": resident}
        pools = (
            VllmPool(blocks, prompts, objects),
            VllmPool(blocks, prompts, objects, Policy.NO_ADMIT),
            VllmPoolExclusion(blocks, prompts, objects),
        )
        rows.append(SweepRow(blocks, *(_run(pool, resident) for pool in pools)))
    return rows


def _run(pool: VllmPool, resident: int) -> Cell:
    """The active request arrives where the prefix is cached, and is admitted or refused."""
    (state,) = pool.initial()
    for action in _BEFORE:
        state = pool.apply(state, action).state
    enabled = {action.name: action for action in pool.actions(state)}
    outcome = "served" if "admit" in enabled else "refused" if "refuse" in enabled else "waits"
    if outcome != "waits":
        state = pool.apply(state, enabled["admit" if outcome == "served" else "refuse"]).state
    return Cell(outcome, resident - _held(state))


def _held(state: State) -> int:
    return sum(1 for content in state.cached if content and content[0] == "prefix")
