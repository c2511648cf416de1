"""Figures of searches: a model with an observer, against the model by itself, in one run."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from models.framework.explore import reach
from models.framework.shims import Shim
from models.runtimes.vllm_pool import Prompt, VllmPool
from proofs.product.search import search
from spec.claims.claim import Mode

if TYPE_CHECKING:
    from collections.abc import Callable

BLOCKS: Final = 6
PROMPTS: Final = (
    Prompt("r1", "a", 2, 1),
    Prompt("r2", "b", 2, 1),
    Prompt("r3", "a", 2, 2),
    Prompt("r4", "b", 0, 2),
)
OBJECTS: Final = {"a": 2, "b": 2}
MODE: Final = Mode.HARD_PROTECTED
ALONE: Final = ("explicit_acceptance", "ordered_lifecycle_events")
OF_THE_POOL: Final = ("victim_exclusion_before_violation",)
ROUNDS: Final = 3


class Searched(NamedTuple):
    """Seconds for 100,000 transitions: with the observer of an obligation, and of the model alone.

    `transitions` are those of the search.
    """

    obligation: str
    seconds: float
    plain: float
    transitions: int


def searched() -> list[Searched]:
    """A search for each obligation, alternating with a plain breadth-first search."""
    model, shim = VllmPool(BLOCKS, PROMPTS, OBJECTS), Shim(MODE, frozenset({"keep"}))
    found = []
    for name in (*ALONE, *OF_THE_POOL):
        rounds = ROUNDS if name in ALONE else 1
        plain, with_it, transitions = [], [], 0
        for _ in range(rounds):
            seconds, reached = _timed(lambda: reach(model).transitions)
            plain.append(seconds / reached)
            seconds, transitions = _timed(
                lambda name=name: search(model, shim, MODE, name, "a").transitions
            )
            with_it.append(seconds / transitions)
        each = (100_000 * statistics.median(times) for times in (with_it, plain))
        found.append(Searched(name, *each, transitions))
    return found


def _timed(work: Callable[[], int]) -> tuple[float, int]:
    started = time.perf_counter()
    count = work()
    return time.perf_counter() - started, count
