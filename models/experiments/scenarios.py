"""Simulates two small scenarios: eviction under pressure (10.8), and retention priorities (004)."""

from __future__ import annotations

from typing import Final, NamedTuple

from models.experiments.agents import BLOCK_BYTES, NOTE
from models.experiments.comparison import Compared, Experiment
from models.simulation.command import compare
from models.simulation.cost import Cost
from models.simulation.outcome import Row
from models.simulation.policies import chosen
from models.simulation.request import Request, Workload

__all__ = ["eviction", "pressed", "retained_blocks", "retention"]

BLOCK: Final = 16
_COST: Final = Cost(prefill_tokens_s=10_000, decode_s=1.0, step_s=0.0, load_blocks_s=2_000)
_HELD, _FREE, _NEEDED = {"A": 4, "B": 3, "C": 5}, 8, 12
"""Section 10.8: blocks that each job has, free ones, and what the next turn of A needs."""


class Pressed(NamedTuple):
    """What the next turn of job A computed and reused, in blocks, and who was preempted."""

    computed: int
    reused: int
    preempted: int


def pressed(policy: str, needed: int = _NEEDED, free: int = _FREE) -> Pressed:
    """Let A return while B and C run, in a pool of the blocks that the jobs hold and free ones."""
    held = {
        name: tuple(range(1000 * at, 1000 * at + n)) for at, (name, n) in enumerate(_HELD.items())
    }
    more = tuple(range(len(held["A"]), needed))
    requests = (
        Request("B", 0.0, _HELD["B"] * BLOCK - 8, 8, held["B"]),
        Request("C", 0.1, _HELD["C"] * BLOCK - 8, 8, held["C"]),
        Request("A", 0.2, _HELD["A"] * BLOCK, 1, held["A"], None, "A", "ls"),
        Request("A'", 1.0, needed * BLOCK - 1, 1, held["A"] + more, "A", "A"),
    )
    rows: list[Row] = []
    blocks = sum(_HELD.values()) + free
    compare(
        Workload("10.8", BLOCK, requests), [chosen(policy)], blocks, cost=_COST, rows=rows.append
    )
    (row,) = (row for row in rows if row.request == "A'")
    reused = (row.hit + row.loaded) // BLOCK
    return Pressed(needed - reused, reused, sum(each.preempted for each in rows))


_SECTION_10_8: Final = {
    "FCFS": ("no_reuse", Pressed(12, 0, 1)),
    "Continuum": ("pin:ttl=2", Pressed(8, 4, 1)),
    "LMCache": ("offload", Pressed(8, 4, 0)),
}
_HALF_A_MILLISECOND, _BUS = 0.5, 12e9


def eviction() -> Experiment:
    """Section 10.8: job A returns to a pool with eight free blocks, and needs twelve."""
    found = {name: pressed(policy) for name, (policy, _) in _SECTION_10_8.items()}
    found["vLLM with prefix caching"] = pressed("lru")
    cached = found["vLLM with prefix caching"].reused
    fits = f"{_FREE} free blocks and the {_HELD['A']} of job A are the {_NEEDED} that it needs"
    one_less = pressed("no_reuse", free=_FREE - 1).preempted
    milliseconds = BLOCK_BYTES / _BUS * 1000
    compared = []
    for name, (_, paper) in _SECTION_10_8.items():
        mine = found[name]
        compared += [
            Compared(f"{name}: blocks that A computes", paper.computed, mine.computed),
            Compared(f"{name}: blocks that A reuses", paper.reused, mine.reused),
            Compared(f"{name}: preempted jobs", paper.preempted, mine.preempted, fits),
        ]
    compared.append(
        Compared(
            "LMCache: milliseconds to load a block",
            _HALF_A_MILLISECOND,
            round(milliseconds, 2),
            "a block of 2 MiB (section 8.2) at 12 GB/s (section 10.6)",
        )
    )
    return Experiment(
        name="eviction",
        title="Who is evicted when a job returns",
        source=f"{NOTE}, section 10.8",
        inputs=(
            f"The note's: jobs that hold {_HELD['A']}, {_HELD['B']} and {_HELD['C']} blocks, "
            f"{_FREE} free ones, and a next turn of A that needs {_NEEDED}."
        ),
        head=("policy", "A computes", "A reuses", "preempted"),
        rows=tuple((name, *map(str, each)) for name, each in found.items()),
        compared=tuple(compared),
        finding=(
            f"No policy has to preempt a job: {fits}. The note counts them so for LMCache, and not "
            f"for the other two. vLLM with prefix caching reuses {cached} blocks without a pin, "
            "because no other request has taken them. With one free block less, "
            f"{one_less} jobs are preempted: in vLLM a request that waits takes no block from one "
            "that runs."
        ),
        command="python -m models experiments eviction",
    )


