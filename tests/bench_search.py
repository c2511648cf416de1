"""Figures of searches: a model with an observer, against the model by itself, in one run.

The model by itself is a plain search, breadth first: nothing is checked, renamed or counted but
states. It visits every state; a search takes those as one that differ in names alone.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from models.framework.shims import Shim
from models.runtimes.vllm_pool import Prompt, VllmPool
from proofs.product.search import search, search_each
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from tests.bench_process import used

if TYPE_CHECKING:
    from collections.abc import Callable

    from models.framework.model import Model

OBJECTS: Final = {"a": 2, "b": 2}
MODEL: Final = VllmPool(
    6,
    (
        Prompt("r1", "a", 2, 1),
        Prompt("r2", "b", 2, 1),
        Prompt("r3", "a", 2, 2),
        Prompt("r4", "b", 0, 2),
        Prompt("r5", "a", 1, 1),
    ),
    OBJECTS,
)
TWO: Final = VllmPool(6, (Prompt("r1", "a", 2, 2), Prompt("r2", "b", 2, 2)), OBJECTS)
"""The instance of which each obligation has to be searched in 20 s and 300 MiB."""

MODE: Final = Mode.HARD_PROTECTED
SHIM: Final = Shim(MODE, frozenset({"keep"}))
ROUNDS: Final = 3
LIMIT: Final = 10_000_000


class Searched(NamedTuple):
    """Seconds of the processor for 100,000 transitions: of a search, and of the model by itself.

    `transitions` are those of the search.
    """

    what: str
    seconds: float
    plain: float
    transitions: int


class Largest(NamedTuple):
    """Seconds of the processor and MiB of processes that search an obligation of `TWO`, at most."""

    seconds: float
    mib: int
    plain: float


def alone(model: Model[Any]) -> int:
    """The transitions of a model, by a plain search."""
    todo = deque(model.initial())
    seen, transitions = set(todo), 0
    while todo:
        state = todo.popleft()
        for action in model.actions(state):
            transitions += 1
            after = model.apply(state, action).state
            if after not in seen:
                seen.add(after)
                todo.append(after)
    return transitions


def searched() -> list[Searched]:
    """A search for each obligation by itself, and for all at once, in rounds with a plain one."""
    works: dict[str, Callable[[], int]] = {
        name: lambda name=name: _transitions(name)  # type: ignore[misc]
        for name in MODES[MODE].names(Bundle.CONTRACT)
    }
    works[f"each obligation of {MODE}"] = lambda: sum(
        each.transitions for each in search_each(MODEL, SHIM, MODE, "a").values()
    )
    plain, times = list[float](), dict[str, list[float]]()
    transitions = dict[str, int]()
    for _ in range(ROUNDS):
        seconds, reached = _timed(lambda: alone(MODEL))
        plain.append(seconds / reached)
        for what, work in works.items():
            seconds, transitions[what] = _timed(work)
            times.setdefault(what, []).append(seconds / transitions[what])
    by_itself = 100_000 * statistics.median(plain)
    return [
        Searched(what, 100_000 * statistics.median(found), by_itself, transitions[what])
        for what, found in times.items()
    ]


def _transitions(obligation: str) -> int:
    return search(MODEL, SHIM, MODE, obligation, "a", limit=LIMIT).transitions


def largest() -> Largest:
    """Search each obligation of `TWO` in a process of its own."""
    names = MODES[MODE].names(Bundle.CONTRACT)
    found = [used("-m", "tests.bench_search", name) for name in names]
    plain, _ = _timed(lambda: alone(TWO))
    return Largest(max(each.processor for each in found), max(each.mib for each in found), plain)


def _timed(work: Callable[[], int]) -> tuple[float, int]:
    started = time.process_time()
    count = work()
    return time.process_time() - started, count


if __name__ == "__main__":
    search(TWO, SHIM, MODE, sys.argv[1], "a")
