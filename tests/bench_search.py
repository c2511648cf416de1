"""Figures of searches: a model with an observer, against the model by itself, in one run."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from models.framework.explore import reach
from models.framework.shims import Shim
from models.runtimes.vllm_pool import Prompt, VllmPool
from proofs.product.search import search, search_each
from spec.claims.claim import Mode
from spec.contract.modes import MODES, Bundle

if TYPE_CHECKING:
    from collections.abc import Callable

OBJECTS: Final = {"a": 2, "b": 2}
MODEL: Final = VllmPool(
    6,
    (
        Prompt("r1", "a", 2, 1),
        Prompt("r2", "b", 2, 1),
        Prompt("r3", "a", 2, 2),
        Prompt("r4", "b", 0, 2),
    ),
    OBJECTS,
)
TWO: Final = VllmPool(6, (Prompt("r1", "a", 2, 2), Prompt("r2", "b", 2, 2)), OBJECTS)
"""The instance of which each obligation has to be searched in 20 s and 300 MiB."""

MODE: Final = Mode.HARD_PROTECTED
SHIM: Final = Shim(MODE, frozenset({"keep"}))
BY_THEMSELVES: Final = ("explicit_acceptance", "blocking_claim_ids")
"""An obligation that reads nothing of the pool, and one that reads all of it."""

ROUNDS: Final = 3


class Searched(NamedTuple):
    """Seconds of the processor for 100,000 transitions: of a search, and of the model alone.

    `transitions` are those of the search.
    """

    what: str
    seconds: float
    plain: float
    transitions: int


class Largest(NamedTuple):
    """Seconds and MiB of the processes that search an obligation of `TWO` each, at most."""

    seconds: float
    mib: int
    plain: float


def searched() -> list[Searched]:
    """A search of all obligations and of single ones, alternating with a plain search."""
    searches: dict[str, Callable[[], int]] = {
        name: partial(_transitions, name) for name in BY_THEMSELVES
    }
    searches[f"each obligation of {MODE}"] = lambda: sum(
        each.transitions for each in search_each(MODEL, SHIM, MODE, "a").values()
    )
    found = []
    for what, work in searches.items():
        plain, with_it, transitions = [], [], 0
        for _ in range(ROUNDS):
            seconds, reached = _timed(lambda: reach(MODEL).transitions)
            plain.append(seconds / reached)
            seconds, transitions = _timed(work)
            with_it.append(seconds / transitions)
        ours, alone = (100_000 * statistics.median(times) for times in (with_it, plain))
        found.append(Searched(what, ours, alone, transitions))
    return found


def _transitions(obligation: str) -> int:
    return search(MODEL, SHIM, MODE, obligation, "a").transitions


def largest() -> Largest:
    """Search each obligation of `TWO` in a process of its own."""
    seconds, most = 0.0, 0
    for name in MODES[MODE].names(Bundle.CONTRACT):
        started = time.perf_counter()
        process = subprocess.Popen([sys.executable, "-m", "tests.bench_search", name])
        _, status, used = os.wait4(process.pid, 0)
        if status:
            raise AssertionError(name)
        seconds = max(seconds, time.perf_counter() - started)
        most = max(most, used.ru_maxrss >> 10)
    plain, _ = _timed(lambda: reach(TWO).transitions)
    return Largest(seconds, most, plain)


def _timed(work: Callable[[], int]) -> tuple[float, int]:
    started = time.process_time()
    count = work()
    return time.process_time() - started, count


if __name__ == "__main__":
    search(TWO, SHIM, MODE, sys.argv[1], "a")