POOL, SESSIONS, EACH = 64, 4, 4
"""Test plan of the pull request: GPU blocks, sessions, and blocks of each."""


def retained_blocks(policy: str, filler: int = 2 * POOL, pool: int = POOL) -> int:
    """Blocks of the sessions that their second turns find, after filler of so many blocks."""
    requests: list[Request] = []
    tokens = EACH * BLOCK
    for number in range(SESSIONS):
        keys = tuple(range(1000 * number, 1000 * number + EACH + 1))
        first = f"{number}.0"
        session = f"s{number}"
        requests += [
            Request(first, 0.0, tokens + 1, 1, keys, None, session, "tool"),
            Request(f"{number}.1", 10.0, tokens + 1, 1, keys, first, session),
        ]
    for number in range(filler // EACH):
        keys = tuple(range(10**6 + 1000 * number, 10**6 + 1000 * number + EACH))
        requests.append(Request(f"filler {number}", 1.0 + number / 100, tokens, 1, keys))
    requests.sort(key=lambda request: (request.after is not None, request.arrives))
    rows: list[Row] = []
    cost = Cost(prefill_tokens_s=1e6, decode_s=0.0, step_s=0.0)
    compare(
        Workload("retention", BLOCK, tuple(requests)),
        [chosen(policy)],
        pool,
        cost=cost,
        rows=rows.append,
    )
    return sum(row.hit for row in rows if row.request.endswith(".1")) // BLOCK


def retention() -> Experiment:
    """The benchmark of the retention pull request: which blocks survive pressure."""
    whole = SESSIONS * EACH
    with_priority, without = "retention:turn=100,turn_ttl=45", "lru"
    pressures = tuple(range(0, 2 * POOL + 1, POOL // 8))
    by_policy = {
        label: [retained_blocks(policy, filler) for filler in pressures]
        for label, policy in (("priority 100", with_priority), ("no priority", without))
    }
    expired = retained_blocks("retention:turn=100,turn_ttl=0.5")
    kept, lost = (found[-1] for found in by_policy.values())
    return Experiment(
        name="retention",
        title="Retention priorities under pressure",
        source="*KV-Cache eviction prioritization API*, draft pull request 10, section Test Plan",
        inputs=(
            f"The pull request's: {POOL} blocks, {SESSIONS} sessions of {EACH} blocks, a priority "
            "of 100, 45 s. Assumed: filler requests of 4 blocks without a priority, 10 ms apart, "
            "and a second turn of each session after 10 s."
        ),
        head=("blocks of filler", "session blocks found, with priority", "without"),
        rows=tuple(
            tuple(map(str, row))
            for row in zip(pressures[::4], *(f[::4] for f in by_policy.values()), strict=True)
        ),
        compared=(
            Compared("prioritized blocks survive", True, kept == whole),
            Compared("unprioritized blocks are evicted", True, lost == 0),
            Compared("after their duration they count as unprioritized", True, expired == 0),
            Compared(
                "performance",
                "later",
                None,
                "the pull request announces the figures, and has none",
            ),
        ),
        finding=(
            f"With priorities {kept} of {whole} blocks survive {pressures[-1]} blocks of filler in "
            f"a pool of {POOL}; without, {lost} do. A duration that ends before the filler leaves "
            f"{expired}."
        ),
        command="python -m models experiments retention",
        plot={"filler": list(pressures), "found": by_policy, "pool": POOL, "whole": whole},
    )
