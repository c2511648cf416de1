"""Simulates agent jobs under five policies: the comparison and the load sweep of a 2026 note.

Source: an execution note of 2026-04-02 about a fork of vLLM (Continuum, LMCache), sections 9 and
10.9. It measured seconds on GPUs. The simulation has a cost model instead, so that the comparison
is about order: which policy wins at which load, in a pool of which size.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from statistics import fmean, linear_regression
from typing import Final, NamedTuple

from models.experiments.comparison import Compared, Experiment, shown
from models.simulation.command import compare
from models.simulation.cost import Cost
from models.simulation.outcome import Row
from models.simulation.policies import chosen
from models.simulation.request import Workload
from models.simulation.workload.agents import agents as generated

__all__ = ["Arm", "agents", "arm", "jobs", "load_sweep", "percent"]

NOTE: Final = "*Execution note on a Continuum fork* (2026-04-02)"
PROMPTS: Final = (92, 469, 811, 1343, 1655, 2241, 2665, 2915)
"""Section 9.3: prompt tokens of the turns of a job."""
BLOCKS, BLOCK, BLOCK_BYTES = 5_402, 16, 2 << 20
"""Sections 1 and 8: blocks of the pool, tokens and bytes of one."""
_ANSWERS: Final = ((9, 115), (12, 154), (8, 106), (7, 98))
"""Section 3.2, turns 2 to 5: output tokens, and milliseconds of an idle engine."""
_OUTPUT: Final = round(fmean(tokens for tokens, _ in _ANSWERS))
_COPIED: Final = 12e9
"""Section 10.6: bytes a second between CPU and GPU."""
SPEEDS: Final = (10_000, 20_000, 40_000)
"""Assumed, because the note states none: tokens of prompts that an engine computes in a second."""
_USUAL: Final = SPEEDS[1]
_SECONDS: Final = 20.0
POLICIES: Final = {
    "FCFS": "lru",
    "Continuum": "pin:ttl=mean",
    "ContextServe": "context",
    "LMCache": "offload:blocks=100000",
    "no reuse": "no_reuse",
}
_COMPARED: Final = ("FCFS", "Continuum", "LMCache")
"""Those whose seconds the note prints."""


_TOOLS: Final = (
    "find:uniform(0.05,0.15)/cat:uniform(0.05,0.1)/cat:uniform(0.05,0.1)/grep:uniform(0.08,0.2)/"
    "pytest:uniform(2,5)/cat:uniform(0.05,0.1)/patch:uniform(0.1,0.3)"
)
"""Section 10.11: the seconds of the tool after each turn."""


def jobs(jps: float, seconds: float = _SECONDS, seed: int = 1) -> Workload:
    """Jobs that arrive at random, `jps` a second: eight turns, six quick tools, and a test run."""
    grown = (later - prompt - _OUTPUT for prompt, later in pairwise(PROMPTS))
    return generated(
        f"agents:jps={jps},sessions={round(jps * seconds)},turns={len(PROMPTS)},block={BLOCK},"
        f"system=0,task={PROMPTS[0]},output={_OUTPUT},result={'/'.join(map(str, grown))},"
        f"tools={_TOOLS}",
        limit=None,
        seed=seed,
    )


class Arm(NamedTuple):
    """One policy at one load: seconds of a job, and of its turns; the share of prompts saved."""

    duration: float
    turns: tuple[float, ...]
    saved: float
    preempted: int


@cache
def arm(name: str, jps: float, blocks: int = BLOCKS, speed: int = _USUAL) -> Arm:
    """Replay the jobs with a policy; times follow from the cost model."""
    rows: list[Row] = []
    decode, step = linear_regression(*zip(*_ANSWERS, strict=True))
    cost = Cost(
        prefill_tokens_s=speed,
        decode_s=decode / 1000,
        step_s=max(0.0, step / 1000),
        load_blocks_s=_COPIED / BLOCK_BYTES,
    )
    (summary,) = compare(jobs(jps), [chosen(POLICIES[name])], blocks, cost=cost, rows=rows.append)
    began: dict[int, float] = {}
    ended: dict[int, float] = {}
    turns: list[list[float]] = [[] for _ in PROMPTS]
    for row in rows:
        job, turn = divmod(int(row.request) - 1, len(PROMPTS))
        began[job] = min(row.arrived, began.get(job, row.arrived))
        ended[job] = max(row.ended, ended.get(job, row.ended))
        turns[turn].append(row.ended - row.arrived)
    return Arm(
        fmean(ended[job] - began[job] for job in began),
        tuple(map(fmean, turns)),
        summary.saved,
        summary.preempted,
    )


def percent(before: float, after: float) -> str:
    """A change in percent, with a sign and one decimal, as the note prints it."""
    return f"{100 * (after - before) / before:+.1f} %"


_MEASURED: Final = {
    "JPS 2, average": (6.65, 6.97, "+4.8 %"),
    "JPS 2, median": (6.63, 6.96, "+5.0 %"),
    "JPS 8, average": (14.10, 12.47, "-11.6 %"),
    "JPS 8, median": (14.33, 12.61, "-12.0 %"),
    "JPS 8, P90": (17.02, 14.37, "-15.6 %"),
    "JPS 8, P95": (17.54, 14.63, "-16.6 %"),
    "turn 1": (1263, 1051, "-16.8 %"),
    "turn 2": (735, 519, "-29.4 %"),
    "turn 3": (574, 479, "-16.6 %"),
    "turn 4": (1005, 841, "-16.3 %"),
    "turn 5": (749, 652, "-12.9 %"),
    "turn 6": (641, 539, "-15.9 %"),
    "turn 7": (3732, 3212, "-13.9 %"),
    "turn 8": (1236, 1034, "-16.3 %"),
}
"""Sections 9.2 and 9.3: FCFS, Continuum, and the printed change."""
_DONE: Final = (756, 704)
"""Jobs that each arm completed at JPS 8."""
_PEAK: Final = 22
"""Jobs that Continuum had at once at JPS 2; FCFS had 15, and the note prints one pressure."""
_EQUAL: Final = 0.05
"""Durations that differ by less count as equal, as the note takes +4.8 % for no difference."""


def _same(one: float, other: float) -> bool:
    return abs(one - other) < _EQUAL * max(one, other)


def _by_speed(what: str, paper: object, found: Sequence[object]) -> Compared:
    """Compare what is found at each assumed speed; where they differ it cannot be derived."""
    same = len(set(found)) == 1
    listed = ", ".join(f"{s:,} {shown(each)}" for s, each in zip(SPEEDS, found, strict=True))
    because = (
        f"{shown(found[0])} at each assumed speed of prefill"
        if same
        else f"the speed of prefill is not stated; by tokens/s: {listed}"
    )
    return Compared(what, paper, found[0] if same else None, because)


def agents() -> Experiment:
    """Sections 9.2 and 9.3: FCFS and Continuum at two loads, and what their printed figures say."""
    arms = {(name, jps): arm(name, jps) for jps in (2.0, 8.0) for name in POLICIES}
    changes = [
        Compared(
            f"{what}: change",
            says,
            percent(fcfs, pins),
            f"{fcfs:,} to {pins:,} is {percent(fcfs, pins)}",
        )
        for what, (fcfs, pins, says) in _MEASURED.items()
    ]
    off = [each.what for each in changes if each.paper != each.found]
    low = [
        _same(
            arm("FCFS", 2.0, BLOCKS, speed).duration, arm("Continuum", 2.0, BLOCKS, speed).duration
        )
        for speed in SPEEDS
    ]
    high = [
        arm("Continuum", 8.0, BLOCKS, speed).duration < arm("FCFS", 8.0, BLOCKS, speed).duration
        for speed in SPEEDS
    ]
    first, second = (
        percent(arms["FCFS", 8.0].turns[turn], arms["Continuum", 8.0].turns[turn])
        for turn in (0, 1)
    )
    fewer = percent(*_DONE)
    return Experiment(
        name="agents",
        title="Pins and first come first served",
        source=f"{NOTE}, sections 9.1 to 9.4",
        inputs=(
            f"The note's: {BLOCKS:,} blocks of {BLOCK} tokens, eight turns of {PROMPTS[0]} to "
            f"{PROMPTS[-1]:,} prompt tokens, tools of 50 to 300 ms and one of 2 to 5 s (section "
            f"10.11), jobs that arrive at random, answers of {_OUTPUT} tokens and their speed "
            f"(section 3.2), {_COPIED / 1e9:.0f} GB/s to the CPU. Assumed: a tier of 100,000 "
            f"blocks on the CPU, {_USUAL:,} tokens of prefill a second, "
            f"no content common to two jobs, {_SECONDS:.0f} s of arrivals, one seed for all arms."
        ),
        head=("policy", "JPS", "job, s", "turn 1, s", "turn 2, s", "prompts saved", "preempted"),
        rows=tuple(
            (
                name,
                f"{jps:.0f}",
                f"{found.duration:.2f}",
                f"{found.turns[0]:.2f}",
                f"{found.turns[1]:.2f}",
                f"{found.saved:.0%}",
                str(found.preempted),
            )
            for (name, jps), found in arms.items()
        ),
        compared=(
            _by_speed("JPS 2: no difference between both", True, low),
            _by_speed("JPS 8: Continuum is faster", True, high),
            *changes,
            Compared(
                f"JPS 2: KV cache pressure of {_PEAK} jobs at their last turn",
                "75 %",
                f"{100 * _PEAK * -(-PROMPTS[-1] // BLOCK) / BLOCKS:.0f} %",
            ),
        ),
        finding=(
            f"At JPS 2 the policies differ by less than {_EQUAL:.0%} at "
            f"{sum(low)} of {len(low)} assumed speeds; at JPS 8 pins are faster at {sum(high)}. "
            "A first turn has no pin: in the note it improves (-16.8 %) by a shorter queue, or by "
            f"fewer jobs (completed: {fewer}). Here, with equal arrivals, "
            f"turn 1 changes by {first}, and turn 2 by {second}. Of {len(changes)} printed changes "
            f"{len(off)} do not follow from the printed figures ({', '.join(off) or 'none'})."
        ),
        command="python -m models experiments agents",
    )


_POOLS: Final[dict[int, tuple[str, tuple[float, ...], tuple[float, float] | None]]] = {
    3_000: ("Continuum", (1.0, 10.0), None),
    9_000: ("LMCache", (10.0,), (0.39, 0.65)),
    13_000: ("LMCache", (10.0,), (0.39, 0.60)),
}
"""Section 10.9: blocks of each GPU's pool; the policy that the note found best, at which loads, and
by how much LMCache shortened jobs at JPS 10."""
_REUSING: Final = ("FCFS", "Continuum", "ContextServe", "LMCache")
_LOADS: Final = (1.0, 2.0, 4.0, 6.0, 8.0, 10.0)


def load_sweep() -> Experiment:
    """Section 10.9: which policy wins at which load, for three sizes of the pool."""
    table = {
        blocks: {name: [arm(name, jps, blocks).duration for jps in _LOADS] for name in _REUSING}
        for blocks in _POOLS
    }
    compared = []
    for blocks, (says, loads, shorter) in _POOLS.items():
        compared += [
            _by_speed(f"{blocks:,} blocks: best at JPS {jps:.0f}", says, _winners(blocks, jps))
            for jps in loads
        ]
        if shorter:
            low, high = shorter
            saved = [
                1
                - arm("LMCache", _LOADS[-1], blocks, s).duration
                / arm("FCFS", _LOADS[-1], blocks, s).duration
                for s in SPEEDS
            ]
            compared.append(
                _by_speed(
                    f"{blocks:,} blocks: LMCache shortens jobs by {low:.0%} to {high:.0%}",
                    True,
                    [low <= each <= high for each in saved],
                )
            )
    apart = [
        (blocks, jps)
        for blocks, by_name in table.items()
        for at, jps in enumerate(_LOADS)
        if _best({name: times[at] for name, times in by_name.items()}) != _TIE
    ]
    least = {blocks: min((j for b, j in apart if b == blocks), default=None) for blocks in _POOLS}
    return Experiment(
        name="load",
        title="Load by pool size and policy",
        source=f"{NOTE}, section 10.9",
        inputs=(
            f"The note's: pools of {', '.join(f'{b:,}' for b in _POOLS)} blocks. The jobs and the "
            "cost model are those of the experiment above, for all pools, because the note states "
            "neither for these GPUs."
        ),
        head=("blocks", "policy", *(f"JPS {jps:.0f}, s" for jps in _LOADS)),
        rows=tuple(
            (f"{blocks:,}", name, *(f"{each:.1f}" for each in times))
            for blocks, by_name in table.items()
            for name, times in by_name.items()
        ),
        compared=(*compared,),
        finding=(
            "The policies differ only where the pool is short of the jobs that wait for tools: "
            + ", ".join(
                f"with {blocks:,} blocks "
                + ("at no load" if at is None else f"from JPS {at:.0f} on")
                for blocks, at in least.items()
            )
            + "."
        ),
        command="python -m models experiments load",
        plot={
            "loads": list(_LOADS),
            "pools": {
                str(blocks): {name: [round(t, 3) for t in times] for name, times in found.items()}
                for blocks, found in table.items()
            },
        },
    )


def _winners(blocks: int, jps: float) -> list[str]:
    """The policy with the shortest jobs at each assumed speed."""
    return [
        _best({name: arm(name, jps, blocks, speed).duration for name in _COMPARED})
        for speed in SPEEDS
    ]


_TIE: Final = "a tie"


def _best(durations: dict[str, float]) -> str:
    """The policy with the shortest jobs; a tie where the next is as short."""
    (name, least), (_, second), *_ = sorted(durations.items(), key=lambda item: item[1])
    return _TIE if _same(least, second) else name
